"""Evaluation: entity scores in conlleval semantics, word scores, and the shape of both.

The shapes (`PRF`, `SplitScores`) cost nothing to import. What needs seqeval or scikit-learn
(over a second to import) is loaded when it is first called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from featbert.evaluation.scores import PRF, SplitScores
from featbert.lazy import attach

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

_SCORER = "featbert.evaluation.scorer"
_WORD_REPORT = "featbert.evaluation.word_report"
__getattr__, __dir__ = attach(
    __name__,
    {
        "SCORER_NAME": _SCORER,
        "TagError": _SCORER,
        "entity_counts": _SCORER,
        "score": _SCORER,
        "WordReport": _WORD_REPORT,
        "word_level_report": _WORD_REPORT,
    },
)
