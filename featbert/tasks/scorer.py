"""Entity and word scores of predicted BIO tags; the only module that imports seqeval.

    P = correct / predicted    R = correct / gold    F1 = 2 correct / (predicted + gold)

and 0 where the denominator is 0. An entity is correct when its type, first and last word all
agree. What counts as an entity is seqeval's to say: its default mode follows the conlleval
script, in which an I- tag that continues nothing starts an entity; its strict mode (IOB2) passes
over such a tag. All figures come from counts, so that they cannot contradict them.

Source: Tjong Kim Sang and De Meulder 2003, `conlleval`; Nakayama 2018, seqeval.
"""

from __future__ import annotations

import importlib.metadata
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from featbert.errors import InputError
from featbert.tasks.scores import PRF, SplitScores

Tags = Sequence[Sequence[str]]
# (type, first word, last word)
Entity = tuple[str, int, int]

SCORER_NAME = f"seqeval {importlib.metadata.version('seqeval')}, conlleval semantics"


class TagError(InputError):
    """Tags that cannot be scored: not BIO, or predictions that do not fit the gold tags."""


def score(gold: Tags, predicted: Tags) -> SplitScores:
    """Scores of one split.

    Args:
        gold: BIO tags by sentence, S sequences.
        predicted: as many tags for as many sentences; ill-formed sequences (I- after O) are
            scored the conlleval way.

    Raises:
        TagError: sentence count or a sentence's length differs, or a tag is not BIO; names the
            sentence, counted from 1.
    """
    check_tags(gold, predicted)
    by_type: dict[str, list[int]] = {}
    for gold_set, predicted_set in _both(gold, predicted, entities):
        for column, found in enumerate((gold_set & predicted_set, predicted_set, gold_set)):
            for entity in found:
                by_type.setdefault(entity[0], [0, 0, 0])[column] += 1
    strict = _sentence_counts(_both(gold, predicted, _strict_entities)).sum(axis=0)
    word, right = _word_counts(gold, predicted)
    words = sum(map(len, gold))
    return SplitScores(
        entity=prf(*(sum(counts) for counts in zip([0, 0, 0], *by_type.values(), strict=True))),
        by_type={name: prf(*by_type[name]) for name in sorted(by_type)},
        strict=prf(*strict.tolist()),
        word=prf(*word),
        word_accuracy=right / words if words else 0.0,
        sentences=len(gold),
        words=words,
    )


def entity_counts(gold: Tags, predicted: Tags) -> NDArray[np.int64]:
    """Entities by sentence, (S, 3): correct, predicted, gold; their sums are `score`'s counts.

    Raises:
        TagError: as `score`.
    """
    check_tags(gold, predicted)
    return _sentence_counts(_both(gold, predicted, entities))


def prf(correct: int, predicted: int, gold: int) -> PRF:
    """Precision, recall and F1 of counts; 0 where the denominator is 0."""
    return PRF(
        precision=correct / predicted if predicted else 0.0,
        recall=correct / gold if gold else 0.0,
        f1=2 * correct / (predicted + gold) if predicted + gold else 0.0,
        correct=correct,
        predicted=predicted,
        gold=gold,
    )


def check_tags(gold: Tags, predicted: Tags) -> None:
    """Refuse predictions that do not fit the gold tags, and tags that are not BIO.

    Raises:
        TagError: names the sentence, counted from 1.
    """
    if len(gold) != len(predicted):
        first = min(len(gold), len(predicted)) + 1
        side = "predictions" if len(predicted) < len(gold) else "gold tags"
        raise TagError(
            f"one predicted sentence for each gold sentence expected, found {len(predicted)} for "
            f"{len(gold)}; the first without {side} is sentence {first}"
        )
    known: set[str] = {"O"}
    for number, (gold_row, predicted_row) in enumerate(zip(gold, predicted, strict=True), 1):
        if len(gold_row) != len(predicted_row):
            raise TagError(
                f"{len(gold_row)} predicted tags expected in sentence {number}, "
                f"found {len(predicted_row)}"
            )
        for side, row in (("gold", gold_row), ("predicted", predicted_row)):
            for position, tag in enumerate(row, 1):
                if tag not in known:
                    if tag[:2] not in ("B-", "I-") or len(tag) == 2:
                        raise TagError(
                            f"BIO tags (O, B-type, I-type) expected, {side} tag of word {position} "
                            f"in sentence {number} is {tag!r}"
                        )
                    known.add(tag)


def _both(
    gold: Tags, predicted: Tags, entities: Callable[[Tags], list[set[Entity]]]
) -> list[tuple[set[Entity], set[Entity]]]:
    """Entities of gold and predicted, sentence by sentence."""
    return list(zip(entities(gold), entities(predicted), strict=True))


def entities(rows: Tags) -> list[set[Entity]]:
    """Entities by sentence as conlleval sees them (seqeval's default mode)."""
    from seqeval.metrics.sequence_labeling import get_entities

    return [set(get_entities(list(row))) for row in rows]


def _strict_entities(rows: Tags) -> list[set[Entity]]:
    """Entities by sentence in seqeval's `mode="strict", scheme=IOB2`."""
    from seqeval.scheme import IOB2, Entities

    found = Entities([list(row) for row in rows], scheme=IOB2)
    return [{(e.tag, e.start, e.end) for e in sentence} for sentence in found.entities]


def _sentence_counts(pairs: list[tuple[set[Entity], set[Entity]]]) -> NDArray[np.int64]:
    """(S, 3): correct, predicted, gold."""
    counts = [(len(g & p), len(p), len(g)) for g, p in pairs]
    return np.array(counts, dtype=np.int64).reshape(-1, 3)


def _word_counts(gold: Tags, predicted: Tags) -> tuple[tuple[int, int, int], int]:
    """Words with a type (correct, predicted, gold), and words whose whole tag is right."""
    # Pairs of tags are few and words are many, so each pair is looked at once.
    pairs: Counter[tuple[str, str]] = Counter()
    for gold_row, predicted_row in zip(gold, predicted, strict=True):
        pairs.update(zip(gold_row, predicted_row, strict=True))
    counts = [0, 0, 0]
    for (gold_tag, predicted_tag), n in pairs.items():
        counts[0] += n * (gold_tag != "O" and gold_tag[2:] == predicted_tag[2:])
        counts[1] += n * (predicted_tag != "O")
        counts[2] += n * (gold_tag != "O")
    right = sum(n for (gold_tag, predicted_tag), n in pairs.items() if gold_tag == predicted_tag)
    return (counts[0], counts[1], counts[2]), right
