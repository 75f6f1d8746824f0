"""Only the normalisation layers of the encoder are trained: weights, and biases where they are."""

from typing import Any

from featbert.encoders.tunings.base import Tuning


def _trains(name: str, depth: int, settings: Any, num_layers: int, epoch: int) -> bool:
    return "norm" in name.lower()  # LayerNorm, sa_layer_norm, attn_norm, input_layernorm, ...


TUNING = Tuning("layernorm", "LayerNorm", {"body": "linear", "learning_rate": 1e-3}, _trains)
