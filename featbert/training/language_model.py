"""Training an encoder as a language model: what transformers' `Trainer` needs for it.

Devlin et al. 2019, section 3.1 and appendix A. The text is cut into blocks of whole sentences of
one document; one that is too long is split between words, so that every piece is read once an
epoch. Masks and pairs follow from the seed, the epoch and the number of the block.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import TypeAdapter
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence
from transformers import (
    AutoModelForMaskedLM,
    AutoTokenizer,
    BertForPreTraining,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

from featbert.config import Adapt
from featbert.data.corpus import Sentence
from featbert.encoders.batching import Ints
from featbert.encoders.encoder import load_encoder
from featbert.encoders.source import EncoderSource, refusing
from featbert.encoders.tokenizer import WordPieces
from featbert.errors import InputError
from featbert.io import write_text
from featbert.progress import report, stage
from featbert.training.adapt import ENCODER, MAX_LENGTH, AdaptationPlan, AdaptEpoch, clear
from featbert.training.checkpoint import Pace

Bools = NDArray[np.bool_]
# Next-sentence labels as pre-trained heads have them, and the label that no loss counts.
FOLLOWS, RANDOM, NONE = 0, 1, -100
# The last file of a checkpoint: which training it belongs to.
COMPUTATION = "computation.txt"


class Vocabulary(NamedTuple):
    """What masking must know of a tokenizer."""

    mask: int
    ordinary: Ints  # (K,) random pieces are drawn from these: all but special ones
    special: Ints  # where the text holds one ([UNK]), it is not masked


class Block(NamedTuple):
    """Consecutive text of a document: (P,) pieces, the word that each belongs to, the document."""

    pieces: Ints
    words: Ints
    document: int


def cut_blocks(
    sentences: Sequence[Sentence], wordpieces: WordPieces, capacity: int, *, even: bool = False
) -> tuple[list[Block], dict[str, int]]:
    """A split as blocks of at most `capacity` pieces, each of one document, with counts.

    Sentences without a document are a block each. With `even`, a document is cut into an even
    number of blocks where its sentences allow it.
    """
    pieces, word_ends, unknown = wordpieces.pieces([s.words for s in sentences])
    words = np.repeat(np.arange(len(word_ends) - 1), np.diff(word_ends))
    ends = word_ends[np.cumsum([0, *map(len, sentences)])]
    together = all(s.document is not None for s in sentences)
    documents = [s.document if together else n for n, s in enumerate(sentences)]
    blocks: list[Block] = []
    for number, (_, group) in enumerate(
        itertools.groupby(range(len(sentences)), documents.__getitem__)
    ):
        units = [u for s in group for u in _fitting(ends[s], ends[s + 1], word_ends, capacity)]
        spans: list[tuple[int, int]] = []
        for start, end in units:
            if spans and end - spans[-1][0] <= capacity:
                spans[-1] = (spans[-1][0], end)
            else:
                spans.append((start, end))
        first, last = spans[-1]
        inner = [start for start, _ in units if first < start < last]
        if even and len(spans) % 2 and inner:
            middle = inner[len(inner) // 2]
            spans[-1:] = [(first, middle), (middle, last)]
        blocks += [Block(pieces[a:b], words[a:b], number) for a, b in spans]
    split = int((np.diff(ends) > capacity).sum())
    return blocks, {"split_sentences": split, "unknown_words": unknown}


def _fitting(start: int, end: int, word_ends: Ints, capacity: int) -> Iterator[tuple[int, int]]:
    """A sentence's pieces, in parts of at most `capacity`; within a word only where it must be."""
    while end - start > capacity:
        cut = int(word_ends[np.searchsorted(word_ends, start + capacity, side="right") - 1])
        cut = cut if cut > start else start + capacity
        yield start, cut
        start = cut
    yield int(start), int(end)


def pair_blocks(blocks: Sequence[Block], random: np.random.Generator) -> list[tuple[int, int, int]]:
    """Rows of A, B and label that hold each block once.

    The blocks of a document are A and B in turn. Half of the pairs, drawn at random, exchange their
    Bs, with pairs of other documents as far as these suffice. A block that has no partner in its
    document is a row without B (-1) and without label.
    """
    pairs, alone = [], []
    for _, group in itertools.groupby(range(len(blocks)), lambda b: blocks[b].document):
        numbers = list(group)
        pairs += list(zip(numbers[0::2], numbers[1::2], strict=False))
        alone += numbers[len(numbers) // 2 * 2 :]
    seconds = np.array([b for _, b in pairs], dtype=np.int64)
    labels = np.full(len(pairs), FOLLOWS)
    if len(pairs) > 1:
        chosen = random.permutation(len(pairs))[: max(2, len(pairs) // 2)]
        documents = np.array([blocks[pairs[i][0]].document for i in chosen])
        order = chosen[np.argsort(documents, kind="stable")]
        # Sorted by document, a shift by the largest document's pairs leads out of each document.
        largest = int(np.unique(documents, return_counts=True)[1].max())
        seconds[order] = np.roll(seconds[order], largest if largest < len(order) else 1)
        labels[chosen] = RANDOM
    rows = [(a, int(b), int(t)) for (a, _), b, t in zip(pairs, seconds, labels, strict=True)]
    return rows + [(number, -1, NONE) for number in alone]


def mask_pieces(
    pieces: Ints, words: Ints, settings: Adapt, vocabulary: Vocabulary, random: np.random.Generator
) -> tuple[Ints, Bools]:
    """The pieces as the encoder reads them, and which of them it is to predict.

    `pieces` (P,) are those of a sequence without specials, `words` (P,) the word of each. With
    `whole_word`, the pieces of a word are chosen together and share one fate. As many are taken as
    come nearest to the share of the pieces, but at least one.
    """
    read, chosen = pieces.copy(), np.zeros(len(pieces), dtype=np.bool_)
    maskable = np.flatnonzero(~np.isin(pieces, vocabulary.special))
    if not len(maskable):
        return read, chosen
    _, unit, sizes = np.unique(
        words[maskable] if settings.whole_word else maskable,
        return_inverse=True,
        return_counts=True,
    )
    order = random.permutation(len(sizes))
    taken = int(np.abs(np.cumsum(sizes[order]) - settings.share * len(maskable)).argmin()) + 1
    chosen[maskable] = np.isin(unit, order[:taken])
    fate = np.ones(len(pieces))
    fate[maskable] = random.random(len(sizes))[unit]
    masked = settings.mask_share
    swapped = chosen & (fate >= masked) & (fate < masked + settings.random_share)
    read[chosen & (fate < masked)] = vocabulary.mask
    read[swapped] = random.choice(vocabulary.ordinary, int(swapped.sum()))
    return read, chosen


@dataclass(eq=False)
class MaskedText(torch.utils.data.Dataset[dict[str, Tensor]]):
    """A split as one epoch reads it; the loader calls `set_epoch`."""

    blocks: Sequence[Block]
    wordpieces: WordPieces
    vocabulary: Vocabulary
    settings: Adapt
    nsp: bool
    seed: int

    def __post_init__(self) -> None:
        self.set_epoch(0)

    def set_epoch(self, epoch: int) -> None:
        """Draws the pairs of an epoch, from 0; their number is the same in each."""
        self.epoch = epoch
        random = np.random.default_rng([self.seed, epoch])
        alone = [(number, -1, NONE) for number in range(len(self.blocks))]
        self.rows = pair_blocks(self.blocks, random) if self.nsp else alone

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, row: int) -> dict[str, Tensor]:
        """(length,) input_ids and labels; for BERT's two heads token_type_ids and a label, too."""
        first, second, label = self.rows[row]
        parts = [self.blocks[number] for number in (first, second) if number >= 0]
        pieces = np.concatenate([part.pieces for part in parts])
        words = np.concatenate([part.words for part in parts])
        random = np.random.default_rng([self.seed, self.epoch, row])
        read, chosen = mask_pieces(pieces, words, self.settings, self.vocabulary, random)
        targets = np.where(chosen, pieces, NONE)
        prefix, suffix = list(self.wordpieces.prefix), list(self.wordpieces.suffix)
        # [CLS] A [SEP], and B [SEP] where there is one
        ids, labels, types = prefix, [NONE] * len(prefix), [0] * len(prefix)
        start = 0
        for kind, part in enumerate(parts):
            end = start + len(part.pieces)
            ids = ids + read[start:end].tolist() + suffix
            labels += targets[start:end].tolist() + [NONE] * len(suffix)
            types += [kind] * (end - start + len(suffix))
            start = end
        example = {"input_ids": torch.tensor(ids), "labels": torch.tensor(labels)}
        if self.nsp:
            example["token_type_ids"] = torch.tensor(types)
            example["next_sentence_label"] = torch.tensor(label)
        return example

    def collate(self, rows: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
        """Rows as one batch, (R, longest), padded on the right."""
        fill = {"input_ids": self.wordpieces.pad_id, "labels": NONE, "token_type_ids": 0}
        batch = {
            name: pad_sequence([row[name] for row in rows], batch_first=True, padding_value=value)
            for name, value in fill.items()
            if name in rows[0]
        }
        sizes = torch.tensor([len(row["input_ids"]) for row in rows])
        batch["attention_mask"] = (torch.arange(int(sizes.max())) < sizes[:, None]).long()
        if self.nsp:
            batch["next_sentence_label"] = torch.stack([row["next_sentence_label"] for row in rows])
        return batch


def train_language_model(
    plan: AdaptationPlan,
    source: EncoderSource,
    texts: Sequence[Sequence[Sentence]],
    folder: Path,
    computation: str,
) -> dict[str, Any]:
    """Trains the encoder and its heads on train and dev; returns what the record says of it.

    The last checkpoint in `folder` with the same `computation` is resumed from; the model is
    written to the folder's `ENCODER`.
    """
    settings, nsp = plan.settings, plan.nsp
    encoder = load_encoder(source)  # checks the checkpoint, and knows its tokenizer and positions
    wordpieces, positions = encoder.wordpieces, encoder.positions
    model, vocabulary, fresh = load_language_model(source, nsp=nsp, seed=plan.seed)
    longest = settings.max_length or min(MAX_LENGTH, positions)
    if longest > positions:
        raise InputError(
            f"--max-length {longest} is too long for {source.name}; give at most {positions}"
        )
    capacity = longest - wordpieces.n_special
    if nsp:
        capacity = (capacity - len(wordpieces.suffix)) // 2
    cut = [cut_blocks(sentences, wordpieces, capacity, even=nsp) for sentences in texts]
    train, dev = (
        MaskedText(blocks, wordpieces, vocabulary, settings, nsp=nsp, seed=plan.seed)
        for blocks, _ in cut
    )
    counts = {name: sum(found[name] for _, found in cut) for name in cut[0][1]}
    # A batch is computed in equal parts of at most the token budget.
    fits = max(1, settings.token_budget // longest)
    size = settings.batch_size
    part = max(n for n in range(1, min(size, fits) + 1) if size % n == 0)
    steps = settings.epochs * math.ceil(len(train) / size)
    checkpoint = last_checkpoint(folder, computation)
    arguments = TrainingArguments(
        output_dir=str(folder),
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=part,
        gradient_accumulation_steps=size // part,
        per_device_eval_batch_size=fits,
        train_sampling_strategy="group_by_length",
        learning_rate=settings.learning_rate,
        warmup_steps=round(settings.warmup * steps),  # the first of them is at rate 0
        weight_decay=settings.weight_decay,
        max_grad_norm=settings.clip_norm,
        optim="adamw_torch_fused",
        adam_epsilon=1e-6,
        seed=plan.seed,
        use_cpu=plan.device.kind == "cpu",
        bf16=plan.precision == "bf16",
        fp16=plan.precision == "fp16",
        dataloader_pin_memory=plan.device.kind == "cuda",
        eval_strategy="epoch",
        eval_on_start=checkpoint is None,
        save_strategy="epoch",
        logging_strategy="no",
        remove_unused_columns=False,
        disable_tqdm=True,
        log_level="error",
        report_to="none",
    )
    arguments._n_gpu = min(1, arguments.n_gpu)  # the first GPU alone, as elsewhere in featbert
    with stage(f"adapting {source.name}", "steps", steps, done=_steps(checkpoint)) as advance:
        callback = _Progress(computation, advance)
        trainer = _LanguageModelTrainer(
            model, arguments, train.collate, train, dev, callbacks=[callback]
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    model.cpu().eval().save_pretrained(folder / ENCODER)
    found = {"sequence_length": longest, "counts": counts, "fresh": fresh}
    return found | {"history": history_of(trainer.state)}


def load_language_model(
    source: EncoderSource, *, nsp: bool, seed: int
) -> tuple[Any, Vocabulary, tuple[str, ...]]:
    """The encoder with heads in fp32, its vocabulary, and the parts it lacks, drawn from `seed`."""
    tokenizer: Any = AutoTokenizer.from_pretrained(source.folder, local_files_only=True)
    if tokenizer.mask_token_id is None:
        raise InputError(
            f"the tokenizer of {source.name} has no mask token; use an encoder that was trained "
            "with one, such as bert-base-cased"
        )
    added = [i for i, token in tokenizer.added_tokens_decoder.items() if token.special]
    special = np.unique([*tokenizer.all_special_ids, *added])
    ordinary = np.setdiff1d(list(tokenizer.get_vocab().values()), special)
    architecture: Any = BertForPreTraining if nsp else AutoModelForMaskedLM
    torch.manual_seed(seed)
    with refusing(f"transformers cannot load {source.folder} as a masked language model"):
        model, info = architecture.from_pretrained(
            source.folder,
            dtype=torch.float32,
            local_files_only=True,
            weights_only=True,  # nothing in a pytorch_model.bin is called
            output_loading_info=True,
            **source.changes,
        )
    lacking = [key for key in info["missing_keys"] if key not in model.all_tied_weights_keys]
    fresh = tuple(sorted({key.rpartition(".")[0] for key in lacking}))
    return model, Vocabulary(int(tokenizer.mask_token_id), ordinary, special), fresh


def last_checkpoint(folder: Path, computation: str) -> Path | None:
    """The latest complete checkpoint of this training in a folder."""
    marks = folder.glob(f"checkpoint-*/{COMPUTATION}")
    found = [mark.parent for mark in marks if mark.read_text("utf-8") == computation]
    return max(found, key=_steps, default=None)


def _steps(checkpoint: Path | None) -> int:
    """checkpoint-120 -> 120"""
    return int(checkpoint.name.rpartition("-")[2]) if checkpoint else 0


def history_of(state: Any) -> list[AdaptEpoch]:
    """The epochs in a trainer's log, from epoch 0."""
    rows = [row for row in state.log_history if "dev_mlm" in row]
    numbered = [row | {"epoch": number} for number, row in enumerate(rows)]
    return TypeAdapter(list[AdaptEpoch]).validate_python(numbered)


class _LanguageModelTrainer(Trainer):
    """Adds up both losses over all masked pieces and all labelled pairs of a batch.

    The loss is the sum of their means (Devlin et al. 2019, appendix A.2), each over the whole
    batch, also where this is computed in parts.
    """

    loss_is_scaled_for_ga = True

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._chosen: Tensor | None = None
        self._sums = self._counts = torch.zeros(2, dtype=torch.float64)
        self.began = time.perf_counter()
        model: Any = self.model
        model.base_model.register_forward_hook(self._keep_chosen)

    def get_decay_parameter_names(self, model: nn.Module) -> list[str]:
        """Matrices decay, vectors (biases, norms) do not; names differ between architectures."""
        return [name for name, parameter in model.named_parameters() if parameter.dim() > 1]

    def get_batch_samples(self, *arguments: Any) -> tuple[list[Any], Tensor]:
        """The parts of a batch, and (2,) its masked pieces and labelled pairs."""
        parts, _ = super().get_batch_samples(*arguments)
        counts = torch.stack([_counts(part) for part in parts]).sum(0).to(self.args.device)
        self._counts = self._counts.to(counts.device) + counts
        return parts, counts.clamp(min=1)

    def compute_loss(
        self,
        model: nn.Module,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Any:
        """The share of a part in the loss of its batch; (2,) counts of the batch come with it."""
        assert num_items_in_batch is not None
        sums = self._losses(model, inputs)
        self._sums = self._sums.to(sums.device) + sums.detach()
        return (sums / num_items_in_batch).sum()

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """Logs the losses of the epoch: means over its training, and over dev."""
        sums, counts = torch.zeros(2, dtype=torch.float64), torch.zeros(2, dtype=torch.int64)
        loader, model = self.get_eval_dataloader(), self.model
        assert model is not None
        model.eval()
        with (
            torch.inference_mode(),
            stage("measuring perplexity", "batches", len(loader)) as advance,
        ):
            for batch in loader:
                counts = counts + _counts(batch).cpu()
                sums = sums + self._losses(model, self._prepare_inputs(batch)).cpu()
                advance(1)
        if not counts[0]:
            raise InputError("dev has no wordpiece to mask: the tokenizer knows none of its words")
        now = time.perf_counter()
        row = _means("train", self._sums, self._counts) | _means("dev", sums, counts)
        wrong = [loss for loss in row.values() if loss is not None and not math.isfinite(loss)]
        if wrong:
            raise InputError(
                f"the loss is {wrong[0]} in epoch {round(self.state.epoch or 0)}; lower "
                "--learning-rate, or use --precision fp32"
            )
        row["seconds"] = now - self.began
        self._sums = self._counts = torch.zeros(2, dtype=torch.float64)
        self.log(row)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, row)
        self.began = now
        return row

    def _losses(self, model: nn.Module, inputs: dict[str, Any]) -> Tensor:
        """(2,) summed masked-LM loss and next-sentence loss (0 without pairs)."""
        labels, following = inputs["labels"], inputs.get("next_sentence_label")
        given = {k: v for k, v in inputs.items() if k not in ("labels", "next_sentence_label")}
        self._chosen = labels != NONE
        output = model(**given)
        pieces = output.logits if following is None else output.prediction_logits
        mlm = cross_entropy(pieces[0].float(), labels[self._chosen], reduction="sum")
        if following is None:
            return torch.stack([mlm, torch.zeros_like(mlm)])
        nsp = output.seq_relationship_logits.float()
        return torch.stack([mlm, cross_entropy(nsp, following, ignore_index=NONE, reduction="sum")])

    def _keep_chosen(self, _module: nn.Module, _given: Any, output: Any) -> Any:
        """(R, longest, H) -> (1, M, H) between the encoder and the heads."""
        output.last_hidden_state = output.last_hidden_state[self._chosen].unsqueeze(0)
        return output


def _means(split: str, sums: Tensor, counts: Tensor) -> dict[str, Any]:
    """Mean losses by name; None where nothing was counted."""
    names = (f"{split}_mlm", f"{split}_nsp")
    losses = zip(names, sums.tolist(), counts.tolist(), strict=True)
    return {name: total / n if n else None for name, total, n in losses}


def _counts(batch: dict[str, Tensor]) -> Tensor:
    """(2,) masked pieces and labelled pairs."""
    masked = (batch["labels"] != NONE).sum()
    pairs = batch.get("next_sentence_label")
    return torch.stack([masked, masked * 0 if pairs is None else (pairs != NONE).sum()])


class _Progress(TrainerCallback):
    """Reports steps and epochs, and decides when a checkpoint is written."""

    def __init__(self, computation: str, advance: Callable[[int], None]) -> None:
        self.computation, self.advance = computation, advance
        self.evaluated, self.pace = time.perf_counter(), Pace()

    def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        report(str(history_of(state)[-1]))
        self.evaluated = time.perf_counter()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.advance(1)

    def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        control.should_save = self.pace.is_due() and state.global_step < state.max_steps
        return control

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Marks the checkpoint as complete and removes those before it."""
        latest = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        write_text(latest / COMPUTATION, self.computation)
        clear(Path(args.output_dir), keep=latest)
        self.pace.wrote(self.evaluated)
