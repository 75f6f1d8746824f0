"""The loop of language-model fine-tuning, and the losses on dev.

A step is a batch of sequences of similar length. A batch over the token budget is computed in
parts whose losses are divided by the pieces and pairs of the whole batch. The loss is the mean
masked-LM loss plus the mean next-sentence loss (Devlin et al. 2019, appendix A.2).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.optim import AdamW
from torch.optim.lr_scheduler import LambdaLR

from featbert.encoders.batching import length_batches, padded_tokens
from featbert.encoders.device import Device, Precision, autocast
from featbert.encoders.fitting import TokenBudget
from featbert.encoders.memory import freed_memory_kept
from featbert.progress import stage
from featbert.training.adaptation_plan import AdaptationError, AdaptEpoch
from featbert.training.adaptation_settings import AdaptSettings
from featbert.training.checkpoint import Checkpoint, Learner, Progress
from featbert.training.gradients import GradientWatch, Wrong
from featbert.training.language_model import LanguageBatch, LanguageModel
from featbert.training.masking import MaskedText, mask_text
from featbert.training.optimizer import rate_share
from featbert.training.sampler import epoch_batches
from featbert.training.sentence_pairs import NO_PAIR, PieceText, Sequences, pairs, segments

Ints = NDArray[np.int64]
# Streams of random numbers beside the sampler's, which is (seed, epoch).
PAIRS, MASKS = 1, 2
# The epoch that dev is cut and masked for, once.
DEV = 0


@dataclass(frozen=True)
class Surroundings:
    """Pieces of a sequence, the seed, and where and in which precision to compute."""

    max_length: int
    seed: int
    device: Device
    precision: Precision


@dataclass(frozen=True)
class EpochText:
    """A text as one epoch reads it."""

    text: PieceText
    sequences: Sequences
    masked: MaskedText

    @cached_property
    def asked(self) -> Ints:
        """(R,) pieces of each sequence that are to be predicted."""
        before: Ints = np.concatenate([[0], np.cumsum(self.masked.chosen)])
        owned = np.diff(before[self.sequences.owned])[:, 0]
        asked: Ints = owned + np.diff(before[self.sequences.second])[:, 0]
        return asked

    @cached_property
    def labelled(self) -> Ints:
        """(R,) 1 where a sequence is a pair with a next-sentence label."""
        labelled: Ints = (self.sequences.labels != NO_PAIR).astype(np.int64)
        return labelled


@freed_memory_kept()
def fit_language_model(
    model: LanguageModel,
    train: PieceText,
    dev: PieceText,
    settings: AdaptSettings,
    where: Surroundings,
    *,
    budgets: Mapping[str, TokenBudget] | None = None,
    on_step: Callable[[int, int], None] | None = None,
    on_epoch: Callable[[AdaptEpoch], None] | None = None,
    checkpoint: Checkpoint[AdaptEpoch] | None = None,
) -> list[AdaptEpoch]:
    """Trains the model and leaves it, in eval mode, with the weights of the last epoch.

    Args:
        budgets: padded tokens computed at once in "training" and in "scoring" dev, halved where
            they do not fit; the settings' by default.
        on_step: called with steps done and steps in all.
        on_epoch: called with each row of the history, those that a checkpoint kept included.
        checkpoint: where an interrupted training of the same kind is gone on from, and kept.

    Raises:
        AdaptationError: the loss or gradients are not finite.
    """
    torch.manual_seed(where.seed)
    model.to(where.device.torch)
    total = sum(
        -(-len(cut(model, train, where, epoch)) // settings.batch_size)
        for epoch in range(1, settings.epochs + 1)
    )
    optimizer = _make_optimizer(model, settings)
    schedule = LambdaLR(
        optimizer, lambda step: rate_share(step, total=total, warmup=settings.warmup)
    )
    scaler = torch.amp.GradScaler(where.device.kind, enabled=where.precision == "fp16")
    budgets = budgets or {
        name: TokenBudget(settings.token_budget) for name in ("training", "scoring")
    }
    watch = GradientWatch(model, where.device.torch)
    dev_text = epoch_text(model, dev, settings, where, DEV)
    history: list[AdaptEpoch] = []
    step, started = 0, time.perf_counter()
    learner = Learner(model, optimizer, schedule, scaler)
    resumed = None if checkpoint is None else checkpoint.resume(learner)
    if resumed is not None:
        (history, _, step, _, _), seconds = resumed
        started -= seconds
        if on_epoch is not None:
            for row in history:
                on_epoch(row)

    def close(epoch: int, train_losses: tuple[float | None, float | None], began: float) -> None:
        dev_losses = evaluate(model, dev_text, where, budgets["scoring"])
        _check_finite(epoch, *train_losses, *dev_losses)
        mlm, nsp = dev_losses
        assert mlm is not None
        history.append(AdaptEpoch(epoch, *train_losses, mlm, nsp, time.perf_counter() - began))
        if on_epoch is not None:
            on_epoch(history[-1])

    if not history:
        close(0, (None, None), time.perf_counter())
    for epoch in range(history[-1].epoch + 1, settings.epochs + 1):
        began = time.perf_counter()
        model.train()
        read = epoch_text(model, train, settings, where, epoch)
        objective = _Objective(model, read, where, scaler, budgets["training"])
        batches = epoch_batches(
            objective.lengths, settings.batch_size, seed=where.seed, epoch=epoch
        )
        sums = torch.zeros(2, dtype=torch.float64, device=where.device.torch)
        for number, rows in enumerate(batches, 1):
            sums = objective.gradients(rows, sums)
            scaler.unscale_(optimizer)
            watch.clip(settings.clip_norm, number, sums.sum())
            if watch.tells_at_once and (wrong := watch.found()):
                raise _not_finite(wrong, epoch)
            scaler.step(optimizer)
            scaler.update()
            schedule.step()
            step += 1
            if on_step is not None:
                on_step(step, total)
        # fp16 leaves out steps that overflow; below a scale of 1 it does so without end.
        if (wrong := watch.found()) and not (scaler.is_enabled() and scaler.get_scale() >= 1):
            raise _not_finite(wrong, epoch)
        close(epoch, _means(sums, read), began)
        if checkpoint is not None and epoch < settings.epochs and checkpoint.is_due():
            progress = Progress(history, None, step, 0.0, {})
            checkpoint.keep(learner, progress, time.perf_counter() - started)
    model.eval()
    return history


def evaluate(
    model: LanguageModel, read: EpochText, where: Surroundings, budget: TokenBudget
) -> tuple[float | None, float | None]:
    """Mean masked-LM loss and mean next-sentence loss (None without pairs) of a text."""
    model.eval()
    sums = torch.zeros(2, dtype=torch.float64, device=where.device.torch)
    lengths = model.lengths(read.sequences)
    with torch.inference_mode(), stage("measuring perplexity", "sequences", len(lengths)) as tell:

        def measure(rows: Ints) -> None:
            nonlocal sums
            batch = model.batch(read.text, read.sequences, read.masked, rows)
            losses = _losses(model, batch.to(where.device.torch), where)
            sums = sums + torch.stack(losses)
            tell(len(rows))

        budget.attempt_lengths(lengths, measure)
    return _means(sums, read)


def epoch_text(
    model: LanguageModel,
    text: PieceText,
    settings: AdaptSettings,
    where: Surroundings,
    epoch: int,
) -> EpochText:
    """A text, cut and masked for one epoch: equal seeds and epochs give equal texts."""
    sequences = cut(model, text, where, epoch)
    masked = mask_text(
        text.pieces,
        text.words,
        sequences.places(),
        settings.masking,
        model.vocabulary,
        np.random.default_rng([where.seed, epoch, MASKS]),
    )
    return EpochText(text, sequences, masked)


def cut(model: LanguageModel, text: PieceText, where: Surroundings, epoch: int) -> Sequences:
    """The sequences of one epoch: pairs where the model has a next-sentence head."""
    single, pair = _capacities(model, where)
    if not model.nsp:
        return segments(text, single)
    random = np.random.default_rng([where.seed, epoch, PAIRS])
    return pairs(text, capacity=pair, single=single, random=random)


def longest_sentence(model: LanguageModel, where: Surroundings) -> int:
    """Pieces above which a sentence is windowed."""
    single, pair = _capacities(model, where)
    return pair // 2 if model.nsp else single


def _capacities(model: LanguageModel, where: Surroundings) -> tuple[int, int]:
    """Pieces that a sequence holds beside the specials: alone, and A and B of a pair."""
    single = where.max_length - model.special
    return single, single - model.separator


@dataclass(frozen=True)
class _Objective:
    """The losses of batches of one epoch's sequences, and their gradients."""

    model: LanguageModel
    read: EpochText
    where: Surroundings
    scaler: torch.amp.GradScaler
    budget: TokenBudget

    @cached_property
    def lengths(self) -> Ints:
        """(R,) pieces of each sequence."""
        return self.model.lengths(self.read.sequences)

    def gradients(self, rows: Ints, sums: Tensor) -> Tensor:
        """Leaves the gradients of a batch at the model; gives `sums` with its losses added."""
        return self.budget.attempt(
            lambda tokens: self._within(tokens, rows, sums),
            lambda: max(
                padded_tokens(self.lengths[rows[part]])
                for part in length_batches(self.lengths[rows], self.budget.tokens)
            ),
        )

    def _within(self, tokens: int, rows: Ints, sums: Tensor) -> Tensor:
        read, sums = self.read, sums.clone()
        asked, labelled = int(read.asked[rows].sum()), int(read.labelled[rows].sum())
        self.model.zero_grad(set_to_none=True)
        for part in length_batches(self.lengths[rows], tokens):
            batch = self.model.batch(read.text, read.sequences, read.masked, rows[part])
            mlm, nsp = _losses(self.model, batch.to(self.where.device.torch), self.where)
            loss = mlm / max(1, asked) + nsp / max(1, labelled)
            self.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
            sums += torch.stack([mlm, nsp]).detach()
        return sums


def _losses(
    model: LanguageModel, batch: LanguageBatch, where: Surroundings
) -> tuple[Tensor, Tensor]:
    """Summed masked-LM loss and next-sentence loss (0 without pairs)."""
    with autocast(where.device, where.precision):
        pieces, following = model(batch)
    mlm = functional.cross_entropy(pieces.float(), batch.targets, reduction="sum")
    if following is None:
        return mlm, mlm.new_zeros(())
    return mlm, functional.cross_entropy(
        following.float(), batch.labels, ignore_index=NO_PAIR, reduction="sum"
    )


def _means(sums: Tensor, read: EpochText) -> tuple[float | None, float | None]:
    mlm, nsp = sums.tolist()
    asked, labelled = int(read.asked.sum()), int(read.labelled.sum())
    return mlm / max(1, asked), nsp / labelled if labelled else None


def _make_optimizer(model: nn.Module, settings: AdaptSettings) -> AdamW:
    """AdamW as in `training/optimizer.py`: decay for matrices, none for vectors."""
    parameters = list(model.parameters())
    return AdamW(
        [
            {
                "params": [p for p in parameters if p.dim() > 1],
                "weight_decay": settings.weight_decay,
            },
            {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
        ],
        lr=settings.learning_rate,
        betas=(0.9, 0.999),
        eps=1e-6,
        fused=True,
    )


def _not_finite(wrong: Wrong, epoch: int) -> AdaptationError:
    return AdaptationError(
        f"{wrong.told} in step {wrong.step} of epoch {epoch}; "
        "lower --learning-rate, or use --precision fp32"
    )


def _check_finite(epoch: int, *losses: float | None) -> None:
    wrong = [loss for loss in losses if loss is not None and not np.isfinite(loss)]
    if wrong:
        raise AdaptationError(
            f"a finite loss expected, found {wrong[0]} in epoch {epoch}; "
            "lower --learning-rate, or use --precision fp32"
        )
