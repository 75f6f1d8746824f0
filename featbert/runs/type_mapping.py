"""Entity types under other names, so that a run can be scored on data that calls them otherwise.

    PERSON=PER   the data's PERSON is the run's PER
    MISC=O       no such type: its entities are none, in the gold tags and in the predicted ones

A mapping holds for gold and predicted tags alike, each name once and all at the same time
(`A=B`, `B=A` exchanges them). Entities are mapped, not tags: two that come to be of one type and
touch stay two.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from featbert.data.tags import spans
from featbert.errors import InputError, nearest


class MappingError(InputError):
    """A mapping of types that says nothing, or of types that nobody has."""


def parse_mapping(texts: Iterable[str]) -> dict[str, str]:
    """The mapping that texts such as "PERSON=PER" describe.

    Raises:
        MappingError: a text without "=", a name left out, or one type mapped to two.
    """
    mapping: dict[str, str] = {}
    for text in texts:
        old, equals, new = (part.strip() for part in text.partition("="))
        if not equals or not old or not new:
            raise MappingError(f"FROM=TO expected for --map, found {text!r}; as in --map MISC=O")
        if old == "O":
            raise MappingError(f"a type expected before = in --map {text!r}, O is none")
        if mapping.setdefault(old, new) != new:
            raise MappingError(
                f"one type for {old} expected, found {mapping[old]} and {new} in --map"
            )
    return mapping


def check_mapping(mapping: Mapping[str, str], *, data: Iterable[str], run: Iterable[str]) -> None:
    """Refuses names that nobody has.

    A new name is one too many unless types of both sides get it, as in `LOC=ENT`, `PER=ENT`.

    Args:
        data: types of the corpus.
        run: types that the run was taught.

    Raises:
        MappingError: names the nearest known type.
    """
    sides = (set(data), set(run))
    known = sorted(sides[0] | sides[1])
    for old, new in mapping.items():
        fresh = {name for name, to in mapping.items() if to == new}
        shared = all(side & fresh for side in sides)
        for name, fits in ((old, old in known), (new, new in ("O", *known) or shared)):
            if not fits:
                raise MappingError(
                    f"a type of the data or of the run expected in --map {old}={new}, "
                    f"{name!r} is none{nearest(name, known)}; they have {', '.join(known)}"
                )


def mapped_types(types: Iterable[str], mapping: Mapping[str, str]) -> list[str]:
    """The types under their new names, sorted, without those that were taken out."""
    return sorted({mapping.get(name, name) for name in types} - {"O"})


def mapped_tags(tags: Sequence[str], mapping: Mapping[str, str]) -> list[str]:
    """BIO tags (T,) of one sentence under the new names.

    An entity that ill-formed tags begin with I- stays so (strict scoring passes over it), unless
    it would become one with the entity before it.
    """
    found = ["O"] * len(tags)
    for type_, start, end in spans(tags):
        new = mapping.get(type_, type_)
        if new == "O":
            continue
        touches = start > 0 and found[start - 1][2:] == new
        found[start:end] = [f"I-{new}"] * (end - start)
        found[start] = f"{'B' if touches else tags[start][0]}-{new}"
    return found
