"""Frozen features: nothing of the encoder is trained, its states come from a store."""

from featbert.encoders.tunings.base import Tuning

TUNING = Tuning("none", "features", {"body": "bilstm", "dropout": 0.5}, frozen=True)
