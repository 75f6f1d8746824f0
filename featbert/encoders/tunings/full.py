"""All parameters of the encoder are trained."""

from featbert.encoders.tunings.base import Tuning

TUNING = Tuning("full", "fine-tuning")
