"""No parameter of the encoder is trained: its states are features from a store."""

from featbert.encoders.tunings.base import Tuning

TUNING = Tuning("none", "features", frozen=True)
