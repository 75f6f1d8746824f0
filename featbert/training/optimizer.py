"""AdamW with BERT's habits: no decay on vectors, a warmup, rates by layer if asked.

Devlin et al. 2019, appendix A.2: Adam with decoupled decay 0.01, epsilon 1e-6, warmup and
linear decay. Whether a parameter decays is decided by its shape: vectors (biases, LayerNorm)
and scalars do not.
"""

from functools import partial
from typing import Any

import torch
from torch.optim import AdamW, Optimizer
from torch.optim.lr_scheduler import LambdaLR

from featbert.config import Settings
from featbert.models.combination import ScalarMix
from featbert.models.model import Model
from featbert.training.assembly import set_trained
from featbert.training.history import ParameterGroup

KINDS = ("matrices", "vectors", "scalar_mix")


def make_optimizer(model: Model, settings: Settings) -> Optimizer:
    """The optimiser over all parameters that are trained in some epoch, in named groups.

    Groups have the names in `KINDS`. If layers have different rates or are unfrozen one after the
    other, each layer has its matrices and vectors, and depth d learns at eta / delta^(L + 1 - d)
    (Howard and Ruder 2018, section 3.2). The head on an encoder may have a rate of its own.
    """
    set_trained(model, settings, settings.epochs)
    used = settings.used()  # only settings that affect this tuning
    slower = used.get("layer_decay", 1)
    by_layer = slower != 1 or any(used.get(name) is not None for name in ("unfreeze", "freeze_to"))
    depths = model.parameter_depths()
    top = max(depths.values())
    of_head = None if model.encoder is None else settings.head_learning_rate
    mixed = {id(p) for m in model.modules() if isinstance(m, ScalarMix) for p in m.parameters()}
    groups: dict[tuple[int, int], dict[str, Any]] = {}
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        # In the encoder a matrix of one row or column, as in IA3, is a vector.
        is_vector = parameter.dim() < 2 or (1 in parameter.shape and depths[name] < top)
        kind = "vectors" if is_vector else "matrices"
        kind = "scalar_mix" if id(parameter) in mixed else kind
        depth, place, rate = 0, "", settings.learning_rate
        if by_layer:
            depth = depths[name]
            place = {0: "embeddings ", top: "head "}.get(depth, f"layer {depth} ")
            rate /= slower ** (top - depth)
        if of_head is not None:
            is_head = depths[name] == top
            rate = of_head if is_head else rate
            if not by_layer:
                depth, place = int(is_head), "head " if is_head else "encoder "
        new = {
            "name": place + kind,
            "params": [],
            "lr": settings.mix_learning_rate if kind == "scalar_mix" else rate,
            "weight_decay": settings.weight_decay if kind == "matrices" else 0.0,
        }
        groups.setdefault((depth, KINDS.index(kind)), new)["params"].append(parameter)
    ordered = [groups[place] for place in sorted(groups)]
    optimizer = AdamW(ordered, betas=(0.9, 0.999), eps=1e-6, fused=True)
    if not settings.bias_correction:
        _leave_uncorrected(optimizer)
    return optimizer


def _leave_uncorrected(optimizer: Optimizer) -> None:
    """Adam as it was published with BERT: no bias correction.

        m = b1 m + (1 - b1) g          v = b2 v + (1 - b2) g^2
        p = p - eta (m / (sqrt(v) + eps) + decay p)

    The means begin at zero and are not corrected for it (Kingma and Ba 2015, section 3, do), so the
    first steps are larger by (1 - b1^t) / sqrt(1 - b2^t): by 3.2 at the first, still 1.6 at the
    500th. The warmup is what keeps them small. Steps are counted from a million here. Both
    corrections are 1 there.
    """
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            optimizer.state[parameter] = {
                "step": torch.tensor(1e6, device=parameter.device),
                "exp_avg": torch.zeros_like(parameter),
                "exp_avg_sq": torch.zeros_like(parameter),
            }


def rate_share(step: int, *, total: int, warmup: float, schedule: str = "linear") -> float:
    """Share of the highest rate that step `step` (from 0) of `total` is taken with.

    Rises linearly over the first `warmup` share of the steps, and is not 0 at the first. Then it
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
    share = partial(rate_share, total=total, warmup=settings.warmup, schedule=settings.schedule)
    return LambdaLR(optimizer, share)


def describe_groups(optimizer: Optimizer, share: float) -> list[ParameterGroup]:
    """Name, parameters and rate of each trained group, at `share` of the highest rate.

    Matrices and vectors of one layer are one row. A frozen layer has none.
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
