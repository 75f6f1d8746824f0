"""Which values of a file are no answer, and which are one class in several notations.

No answer is null, NaN, an empty cell, a number outside of a dataset's names of classes, -100 as the
tag of a word, `_` as a part of speech in CoNLL-U, and whatever Prodigy's annotators did not accept.
Unless values are given (`Columns.missing`), these are none either, as all parts of a corpus say:

    -    where every other class has a letter or digit; it is a class beside "+"
    -1   where no part has it beside others (GLUE hides test answers so), or the others are words,
         or whole numbers from 0 on of which one is above 1; beside 0 and 1, or -2, it is a class

Numbers that are equal are one class (1.0 and 1), and so are True and true, Yes and yes.
"""

import math
import re
from collections.abc import Collection, Mapping, MutableMapping, Sequence
from dataclasses import replace
from typing import Any

from featbert.data.files import RawFile

_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_REJECTED = ("reject", "ignore")
# What programs write for no value, in lower case; a class may be called so, a score not.
NO_VALUE = ("nan", "null", "?", "n/a", "#n/a", "<na>", "na", "none")


def number_of(value: Any) -> float:
    """The number that a value is or writes; NaN for none."""
    try:
        return math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def whole(name: str) -> str:
    """A number without its decimals where these are 0."""
    return re.sub(r"\.0+$", "", name) if _NUMBER.fullmatch(name) else name


def missing_mark(value: Any, missing: Collection[str] | None) -> str | None:
    """How a value is called that is no answer; None for an answer.

    `missing` are the values that the caller names.
    """
    if value is None or value != value:
        return "null"
    text = "" if value in ([], {}) else str(value).strip()
    return (text or "empty") if not text or {text, whole(text)} & {*(missing or ())} else None


def doubtful_classes(classes: Collection[str]) -> list[str]:
    """Classes that may say that there is none: NA and None only beside numbers."""
    marks = [name for name in classes if name.lower() in NO_VALUE]
    others = {*classes} - {*marks}
    numbers = bool(others) and all(map(_NUMBER.fullmatch, others))
    return sorted(name for name in marks if numbers or name.lower() not in ("na", "none"))


def rejected(values: Mapping[Any, Any]) -> str | None:
    """How Prodigy or Label Studio says that a row has no valid answer; None where it has one."""
    answer, made = values.get("answer"), values.get("annotations")
    if isinstance(answer, str) and answer in _REJECTED:
        return f"answer: {answer}"
    if not isinstance(made, list) or not isinstance(values.get("data"), Mapping):
        return None
    cancelled = all(isinstance(item, Mapping) and item.get("was_cancelled") for item in made)
    return ("was_cancelled" if made else "no annotation") if cancelled else None


def count_missing(notes: MutableMapping[str, Any], mark: str, n: int = 1) -> None:
    """Counts what is no answer, in what becomes `ReadingNotes`."""
    if n:
        counts = notes.setdefault("missing", {})
        counts[mark] = counts.get(mark, 0) + n


def one_notation(names: Collection[str]) -> dict[str, str]:
    """By name the one that it is, where classes are numbers, or true and false, or yes and no."""
    if all(map(_NUMBER.fullmatch, names)):
        return {name: whole(name) for name in names}
    lower = {name: name.lower() for name in names}
    values = {*lower.values()}
    if values <= {"true", "false"} or (values <= {"yes", "no"} and len(values) < len(names)):
        return lower
    return {name: name for name in names}


def missing_marks(parts: Sequence[Collection[str]]) -> set[str]:
    """Those of "-" and "-1" that are no classes among the classes of all parts."""
    marks = {"-", "-1"}
    others = {name for part in parts for name in part} - marks
    if not all(any(map(str.isalnum, name)) for name in others):
        marks.remove("-")
    numbers = {number_of(name) for name in others}
    usual = all(n >= 0 and n.is_integer() for n in numbers) and max(numbers, default=0) > 1
    words = all(any(map(str.isalpha, name)) for name in others)
    if not (usual or words) and any("-1" in part and {*part} - {"-", "-1"} for part in parts):
        marks.remove("-1")
    return marks


def settled(files: Sequence[RawFile], names: Mapping[str, str | None]) -> list[RawFile]:
    """The files with these names of their answers; None for what is no answer."""
    found = []
    for file in files:
        missing, sentences = dict(file.notes.missing), []
        for s in file.sentences:
            name = names.get(s.tags[0], s.tags[0]) if s.tags else None
            if s.tags and name is None:
                count_missing({"missing": missing}, s.tags[0])
            same = s.tags is None or s.tags[0] == name
            sentences.append(s if same else replace(s, tags=None if name is None else (name,)))
        notes = replace(file.notes, missing=missing)
        found.append(replace(file, sentences=tuple(sentences), notes=notes))
    return found


def classes_settled(files: Sequence[RawFile], *, marks: bool) -> list[RawFile]:
    """The files with classes in one notation; with `marks` without those of `missing_marks`."""
    parts = [{tag for s in file.sentences for tag in s.tags or ()} for file in files]
    names: dict[str, str | None] = {"-1.0": "-1"}
    names |= one_notation({name for part in parts for name in part} - {"-"})
    if marks:
        renamed = [{str(names.get(name, name)) for name in part} for part in parts]
        no_classes = missing_marks(renamed)
        names |= {name: None for name in names if names[name] in no_classes}
        names |= {"-": None} if "-" in no_classes else {}
    return settled(files, names)


def scores_settled(files: Sequence[RawFile], *, marks: bool) -> list[RawFile]:
    """The files; with `marks` -1 is no score where a part has no other and none has it beside."""
    parts = [{tag for s in file.sentences for tag in s.tags or ()} for file in files]
    hidden = marks and not any("-1.0" in part and len(part) > 1 for part in parts)
    return settled(files, {"-1.0": None}) if hidden else [*files]
