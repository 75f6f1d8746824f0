"""Contrastive tuning of the whole encoder, for few examples (Tunstall et al. 2022, SetFit)."""

from featbert.encoders.tunings.base import Tuning

TUNING = Tuning(
    "contrastive",
    "contrastive tuning",
    {"body": "linear"},
    lambda *_: True,
    trainer="contrastive",
)
