"""Adam as it was published with BERT: decoupled weight decay, and no bias correction.

    m = b1 m + (1 - b1) g          v = b2 v + (1 - b2) g^2
    p = p - eta (m / (sqrt(v) + eps) + decay p)

The means begin at zero and are not corrected for it (Kingma and Ba 2015, section 3, do), so the
first steps are larger by (1 - b1^t) / sqrt(1 - b2^t): by 3.2 at the first, still 1.6 at the 500th.
The warmup is what keeps them small. With correction, `torch.optim.AdamW` is the same update.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor


class BertAdam(torch.optim.Optimizer):
    """See the head of this module; a drop-in for AdamW with the same parameter groups."""

    def __init__(
        self,
        params: Iterable[dict[str, Any]],
        *,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0.01,
    ) -> None:
        super().__init__(
            params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        )

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """One step for every parameter that has a gradient."""
        assert closure is None
        for group in self.param_groups:
            parameters = [p for p in group["params"] if p.grad is not None]
            if not parameters:
                continue
            gradients = [p.grad for p in parameters if p.grad is not None]
            means = [self._state(p, "mean") for p in parameters]
            squares = [self._state(p, "square") for p in parameters]
            first, second = group["betas"]
            rate = float(group["lr"])
            torch._foreach_lerp_(means, gradients, 1 - first)
            torch._foreach_mul_(squares, second)
            torch._foreach_addcmul_(squares, gradients, gradients, 1 - second)
            sizes = torch._foreach_sqrt(squares)
            torch._foreach_add_(sizes, group["eps"])
            torch._foreach_mul_(parameters, 1 - rate * group["weight_decay"])
            torch._foreach_addcdiv_(parameters, means, sizes, -rate)

    def _state(self, parameter: Tensor, name: str) -> Tensor:
        state = self.state[parameter]
        if name not in state:
            state[name] = torch.zeros_like(parameter)
        found: Tensor = state[name]
        return found
