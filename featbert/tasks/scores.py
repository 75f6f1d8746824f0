"""The shape of scores: what was counted on one split, and what follows from it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PRF:
    """Precision, recall and F1 in [0, 1], with the counts behind them."""

    precision: float
    recall: float
    f1: float
    correct: int
    predicted: int
    gold: int


@dataclass(frozen=True)
class SplitScores:
    """Scores of one split.

    Attributes:
        entity: micro entity scores in conlleval semantics (seqeval's default mode): the
            headline figure.
        by_type: the same by entity type.
        strict: micro entity scores in seqeval's strict mode, BIO.
        word: micro scores over words with a tag other than O, compared word by word.
        word_accuracy: share of words with the right tag.
    """

    entity: PRF
    by_type: dict[str, PRF]
    strict: PRF
    word: PRF
    word_accuracy: float
    sentences: int
    words: int
