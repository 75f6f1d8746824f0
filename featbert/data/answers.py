"""Which values of a file are no answer, and which are one class in several notations.

No answer is null, NaN, an empty cell, a number outside of a dataset's names of classes, -100 as the
tag of a word, `_` as a part of speech in CoNLL-U, and an answer that Prodigy's annotators rejected.
Unless the caller gives values (`ReadingOptions.missing`), these are no answer either, as decided
across all parts of a corpus:

    -    if every other class has a letter or digit. With "+" it is a class
    -1   if no part has it among others (as in GLUE's test parts), or the others are words, or
         whole numbers from 0 on with one above 1. With 0 and 1, or with -2, it is a class

Whole numbers with and without decimals are one class (1.0 and 1), and so are True and true, Yes and
yes, also next to other classes. +1 and 01 are other classes than 1.
"""

import math
import re
from collections.abc import Collection, Mapping, MutableMapping, Sequence
from dataclasses import replace
from typing import Any

from featbert.data.files import RawFile
from featbert.data.options import ReadingOptions

_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_TRUTHS = ("true", "false", "yes", "no")
_REJECTED = ("reject", "ignore")
# Signs of programs for no value, in lower case. A class may have such a name, a score not.
NO_VALUE = ("nan", "null", "?", "n/a", "#n/a", "<na>", "na", "none")


def number_of(value: Any) -> float:
    """The number that a value is or writes, or NaN. 1_000 is none, as in other programs."""
    try:
        return math.nan if isinstance(value, bool) or "_" in str(value) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def whole(name: str) -> str:
    """A number without its decimals if these are 0."""
    return re.sub(r"\.0+$", "", name) if _NUMBER.fullmatch(name) else name


def missing_mark(value: Any, missing: Collection[str] | None) -> str | None:
    """The name of a value that is no answer, or None for an answer.

    `missing` are the values that the caller names.
    """
    if value is None or value != value:
        return "null"
    text = "" if value in ([], {}) else str(value).strip()
    return (text or "empty") if not text or {text, whole(text)} & {*(missing or ())} else None


def doubtful_classes(classes: Collection[str]) -> list[str]:
    """Classes that may mean "no answer": NA and None only with other such marks or numbers."""
    marks = [name for name in classes if name.lower() in NO_VALUE]
    names = {*classes} - {*marks}
    are_numbers = bool(names) and all(map(_NUMBER.fullmatch, names))
    are_marks = are_numbers or not {*map(str.lower, marks)} <= {"na", "none"}
    return sorted(marks) if are_marks else []


def rejected(values: Mapping[Any, Any]) -> str | None:
    """The sign by which Prodigy or Label Studio rejects an answer, or None for a valid one."""
    answer, annotations = values.get("answer"), values.get("annotations")
    if isinstance(answer, str) and answer in _REJECTED:
        return f"answer: {answer}"
    if not isinstance(values.get("data"), Mapping) or "annotations" not in values:
        return None
    if annotations is None:
        return "no annotation"
    if isinstance(annotations, list) and all(
        isinstance(item, Mapping) and item.get("was_cancelled") for item in annotations
    ):
        return "was_cancelled" if annotations else "no annotation"
    return None


def count_missing(notes: MutableMapping[str, Any], mark: str, n: int = 1) -> None:
    """Adds n to the count of a value that is no answer, in counts of `ReadingNotes`."""
    if n:
        counts = notes.setdefault("missing", {})
        counts[mark] = counts.get(mark, 0) + n


def one_notation(names: Collection[str]) -> dict[str, str]:
    """One name by each name of a class: of equal numbers, of true and True, or of yes and Yes."""
    usual = {name: name.lower() if name.lower() in _TRUTHS else whole(name) for name in names}
    values = {*usual.values()}
    are_alike = all(map(_NUMBER.fullmatch, names)) or values <= {"true", "false"}
    return usual if are_alike or len(values) < len(names) else {name: name for name in names}


def missing_marks(parts: Sequence[Collection[str]]) -> set[str]:
    """The marks "-" and "-1" that are no classes, given the classes of all parts."""
    marks = {"-", "-1"}
    classes = {name for part in parts for name in part} - marks
    if not all(any(map(str.isalnum, name)) for name in classes):
        marks.remove("-")
    numbers = {number_of(name) for name in classes}
    are_counts = all(n >= 0 and n.is_integer() for n in numbers) and max(numbers, default=0) > 1
    are_words = all(any(map(str.isalpha, name)) for name in classes)
    is_class = any("-1" in part and {*part} - {"-", "-1"} for part in parts)
    if not (are_counts or are_words) and is_class:
        marks.remove("-1")
    return marks


def renamed(files: Sequence[RawFile], names: Mapping[str, str | None]) -> list[RawFile]:
    """The files with these names of their answers. The name None means no answer."""
    renamed = []
    for file in files:
        marks, sentences = dict(file.notes.missing), []
        for s in file.sentences:
            name = names.get(s.tags[0], s.tags[0]) if s.tags else None
            if s.tags and name is None:
                count_missing({"missing": marks}, s.tags[0] or "empty")
            tags = None if name is None else (name,)
            sentences.append(s if s.tags == tags else replace(s, tags=tags))
        renamed.append(file.with_sentences(sentences, missing=marks))
    return renamed


def _classes(files: Sequence[RawFile]) -> list[set[str]]:
    """The classes of each split."""
    classes: dict[str, set[str]] = {}
    for file in files:
        classes.setdefault(file.split, set()).update(
            t for s in file.sentences for t in s.tags or ()
        )
    return [*classes.values()]


def classes_settled(files: Sequence[RawFile], options: ReadingOptions) -> list[RawFile]:
    """The files with classes in one notation, without `missing_marks`."""
    parts = _classes(files)
    names: dict[str, str | None] = {"-1.0": "-1"}
    names |= one_notation({name for part in parts for name in part} - {"-"})
    if options.missing is None:
        marks = missing_marks([{str(names.get(name, name)) for name in part} for part in parts])
        names |= {name: None for name in names if names[name] in marks}
        names |= {"-": None} if "-" in marks else {}
    return renamed(files, names)


def scores_settled(files: Sequence[RawFile], options: ReadingOptions) -> list[RawFile]:
    """The files, with -1 as no score if it is the only value of each part that has it."""
    are_mixed = any("-1.0" in part and len(part) > 1 for part in _classes(files))
    hides = options.missing is None and not are_mixed
    return renamed(files, {"-1.0": None}) if hides else [*files]
