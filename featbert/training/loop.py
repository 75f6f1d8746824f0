"""The one training loop, and prediction. It knows no task, head or tuning.

After each epoch dev is scored; the weights that were best on dev are kept.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from featbert.config import Settings
from featbert.encoders.batching import Ints, TokenBudget
from featbert.encoders.device import Device, autocast, to_device
from featbert.encoders.memory import freed_memory_kept
from featbert.errors import InputError
from featbert.models.model import Model
from featbert.progress import stage
from featbert.training.checkpoint import Checkpoint, Learner, Progress
from featbert.training.gradients import GradientWatch, NonFinite
from featbert.training.history import Epoch
from featbert.training.inputs import Inputs
from featbert.training.optimizer import describe_groups, make_optimizer, make_schedule, rate_share
from featbert.training.sampler import count_steps, epoch_batches
from featbert.training.step import Compute, Step, Targets

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Fitted:
    """The result of training; the model holds the weights of `best_epoch` (from 1).

    `trained` has sizes of the parameters that training changed, in any epoch, by name; `flops` are
    estimated from shapes, without dev scoring.
    """

    history: list[Epoch]
    best_epoch: int
    seconds: float
    trained: Mapping[str, int]
    flops: float


@freed_memory_kept()
def fit(
    model: Model,
    inputs: Inputs,
    targets: Targets,
    settings: Settings,
    compute: Compute,
    *,
    seed: int,
    score_dev: Callable[[], dict[str, float]] | None = None,
    documents: Ints | None = None,
    on_epoch: Callable[[Epoch], None] | None = None,
    checkpoint: Checkpoint | None = None,
    name_of: Callable[[int], str] = "sentence {}".format,
) -> Fitted:
    """Trains the model and leaves it, in eval mode, with the weights that were best on dev.

    Args:
        targets: of the inputs' items.
        score_dev: values on dev with the model as it is; the first one chooses the epoch. None
            trains all epochs and keeps the last weights.
        documents: (S,) document of each sequence where batches are drawn by document.
        on_epoch: called with the history row of each epoch, including those of the checkpoint.
        checkpoint: where an interrupted training of the same kind resumes from, and is kept.

    InputError where the loss or gradients are not finite, or a batch does not fit in memory.
    """
    torch.manual_seed(seed)
    device = compute.device
    lengths = np.diff(inputs.offsets)
    draw = {"batch_size": settings.batch_size, "seed": seed, "documents": documents}
    steps = count_steps(lengths, epochs=settings.epochs, **draw)  # type: ignore[arg-type]
    total = sum(steps)
    optimizer = make_optimizer(model, settings)
    kept = [name for name, p in model.named_parameters() if p.requires_grad]
    schedule = make_schedule(optimizer, settings, total=total)
    scaler = torch.amp.GradScaler(device.kind, enabled=compute.precision == "fp16")
    there = dataclasses.replace(targets, values=targets.values.to(device.torch))
    training = Step(model, inputs, there, scaler, compute, settings.token_budget)
    watch = GradientWatch(model, device.torch)
    history: list[Epoch] = []
    best: tuple[float, int, Mapping[str, Tensor]] | None = None
    flops = 0.0
    trained: dict[str, int] = {}
    step = 0
    started = time.perf_counter()
    learner = Learner(model, kept, optimizer, schedule, scaler)
    if checkpoint is not None and (resumed := checkpoint.resume(learner)) is not None:
        (history, best, step, flops, trained), seconds = resumed
        started -= seconds
        del resumed  # else the best weights of then stay in memory
        if on_epoch is not None:
            for row in history:
                on_epoch(row)
    with stage("training", "steps", total) as advance:
        advance(step)
        for epoch in range(len(history) + 1, settings.epochs + 1):
            patience = settings.patience
            if best is not None and patience is not None and epoch - 1 - best[1] >= patience:
                break
            epoch_started = time.perf_counter()
            model.train()
            model.set_trained(settings, epoch)
            trained |= {n: p.numel() for n, p in model.named_parameters() if p.requires_grad}
            loss_sum = torch.zeros((), device=device.torch)
            first_step = step
            batches = epoch_batches(lengths, epoch=epoch, **draw)  # type: ignore[arg-type]
            for number, sequences in enumerate(batches, 1):
                loss_sum, done = training.gradients(sequences, loss_sum)
                flops += done
                scaler.unscale_(optimizer)
                watch.clip(settings.clip_norm, number, loss_sum)
                if watch.is_immediate and (wrong := watch.found()):
                    raise _not_finite(wrong, epoch, _blame(training, sequences, name_of))
                scaler.step(optimizer)
                scaler.update()
                schedule.step()
                step += 1
                advance(1)
            # fp16 leaves out steps that overflow; below a scale of 1 it does so without end.
            if (wrong := watch.found()) and not (scaler.is_enabled() and scaler.get_scale() >= 1):
                raise _not_finite(wrong, epoch)
            mean_loss = float(loss_sum) / targets.losses(np.arange(len(lengths)))
            if not np.isfinite(mean_loss):
                raise InputError(
                    f"the loss is {mean_loss} in epoch {epoch}; "
                    "lower --learning-rate, or use --precision fp32"
                )
            dev = None if score_dev is None else score_dev()
            share = max(
                rate_share(s, total=total, warmup=settings.warmup, schedule=settings.schedule)
                for s in range(first_step, step)
            )
            groups = describe_groups(optimizer, share)
            row = Epoch(epoch, mean_loss, dev, time.perf_counter() - epoch_started, groups)
            history.append(row)
            if on_epoch is not None:
                on_epoch(row)
            score = row.dev_score
            if score is not None and (best is None or score > best[0]):
                best = (score, epoch, {n: t.clone() for n, t in learner.weights().items()})
            if checkpoint is not None and epoch < settings.epochs and checkpoint.pace.is_due():
                progress = Progress(history, best, step, flops, trained)
                checkpoint.keep(learner, progress, time.perf_counter() - started)
    if best is not None:
        learner.set_weights(best[2])
    model.eval()
    best_epoch = settings.epochs if best is None else best[1]
    return Fitted(history, best_epoch, time.perf_counter() - started, trained, flops)


def _not_finite(wrong: NonFinite, epoch: int, where: str = "") -> InputError:
    return InputError(
        f"{wrong.description} in step {wrong.step} of epoch {epoch}{where}; "
        "lower --learning-rate, or use --precision fp32"
    )


def _blame(training: Step, sequences: Ints, name_of: Callable[[int], str]) -> str:
    """The sequence that makes a step not finite; the weights must be those before the step."""
    culprit = training.culprit(sequences)
    if culprit is None:
        return f", in a batch with {name_of(int(sequences[0]))}"
    return f", in {name_of(culprit)}"


def predict(
    model: Model, inputs: Inputs, offsets: Ints, compute: Compute, budget: TokenBudget
) -> Ints:
    """(T,) the answer for each item, in the text's order: a number of a class, or a score.

    `offsets` (S + 1,) are the items before each sequence; `budget` as in `prediction_budget`.
    """

    def answer(*batch: Any) -> tuple[Tensor, ...]:
        return (model.decode(*batch),)

    return _answers(model, inputs, offsets, compute, budget, answer)[0]


def predict_probabilities(
    model: Model, inputs: Inputs, offsets: Ints, compute: Compute, budget: TokenBudget
) -> tuple[Ints, Floats]:
    """(T,) the answers that `predict` gives, and (T, C) the probability of every class."""
    answers, shares = _answers(model, inputs, offsets, compute, budget, model.probabilities)
    return answers, shares


def prediction_budget(inputs: Inputs, settings: Settings, device: Device) -> int:
    """Padded tokens of a batch of prediction."""
    return max(1, int(settings.token_budget * inputs.prediction_factor[device.kind]))


def prediction_flops(model: Model, inputs: Inputs, settings: Settings, device: Device) -> float:
    """Operations of `predict` over the whole text, estimated from shapes."""
    everything = np.arange(len(inputs.offsets) - 1)
    parts = inputs.parts(everything, prediction_budget(inputs, settings, device))
    return sum(inputs.flops(model, ids, training=False) for ids in parts)


def _answers(
    model: Model,
    inputs: Inputs,
    offsets: Ints,
    compute: Compute,
    budget: TokenBudget,
    answer: Callable[..., tuple[Tensor, ...]],
) -> list[NDArray[Any]]:
    """(T, ...) each of what `answer` gives for a batch and its layout, in the text's order."""
    model.eval()
    items = Targets(torch.empty(0), offsets)
    found: list[Tensor] = []
    with (
        torch.inference_mode(),
        autocast(compute.device, compute.precision),
        stage("predicting", "items", len(items)) as advance,
    ):

        def read(ids: Ints) -> None:
            rows = torch.from_numpy(items.rows(ids))
            places = to_device(rows, compute.device.torch)
            parts = answer(inputs.batch(ids, budget.tokens), inputs.layout(ids))
            if not found:
                found.extend(part.new_empty((len(items), *part.shape[1:])) for part in parts)
            for whole, part in zip(found, parts, strict=True):
                whole[places] = part
            advance(len(rows))

        everything = np.arange(len(inputs.offsets) - 1)
        for ids in inputs.parts(everything, budget.tokens):
            budget.compute_parts(ids, read, size=inputs.tokens, cut=inputs.parts)
    return [whole.cpu().numpy() for whole in found] or [np.empty(0), np.empty(0)]
