"""Rows read as sentences or examples: lines of JSONL, a JSON array, rows of a table or a dataset.

    {"tokens": ["Rome", "."], "tags": ["B-LOC", "O"]}

    {"text": "Rome.", "spans": [{"start": 0, "end": 4, "label": "LOC"}]}

A sentence is a list of words with a list of tags, by name or by number, under usual names (`Words`,
`tags`) or those that the caller names; the first row says which. Or it is a text with spans of
characters, as annotation tools write them (doccano, Prodigy, Label Studio's JSON-MIN): split as raw
text is (`words`), tagged by whole words. A key `document` (or `doc_id`, `document_id`), a string or
an integer, marks documents: a new one begins where its value changes, and after a row whose only
word is `-DOCSTART-`. Rows without a word are counted and skipped.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from featbert.data.corpus import ReadingNotes, Sentence
from featbert.data.examples import HIDDEN, Columns, Examples
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
from featbert.data.spans import words_at
from featbert.errors import InputError
from featbert.progress import notice
from featbert.text import counted, listed

WORD_KEYS = ("tokens", "words", "token", "word", "form", "text")
SPAN_KEYS = ("spans", "entities", "label", "labels")
DOCUMENT_KEYS = ("document", "doc_id", "document_id")


@dataclass
class Words(Examples):
    """Reads rows as sentences."""

    documents: Documents = field(default_factory=Documents)

    def __call__(self, row: Row) -> list[Sentence]:
        """The sentence of a row; none for a mark of documents, or where it has no word."""
        if (spans := spans_of(row.values)) is not None:
            row = self._worded(row, spans)
        columns = self.columns_of(row)
        if row.values.get(columns.token_column) == [DOCSTART]:
            self.documents.begin()
            return []
        words, tags = _strings(row, "token", columns.token_column), None
        if columns.tag_column is not None:
            tags = tuple(tag.strip(" ") for tag in _strings(row, "tag", columns.tag_column))
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
        found, asked = {}, {"token_column": WORD_KEYS, "tag_column": self.keys}
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
        """The row with words and tags in place of a text and spans."""
        from featbert.data.words import split_words  # which takes a while to import

        text = row.values["text"]
        places, found = split_words(text), [_span(row, one) for one in spans if self.keys]
        tags = ["O"] * len(places)
        if self.keys and row.values.get("answer", "accept") != "accept":
            _fail(row, "an answer that is not accepted; remove it")
        for start, end, kind in found:
            first, last = words_at(places, start, end - start)
            if (places[first][0], places[last][1]) != (start, end):
                if not self.notes["partial_words"]:
                    inside = f"{excerpt(text[start:end])} begins or ends inside a word"
                    notice(f"{inside}, {row.where}; whole words are taken, here and further on")
                self.notes["partial_words"] += 1
            if {*tags[first : last + 1]} != {"O"}:
                _fail(row, f"two entities have a part of {excerpt(text[start:end])}")
            tags[first : last + 1] = [f"B-{kind}"] + [f"I-{kind}"] * (last - first)
        kept = {key: row.values[key] for key in DOCUMENT_KEYS if key in row.values}
        return replace(row, values=kept | {"tokens": [text[a:b] for a, b in places], "tags": tags})


def spans_of(values: Mapping[Any, Any]) -> list[Any] | None:
    """The spans of a text; None where the row has words, or a text without spans."""
    lists = {key: value for key, value in values.items() if isinstance(value, list)}
    words = any(isinstance(one, str) for key in WORD_KEYS for one in lists.get(key, ()))
    found = next((lists[key] for key in SPAN_KEYS if key in lists), None)
    spans = found is not None and all(isinstance(one, list | dict) for one in found)
    return found if spans and isinstance(values.get("text"), str) and not words else None


def _span(row: Row, span: Any) -> tuple[int, int, str]:
    """First and end character without white space around it, and the type of an entity."""
    text, given = row.values["text"], span
    if isinstance(span, dict):
        ends = [span.get(key, span.get(f"{key}_offset")) for key in ("start", "end")]
        span = [*ends, span.get("label", span.get("labels"))]
    match span:
        case [int(start), int(end), str(kind) | [str(kind)], *_] if 0 <= start < end <= len(text):
            if (inner := text[start:end].strip()) and not word_fault(kind.strip()):
                start = text.index(inner, start)
                return start, start + len(inner), kind.strip()
    return _fail(row, f"{excerpt(json.dumps(given))} is no start, end and label in the text")


def _strings(row: Row, what: str, column: Column | None) -> tuple[str, ...]:
    if not isinstance(value := row.values.get(column), list):
        _fail(row, f"{column!r} is not a list of strings")
    found = []
    for item in value:
        if what == "tag" and type(item) is int and item >= 0:
            item = str(item)
        if not isinstance(item, str):
            _fail(row, f"{excerpt(json.dumps(item, default=str))} in {column!r} is not a string")
        if fault := word_fault(item):
            _fail(row, f"{what} {excerpt(item)} {fault}")
        found.append(item)
    return tuple(found)


def _fail(row: Row, fault: str) -> NoReturn:
    shown = excerpt(json.dumps(row.values, ensure_ascii=False, default=str))
    raise InputError(f"{fault}, {row.where}: {shown}")


def read_rows(rows: Iterable[Row], read: Examples, limit: int | None = None) -> RawFile:
    """The sentences or examples of one file, the first `limit`, without answers if all are hidden.

    InputError where only some have one.
    """
    found: list[Sentence] = []
    number, unit = 0, "line"
    for row in rows:
        of_row, unit = read(row), row.unit
        found += of_row
        number += bool(of_row)
        if number == limit:
            break
    missing = {s.lines[0] for s in found if s.tags is None}
    if all(s.tags is None or s.tags[0] in HIDDEN for s in found):
        found = [s if s.tags is None else replace(s, tags=None) for s in found]
    elif missing:
        raise InputError(
            f"{counted(len(missing), 'example')} of {read.path} without an answer, the first in "
            f"{unit} {min(missing)}; remove them, or hide the answers of all"
        )
    empty = len({s.lines for s in found if "" in s.words})
    return RawFile(read.path, tuple(found), ReadingNotes(empty_texts=empty, **read.notes), unit)
