"""Offsets of parts of a text, in characters, for files that count them in any unit.

A file that has the text of its parts (an entity's `text`, SQuAD's `answers.text`) shows its unit:
the first of `UNITS` in which nearly all texts are at their offsets. A part with its text elsewhere
is read at the only place of that text, or else left out. Without texts the unit is characters (code
points), as in Python, Prodigy and doccano.
"""

import re
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

from featbert.progress import notice
from featbert.text import counted, excerpt

# Share of the parts that must be at their offsets in the unit of the file.
NEARLY_ALL = 0.9
_CODECS = {"characters": ("utf-32-le", 4), "UTF-16 units": ("utf-16-le", 2), "bytes": ("utf-8", 1)}
_LONE_FEED = re.compile(r"(?<!\r)\n")
Place = tuple[int, int]


@dataclass(frozen=True)
class Part:
    """A part of a text as a file gives it.

    Attributes:
        end: None for a part as long as its own text.
        own: the text of the part in the file, or None.
        where: for messages.
    """

    text: str
    start: int
    end: int | None
    own: str | None
    where: str

    def is_at(self, place: Place | None) -> bool:
        """Whether its own text is at the place, except for white space and case."""
        return place is not None and folded(self.text[slice(*place)]) == folded(self.own or "")


@dataclass(frozen=True)
class Unit:
    """The unit of offsets.

    Attributes:
        line_end: length of a line end, if line ends were changed after counting.
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
        """First and end character of a part, or None if the text has no such characters."""
        start = self._index(part.text, part.start - self.first)
        if start is None:
            return None
        if part.end is None:
            end: int | None = start + len(part.own or "")
        else:
            end = self._index(part.text, part.end - self.first + self.inclusive)
        return None if end is None or not start < end <= len(part.text) else (start, end)

    def _index(self, text: str, offset: int) -> int | None:
        """The character at an offset, or None for one beyond the text or inside a character."""
        if offset < 0:
            return None
        if self == Unit(first=self.first, inclusive=self.inclusive):
            return offset if offset <= len(text) else None
        # NUL stands for a line end of 1, or for the second character of a line end of 2.
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


# The most frequent unit first, then units with few and likely differences from it.
UNITS = sorted(
    (Unit(*values) for values in product(_CODECS, (None, 1, 2), (0, 1), (False, True))),
    key=lambda unit: (
        (unit.name != "characters") + (unit.line_end is not None) + unit.first + unit.inclusive,
        unit.first,
        unit.line_end is not None,
    ),
)


def folded(text: str) -> str:
    """The text in lower case, with single spaces."""
    return " ".join(text.split()).casefold()


def unit_of(parts: Sequence[Part], fits: Callable[[Part, Place | None], bool]) -> Unit:
    """The unit that puts nearly all parts in places that fit, characters if there is none."""

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


def doubt_unit(parts: Sequence[Part], words: Mapping[str, Sequence[Place]], path: Path) -> int:
    """Number of parts without a text of their own that only another unit makes whole words.

    Warns of them. `words` are the places of words by text.
    """

    @lru_cache(16)
    def edges(text: str) -> tuple[set[int], set[int]]:
        return {start for start, _ in words[text]}, {end for _, end in words[text]}

    def is_whole(part: Part, place: Place | None) -> bool:
        starts, ends = edges(part.text)
        return place is not None and place[0] in starts and place[1] in ends

    off = [part for part in parts if not is_whole(part, UNITS[0].place(part))]
    are_few = len(off) < 3 and 2 * len(off) <= len(parts)
    if are_few or (unit := unit_of(parts, is_whole)) == UNITS[0]:
        return 0
    notice(
        f"offsets in {path} are read as characters from 0, ends not included; {len(off):,} of "
        f"{counted(len(parts), 'span')} then begin or end inside a word or beyond the text "
        f"(the first is {off[0].start} to {off[0].end}, {off[0].where}), and would not as "
        f'{unit}; convert them, or give each span its text, as in "text": "Rome", which shows '
        "how they count"
    )
    return len(off)


def places_of(
    parts: Sequence[Part], path: Path, noun: str, notes: MutableMapping[str, Any]
) -> list[Place | None]:
    """First and end character of each part of a file, or None for a part that is left out.

    The unusual is logged, with `noun` for the parts ("answers"), and counted in `notes`. Offsets
    beyond a text give None, too.
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
            place = _inner_place(part, part.own, unit)
            if place is None:
                surface = part.own.strip()
                start = part.text.find(surface) if surface else -1
                is_only = start >= 0 and start == part.text.rfind(surface)
                place = (start, start + len(surface)) if is_only else None
                (lost if place is None else moved).append(part)
        places.append(place)
    for group, fault in (
        (moved, "are not at their offsets and are read where their text occurs once"),
        (lost, "are left out, as their text is neither at their offsets nor once elsewhere"),
    ):
        notice_parts([(part.own or "", part.where) for part in group], path, noun, fault)
    notes.update(moved_answers=len(moved), misplaced_answers=len(lost))
    return places


def notice_partial(
    parts: Sequence[tuple[str, str]], path: Path, noun: str, notes: MutableMapping[str, Any]
) -> None:
    """Logs and counts parts that begin or end inside a word, by their texts and places."""
    notes["partial_words"] = len(parts)
    notice_parts(parts, path, noun, "begin or end inside a word, which is taken whole")


def notice_parts(parts: Sequence[tuple[str, str]], path: Path, noun: str, fault: str) -> None:
    """Logs how many parts have a fault, and the text and the place of the first one."""
    if parts:
        text, place = parts[0]
        first = f"the first is {excerpt(text)}, {place}"
        notice(f"{noun} of {path} that {fault}: {len(parts):,}; {first}")


def _inner_place(part: Part, own: str, unit: Unit) -> Place | None:
    """The place of a part's text without blanks at its ends, if this is at the offset.

    The offset may be of the first blank or of the first other character.
    """
    n_blanks = len(own) - len(own.lstrip())
    for start in (part.start, part.start + n_blanks):
        inner = replace(part, start=start, own=own.strip())
        if inner.is_at(place := unit.place(inner)):
            return place
    return None
