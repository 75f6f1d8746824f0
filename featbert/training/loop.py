"""The one training loop, for both approaches. It knows no model.

A step is N sentence ids from one sampler (`objective.py`: its loss and gradients). After each epoch
dev is scored; the weights that were best on dev are kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from featbert.encoders.batching import TokenBudget, ranges
from featbert.encoders.device import Device, Precision, autocast, to_device
from featbert.encoders.memory import freed_memory_kept
from featbert.errors import InputError
from featbert.models.finetuned import FineTuneTagger
from featbert.progress import stage
from featbert.training.checkpoint import Checkpoint, Learner, Progress
from featbert.training.freezing import freeze_for_epoch
from featbert.training.gradients import GradientWatch, Wrong
from featbert.training.history import Epoch
from featbert.training.inputs import Inputs
from featbert.training.objective import Objective
from featbert.training.optimizer import (
    describe_groups,
    make_optimizer,
    make_schedule,
    rate_share,
)
from featbert.training.sampler import count_steps, epoch_batches
from featbert.training.settings import TrainingSettings

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
# Padded tokens of a batch of prediction over those of training. A GPU has room, since no gradients
# are kept. On a processor a BiLSTM's time steps want rows, as many as take no more memory than a
# step of training; an encoder is fastest where its caches hold the states.
PREDICTION_FACTOR: dict[str, dict[str, float]] = {
    "cpu": {"bilstm": 0.5, "encoder": 0.25},
    "cuda": {"bilstm": 4, "encoder": 4},
}


class TrainingError(InputError):
    """Training that went wrong: a loss or gradients that are not finite."""


@dataclass(frozen=True)
class Fitted:
    """The result of training; the tagger holds the best weights.

    Attributes:
        history: one row an epoch.
        best_epoch: from 1; the last one where dev was not scored.
        seconds: wall time of all epochs, dev scoring included.
        trained_parameters: parameters that training changed, in any epoch.
        flops: of training, dev scoring not included, estimated from shapes.
    """

    history: list[Epoch]
    best_epoch: int
    seconds: float
    trained_parameters: int
    flops: float


@freed_memory_kept()
def fit(
    tagger: nn.Module,
    inputs: Inputs,
    labels: Ints,
    settings: TrainingSettings,
    *,
    seed: int,
    score_dev: Callable[[], dict[str, float]] | None,
    documents: Ints | None = None,
    device: Device,
    precision: Precision = "fp32",
    budget: TokenBudget | None = None,
    on_step: Callable[[int, int], None] | None = None,
    on_epoch: Callable[[Epoch], None] | None = None,
    checkpoint: Checkpoint[Epoch] | None = None,
    told: Callable[[int], str] = "sentence {}".format,
) -> Fitted:
    """Trains the tagger and leaves it, in eval mode, with the weights that were best on dev.

    Args:
        labels: (N,) label of each word of the split.
        score_dev: values on dev by key with the present weights; the first chooses the epoch. None:
            all epochs are trained and the last weights kept.
        documents: (S,) document of each sentence where batches are drawn by document.
        budget: padded tokens computed at once; the settings' by default.
        on_step: called with steps done and steps in all.
        on_epoch: called with the history row of each epoch, those that a checkpoint kept included.
        checkpoint: where an interrupted training of the same kind is gone on from, and kept.
        told: what a sentence is called, given its number, where something is wrong with it.

    Raises:
        TrainingError: the loss or gradients are not finite.
    """
    torch.manual_seed(seed)
    lengths = np.diff(inputs.offsets)
    draw = {"batch_size": settings.batch_size, "seed": seed, "documents": documents}
    steps = count_steps(lengths, epochs=settings.epochs, **draw)  # type: ignore[arg-type]
    total = sum(steps)
    optimizer = make_optimizer(tagger, settings)
    schedule = make_schedule(optimizer, settings, total=total)
    scaler = torch.amp.GradScaler(device.kind, enabled=precision == "fp16")
    objective = Objective(
        tagger,
        inputs,
        torch.from_numpy(labels).to(device.torch),
        scaler,
        device,
        precision,
        budget or TokenBudget(settings.token_budget),
    )
    watch = GradientWatch(tagger, device.torch)
    history: list[Epoch] = []
    best: tuple[float, int, Mapping[str, Tensor]] | None = None
    flops = 0.0
    trained: dict[str, int] = {}  # sizes of parameters that some epoch trained
    step = 0
    started = time.perf_counter()
    learner = Learner(tagger, optimizer, schedule, scaler)
    resumed = None if checkpoint is None else checkpoint.resume(learner)
    if resumed is not None:
        (history, best, step, flops, trained), seconds = resumed
        started -= seconds
        resumed = None  # else the best weights of then stay in memory
        if on_epoch is not None:
            for row in history:
                on_epoch(row)
    for epoch in range(len(history) + 1, settings.epochs + 1):
        if best is not None and _is_patient_no_more(settings, epoch - 1, best[1]):
            break
        epoch_started = time.perf_counter()
        tagger.train()
        freeze_for_epoch(tagger, settings, epoch)
        trained |= {n: p.numel() for n, p in tagger.named_parameters() if p.requires_grad}
        loss_sum = torch.zeros((), device=device.torch)
        first_step = step
        batches = epoch_batches(lengths, epoch=epoch, **draw)  # type: ignore[arg-type]
        for number, sentences in enumerate(batches, 1):
            loss_sum, done = objective.gradients(sentences, loss_sum)
            flops += done
            scaler.unscale_(optimizer)
            watch.clip(settings.clip_norm, number, loss_sum)
            if watch.tells_at_once and (wrong := watch.found()):
                raise _not_finite(wrong, epoch, objective, sentences, told)
            scaler.step(optimizer)
            scaler.update()
            schedule.step()
            step += 1
            if on_step is not None:
                on_step(step, total)
        # fp16 leaves out steps that overflow; below a scale of 1 it does so without end.
        if (wrong := watch.found()) and not (scaler.is_enabled() and scaler.get_scale() >= 1):
            raise _not_finite(wrong, epoch)
        mean_loss = float(loss_sum) / len(labels)
        if not np.isfinite(mean_loss):
            raise TrainingError(
                f"a finite loss expected, found {mean_loss} in epoch {epoch}; "
                "lower --learning-rate, or use --precision fp32"
            )
        dev = None if score_dev is None else score_dev()
        share = max(
            rate_share(s, total=total, warmup=settings.warmup, schedule=settings.schedule)
            for s in range(first_step, step)
        )
        row = Epoch(
            epoch=epoch,
            train_loss=mean_loss,
            dev=dev,
            seconds=time.perf_counter() - epoch_started,
            groups=describe_groups(optimizer, share),
        )
        history.append(row)
        if on_epoch is not None:
            on_epoch(row)
        score = row.dev_score
        if score is not None and (best is None or score > best[0]):
            best = (score, epoch, {n: t.clone() for n, t in tagger.state_dict().items()})
        if checkpoint is not None and epoch < settings.epochs and checkpoint.is_due():
            progress = Progress(history, best, step, flops, trained)
            checkpoint.keep(learner, progress, time.perf_counter() - started)
    if best is not None:
        tagger.load_state_dict(dict(best[2]))
    tagger.eval()
    return Fitted(
        history,
        settings.epochs if best is None else best[1],
        time.perf_counter() - started,
        trained_parameters=sum(trained.values()),
        flops=flops,
    )


def _not_finite(
    wrong: Wrong,
    epoch: int,
    objective: Objective | None = None,
    sentences: Ints | None = None,
    told: Callable[[int], str] = str,
) -> TrainingError:
    """The error for gradients that are not finite, with or without their loss.

    Args:
        objective, sentences: of the step, where its weights are still those before it.
        told: what a sentence is called.
    """
    where = f"step {wrong.step} of epoch {epoch}"
    if objective is not None and sentences is not None:
        culprit = objective.culprit(sentences)
        batch = f"a batch with {told(int(sentences[0]))}"
        where += f", from {batch if culprit is None else told(culprit)}"
    return TrainingError(f"{wrong.told} in {where}; lower --learning-rate, or use --precision fp32")


def _is_patient_no_more(settings: TrainingSettings, epoch: int, best: int) -> bool:
    """Whether dev F1 did not rise for as many epochs as training waits for it."""
    return settings.patience is not None and epoch - best >= settings.patience


def predict(
    tagger: nn.Module,
    inputs: Inputs,
    settings: TrainingSettings,
    *,
    device: Device,
    precision: Precision = "fp32",
    budget: TokenBudget | None = None,
) -> Ints:
    """(N,) the most probable label of each word, in the text's order.

    Args:
        budget: of a batch; `prediction_budget` by default.
    """
    found = torch.empty(int(inputs.offsets[-1]), dtype=torch.int64, device=device.torch)

    def take(words: Tensor, logits: Tensor) -> None:
        found[words] = logits.argmax(1)

    budget = budget or prediction_budget(tagger, settings, device)
    _read_logits(tagger, inputs, budget, take, device=device, precision=precision)
    result: Ints = found.cpu().numpy()
    return result


def predict_probabilities(
    tagger: nn.Module,
    inputs: Inputs,
    settings: TrainingSettings,
    *,
    device: Device,
    precision: Precision = "fp32",
    budget: TokenBudget | None = None,
) -> tuple[Ints, Floats]:
    """(N,) the labels that `predict` gives, and (N, C) the probability of every label.

    The labels are taken from the logits: where rounding makes two probabilities equal, they are
    still those of `predict`.
    """
    n_words = int(inputs.offsets[-1])
    found = torch.empty(n_words, dtype=torch.int64, device=device.torch)
    shares = torch.empty((n_words, 0), device=device.torch)

    def take(words: Tensor, logits: Tensor) -> None:
        nonlocal shares
        if not shares.shape[1]:
            shares = shares.new_empty((n_words, logits.shape[1]))
        found[words] = logits.argmax(1)
        shares[words] = logits.float().softmax(1)

    budget = budget or prediction_budget(tagger, settings, device)
    _read_logits(tagger, inputs, budget, take, device=device, precision=precision)
    return found.cpu().numpy(), shares.cpu().numpy()


def prediction_budget(tagger: nn.Module, settings: TrainingSettings, device: Device) -> TokenBudget:
    """Padded tokens of a batch of prediction."""
    kind = "encoder" if isinstance(tagger, FineTuneTagger) else "bilstm"
    factor = PREDICTION_FACTOR[device.kind][kind]
    return TokenBudget(max(1, int(settings.token_budget * factor)))


def prediction_flops(
    tagger: nn.Module, inputs: Inputs, settings: TrainingSettings, device: Device
) -> float:
    """Operations of `predict` over the whole text, estimated from shapes."""
    parts = _prediction_parts(inputs, prediction_budget(tagger, settings, device))
    return sum(inputs.flops(tagger, ids, training=False) for ids in parts)


def _read_logits(
    tagger: nn.Module,
    inputs: Inputs,
    budget: TokenBudget,
    take: Callable[[Tensor, Tensor], None],
    *,
    device: Device,
    precision: Precision,
) -> None:
    """Gives `take` the numbers (W,) of each part's words and their logits (W, C)."""
    tagger.eval()
    lengths = np.diff(inputs.offsets)
    with (
        torch.inference_mode(),
        autocast(device, precision),
        stage("tagging", "words", int(lengths.sum())) as tell,
    ):

        def read(ids: Ints) -> None:
            words = torch.from_numpy(ranges(inputs.offsets[ids], lengths[ids]))
            take(to_device(words, device.torch), tagger(inputs.batch(ids)))
            tell(len(words))

        for ids in _prediction_parts(inputs, budget):
            budget.compute_parts(ids, read, size=inputs.tokens, cut=inputs.parts)


def _prediction_parts(inputs: Inputs, budget: TokenBudget) -> Iterator[Ints]:
    return inputs.parts(np.arange(len(inputs.offsets) - 1), budget.tokens)
