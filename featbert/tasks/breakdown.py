"""Entity scores by what an entity or its sentence is like: type, length, seen in training or not.

An entity belongs to a bucket whether it is gold or predicted: a predicted entity is counted in the
bucket of what was predicted, so that precision is of the predictions that a bucket has. Buckets of
a facet hold each entity once, and their counts add up to those of `score`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Literal

from featbert.tasks.scorer import Entity, Tags, check_tags, entities, prf
from featbert.tasks.scores import PRF

Facet = Literal["type", "length", "seen", "sentence"]
FACETS: dict[Facet, str] = {
    "type": "entity type",
    "length": "words of the entity",
    "seen": "whether train has an entity of the same words",
    "sentence": "words of the sentence",
}
Words = Sequence[Sequence[str]]
Surface = tuple[str, ...]

_LENGTHS = ((1, "1"), (2, "2"), (3, "3"), (None, "4 and more"))
_SENTENCES = ((10, "1 to 10"), (20, "11 to 20"), (40, "21 to 40"), (None, "41 and more"))
_SEEN = ("seen", "unseen")


def breakdowns(
    facets: Sequence[Facet],
    words: Words,
    gold: Tags,
    predicted: Tags,
    *,
    train: Collection[Surface] = (),
) -> dict[Facet, dict[str, PRF]]:
    """Scores by bucket, in the order of buckets, of each facet; no bucket is without an entity.

    Args:
        words: S sentences.
        train: words of the entities in train, as `surfaces` gives them, for facet "seen".

    Raises:
        TagError: as `score`.
    """
    check_tags(gold, predicted)
    pairs = list(zip(words, entities(gold), entities(predicted), strict=True))
    told: dict[Facet, dict[str, PRF]] = {}
    for facet in facets:
        name_of = _namer(facet, train)
        counts: dict[str, list[int]] = {}
        for row, gold_set, predicted_set in pairs:
            for column, found in enumerate((gold_set & predicted_set, predicted_set, gold_set)):
                for entity in found:
                    counts.setdefault(name_of(row, entity), [0, 0, 0])[column] += 1
        told[facet] = {name: prf(*counts[name]) for name in _order(facet, counts)}
    return told


def surfaces(words: Words, gold: Tags) -> set[Surface]:
    """The words of every entity, as they are written."""
    return {
        tuple(row[first : last + 1])
        for row, found in zip(words, entities(gold), strict=True)
        for _, first, last in found
    }


def _namer(facet: Facet, train: Collection[Surface]) -> Callable[[Sequence[str], Entity], str]:
    if facet == "type":
        return lambda row, entity: entity[0]
    if facet == "length":
        return lambda row, entity: _bucket(_LENGTHS, entity[2] - entity[1] + 1)
    if facet == "sentence":
        return lambda row, entity: _bucket(_SENTENCES, len(row))
    known = frozenset(train)
    return lambda row, entity: _SEEN[tuple(row[entity[1] : entity[2] + 1]) not in known]


def _bucket(buckets: Sequence[tuple[int | None, str]], size: int) -> str:
    return next(name for highest, name in buckets if highest is None or size <= highest)


def _order(facet: Facet, names: Collection[str]) -> Iterator[str]:
    if facet == "type":
        return iter(sorted(names))
    known = {"length": _LENGTHS, "sentence": _SENTENCES}
    order = _SEEN if facet == "seen" else [name for _, name in known[facet]]
    return (name for name in order if name in names)
