"""Training an encoder as a language model: what transformers' `Trainer` needs for it.

Devlin et al. 2019, section 3.1 and appendix A. The text is cut into blocks of whole sentences of
one document; one that is too long is split between words, so that every piece is read once an
epoch. Masks and pairs follow from the seed, the epoch and the number of the block.
"""

import itertools
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import TypeAdapter
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from transformers import (
    AutoModelForMaskedLM,
    AutoModelForPreTraining,
    DataCollatorForTokenClassification,
    PrinterCallback,
    Trainer,
    TrainingArguments,
)

from featbert.adaptation.adapt import ENCODER, MAX_LENGTH, AdaptationPlan, AdaptEpoch, clear
from featbert.config import Adapt
from featbert.data.corpus import Sentence
from featbert.encoders.batching import Ints
from featbert.encoders.loading import load_encoder, pretrained
from featbert.encoders.source import EncoderSource
from featbert.encoders.tokenizer import WordPieces, pretrained_tokenizer
from featbert.errors import InputError
from featbert.io import explaining, write_text
from featbert.progress import Advance, report, stage
from featbert.training.checkpoint import Pace

# Next-sentence labels as pre-trained heads have them, and the label that no loss counts.
FOLLOWS, RANDOM, NONE = 0, 1, -100
# What is to be predicted, by the order in which models give their logits.
TARGETS = ("labels", "next_sentence_label")
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

    Sentences without a document are a block each. With `even`, a document that would be one block
    is two where it has two sentences.
    """
    pieces, of_words, unknown = wordpieces.pieces(
        [s.words for s in sentences], [s.touches for s in sentences]
    )
    firsts = np.append(of_words[:, 0], len(pieces))
    # The word of each piece; of several words that share it, the last
    words = np.searchsorted(firsts[:-1], np.arange(len(pieces)), side="right") - 1
    ends = firsts[np.cumsum([0, *map(len, sentences)])]
    together = all(s.document is not None for s in sentences)
    documents = [s.document if together else n for n, s in enumerate(sentences)]
    blocks: list[Block] = []
    groups = itertools.groupby(range(len(sentences)), documents.__getitem__)
    for number, members in enumerate(list(group) for _, group in groups):
        first, last = ends[members[0]], ends[members[-1] + 1]
        starts = [first]
        for start, end in itertools.pairwise(ends[members[0] : members[-1] + 2]):
            halfway = even and len(starts) == 1 and 2 * end > first + last
            if start > starts[-1] and (halfway or end - starts[-1] > capacity):
                starts.append(start)
            while end - starts[-1] > capacity:  # within a word only where it must be
                most = starts[-1] + capacity
                cut = firsts[np.searchsorted(firsts, most, side="right") - 1]
                starts.append(cut if cut > starts[-1] else most)
        edges = itertools.pairwise([*starts, last])
        blocks += [Block(pieces[a:b], words[a:b], number) for a, b in edges]
    split = int((np.diff(ends) > capacity).sum())
    return blocks, {"split_sentences": split, "unknown_words": unknown}


def pair_blocks(blocks: Sequence[Block], random: np.random.Generator) -> list[tuple[int, int, int]]:
    """Rows of A, B and label that hold each block once.

    The blocks of a document are A and B in turn. Half of the pairs, drawn at random, exchange their
    Bs, with pairs of other documents as far as these suffice. A block that has no partner in its
    document is a row without B (-1) and without label.
    """
    pairs, alone = [], []
    for _, group in itertools.groupby(range(len(blocks)), lambda b: blocks[b].document):
        numbers = list(group)
        pairs += [[*pair, FOLLOWS] for pair in zip(numbers[0::2], numbers[1::2], strict=False)]
        alone += [(number, -1, NONE) for number in numbers[len(numbers) // 2 * 2 :]]
    if len(pairs) > 1:
        chosen = sorted(random.permutation(len(pairs))[: max(2, len(pairs) // 2)])
        # They are sorted by document, so half a round leads out of all but a very large one.
        seconds = np.roll([pairs[i][1] for i in chosen], len(chosen) // 2).tolist()
        for i, second in zip(chosen, seconds, strict=True):
            pairs[i][1:] = second, RANDOM
    return [(a, b, label) for a, b, label in pairs] + alone


def mask_pieces(
    pieces: Ints, words: Ints, settings: Adapt, vocabulary: Vocabulary, random: np.random.Generator
) -> tuple[Ints, NDArray[np.bool_]]:
    """The pieces of a sequence as the encoder reads them, and which of them it is to predict.

    `words` (P,) has the word of each piece, -1 for specials. With `whole_word`, the pieces of a
    word are chosen together and share one fate. Pieces are taken until their share is reached.
    """
    maskable = (words >= 0) & ~np.isin(pieces, vocabulary.special)
    units = np.unique(words, return_inverse=True)[1] if settings.whole_word else slice(None)
    order, fate = random.random((2, len(pieces)))[:, units]
    order[~maskable] = 2.0
    last = max(1, round(settings.share * int(maskable.sum())))
    chosen = maskable & (order <= np.sort(order)[last - 1])
    masked = settings.mask_share
    swapped = chosen & (fate >= masked) & (fate < masked + settings.random_share)
    read = np.where(chosen & (fate < masked), vocabulary.mask, pieces)
    read[swapped] = random.choice(vocabulary.ordinary, int(swapped.sum()))
    return read, chosen


@dataclass
class MaskedText(torch.utils.data.Dataset[dict[str, Any]]):
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

    def __getitem__(self, row: int) -> dict[str, Any]:
        """input_ids and labels, as lists; for BERT's two heads token_type_ids and a label, too."""
        first, second, label = self.rows[row]
        prefix, suffix = self.wordpieces.prefix, self.wordpieces.suffix
        # [CLS] A [SEP], and B [SEP] where there is one
        pieces, words, types = [*prefix], [-1] * len(prefix), [0] * len(prefix)
        for kind, number in enumerate((first, second) if second >= 0 else (first,)):
            block = self.blocks[number]
            pieces += [*block.pieces.tolist(), *suffix]
            words += [*block.words.tolist(), *[-1] * len(suffix)]
            types += [kind] * (len(pieces) - len(types))
        random = np.random.default_rng([self.seed, self.epoch, row])
        read, chosen = mask_pieces(
            np.array(pieces), np.array(words), self.settings, self.vocabulary, random
        )
        labels = np.where(chosen, pieces, NONE)
        example: dict[str, Any] = {"input_ids": read.tolist(), "labels": labels.tolist()}
        if self.nsp:
            example |= {"token_type_ids": types, "next_sentence_label": label}
        return example


def train_language_model(plan: AdaptationPlan, folder: Path, computation: str) -> dict[str, Any]:
    """Trains encoder and heads on train, evaluates on dev; returns what the record says of it.

    The last checkpoint in `folder` with the same `computation` is resumed from; the model is
    written to the folder's `ENCODER`.
    """
    source, settings, nsp, seed = plan.source, plan.settings, plan.nsp, plan.asked["seed"]
    encoder = load_encoder(source)  # checks the checkpoint, and knows its tokenizer and positions
    wordpieces, positions = encoder.wordpieces, encoder.positions
    model, tokenizer, fresh = load_language_model(source, nsp=nsp, seed=seed)
    longest = settings.max_length or min(MAX_LENGTH, positions)
    if longest > positions:
        raise InputError(
            f"--max-length {longest} is too long for {source.name}; give at most {positions}"
        )
    capacity = longest - wordpieces.n_special
    if nsp:
        capacity = (capacity - len(wordpieces.suffix)) // 2
    texts = [plan.corpus[name].sentences for name in ("train", "dev")]
    cut = [cut_blocks(sentences, wordpieces, capacity, even=nsp) for sentences in texts]
    train, dev = (
        MaskedText(blocks, wordpieces, vocabulary_of(tokenizer), settings, nsp=nsp, seed=seed)
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
        seed=seed,
        use_cpu=plan.device.kind == "cpu",
        bf16=plan.asked["precision"] == "bf16",
        fp16=plan.asked["precision"] == "fp16",
        dataloader_pin_memory=plan.device.kind == "cuda",
        eval_strategy="epoch",
        eval_on_start=checkpoint is None,
        save_strategy="no",  # `evaluate` decides
        logging_strategy="no",
        remove_unused_columns=False,
        disable_tqdm=True,
        log_level="error",
        report_to="none",
    )
    arguments._n_gpu = min(1, arguments.n_gpu)  # the first GPU alone, as elsewhere in featbert
    collate = DataCollatorForTokenClassification(tokenizer, label_pad_token_id=NONE)
    with stage(f"adapting {source.name}", "steps", steps, done=_steps(checkpoint)) as advance:
        trainer = _LanguageModelTrainer(
            model, arguments, collate, train, dev, computation=computation, advance=advance
        )
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    model.cpu().eval().save_pretrained(folder / ENCODER)
    return {
        "sequence_length": longest,
        "counts": counts,
        "fresh": fresh,
        "history": [vars(row) | {"dev_perplexity": row.dev_perplexity} for row in trainer.history],
        "seconds": sum(row.seconds for row in trainer.history),
    }


def load_language_model(
    source: EncoderSource, *, nsp: bool, seed: int
) -> tuple[Any, Any, tuple[str, ...]]:
    """The encoder with heads in fp32, its tokenizer, and the parts it lacks, drawn from `seed`."""
    inputs = ["input_ids", "attention_mask"]
    tokenizer = pretrained_tokenizer(source, padding_side="right", model_input_names=inputs)
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.unk_token
    if tokenizer.mask_token_id is None:
        raise InputError(
            f"the tokenizer of {source.name} has no mask token; use an encoder that was trained "
            "with one, such as bert-base-cased"
        )
    architecture: Any = AutoModelForPreTraining if nsp else AutoModelForMaskedLM
    torch.manual_seed(seed)
    model, info = pretrained(source, architecture, dtype=torch.float32)
    lacking = [key for key in info["missing_keys"] if key not in model.all_tied_weights_keys]
    return model, tokenizer, tuple(sorted({key.rpartition(".")[0] for key in lacking}))


def vocabulary_of(tokenizer: Any) -> Vocabulary:
    """What masking must know of a tokenizer of transformers."""
    added = [i for i, token in tokenizer.added_tokens_decoder.items() if token.special]
    special = np.unique([*tokenizer.all_special_ids, *added])
    ordinary = np.setdiff1d(list(tokenizer.get_vocab().values()), special)
    return Vocabulary(int(tokenizer.mask_token_id), ordinary, special)


def last_checkpoint(folder: Path, computation: str) -> Path | None:
    """The latest complete checkpoint of this training in a folder."""
    marks = folder.glob(f"checkpoint-*/{COMPUTATION}")
    found = [mark.parent for mark in marks if mark.read_text("utf-8") == computation]
    return max(found, key=_steps, default=None)


def _steps(checkpoint: Path | None) -> int:
    """checkpoint-120 -> 120"""
    return int(checkpoint.name.rpartition("-")[2]) if checkpoint else 0


class _LanguageModelTrainer(Trainer):
    """Adds up both losses over all masked pieces and all labelled pairs of a batch.

    The loss is the sum of their means (Devlin et al. 2019, appendix A.2), each over the whole
    batch, also where this is computed in parts.
    """

    loss_is_scaled_for_ga = True

    def __init__(self, *given: Any, computation: str, advance: Advance) -> None:
        super().__init__(*given)
        self.remove_callback(PrinterCallback)
        self.computation, self.advance, self.pace = computation, advance, Pace()
        self._began = time.perf_counter()
        self._totals = torch.zeros(2, 1, dtype=torch.float64, device=self.args.device)
        model: Any = self.model
        model.base_model.register_forward_hook(self._keep_chosen)

    @property
    def history(self) -> list[AdaptEpoch]:
        """The epochs in the log, those before an interruption included."""
        rows = [row for row in self.state.log_history if "dev_mlm" in row]
        numbered = [row | {"epoch": number} for number, row in enumerate(rows)]
        return TypeAdapter(list[AdaptEpoch]).validate_python(numbered)

    def get_batch_samples(self, *given: Any) -> tuple[list[Any], Tensor]:
        """The parts of a batch, and (K,) its masked pieces and labelled pairs."""
        parts, _ = super().get_batch_samples(*given)
        self.advance(1)
        counts = torch.stack([_counts(part) for part in parts]).sum(0)
        return parts, counts.clamp(min=1).to(self.args.device)

    def compute_loss(
        self, model: nn.Module, inputs: Any, *_: Any, num_items_in_batch: Any = None, **__: Any
    ) -> Any:
        """The share of a part in the loss of its batch; (K,) counts of the batch come with it."""
        return (self._losses(model, inputs) / num_items_in_batch).sum()

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """Logs the losses of an epoch, and decides whether a checkpoint is written."""
        row = {f"train_{name}": loss for name, loss in self._means().items()}
        loader, model = self.get_eval_dataloader(), self.model
        assert model is not None
        model.eval()
        what = "measuring perplexity"
        with torch.inference_mode(), stage(what, "batches", len(loader)) as advance:
            for batch in loader:
                self._losses(model, self._prepare_inputs(batch))
                advance(1)
        row |= {f"dev_{name}": loss for name, loss in self._means().items()}
        if "dev_mlm" not in row:
            raise InputError("dev has no wordpiece to mask: the tokenizer knows none of its words")
        if wrong := [loss for loss in row.values() if not math.isfinite(loss)]:
            raise InputError(
                f"the loss is {wrong[0]} in epoch {round(self.state.epoch or 0)}; lower "
                "--learning-rate, or use --precision fp32"
            )
        now = time.perf_counter()
        self.log(row | {"seconds": now - self._began})
        self._began = now
        report(str(self.history[-1]))
        unfinished = 0 < self.state.global_step < self.state.max_steps
        self.control.should_save = unfinished and self.pace.is_due()
        return row

    def _save_checkpoint(self, *given: Any) -> None:
        """Marks the checkpoint as complete and removes those before it."""
        began, folder = time.perf_counter(), Path(str(self.args.output_dir))
        with explaining(folder, RuntimeError):
            super()._save_checkpoint(*given)
        latest = folder / f"checkpoint-{self.state.global_step}"
        write_text(latest / COMPUTATION, self.computation)
        clear(folder, keep=latest)
        self.pace.wrote(began)

    def _means(self) -> dict[str, float]:
        """Mean losses since the last call by name, but for those of which nothing was counted."""
        columns = zip(("mlm", "nsp"), *self._totals.tolist(), strict=False)
        self._totals = torch.zeros_like(self._totals)
        return {name: total / n for name, total, n in columns if n}

    def _losses(self, model: nn.Module, inputs: dict[str, Any]) -> Tensor:
        """(K,) summed losses: of masked pieces and, where the model has two heads, of pairs."""
        given = {key: value for key, value in inputs.items() if key not in TARGETS}
        self._chosen = inputs["labels"] != NONE
        logits: Any = model(**given)
        targets = [inputs["labels"][self._chosen], *(inputs[k] for k in TARGETS[1:] if k in inputs)]
        loss = partial(cross_entropy, ignore_index=NONE, reduction="sum")
        pairs = zip(logits.to_tuple(), targets, strict=False)
        sums = torch.stack([loss(one.float().flatten(0, -2), target) for one, target in pairs])
        self._totals = self._totals + torch.stack([sums.detach(), _counts(inputs)])
        return sums

    def _keep_chosen(self, _module: nn.Module, _given: Any, output: Any) -> Any:
        """(R, longest, H) -> (1, M, H) between the encoder and the heads."""
        output.last_hidden_state = output.last_hidden_state[self._chosen].unsqueeze(0)
        return output


def _counts(batch: dict[str, Tensor]) -> Tensor:
    """(K,) masked pieces and labelled pairs."""
    return torch.stack([(batch[key] != NONE).sum() for key in TARGETS if key in batch])
