"""First only the head on frozen states, then everything (Wang et al. 2019).

The first epochs run the encoder only forward and without its dropout, as for features. A finished
run on features of the last layer can replace them (`head_from`).
"""

from typing import Any

from featbert.encoders.tunings.base import Tuning
from featbert.errors import InputError, spelling


def _trains(name: str, depth: int, settings: Any, num_layers: int, epoch: int) -> bool:
    return settings.head_from is not None or epoch > int(settings.head_epochs)


def _check(settings: Any, num_layers: int) -> None:
    if settings.head_from is None and settings.head_epochs >= settings.epochs:
        raise InputError(
            f"is {settings.head_epochs} of {settings.epochs} epochs, which leaves none for the "
            f"encoder; lower it, or raise {spelling('epochs')}",
            setting="head_epochs",
        )


TUNING = Tuning(
    "head-then-full",
    "head-first tuning",
    {"body": "linear", "head_learning_rate": 2e-3},
    _trains,
    settings=("head_epochs", "head_from"),
    check=_check,
    by_width=True,
)
