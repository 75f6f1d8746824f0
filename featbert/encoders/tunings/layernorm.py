"""Only the normalisation layers of the encoder are trained: their weights and biases."""

from featbert.encoders.tunings.base import Tuning

TUNING = Tuning(
    "layernorm",
    "LayerNorm",
    {"body": "linear", "learning_rate": 1e-2},
    lambda name, *_: "norm" in name.lower(),  # LayerNorm, sa_layer_norm, attn_norm, ...
)
