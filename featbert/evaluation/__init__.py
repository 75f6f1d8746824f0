"""Evaluation: entity scores in conlleval semantics, word scores, and the shape of both.

The shapes (`PRF`, `SplitScores`) cost nothing to import. What needs seqeval or scikit-learn
(over a second to import) is loaded when it is first called.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from featbert.evaluation.scores import PRF, SplitScores

if TYPE_CHECKING:
    from featbert.evaluation.scorer import SCORER_NAME, TagError, entity_counts, score
    from featbert.evaluation.word_report import WordReport, word_level_report

__all__ = [
    "PRF",
    "SCORER_NAME",
    "SplitScores",
    "TagError",
    "WordReport",
    "entity_counts",
    "score",
    "word_level_report",
]

_LAZY = {
    "SCORER_NAME": "scorer",
    "TagError": "scorer",
    "entity_counts": "scorer",
    "score": "scorer",
    "WordReport": "word_report",
    "word_level_report": "word_report",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
