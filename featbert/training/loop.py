"""The one training loop, for both approaches. It knows no model.

A step is N sentence ids from one sampler. Where the batch does not fit the token budget it is
computed in parts whose losses are summed and divided by the words of the whole batch, so that
cutting changes nothing but rounding. After each epoch dev is scored; the weights that were best
on dev are kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.optim import AdamW

from featbert.errors import InputError
from featbert.evaluation.scores import PRF
from featbert.features.alignment import ranges
from featbert.features.batching import length_batches
from featbert.features.device import Device, Precision
from featbert.training.history import Epoch
from featbert.training.inputs import Inputs
from featbert.training.optimizer import describe_groups, make_optimizer, make_schedule
from featbert.training.sampler import epoch_batches
from featbert.training.settings import TrainingSettings

Ints = NDArray[np.int64]
# Padded tokens of a batch of prediction: no gradients are kept, so batches may be larger.
PREDICTION_FACTOR = 4


class TrainingError(InputError):
    """Training that went wrong: a loss that is not finite."""


@dataclass(frozen=True)
class Fitted:
    """The result of training; the tagger holds the best weights.

    Attributes:
        history: one row an epoch.
        best_epoch: from 1.
        seconds: wall time of all epochs, dev scoring included.
    """

    history: list[Epoch]
    best_epoch: int
    seconds: float


def fit(
    tagger: nn.Module,
    inputs: Inputs,
    labels: Ints,
    settings: TrainingSettings,
    *,
    seed: int,
    score_dev: Callable[[], PRF],
    device: Device,
    precision: Precision = "fp32",
    on_step: Callable[[int, int], None] | None = None,
    on_epoch: Callable[[Epoch], None] | None = None,
) -> Fitted:
    """Trains the tagger and leaves it, in eval mode, with the weights that were best on dev.

    Args:
        labels: (N,) label of each word of the split.
        score_dev: entity scores of dev with the tagger as it stands; F1 chooses the epoch.
        on_step: called with steps done and steps in all.
        on_epoch: called with the history row of each epoch.

    Raises:
        TrainingError: the loss is not finite.
    """
    torch.manual_seed(seed)
    lengths = np.diff(inputs.offsets)
    steps_an_epoch = -(-len(lengths) // settings.batch_size)
    total = steps_an_epoch * settings.epochs
    optimizer = make_optimizer(tagger, settings)
    schedule = make_schedule(optimizer, total=total, warmup=settings.warmup)
    scaler = torch.amp.GradScaler(device.kind, enabled=precision == "fp16")
    targets = torch.from_numpy(labels).to(device.torch)
    history: list[Epoch] = []
    best: tuple[float, int, dict[str, Tensor]] | None = None
    started = time.perf_counter()
    for epoch in range(1, settings.epochs + 1):
        epoch_started = time.perf_counter()
        tagger.train()
        loss_sum = torch.zeros((), device=device.torch)
        batches = epoch_batches(lengths, settings.batch_size, seed=seed, epoch=epoch)
        for step, sentences in enumerate(batches, start=(epoch - 1) * steps_an_epoch + 1):
            n_words = int(lengths[sentences].sum())
            optimizer.zero_grad(set_to_none=True)
            for part in length_batches(inputs.costs[sentences], settings.token_budget):
                ids = sentences[part]
                words = torch.from_numpy(ranges(inputs.offsets[ids], lengths[ids]))
                with _autocast(device, precision):
                    logits = tagger(inputs.batch(ids))
                loss = functional.cross_entropy(
                    logits.float(), targets[words.to(device.torch)], reduction="sum"
                )
                scaler.scale(loss / n_words).backward()  # type: ignore[no-untyped-call]
                loss_sum += loss.detach()
            _step(tagger, optimizer, scaler, settings.clip_norm)
            schedule.step()
            if on_step is not None:
                on_step(step, total)
        mean_loss = float(loss_sum) / len(labels)
        if not np.isfinite(mean_loss):
            raise TrainingError(
                f"a finite loss expected, found {mean_loss} in epoch {epoch}; "
                "lower --learning-rate, or use --precision fp32"
            )
        dev = score_dev()
        row = Epoch(
            epoch=epoch,
            train_loss=mean_loss,
            dev_f1=dev.f1,
            dev_precision=dev.precision,
            dev_recall=dev.recall,
            seconds=time.perf_counter() - epoch_started,
            groups=describe_groups(optimizer),
        )
        history.append(row)
        if on_epoch is not None:
            on_epoch(row)
        if best is None or dev.f1 > best[0]:
            best = (dev.f1, epoch, {n: t.clone() for n, t in tagger.state_dict().items()})
        elif settings.patience is not None and epoch - best[1] >= settings.patience:
            break
    assert best is not None
    tagger.load_state_dict(best[2])
    tagger.eval()
    return Fitted(history, best[1], time.perf_counter() - started)


def predict(
    tagger: nn.Module,
    inputs: Inputs,
    settings: TrainingSettings,
    *,
    device: Device,
    precision: Precision = "fp32",
) -> Ints:
    """(N,) the most probable label of each word of a split, in the split's order."""
    tagger.eval()
    lengths = np.diff(inputs.offsets)
    found = torch.empty(int(inputs.offsets[-1]), dtype=torch.int64, device=device.torch)
    budget = settings.token_budget * PREDICTION_FACTOR
    with torch.inference_mode(), _autocast(device, precision):
        for ids in length_batches(inputs.costs, budget):
            words = torch.from_numpy(ranges(inputs.offsets[ids], lengths[ids]))
            found[words.to(device.torch)] = tagger(inputs.batch(ids)).argmax(1)
    result: Ints = found.cpu().numpy()
    return result


def _step(
    tagger: nn.Module, optimizer: AdamW, scaler: torch.amp.GradScaler, clip_norm: float
) -> None:
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(tagger.parameters(), clip_norm)
    scaler.step(optimizer)
    scaler.update()


def _autocast(device: Device, precision: Precision) -> AbstractContextManager[None]:
    if precision == "fp32":
        return nullcontext()
    dtype = torch.bfloat16 if precision == "bf16" else torch.float16
    return torch.autocast(device.kind, dtype=dtype)
