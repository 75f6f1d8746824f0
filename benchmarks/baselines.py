"""What a good user of torch and transformers writes in an afternoon.

Batches of 32 sentences in float32, padded to the longest; one training loop for both models, with
AdamW, a linear schedule with warmup, dev scored after each epoch and the best weights kept.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import torch
from peft import LoraConfig, get_peft_model
from seqeval.metrics import f1_score
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    AutoTokenizer,
    DataCollatorForTokenClassification,
    DataCollatorWithPadding,
    get_linear_schedule_with_warmup,
)
from transformers.utils import logging

from featbert import Corpus, FeatureStore
from featbert.data.corpus import Split
from featbert.tasks.base import get_task

BATCH = 32
IGNORED = -100  # label of what is no word: padding, special tokens, further subwords

Batch = dict[str, Any]
Item = tuple[Tensor, Tensor]  # (T, D) vectors, (T,) labels
Settings = Mapping[str, Any]  # as a run record has them
Forward = Callable[[Batch], Tensor]  # (B, T, C) logits


def quiet() -> None:
    """No progress bars and no advice of transformers from now on."""
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]


def extract_plainly(corpus: Corpus, folder: Path, path: Path, *, dtype: str = "float16") -> int:
    """Hidden states of words to `path`: /<split>/<layer>, (N, H) each.

    File order; all hidden states are pooled to the first subword of each word and written after
    each batch.

    Args:
        folder: of the checkpoint.

    Returns:
        Words that were read. Words that are cut off, or that the tokenizer gives no subword, are
        lost without a message.
    """
    quiet()
    n_words = 0
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    with h5py.File(path, "w") as file, torch.inference_mode():
        for name, split in corpus.splits.items():
            shape = (split.n_words, model.config.hidden_size)
            layers = [
                file.create_dataset(f"{name}/{layer:02d}", shape, dtype)
                for layer in range(model.config.num_hidden_layers + 1)
            ]
            at = 0
            for start in range(0, len(split), BATCH):
                texts = [list(s.words) for s in split.sentences[start : start + BATCH]]
                batch = tokenizer(
                    texts,
                    is_split_into_words=True,
                    padding=True,
                    truncation=True,
                    max_length=model.config.max_position_embeddings,
                    return_tensors="pt",
                )
                places = [(row, p) for row in range(len(texts)) for p in first_subwords(batch, row)]
                rows, columns = map(list, zip(*places, strict=True))
                states = model(**batch, output_hidden_states=True).hidden_states
                for layer, state in zip(layers, states, strict=True):
                    layer[at : at + len(rows)] = state[rows, columns].numpy().astype(dtype)
                at += len(rows)
            n_words += at
    return n_words


def first_subwords(batch: Any, row: int) -> dict[int, int]:
    """The first subwords of a tokenized sentence by place: which word each begins."""
    words = batch.word_ids(row)
    return {i: word for i, word in enumerate(words) if word is not None and word != words[i - 1]}


def train_plainly(
    model: nn.Module,
    forward: Forward,
    batches: Mapping[str, DataLoader[Any]],
    score: Callable[[], float],
    settings: Settings,
) -> float:
    """The best score on dev; batches have "labels" (B, T) or (B,), those of dev in its order."""
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=settings["learning_rate"], weight_decay=settings["weight_decay"]
    )
    total = len(batches["train"]) * settings["epochs"]
    schedule = get_linear_schedule_with_warmup(  # type: ignore[no-untyped-call]
        optimizer, round(total * settings["warmup"]), total
    )
    best, best_weights = -1.0, {}
    for _ in range(settings["epochs"]):
        model.train()
        for batch in batches["train"]:
            logits = forward(batch)
            loss = functional.cross_entropy(
                logits.flatten(0, -2), batch["labels"].flatten(), ignore_index=IGNORED
            )
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(model.parameters(), settings["clip_norm"])
            optimizer.step()
            schedule.step()
        model.eval()
        dev_score = score()
        if dev_score > best:
            best, best_weights = (
                dev_score,
                {name: t.clone() for name, t in model.state_dict().items()},
            )
    model.load_state_dict(best_weights)
    return best


def entity_f1(forward: Forward, batches: Iterable[Batch], corpus: Corpus) -> float:
    """Entity F1 on dev. Words that were cut off count as "O"."""
    labels, gold = list(label_numbers(corpus)), corpus["dev"].tags
    rows: list[list[str]] = []
    with torch.inference_mode():
        for batch in batches:
            for ids, word_labels in zip(forward(batch).argmax(-1), batch["labels"], strict=True):
                rows.append([labels[int(i)] for i in ids[word_labels != IGNORED]])
    whole = [row + ["O"] * (len(tags) - len(row)) for row, tags in zip(rows, gold, strict=True)]
    return float(f1_score([list(tags) for tags in gold], whole, zero_division=0))


def label_numbers(corpus: Corpus) -> dict[str, int]:
    """Numbers of the training split's tags; a tag that only dev has cannot be predicted."""
    tags = sorted({tag for row in corpus["train"].tags for tag in row} | {"O"})
    return {tag: number for number, tag in enumerate(tags)}


class StoredSentences(Dataset[Item]):
    """Sentences of a store, each read from HDF5 when it is asked for.

    Without loader processes, which share the cores with the training and cannot share an open file.
    """

    def __init__(
        self, file: h5py.File, split: Split, layers: Sequence[int], labels: dict[str, int]
    ) -> None:
        self.states = [file[f"{split.name}/layers/{layer:02d}"] for layer in layers]
        self.offsets = file[f"{split.name}/offsets"][:]
        self.labels = [torch.tensor([labels.get(tag, 0) for tag in row]) for row in split.tags]

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> Item:
        start, stop = self.offsets[index], self.offsets[index + 1]
        vectors = np.concatenate([state[start:stop] for state in self.states], axis=1)
        return torch.from_numpy(vectors).float(), self.labels[index]


class Tagger(nn.Module):
    """Dropout, BiLSTM, dropout, linear classifier: the same sizes as featbert's."""

    def __init__(self, width: int, n_labels: int, settings: Settings) -> None:
        super().__init__()
        self.dropout = nn.Dropout(settings["dropout"])
        self.lstm = nn.LSTM(
            width,
            settings["lstm_size"],
            num_layers=settings["lstm_layers"],
            dropout=settings["dropout"] if settings["lstm_layers"] > 1 else 0.0,
            bidirectional=True,
            batch_first=True,
        )
        self.classifier = nn.Linear(2 * settings["lstm_size"], n_labels)

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, C)"""
        packed = pack_padded_sequence(
            self.dropout(vectors), lengths, batch_first=True, enforce_sorted=False
        )
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        logits: Tensor = self.classifier(self.dropout(states))
        return logits


def train_bilstm_plainly(
    store: FeatureStore, corpus: Corpus, layers: Sequence[int], settings: Settings, *, seed: int
) -> float:
    """The best dev F1 of a tagger on the concatenation of these layers."""
    torch.manual_seed(seed)
    labels = label_numbers(corpus)
    with h5py.File(store.path, "r") as file:
        batches = {
            name: DataLoader(
                StoredSentences(file, corpus[name], layers, labels),
                settings["batch_size"],
                shuffle=name == "train",
                collate_fn=padded,
            )
            for name in ("train", "dev")
        }
        tagger = Tagger(store.manifest.hidden_size * len(layers), len(labels), settings)

        def forward(batch: Batch) -> Tensor:
            logits: Tensor = tagger(batch["vectors"], batch["lengths"])
            return logits

        score = partial(entity_f1, forward, batches["dev"], corpus)
        return train_plainly(tagger, forward, batches, score, settings)


def padded(items: Sequence[Item]) -> Batch:
    """Padded to the longest."""
    vectors, labels = [v for v, _ in items], [row for _, row in items]
    return {
        "vectors": pad_sequence(vectors, batch_first=True),
        "lengths": torch.tensor([len(v) for v in vectors]),
        "labels": pad_sequence(labels, batch_first=True, padding_value=IGNORED),
    }


def config_of(folder: Path, labels: int, settings: Settings) -> Any:
    """The encoder's configuration with a head. Models without this dropout ignore it."""
    config = AutoConfig.from_pretrained(folder, num_labels=labels)
    config.classifier_dropout = settings["dropout"]
    return config


def with_adapters(model: Any, settings: Settings, task: str) -> Any:
    """peft's model with LoRA's adapters, where the settings have a rank; the head is trained."""
    if "rank" not in settings:
        return model
    sizes = {"r": settings["rank"], "lora_alpha": settings["alpha"]}
    dropout = settings["adapter_dropout"]
    return get_peft_model(model, LoraConfig(task_type=task, lora_dropout=dropout, **sizes))


def classify_plainly(corpus: Corpus, folder: Path, settings: Settings, *, seed: int) -> float:
    """The best dev accuracy of AutoModelForSequenceClassification; texts are tokenized once."""
    quiet()
    torch.manual_seed(seed)
    classes = sorted({row[0] for row in corpus["train"].tags})
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(
        folder, config=config_of(folder, len(classes), settings), dtype=torch.float32
    )
    positions = model.config.max_position_embeddings
    model = with_adapters(model, settings, "SEQ_CLS")
    batches: dict[str, DataLoader[Any]] = {}
    for name in ("train", "dev"):
        texts = list(zip(*(sentence.texts for sentence in corpus[name]), strict=True))
        encodings = tokenizer(*map(list, texts), truncation=True, max_length=positions)
        answers = [classes.index(row[0]) for row in corpus[name].tags]
        rows = [
            {key: encodings[key][row] for key in encodings} | {"labels": answer}
            for row, answer in enumerate(answers)
        ]
        batches[name] = DataLoader(
            rows,  # type: ignore[arg-type]
            settings["batch_size"],
            shuffle=name == "train",
            collate_fn=DataCollatorWithPadding(tokenizer),
        )

    def forward(batch: Batch) -> Tensor:
        logits: Tensor = model(**{k: v for k, v in batch.items() if k != "labels"}).logits
        return logits

    def accuracy() -> float:
        with torch.inference_mode():
            right = [(forward(b).argmax(-1) == b["labels"]).float() for b in batches["dev"]]
        return float(torch.cat(right).mean())

    return train_plainly(model, forward, batches, accuracy, settings)


def answer_plainly(corpus: Corpus, folder: Path, settings: Settings, *, seed: int) -> float:
    """The best dev F1 of AutoModelForQuestionAnswering, answers by `evaluate-v2.0`.

    Windows of 384 pieces with a stride of 128, padded to 384; an answer that a window lacks is its
    first piece. A question's answer is the best span of its windows, or none where the lowest score
    of their first pieces is higher; up to 30 pieces long.
    """
    quiet()
    torch.manual_seed(seed)
    task = get_task("spans")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    plain = AutoModelForQuestionAnswering.from_pretrained(folder, dtype=torch.float32)
    model = with_adapters(plain, settings, "QUESTION_ANS")
    # By name: the windows, their sentences, and the characters of each piece of their passages
    splits = {name: windows_of(corpus[name], tokenizer) for name in ("train", "dev")}
    batches: dict[str, DataLoader[Any]] = {
        name: DataLoader(windows, settings["batch_size"], shuffle=name == "train")  # type: ignore[arg-type]
        for name, (windows, _, _) in splits.items()
    }

    def forward(batch: Batch) -> Tensor:
        output = model(**{k: v for k, v in batch.items() if k != "labels"})
        return torch.stack([output.start_logits, output.end_logits], dim=1)

    def f1() -> float:
        _, samples, places = splits["dev"]
        split = corpus["dev"]
        best = [(-np.inf, "")] * len(split)
        nothing = [np.inf] * len(split)
        with torch.inference_mode():
            scores = torch.cat([forward(batch) for batch in batches["dev"]])
        band = torch.ones(scores.shape[2], scores.shape[2], dtype=torch.bool).triu().tril(29)
        for (starts, ends), sample, characters in zip(scores, samples, places, strict=True):
            sums = starts[:, None] + ends
            nothing[sample] = min(nothing[sample], float(sums[0, 0]))
            inside = torch.tensor([place is not None for place in characters])
            allowed = band & inside[:, None] & inside[None]
            spans = sums.masked_fill(~allowed, -np.inf)
            start, end = divmod(int(spans.argmax()), len(characters))
            if (score := float(spans[start, end])) > best[sample][0]:
                first, last = characters[start][0], characters[end][1]
                best[sample] = (score, f"{first}:{split.sentences[sample].texts[1][first:last]}")
        answers = [[text if s > n else ""] for (s, text), n in zip(best, nothing, strict=True)]
        return float(task.measure.of(task.counts(task.gold(split), answers).sum(axis=0)))

    return train_plainly(model, forward, batches, f1, settings)


def windows_of(split: Split, tokenizer: Any) -> tuple[list[Batch], list[int], list[list[Any]]]:
    """Windows with labels (2,), the question of each, and the characters of its passage's pieces.

    Pieces of the question, and specials, have None in place of characters.
    """
    questions, passages = zip(*(sentence.texts for sentence in split), strict=True)
    encodings = tokenizer(
        list(questions),
        list(passages),
        truncation="only_second",
        max_length=384,
        stride=128,
        padding="max_length",
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
    )
    samples = encodings.pop("overflow_to_sample_mapping")
    offsets = encodings.pop("offset_mapping")
    windows, places = [], []
    for window, sample in enumerate(samples):
        owners = encodings.sequence_ids(window)
        characters: list[Any] = [
            place if owner == 1 else None
            for place, owner in zip(offsets[window], owners, strict=True)
        ]
        start, colon, text = split.tags[sample][0].partition(":")
        first, last = (int(start), int(start) + len(text)) if colon else (-1, -1)
        inside = [p for p, c in enumerate(characters) if c and c[0] < last and c[1] > first]
        whole = inside and characters[inside[0]][0] <= first and characters[inside[-1]][1] >= last
        labels = [inside[0], inside[-1]] if colon and whole else [0, 0]
        windows.append(
            {name: torch.tensor(encodings[name][window]) for name in encodings}
            | {"labels": torch.tensor(labels)}
        )
        places.append(characters)
    return windows, samples, places


def finetune_plainly(corpus: Corpus, folder: Path, settings: Settings, *, seed: int) -> float:
    """The best dev F1 of AutoModelForTokenClassification; texts are tokenized once."""
    quiet()
    torch.manual_seed(seed)
    labels = label_numbers(corpus)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForTokenClassification.from_pretrained(
        folder, config=config_of(folder, len(labels), settings), dtype=torch.float32
    )
    positions = model.config.max_position_embeddings
    model = with_adapters(model, settings, "TOKEN_CLS")
    batches: dict[str, DataLoader[Any]] = {
        name: DataLoader(
            encoded(corpus[name], tokenizer, labels, positions),  # type: ignore[arg-type]
            settings["batch_size"],
            shuffle=name == "train",
            collate_fn=DataCollatorForTokenClassification(tokenizer, label_pad_token_id=IGNORED),
        )
        for name in ("train", "dev")
    }

    def forward(batch: Batch) -> Tensor:
        logits: Tensor = model(**{k: v for k, v in batch.items() if k != "labels"}).logits
        return logits

    score = partial(entity_f1, forward, batches["dev"], corpus)
    return train_plainly(model, forward, batches, score, settings)


def encoded(split: Split, tokenizer: Any, labels: dict[str, int], positions: int) -> list[Batch]:
    """Each sentence as subwords, with labels at the first subword of each word."""
    texts = [list(sentence.words) for sentence in split]
    encodings = tokenizer(
        texts, is_split_into_words=True, truncation=True, max_length=positions, padding=False
    )
    rows: list[Batch] = []
    for row, (ids, tags) in enumerate(zip(encodings["input_ids"], split.tags, strict=True)):
        word_labels = [IGNORED] * len(ids)
        for place, word in first_subwords(encodings, row).items():
            word_labels[place] = labels.get(tags[word], 0)
        rows.append({"input_ids": ids, "attention_mask": [1] * len(ids), "labels": word_labels})
    return rows
