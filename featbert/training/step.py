"""One training step: the loss of a batch of sequences, and its gradients.

The losses of its parts are summed and divided by those of the whole batch, so that cutting
changes nothing but rounding. Gradients are clipped to a norm, and checked before a step is taken
with them: one that is not finite would make every weight NaN. On a GPU the host would wait for each
check, so the result stays there until the end of the epoch.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor, nn

from featbert.encoders.batching import Ints, ranges
from featbert.encoders.device import Device, Precision, autocast, to_device
from featbert.errors import InputError, memory_lack, out_of_memory
from featbert.models.model import Model
from featbert.text import counted
from featbert.training.inputs import Inputs


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
    """

    values: Tensor
    offsets: Ints
    joint: bool = False

    def rows(self, sequences: Ints) -> Ints:
        """Numbers of the items of sequences, in their order."""
        sizes = np.diff(self.offsets)[sequences]
        return ranges(self.offsets[sequences], sizes)

    def losses(self, sequences: Ints) -> int:
        """How many losses sequences have: a batch's sum is divided by it."""
        return len(sequences) if self.joint else len(self.rows(sequences))

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
        n_losses, flops = self.targets.losses(sequences), 0.0
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
