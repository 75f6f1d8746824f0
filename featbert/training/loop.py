"""The one training loop, and prediction. It knows no task, head or tuning.

After each epoch dev is scored; the weights that were best on dev are kept.
"""

import dataclasses
import time
from collections.abc import Callable
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
from featbert.training.checkpoint import Checkpoint, Learner
from featbert.training.history import Epoch, Progress
from featbert.training.inputs import Inputs
from featbert.training.optimizer import describe_groups, make_optimizer, make_schedule
from featbert.training.sampler import count_steps, epoch_batches
from featbert.training.step import Compute, GradientWatch, Step, Targets


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
    on_epoch: Callable[[Epoch], None] = lambda row: None,
    is_over: Callable[[Progress], bool] = lambda progress: False,
    checkpoint: Checkpoint | None = None,
    name_of: Callable[[int], str] = "sentence {}".format,
) -> Progress:
    """Trains the model and leaves it, in eval mode, with the weights that were best on dev.

    Args:
        targets: of the inputs' items.
        score_dev: values on dev with the model as it is; the first one chooses the epoch. None
            trains all epochs and keeps the last weights.
        documents: (S,) document of each sequence where batches are drawn by document.
        on_epoch: called with the history row of each epoch, including those of the checkpoint.
        is_over: asked after each epoch; whether training ends before its last one.
        checkpoint: where an interrupted training of the same kind resumes from, and is kept.

    InputError where the loss or gradients are not finite, or a batch does not fit in memory.
    """
    torch.manual_seed(seed)
    device = compute.device
    lengths = np.diff(inputs.offsets)
    draw = {"batch_size": settings.batch_size, "seed": seed, "documents": documents}
    total = count_steps(lengths, epochs=settings.epochs, **draw)  # type: ignore[arg-type]
    optimizer = make_optimizer(model, settings)
    kept = [name for name, p in model.named_parameters() if p.requires_grad]
    schedule = make_schedule(optimizer, settings, total=total)
    scaler = torch.amp.GradScaler(device.kind, enabled=compute.precision == "fp16")
    there = dataclasses.replace(targets, values=targets.values.to(device.torch))
    training = Step(model, inputs, there, scaler, compute, settings.token_budget)
    watch = GradientWatch(model, device.torch)
    parts = {"optimizer": optimizer, "schedule": schedule, "scaler": scaler}
    learner = Learner(model, kept, parts)
    progress = (checkpoint.resume(learner) if checkpoint else None) or Progress()
    started = time.perf_counter() - progress.seconds
    for row in progress.history:
        on_epoch(row)
    with stage("training", "steps", total) as advance:
        advance(progress.step)
        for epoch in range(len(progress.history) + 1, settings.epochs + 1):
            patience = settings.patience
            if patience is not None and epoch - 1 - progress.best_epoch >= patience:
                break
            epoch_started = time.perf_counter()
            model.train()
            model.set_trained(settings, epoch)
            parameters = model.named_parameters()
            progress.trained |= {n: p.numel() for n, p in parameters if p.requires_grad}
            loss_sum = torch.zeros((), device=device.torch)
            first_step = progress.step
            batches = epoch_batches(lengths, epoch=epoch, **draw)  # type: ignore[arg-type]
            for number, sequences in enumerate(batches, 1):
                loss_sum, done = training.gradients(sequences, loss_sum)
                progress.flops += done
                scaler.unscale_(optimizer)
                watch.clip(settings.clip_norm, number, loss_sum)
                if watch.is_immediate and (wrong := watch.found()):
                    culprit = training.culprit(sequences)
                    where = "in" if culprit is not None else "in a batch with"
                    named = name_of(int(sequences[0]) if culprit is None else culprit)
                    raise _diverged(f"{wrong} of epoch {epoch}, {where} {named}")
                scaler.step(optimizer)
                scaler.update()
                schedule.step()
                progress.step += 1
                advance(1)
            # fp16 leaves out steps that overflow; below a scale of 1 it does so without end.
            if (wrong := watch.found()) and not (scaler.is_enabled() and scaler.get_scale() >= 1):
                raise _diverged(f"{wrong} of epoch {epoch}")
            mean_loss = float(loss_sum) / targets.losses(np.arange(len(lengths)))
            if not np.isfinite(mean_loss):
                raise _diverged(f"the loss is {mean_loss} in epoch {epoch}")
            dev = None if score_dev is None else score_dev()
            share = max(map(schedule.lr_lambdas[0], range(first_step, progress.step)))
            groups = describe_groups(optimizer, share)
            row = Epoch(epoch, mean_loss, dev, time.perf_counter() - epoch_started, groups)
            progress.history.append(row)
            progress.seconds = time.perf_counter() - started
            on_epoch(row)
            score = row.dev_score
            if score is not None and (progress.best is None or score > progress.best[0]):
                progress.best = score, epoch
                learner.best = {n: t.clone() for n, t in learner.weights().items()}
            if is_over(progress):
                break
            if checkpoint is not None and epoch < settings.epochs and checkpoint.pace.is_due():
                checkpoint.keep(learner, progress)
    if learner.best is not None:
        learner.set_weights(learner.best)
    model.eval()
    progress.seconds = time.perf_counter() - started
    return progress


def _diverged(what: str) -> InputError:
    return InputError(f"{what}; lower --learning-rate, or use --precision fp32")


def prediction_budget(inputs: Inputs, settings: Settings, device: Device) -> int:
    """Padded tokens of a batch of prediction."""
    return max(1, int(settings.token_budget * inputs.prediction_factor[device.kind]))


def prediction_flops(model: Model, inputs: Inputs, settings: Settings, device: Device) -> float:
    """Operations of `predict` over the whole text, estimated from shapes."""
    everything = np.arange(len(inputs.offsets) - 1)
    parts = inputs.parts(everything, prediction_budget(inputs, settings, device))
    return sum(inputs.flops(model, ids, training=False) for ids in parts)


def predict(
    model: Model,
    inputs: Inputs,
    offsets: Ints,
    compute: Compute,
    budget: TokenBudget,
    *,
    probabilities: bool = False,
) -> tuple[NDArray[Any], ...]:
    """(T, ...) the answer for each item, in the text's order: a number of a class, or a score.

    With `probabilities` also (T, C) that of every class. `offsets` (S + 1,) are the items before
    each sequence; `budget` as in `prediction_budget`.
    """
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
            given = inputs.batch(ids, budget.tokens), inputs.layout(ids)
            parts = model.probabilities(*given) if probabilities else (model.decode(*given),)
            if not found:
                found.extend(part.new_empty((len(items), *part.shape[1:])) for part in parts)
            for whole, part in zip(found, parts, strict=True):
                whole[places] = part
            advance(len(rows))

        everything = np.arange(len(inputs.offsets) - 1)
        for ids in inputs.parts(everything, budget.tokens):
            budget.compute_parts(ids, read, size=inputs.tokens, cut=inputs.parts)
    return tuple(whole.cpu().numpy() for whole in found) or (np.empty(0), np.empty(0))
