"""Entities that share words: a word has one tag, so one of them is read.

    outermost   the longest entity (in characters), as in spaCy's `filter_spans`
    innermost   the shortest entity
    first       the first entity in the file

Entities are taken in this order, equally long ones in the file's order. An entity that shares a
word with one before it is left out. If entities nest and never cross, the outermost ones are inside
no other entity, and the innermost ones have no other entity inside.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple


class TextEntity(NamedTuple):
    """An entity of a text: its type, first and last word, text, and its place for messages."""

    type: str
    first: int
    last: int
    text: str
    where: str


NESTED: dict[str, Callable[[TextEntity], int]] = {
    "outermost": lambda entity: -len(entity.text),
    "innermost": lambda entity: len(entity.text),
    "first": lambda entity: 0,
}


def flat_entities(
    entities: Iterable[TextEntity], rule: str
) -> tuple[dict[int, TextEntity], list[tuple[TextEntity, TextEntity]]]:
    """By word the entity that is read, and each other entity with one that it shares words with.

    Entities of one type with the same words are one entity. `rule` is one of `NESTED`.
    """
    distinct: dict[tuple[str, int, int], TextEntity] = {}
    for entity in entities:
        distinct.setdefault(entity[:3], entity)
    by_word: dict[int, TextEntity] = {}
    overlapping = []
    for entity in sorted(distinct.values(), key=NESTED[rule]):
        words = range(entity.first, entity.last + 1)
        rival = next((by_word[word] for word in words if word in by_word), None)
        if rival is None:
            by_word |= dict.fromkeys(words, entity)
        else:
            overlapping.append((entity, rival))
    return by_word, overlapping
