"""BitFit: only the biases of the encoder are trained (Ben Zaken, Goldberg and Ravfogel 2022)."""

from __future__ import annotations

from typing import Any

from featbert.encoders.tunings.base import Tuning


def _trains(name: str, depth: int, settings: Any, num_layers: int, epoch: int) -> bool:
    return name.endswith("bias")


TUNING = Tuning("bitfit", "BitFit", {"body": "linear", "learning_rate": 1e-3}, _trains)
