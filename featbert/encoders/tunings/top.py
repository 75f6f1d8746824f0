"""Only the upper layers of the encoder are trained: `top:2` the last two, with a final norm."""

from typing import Any

from featbert.encoders.tunings.base import Tuning
from featbert.errors import InputError


def _top(layers: int) -> Tuning:
    def trains(name: str, depth: int, settings: Any, num_layers: int, epoch: int) -> bool:
        return depth > num_layers - layers

    def check(settings: Any, num_layers: int) -> None:
        if layers > num_layers:
            raise InputError(f"is top:{layers} of only {num_layers} layers", setting="tuning")

    title = "top layer" if layers == 1 else f"top {layers} layers"
    usual = {"body": "linear", "learning_rate": 8e-4}
    return Tuning(f"top:{layers}", title, usual, trains, check=check, numbered=_top, by_width=True)


TUNING = _top(1)
