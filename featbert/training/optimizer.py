"""AdamW with BERT's habits: no decay on vectors, linear warmup and decay of the rate.

Devlin et al. 2019, appendix A.2: Adam with decoupled decay 0.01, epsilon 1e-6, warmup and
linear decay. Whether a parameter decays is decided by its shape: vectors (biases, LayerNorm)
and scalars do not.
"""

from __future__ import annotations

from torch import nn
from torch.optim import AdamW
from torch.optim.lr_scheduler import LambdaLR

from featbert.tagging.combination import ScalarMix
from featbert.training.history import ParameterGroup
from featbert.training.settings import TrainingSettings


def make_optimizer(tagger: nn.Module, settings: TrainingSettings) -> AdamW:
    """AdamW over the trainable parameters in named groups: matrices, vectors, scalar_mix."""
    mixes = [m for m in tagger.modules() if isinstance(m, ScalarMix)]
    mixed = {id(p) for m in mixes for p in m.parameters()}
    trained = [p for p in tagger.parameters() if p.requires_grad]
    rest = [p for p in trained if id(p) not in mixed]
    groups = [
        ("matrices", [p for p in rest if p.dim() > 1], settings.learning_rate, True),
        ("vectors", [p for p in rest if p.dim() <= 1], settings.learning_rate, False),
        (
            "scalar_mix",
            [p for p in trained if id(p) in mixed],
            settings.mix_learning_rate,
            False,
        ),
    ]
    return AdamW(
        [
            {
                "name": name,
                "params": parameters,
                "lr": rate,
                "weight_decay": settings.weight_decay if decays else 0.0,
            }
            for name, parameters, rate, decays in groups
            if parameters
        ],
        betas=(0.9, 0.999),
        eps=1e-6,
        fused=True,
    )


def rate_share(step: int, *, total: int, warmup: float) -> float:
    """Share of the highest rate that step `step` (from 0) of `total` is taken with.

    Rises linearly over the first `warmup` share of the steps, so that the first step is not
    lost at rate 0, then falls linearly and reaches 0 after the last step.
    """
    rising = round(total * warmup)
    if step < rising:
        return (step + 1) / (rising + 1)
    return max(0.0, (total - step) / max(1, total - rising))


def make_schedule(optimizer: AdamW, *, total: int, warmup: float) -> LambdaLR:
    """The schedule of `rate_share` over all groups."""
    return LambdaLR(optimizer, lambda step: rate_share(step, total=total, warmup=warmup))


def describe_groups(optimizer: AdamW) -> list[ParameterGroup]:
    """Name, number of parameters and present rate of each group."""
    return [
        ParameterGroup(g["name"], sum(p.numel() for p in g["params"]), float(g["lr"]))
        for g in optimizer.param_groups
    ]
