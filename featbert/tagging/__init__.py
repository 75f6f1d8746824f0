"""Taggers of both approaches: words in, one row of logits a word out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from featbert.lazy import attach

if TYPE_CHECKING:
    from featbert.tagging.bilstm import BiLSTMTagger, FeatureBatch
    from featbert.tagging.combination import CombineLayers, ScalarMix
    from featbert.tagging.finetuned import FineTuneTagger

__all__ = [
    "BiLSTMTagger",
    "CombineLayers",
    "FeatureBatch",
    "FineTuneTagger",
    "ScalarMix",
]
__getattr__, __dir__ = attach(
    __name__,
    {
        "BiLSTMTagger": "featbert.tagging.bilstm",
        "CombineLayers": "featbert.tagging.combination",
        "FeatureBatch": "featbert.tagging.bilstm",
        "FineTuneTagger": "featbert.tagging.finetuned",
        "ScalarMix": "featbert.tagging.combination",
    },
)
