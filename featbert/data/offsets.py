"""Offsets of parts of a text, in characters, whatever unit a file counts them in.

A file that has the text of its parts (an entity's `text`, SQuAD's `answers.text`) shows its unit:
the first of `UNITS` in which nearly all texts are where their offsets say. A part whose text is
elsewhere is read where the text occurs exactly once, or else left out. Without texts the unit is
characters (code points), as Python, Prodigy and doccano count.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from featbert.progress import notice
from featbert.text import counted, excerpt

# Share of the parts that must be where a unit says, so that it is the unit of the file.
NEARLY_ALL = 0.9
_CODECS = {"characters": ("utf-32-le", 4), "UTF-16 units": ("utf-16-le", 2), "bytes": ("utf-8", 1)}
_LONE_FEED = re.compile(r"(?<!\r)\n")
# How parts are unusual that begin or end inside a word.
PARTIAL = "begin or end inside a word, which is taken whole"
Place = tuple[int, int]


@dataclass(frozen=True)
class Part:
    """A part of a text as a file gives it.

    Attributes:
        end: None of a part that is as long as its own text.
        own: the text that the file says it has, or None.
        where: for messages.
    """

    text: str
    start: int
    end: int | None
    own: str | None
    where: str

    def is_at(self, place: Place | None) -> bool:
        """Whether its own text is there, but for white space and case."""
        return place is not None and _folded(self.text[slice(*place)]) == _folded(self.own or "")


@dataclass(frozen=True)
class Unit:
    """What offsets count.

    Attributes:
        line_end: what a line end counts, if line ends were changed after counting.
        first: the offset of the first character.
        inclusive: whether an end is the last character of its part, not the next one.
    """

    name: str = "characters"
    line_end: int | None = None
    first: int = 0
    inclusive: bool = False

    def __str__(self) -> str:
        differences = [f"a line end as {self.line_end}"] if self.line_end else []
        differences += ["from 1"] * self.first + ["ends included"] * self.inclusive
        return ", ".join([self.name, *differences])

    def place(self, part: Part) -> Place | None:
        """First and end character of a part; None where the text has no such characters."""
        start = self._index(part.text, part.start - self.first)
        if start is None:
            return None
        if part.end is None:
            end: int | None = start + len(part.own or "")
        else:
            end = self._index(part.text, part.end - self.first + self.inclusive)
        return None if end is None or not start < end <= len(part.text) else (start, end)

    def _index(self, text: str, offset: int) -> int | None:
        """The character at an offset; None for one beyond the text or inside a character."""
        if offset < 0:
            return None
        if self == Unit(first=self.first, inclusive=self.inclusive):
            return offset if offset <= len(text) else None
        # NUL stands for a line end of 1, or for what a line end of 2 has more.
        if self.line_end == 1:
            text = text.replace("\r\n", "\0")
        elif self.line_end == 2:
            text = _LONE_FEED.sub("\0\n", text)
        codec, width = _CODECS[self.name]
        data = text.encode(codec, "surrogatepass")
        try:
            before = data[: offset * width].decode(codec)
        except UnicodeDecodeError:
            return None
        if offset * width > len(data):
            return None
        return len(before.replace("\0", "\r\n" if self.line_end == 1 else ""))


# From what most files have on: as few differences from it as can be, and likely ones first.
UNITS = sorted(
    (Unit(*values) for values in product(_CODECS, (None, 1, 2), (0, 1), (False, True))),
    key=lambda unit: (
        (unit.name != "characters") + (unit.line_end is not None) + unit.first + unit.inclusive,
        unit.first,
        unit.line_end is not None,
    ),
)


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def unit_of(parts: Sequence[Part], fits: Callable[[Part, Place | None], bool]) -> Unit:
    """The unit by which nearly all parts are in places that fit; characters, where there is none.

    `fits` gets a part and its place, or None where there is no such place.
    """

    def fitting(unit: Unit, parts: Sequence[Part]) -> int:
        return sum(fits(part, unit.place(part)) for part in parts)

    usual, *other_units = UNITS
    off = [part for part in parts if not fits(part, usual.place(part))]
    best, best_number = usual, len(parts) - len(off)
    for unit in other_units if off else ():
        # The parts that are off are few, and tell most units apart.
        if 2 * fitting(unit, off) > len(off) and (number := fitting(unit, parts)) > best_number:
            best, best_number = unit, number
    return best if best_number >= NEARLY_ALL * len(parts) else usual


@dataclass(frozen=True)
class Places:
    """Where the parts of a file are.

    Attributes:
        places: first and end character of each part; None for one that is left out because its
            text is elsewhere, or because the text has no such offsets.
        moved: parts that are read where their text occurs once.
        lost: parts that are left out because their text is elsewhere.
    """

    places: list[Place | None]
    moved: int
    lost: int


def places_of(parts: Sequence[Part], path: Path, what: str) -> Places:
    """Places of the parts of a file, with a notice of what is unusual.

    `what` names the parts in messages, such as "answers".
    """
    quoted = [part for part in parts if part.own is not None]
    unit = unit_of(quoted, Part.is_at)
    if unit != UNITS[0]:
        agreeing = sum(part.is_at(unit.place(part)) for part in quoted)
        share = f"{agreeing:,} of {counted(len(quoted), 'text')}"
        notice(f"offsets in {path} are read as {unit}, by which {share} are at their place")
    places: list[Place | None] = []
    moved: list[Part] = []
    lost: list[Part] = []
    for part in parts:
        place = unit.place(part)
        if part.own is not None and not part.is_at(place):
            place = _only_place(part.text, part.own)
            (lost if place is None else moved).append(part)
        places.append(place)
    for group, fault in (
        (moved, "are not at their offsets and are read where their text occurs once"),
        (
            lost,
            "are left out, as their text is neither at their offsets nor once elsewhere",
        ),
    ):
        notice_of([(part.own or "", part.where) for part in group], path, what, fault)
    return Places(places, len(moved), len(lost))


def notice_of(parts: Sequence[tuple[str, str]], path: Path, what: str, fault: str) -> None:
    """Says how many parts of a file are unusual, and names the first by its text and place."""
    if parts:
        text, where = parts[0]
        first = f"the first is {excerpt(text)}, {where}"
        notice(f"{what} of {path} that {fault}: {len(parts):,}; {first}")


def _only_place(text: str, part: str) -> Place | None:
    """Where a part occurs, if it does exactly once."""
    part = part.strip()
    start = text.find(part) if part else -1
    once = start >= 0 and text.find(part, start + 1) < 0
    return (start, start + len(part)) if once else None
