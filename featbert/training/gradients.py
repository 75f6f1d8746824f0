"""Gradients: clipped to a norm, and checked before a step is taken with them.

One that is not finite would make every weight NaN. On a GPU the host would wait for each check, so
the result stays there until the end of the epoch.
"""

import math

import torch
from torch import Tensor, nn

from featbert.text import counted


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
