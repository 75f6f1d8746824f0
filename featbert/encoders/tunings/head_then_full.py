"""First the head alone on frozen states, then everything (Wang et al. 2019).

The first epochs compute the encoder forward alone and without its dropout, as features would be.
"""

from typing import Any

from featbert.encoders.tunings.base import Tuning
from featbert.errors import InputError


def _trains(name: str, depth: int, settings: Any, num_layers: int, epoch: int) -> bool:
    return epoch > int(settings.head_epochs)


def _check(settings: Any, num_layers: int) -> None:
    if settings.head_epochs >= settings.epochs:
        raise InputError(
            f"head_epochs is {settings.head_epochs} of {settings.epochs} epochs, which leaves none "
            "for the encoder; lower it, or raise epochs"
        )


TUNING = Tuning(
    "head-then-full",
    "head, then all",
    {"body": "linear", "head_learning_rate": 2e-3},
    _trains,
    settings=("head_epochs",),
    check=_check,
)
