"""The one training loop, its steps, and prediction. It knows no task, head or tuning.

After each epoch dev is scored; the weights that were best on dev are kept. The losses of a step's
parts are summed and divided by those of the whole batch, so that cutting changes nothing but
rounding. Gradients are clipped to a norm, and checked before a step is taken with them: one that is
not finite would make every weight NaN. On a GPU the host would wait for each check, so the result
stays there until the end of the epoch.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from featbert.config import Settings
from featbert.encoders.batching import Ints, TokenBudget, ranges
from featbert.encoders.device import Device, Precision, autocast, to_device
from featbert.encoders.memory import freed_memory_kept
from featbert.errors import InputError, memory_lack, out_of_memory
from featbert.models.model import Model
from featbert.progress import stage
from featbert.text import counted
from featbert.training.assembly import set_trained
from featbert.training.checkpoint import Checkpoint, Learner
from featbert.training.history import Epoch, Progress
from featbert.training.inputs import Inputs
from featbert.training.optimizer import describe_groups, make_optimizer, make_schedule
from featbert.training.sampler import count_steps, epoch_batches


@dataclass(frozen=True)
class Compute:
    """Where and how precisely a model computes."""

    device: Device
    precision: Precision = "fp32"


@dataclass(frozen=True)
class Targets:
    """What the items of a text should be answered.

    Attributes:
        values: (T,) or (T, ...) numbers, sequence after sequence.
        offsets: (S + 1,) items before each sequence: words for tags, one each for classes.
        joint: whether the items of a sequence have one loss together; else each has its own.
        counted: (T,) which items have a right answer, and so a loss; None for all.
    """

    values: Tensor
    offsets: Ints
    joint: bool = False
    counted: NDArray[np.bool_] | None = None

    def rows(self, sequences: Ints) -> Ints:
        """Numbers of the items of sequences, in their order."""
        sizes = np.diff(self.offsets)[sequences]
        return ranges(self.offsets[sequences], sizes)

    def losses(self, sequences: Ints) -> int:
        """How many losses sequences have: a batch's sum is divided by it."""
        if self.joint:
            return len(sequences)
        rows = self.rows(sequences)
        return len(rows) if self.counted is None else int(self.counted[rows].sum())

    def __len__(self) -> int:
        return int(self.offsets[-1])


@dataclass(frozen=True)
class Step:
    """The mean loss of a batch, and its gradients.

    Attributes:
        targets: of all sequences, their values on the device.
        scaler: of the loss under fp16; elsewhere it does nothing.
    """

    model: Model
    inputs: Inputs
    targets: Targets
    scaler: torch.amp.GradScaler
    compute: Compute
    budget: int

    @cached_property
    def parameters(self) -> list[nn.Parameter]:
        """Of the model, found once: walking its modules takes as long as a short step."""
        return list(self.model.parameters())

    def gradients(self, sequences: Ints, loss_sum: Tensor) -> tuple[Tensor, float]:
        """Sets the gradients; returns `loss_sum` with the loss of each item added, and operations.

        InputError where the batch does not fit in memory.
        """
        n_losses, flops = max(1, self.targets.losses(sequences)), 0.0
        loss_sum = loss_sum.clone()
        for parameter in self.parameters:
            parameter.grad = None
        try:
            for ids in self.inputs.parts(sequences, self.budget):
                loss = self._loss(ids)
                self.scaler.scale(loss / n_losses).backward()  # type: ignore[no-untyped-call]
                loss_sum += loss.detach()
                flops += self.inputs.flops(self.model, ids, training=True)
        except (RuntimeError, MemoryError) as error:
            if not out_of_memory(error):
                raise
            raise InputError(
                f"a batch of {self.budget:,} tokens does not fit in memory ({memory_lack(error)}); "
                f"lower --token-budget, for example to {max(1, self.budget // 2)}"
            ) from None
        return loss_sum, flops

    def culprit(self, sequences: Ints) -> int | None:
        """The first sequence whose loss or gradients alone are not finite.

        None where that is true of none, or of all: then the weights are the reason.
        """
        wrong, nothing = [], torch.zeros((), device=self.compute.device.torch)
        for sequence in sequences:
            loss, _ = self.gradients(np.array([sequence]), nothing)
            found = [p.grad for p in self.parameters if p.grad is not None]
            if not all(bool(values.isfinite().all()) for values in [loss, *found]):
                wrong.append(int(sequence))
        return wrong[0] if 0 < len(wrong) < len(sequences) else None

    def _loss(self, sequences: Ints) -> Tensor:
        rows = torch.from_numpy(self.targets.rows(sequences))
        targets = self.targets.values[to_device(rows, self.compute.device.torch)]
        with autocast(self.compute.device, self.compute.precision):
            batch = self.inputs.batch(sequences, self.budget)
            return self.model.loss(batch, self.inputs.layout(sequences), targets)


class GradientWatch:
    """Clips the gradients of a module's parameters and remembers what was not finite.

    `is_immediate`: whether `found` can be asked after each step without waiting for a GPU.
    """

    def __init__(self, module: nn.Module, device: torch.device) -> None:
        self._named = list(module.named_parameters())
        self._wrong = torch.zeros((), dtype=torch.bool, device=device)
        # (2 + P,) loss, step and norms of the first step in which something is not finite
        self._record = torch.zeros(2 + len(self._named), dtype=torch.float64, device=device)
        self._held: list[int] = []  # numbers of the parameters that have gradients
        self._numbers = torch.empty(0, dtype=torch.int64, device=device)
        self.is_immediate = device.type == "cpu"

    def clip(self, clip_norm: float, step: int, loss: Tensor) -> None:
        """Scales the gradients as `torch.nn.utils.clip_grad_norm_`, to `clip_norm` at most."""
        held = [i for i, (_, p) in enumerate(self._named) if p.grad is not None]
        parameters = [self._named[i][1] for i in held]
        # As in torch's own clipping, which keeps the norm of each to itself: (P,)
        norms = torch.stack(torch._foreach_norm([p.grad for p in parameters]))  # type: ignore[misc]
        total = torch.linalg.vector_norm(norms)
        nn.utils.clip_grads_with_norm_(parameters, clip_norm, total)
        wrong = ~total.isfinite()
        if self.is_immediate and not wrong:
            return
        if held != self._held:
            self._held, self._numbers = held, 2 + torch.tensor(held, device=wrong.device)
        record = torch.zeros_like(self._record).index_copy_(0, self._numbers, norms.double())
        record[0], record[1] = loss.detach(), step
        self._record = torch.where(self._wrong, self._record, record)
        self._wrong = self._wrong | wrong

    def found(self) -> str | None:
        """What was not finite since the last look, and in which step first; waits for a GPU."""
        if not self._wrong:
            return None
        self._wrong = torch.zeros_like(self._wrong)
        loss, step, *norms = self._record.tolist()
        found = zip(self._named, norms, strict=True)
        names = [name for (name, _), norm in found if not math.isfinite(norm)]
        what = "the norm of the gradients is too large for float32"
        if not math.isfinite(loss):
            what = f"the loss is {loss}"
        elif names:
            concerned = f"{counted(len(names), 'parameter')} ({names[0]} first)"
            what = f"the gradients of {concerned} are not finite"
        return f"{what} in step {int(step)}"


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
    there = replace(targets, values=targets.values.to(device.torch))
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
            set_trained(model, settings, epoch)
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
            advance(0, str(row))
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


def prediction_budget(inputs: Inputs, settings: Settings, device: Device) -> TokenBudget:
    """Padded tokens of a batch of prediction."""
    factor = inputs.prediction_factor[device.kind]
    return TokenBudget(max(1, int(settings.token_budget * factor)))


def prediction_flops(model: Model, inputs: Inputs, settings: Settings, device: Device) -> float:
    """Operations of `predict` over the whole text, estimated from shapes."""
    everything = np.arange(len(inputs.offsets) - 1)
    parts = inputs.parts(everything, prediction_budget(inputs, settings, device).tokens)
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
