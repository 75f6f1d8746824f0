"""BitFit: only the biases of the encoder are trained (Ben Zaken, Goldberg and Ravfogel 2022)."""

from typing import Any

from featbert.encoders.tunings.base import Tuning
from featbert.errors import InputError


def _prepare(model: Any, settings: Any) -> None:
    if not any(name.endswith("bias") for name, _ in model.named_parameters()):
        raise InputError(f"{type(model).__name__} has no biases to train; use another tuning")


TUNING = Tuning(
    "bitfit",
    "BitFit",
    {"body": "linear", "learning_rate": 4e-3},
    lambda name, *_: name.endswith("bias"),
    prepare=_prepare,
)
