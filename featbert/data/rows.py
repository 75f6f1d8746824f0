"""Rows read as sentences or examples: lines of JSONL, a JSON array, rows of a table or a dataset.

    {"tokens": ["Rome", "."], "tags": ["B-LOC", "O"]}

A sentence is a list of words with a list of tags, by name or by number, under usual names (`Words`,
`tags`) or those that the caller names; the first row says which. A key `document` (or `doc_id`,
`document_id`), a string or an integer, marks documents: a new one begins where its value changes,
and after a row whose only word is `-DOCSTART-`. Rows without a word are counted and skipped.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import NoReturn

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
from featbert.errors import InputError
from featbert.text import counted, listed

WORD_KEYS = ("tokens", "words", "token", "word", "form", "text")
DOCUMENT_KEYS = ("document", "doc_id", "document_id")


@dataclass
class Words(Examples):
    """Reads rows as sentences."""

    documents: Documents = field(default_factory=Documents)

    def __call__(self, row: Row) -> list[Sentence]:
        """The sentence of a row; none for a mark of documents, or where it has no word."""
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
                    raise InputError(
                        f"no column of lists called {', '.join(usual)} in {row.where}; it has "
                        f"{listed(row.values) or 'none'}; name one with --{option}{texts}"
                    )
        self.columns = Columns(**found)
        return self.columns


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
