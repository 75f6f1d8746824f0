"""AdamW with BERT's habits: no decay on vectors, a warmup, rates by layer where asked.

Devlin et al. 2019, appendix A.2: Adam with decoupled decay 0.01, epsilon 1e-6, warmup and
linear decay. Whether a parameter decays is decided by its shape: vectors (biases, LayerNorm)
and scalars do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import AdamW, Optimizer
from torch.optim.lr_scheduler import LambdaLR

from featbert.config import Settings
from featbert.models.combination import ScalarMix
from featbert.models.model import Model
from featbert.training.history import ParameterGroup

BETAS = (0.9, 0.999)
EPSILON = 1e-6


def make_optimizer(model: Model, settings: Settings) -> Optimizer:
    """The optimiser over all parameters that are trained in some epoch, in named groups.

    Groups are matrices, vectors and scalar_mix; where layers have rates of their own or are
    unfrozen one after the other: embeddings, layer 1, ..., head, in matrices and vectors.
    """
    model.set_trained(settings, settings.epochs)
    groups = _groups_by_layer(model, settings) or _groups_by_shape(model, settings)
    if not settings.bias_correction:
        return BertAdam(groups, betas=BETAS, eps=EPSILON)
    return AdamW(groups, betas=BETAS, eps=EPSILON, fused=True)


def _groups_by_shape(model: Model, settings: Settings) -> list[dict[str, Any]]:
    mixes = [m for m in model.modules() if isinstance(m, ScalarMix)]
    mixed = {id(p) for m in mixes for p in m.parameters()}
    trained = [p for p in model.parameters() if p.requires_grad]
    rest = [p for p in trained if id(p) not in mixed]
    return [
        *_split_by_shape("", rest, settings.learning_rate, settings),
        *_group("scalar_mix", [p for p in trained if id(p) in mixed], settings.mix_learning_rate),
    ]


def _groups_by_layer(model: Model, settings: Settings) -> list[dict[str, Any]]:
    """Depth d learns at eta / delta^(L + 1 - d) (Howard and Ruder 2018, section 3.2)."""
    if settings.discriminative == 1 and settings.unfreeze is None and settings.freeze_to is None:
        return []
    depths = model.parameter_depths()
    top = max(depths.values())
    by_depth: dict[int, list[nn.Parameter]] = {depth: [] for depth in sorted(set(depths.values()))}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            by_depth[depths[name]].append(parameter)
    return [
        group
        for depth, parameters in by_depth.items()
        for group in _split_by_shape(
            {0: "embeddings ", top: "head "}.get(depth, f"layer {depth} "),
            parameters,
            settings.learning_rate / settings.discriminative ** (top - depth),
            settings,
        )
    ]


def _split_by_shape(
    prefix: str, parameters: Iterable[nn.Parameter], rate: float, settings: Settings
) -> list[dict[str, Any]]:
    parameters = list(parameters)
    matrices = [p for p in parameters if p.dim() > 1]
    vectors = [p for p in parameters if p.dim() <= 1]
    return [
        *_group(f"{prefix}matrices", matrices, rate, settings.weight_decay),
        *_group(f"{prefix}vectors", vectors, rate),
    ]


def _group(
    name: str, parameters: list[nn.Parameter], rate: float, decay: float = 0.0
) -> list[dict[str, Any]]:
    if not parameters:
        return []
    return [{"name": name, "params": parameters, "lr": rate, "weight_decay": decay}]


def rate_share(step: int, *, total: int, warmup: float, schedule: str = "linear") -> float:
    """Share of the highest rate that step `step` (from 0) of `total` is taken with.

    Rises linearly over the first `warmup` share of the steps, and is not 0 at the first; then
    stays ("constant"), or falls linearly and reaches 0 after the last step ("linear").
    """
    rising = round(total * warmup)
    if step < rising:
        return (step + 1) / (rising + 1)
    if schedule == "constant":
        return 1.0
    return max(0.0, (total - step) / max(1, total - rising))


def make_schedule(optimizer: Optimizer, settings: Settings, *, total: int) -> LambdaLR:
    """The schedule of `rate_share` over all groups."""
    return LambdaLR(
        optimizer,
        lambda step: rate_share(
            step, total=total, warmup=settings.warmup, schedule=settings.schedule
        ),
    )


def describe_groups(optimizer: Optimizer, share: float) -> list[ParameterGroup]:
    """What was trained at `share` of the highest rate: name, parameters and rate of each group.

    Matrices and vectors of one layer are one row; a layer that is frozen has none.
    """
    rows: dict[str, ParameterGroup] = {}
    for group in optimizer.param_groups:
        count = sum(p.numel() for p in group["params"] if p.requires_grad)
        if not count:
            continue
        name, _, kind = group["name"].rpartition(" ")
        name = name or kind
        before = rows[name].parameters if name in rows else 0
        rows[name] = ParameterGroup(name, before + count, float(group["initial_lr"]) * share)
    return list(rows.values())


class BertAdam(Optimizer):
    """Adam as it was published with BERT: decoupled weight decay, and no bias correction.

        m = b1 m + (1 - b1) g          v = b2 v + (1 - b2) g^2
        p = p - eta (m / (sqrt(v) + eps) + decay p)

    The means begin at zero and are not corrected for it (Kingma and Ba 2015, section 3, do), so the
    first steps are larger by (1 - b1^t) / sqrt(1 - b2^t): by 3.2 at the first, still 1.6 at the
    500th. The warmup is what keeps them small. With correction, AdamW is the same update.
    """

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
