"""Fine-tuning: the whole encoder, or its upper layers.

Gradual unfreezing (Howard and Ruder 2018, section 3.3, and Baumann 2019 in groups of layers): the
first epoch trains only the head, each further epoch one more group of layers, from the top. The
embeddings belong to the lowest group.
"""

from typing import Any

from featbert.encoders.tunings.base import Tuning
from featbert.errors import InputError


def _trains(name: str, depth: int, settings: Any, num_layers: int, epoch: int) -> bool:
    if settings.freeze_to is not None and depth <= settings.freeze_to:
        return False
    if settings.unfreeze is None:
        return True
    # The lowest depth that is unfrozen. L + 1 is only the head.
    lowest: int = num_layers + 1 - settings.unfreeze * (epoch - 1)
    return depth >= lowest or lowest <= 1


def _check(settings: Any, num_layers: int) -> None:
    for name in ("freeze_to", "unfreeze"):
        if (layers := getattr(settings, name) or 0) > num_layers:
            raise InputError(f"is {layers}, but the encoder has {num_layers} layers", setting=name)
    if settings.unfreeze is None:
        return
    free = num_layers - (settings.freeze_to or 0)
    needed = 1 + -(-free // settings.unfreeze)
    if settings.epochs < needed:
        raise InputError(
            f"is {settings.epochs}; {needed} are needed to unfreeze {free} layers in groups of "
            f"{settings.unfreeze} after an epoch of only the head",
            setting="epochs",
        )


TUNING = Tuning(
    "full",
    "fine-tuning",
    {"body": "linear"},
    _trains,
    settings=("layer_decay", "unfreeze", "freeze_to"),
    check=_check,
    by_width=True,
)
