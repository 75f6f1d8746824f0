"""Rows read as sentences or examples: lines of JSONL, a JSON array, rows of a table or a dataset.

    {"tokens": ["Rome", "."], "tags": ["B-LOC", "O"]}

    {"text": "Rome.", "spans": [{"start": 0, "end": 4, "label": "LOC"}]}

A sentence is a list of words with a list of tags, by name or by number, under usual names (`Words`,
`tags`) or those that the caller names; the first row says which. Or it is a text with spans of
characters, as annotation tools write them (doccano, Prodigy, Label Studio's JSON-MIN): split as raw
text is (`words`), tagged by whole words; a span with a text of its own is where that is
(`offsets`). A text without a list of spans in such a file has no entity. A tag that is null or -100
is of a word without an answer.

A key `document` (or `doc_id`, `document_id`), a string or an integer, marks documents: a new one
begins where its value changes, and after a row whose only word is `-DOCSTART-`. Rows without a word
are counted and skipped.
"""

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from featbert.data.answers import count_missing, missing_mark, rejected
from featbert.data.corpus import UNLABELLED, ReadingNotes, Sentence
from featbert.data.examples import CLASS_KEYS, Columns, Examples
from featbert.data.files import (
    DOCSTART,
    Column,
    Documents,
    RawFile,
    Row,
    excerpt,
    usual_column,
    word_fault,
)
from featbert.data.offsets import PARTIAL, UNITS, Part, Place, notice_of, places_of, unit_of
from featbert.data.spans import words_at
from featbert.errors import InputError
from featbert.text import counted, listed

WORD_KEYS = ("tokens", "words", "token", "word", "form", "text")
SPAN_KEYS = ("spans", "entities", "label", "labels")
# The text that a span has, as Label Studio, brat's JSON and others call it.
OWN_KEYS = ("text", "surface", "surface_form", "mention", "quote")
DOCUMENT_KEYS = ("document", "doc_id", "document_id")


@dataclass
class Words(Examples):
    """Reads rows as sentences."""

    documents: Documents = field(default_factory=Documents)
    of_spans: bool = False
    # By number, rows of texts with spans: the row, the places of its words, spans and their types.
    marked: dict[int, tuple[Row, list[Place], list[tuple[Part, str]]]] = field(default_factory=dict)

    def begin(self, first: Row) -> None:
        """Looks at the columns of the first rows, and at whether these have texts with spans."""
        self.of_spans = spans_of(first.values) is not None
        if not self.of_spans:
            super().begin(first)

    def __call__(self, row: Row) -> list[Sentence]:
        """The sentence of a row; none for a mark of documents, or where it has no word."""
        spans = spans_of(row.values)
        if spans is not None or (self.of_spans and isinstance(row.values.get("text"), str)):
            row = self._worded(row, spans or ())
        columns = self.columns_of(row)
        if row.values.get(columns.token_column) == [DOCSTART]:
            self.documents.begin()
            return []
        words, tags = self._strings(row, "token", columns.token_column), None
        if columns.tag_column is not None:
            tags = self._tags(row, columns.tag_column, len(words))
            if len(tags) != len(words):
                _fail(row, f"{counted(len(words), 'token')} but {counted(len(tags), 'tag')}")
        if not words:
            self.notes["empty_rows"] += 1
            return []
        found = (row.values[k] for k in DOCUMENT_KEYS if k in row.values)
        key = next((one for one in found if not isinstance(one, list | dict)), None)
        if isinstance(key, bool) or not isinstance(key, str | int | None):
            _fail(row, f"document {excerpt(repr(key))} is neither a string nor an integer")
        if self.documents.seen and (key is None) != (self.documents.key is None):
            _fail(row, "some rows have a document and others have none")
        return [Sentence(words, tags, self.documents.of_next(key), lines=(row.number,))]

    def columns_of(self, row: Row) -> Columns:
        """The named columns, or the only lists with a usual name."""
        if self.columns is not None:
            return self.columns
        lists = [name for name, value in row.values.items() if isinstance(value, list)]
        found: dict[str, Any] = {}
        asked = {"token_column": WORD_KEYS, "tag_column": self.keys}
        for name, usual in asked.items():
            if usual is not None:
                named, option = getattr(self.wanted, name), name.replace("_", "-")
                names = lists if named is None else [*row.values]
                found[name] = usual_column(named, usual, names, option, row.where)
                if found[name] is None:
                    texts = "" if lists else ", or read texts with --task classification"
                    texts = ", or export JSON-MIN" if "annotations" in row.values else texts
                    raise InputError(
                        f"no column of lists called {', '.join(usual)} in {row.where}; it has "
                        f"{listed(row.values) or 'none'}; name one with --{option}{texts}"
                    )
        self.columns = Columns(**found)
        return self.columns

    def _worded(self, row: Row, spans: Sequence[Any]) -> Row:
        """The row with words, and with tags that are not yet known, in place of text and spans."""
        from featbert.data.words import split_words  # which takes a while to import

        text = row.values["text"]
        places = split_words(text)
        if self.keys and not rejected(row.values):
            self.marked[row.number] = row, places, [_part(row, one) for one in spans]
        kept = {key: row.values[key] for key in (*DOCUMENT_KEYS, "answer") if key in row.values}
        words = [text[a:b] for a, b in places]
        return replace(row, values=kept | {"tokens": words, "tags": ["O"] * len(words)})

    def completed(self, sentences: list[Sentence]) -> list[Sentence]:
        """The sentences, those with spans with the tags of these."""
        parts = [part for *_, spans in self.marked.values() for part, _ in spans]
        found = places_of(parts, self.path, "entities")
        self._doubt([part for part in parts if part.own is None])
        at, tags = iter(found.places), {}
        partial: list[tuple[str, str]] = []
        for number, (row, words, spans) in self.marked.items():
            of_row = tags[number] = ["O"] * len(words)
            entities: dict[int, str] = {}  # by their words
            for part, kind in spans:
                if (place := next(at)) is None and part.own is not None:
                    continue
                start, end = _trimmed(row, part, place)
                first, last = words_at(words, start, end - start)
                if (words[first][0], words[last][1]) != (start, end):
                    partial.append((part.text[start:end], part.where))
                entity = f"{excerpt(part.text[start:end])} ({kind})"
                if other := next(
                    (entities[i] for i in range(first, last + 1) if i in entities), None
                ):
                    advice = "a word has one tag, so keep one entity where some nest or overlap"
                    _fail(row, f"the entities {other} and {entity} share words; {advice}")
                entities |= dict.fromkeys(range(first, last + 1), entity)
                of_row[first : last + 1] = [f"B-{kind}"] + [f"I-{kind}"] * (last - first)
        notice_of(partial, self.path, "entities", PARTIAL)
        self.notes.update(
            moved_answers=found.moved, misplaced_answers=found.lost, partial_words=len(partial)
        )
        return [
            replace(s, tags=tuple(tags[s.lines[0]])) if s.lines[0] in tags else s for s in sentences
        ]

    def _doubt(self, parts: Sequence[Part]) -> None:
        """Warns where spans without a text of their own are whole words by another unit alone."""
        words = {row.values["text"]: places for row, places, _ in self.marked.values()}

        @functools.lru_cache(16)
        def edges(text: str) -> tuple[set[int], set[int]]:
            return {start for start, _ in words[text]}, {end for _, end in words[text]}

        def is_whole(part: Part, place: Place | None) -> bool:
            starts, ends = edges(part.text)
            return place is not None and place[0] in starts and place[1] in ends

        if (unit := unit_of(parts, is_whole)) != UNITS[0]:
            off = [part for part in parts if not is_whole(part, UNITS[0].place(part))]
            notice_of(
                [(str(part.start), part.where) for part in off],
                self.path,
                "offsets",
                f"are inside a word or beyond the text as characters, but not as {unit} (they are "
                "read as characters; with its text in a key text, each span is checked)",
            )

    def _tags(self, row: Row, column: Column, n: int) -> tuple[str, ...]:
        """The tags of a row of n words."""
        mark = rejected(row.values)
        if mark is None and (column not in row.values or row.values[column] is not None):
            return tuple(tag.strip(" ") for tag in self._strings(row, "tag", column))
        count_missing(self.notes, mark or "null", n)
        return (UNLABELLED,) * n

    def _strings(self, row: Row, what: str, column: Column | None) -> tuple[str, ...]:
        if not isinstance(value := row.values.get(column), list):
            _fail(row, f"{column!r} is not a list of strings")
        found, missing = [], self.wanted.missing
        for item in value:
            mark = None
            if what == "tag":
                mark = missing_mark(None if item == -100 else item, missing)
                item = str(item) if type(item) is int and item >= 0 else item
            if mark is not None and (mark != "empty" or "" in (missing or ())):
                count_missing(self.notes, mark)
                found.append(UNLABELLED)
                continue
            if not isinstance(item, str):
                shown = excerpt(json.dumps(item, default=str))
                _fail(row, f"{shown} in {column!r} is not a string")
            if fault := word_fault(item):
                _fail(row, f"{what} {excerpt(item)} {fault}")
            found.append(item)
        return tuple(found)


def spans_of(values: Mapping[Any, Any]) -> list[Any] | None:
    """The spans of a text; None where the row has words, or a text without spans.

    Prodigy leaves out an empty list of spans.
    """
    lists = {key: value for key, value in values.items() if isinstance(value, list)}
    words = any(isinstance(one, str) for key in WORD_KEYS for one in lists.get(key, ()))
    prodigy = values.get("answer") in ("accept", "reject", "ignore") and not (
        {*values} & {*CLASS_KEYS}
    )
    found = next((lists[key] for key in SPAN_KEYS if key in lists), [] if prodigy else None)
    spans = found is not None and all(isinstance(one, list | dict) for one in found)
    return found if spans and isinstance(values.get("text"), str) and not words else None


def _part(row: Row, span: Any) -> tuple[Part, str]:
    """A span as the file gives it, and its type."""
    given, own = span, None
    if isinstance(span, dict):
        inner = span.get("value")  # of Label Studio's results
        span = span | inner if isinstance(inner, dict) else span
        own = next((span[key] for key in OWN_KEYS if isinstance(span.get(key), str)), None)
        ends = [span.get(key, span.get(f"{key}_offset")) for key in ("start", "end")]
        span = [*ends, span.get("label", span.get("labels"))]
    match span:
        case [int(start), int(end), str(kind) | [str(kind)], *_] if not word_fault(kind.strip()):
            return Part(row.values["text"], start, end, own, row.where), kind.strip()
    return _fail(row, f"{excerpt(json.dumps(given))} is no start, end and label of a span")


def _trimmed(row: Row, part: Part, place: Place | None) -> Place:
    """First and end character of a span without white space around it."""
    inner = part.text[slice(*place)].strip() if place else ""
    if place is None or not inner:
        _fail(
            row,
            f"{part.start} to {part.end} is no part of the text, which has "
            f"{counted(len(part.text), 'character')}",
        )
    start = part.text.index(inner, place[0])
    return start, start + len(inner)


def _fail(row: Row, fault: str) -> NoReturn:
    shown = excerpt(json.dumps(row.values, ensure_ascii=False, default=str))
    raise InputError(f"{fault}, {row.where}: {shown}")


def read_rows(rows: Iterable[Row], read: Examples, limit: int | None = None) -> RawFile:
    """The sentences or examples of one file, the first `limit`."""
    found: list[Sentence] = []
    number, unit = 0, "line"
    for row in rows:
        of_row, unit = read(row), row.unit
        found += of_row
        number += bool(of_row)
        if number == limit:
            break
    found = read.completed(found)
    empty = len({s.lines for s in found if "" in s.words})
    return RawFile(read.path, tuple(found), ReadingNotes(empty_texts=empty, **read.notes), unit)
