"""Rows of a dataset as sentences: a list of words, and a list of tags as long.

- Words stand in `tokens` or `words`, tags in `ner_tags`, `tags`, `labels` or `ner`; where several
  of these are there, one must be named.
- Tags are names: of the ClassLabel feature of their column, or the strings themselves. Numbers
  without names are refused.
- `document`, `doc_id` or `document_id` marks documents, as in JSONL: where it changes a new one
  begins. So does a row whose only word is -DOCSTART-, which is no sentence.
- A row without a word is passed over and counted. Words are never changed, dropped or cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from featbert.data.files import DOCSTART, RawFile, RawSentence, excerpt, word_fault
from featbert.errors import InputError, nearest
from featbert.progress import stage
from featbert.text import counted

TOKENS = ("tokens", "words")
TAGS = ("ner_tags", "tags", "labels", "ner")
DOCUMENTS = ("document", "doc_id", "document_id")
_STRINGS = ("string", "large_string", "string_view")
_BATCH = 1000
_T = TypeVar("_T")


@dataclass(frozen=True)
class Columns:
    """Which columns of a dataset count.

    Attributes:
        tags: None where tags are not read.
        names: of the tags by their number; None where tags are strings.
        document: None where no column marks documents.
    """

    tokens: str
    tags: str | None
    names: tuple[str, ...] | None
    document: str | None


def read_rows(
    dataset: Any,
    path: Path,
    *,
    token_column: str | None,
    tag_column: str | None,
    tagged: bool,
) -> RawFile:
    """The sentences of one split.

    Args:
        dataset: a `datasets.Dataset`.
        path: what the split is called in messages.

    Raises:
        InputError: columns that cannot be chosen or used, or a row that is no sentence.
    """
    columns = find_columns(dataset.features, path, token_column, tag_column, tagged=tagged)
    sentences: list[RawSentence] = []
    documents = Documents()
    empty = 0
    for number, (words, tags, document) in enumerate(_rows(dataset, columns, path), start=1):
        row = _Row(number, path, columns)
        read = row.words(words)
        read_tags = None if columns.tags is None else row.tags(tags)
        if read_tags is not None and len(read_tags) != len(read):
            row.fail(
                "one tag a token expected, found "
                f"{counted(len(read), 'token')} and {counted(len(read_tags), 'tag')}"
            )
        if not read:
            empty += 1
        elif read == (DOCSTART,):
            documents.mark()
        else:
            row.check(read, read_tags)
            current = documents.of(row.document(document), row)
            sentences.append(RawSentence(read, read_tags, current, number))
    if not sentences:
        raise InputError(f"sentences expected, {path} holds none")
    if not documents.marked:
        sentences = [RawSentence(s.words, s.tags, None, s.line) for s in sentences]
    return RawFile(
        path, tuple(sentences), "utf-8", word_per_line=False, unit="row", empty_rows=empty
    )


def find_columns(
    features: Mapping[str, Any],
    path: Path,
    token_column: str | None,
    tag_column: str | None,
    *,
    tagged: bool,
) -> Columns:
    """The columns to read, by name and type; raises InputError where that leaves it open."""
    words = {name: e for name, f in features.items() if (e := _elements(f)) is not None}
    tokens = _choose(
        "token", token_column, TOKENS, features, path, {n for n, e in words.items() if _is_text(e)}
    )
    names = None
    tags = None
    if tagged:
        if tag_column == tokens:
            raise InputError(
                f"a tag column beside the words expected in {path}, both are {tokens!r}"
            )
        named = {n for n, e in words.items() if _is_text(e) or _names(e)} - {tokens}
        tags = _choose("tag", tag_column, TAGS, features, path, named)
        names = _names(words[tags])
    elif tag_column is not None:
        raise InputError(f"tag column {tag_column!r} given, but the text is read without tags")
    marks = [name for name in DOCUMENTS if _is_key(features.get(name))]
    return Columns(tokens, tags, names, marks[0] if marks else None)


def _choose(
    what: str,
    named: str | None,
    usual: tuple[str, ...],
    features: Mapping[str, Any],
    path: Path,
    usable: set[str],
) -> str:
    """One column: the named one, or the only usable one that is called as usual."""
    option = f"--{what}-column"
    expected = "a list of strings" if what == "token" else "a list of tags by name"
    if named is not None and named not in features:
        raise InputError(
            f"a column of {path} expected for {option}, found {named!r}"
            f"{nearest(named, features)}; it has {', '.join(features)}"
        )
    called = [name for name in usual if name in features] if named is None else [named]
    found = [name for name in called if name in usable]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(
            f"one {what} column expected in {path}, found {' and '.join(found)}; "
            f"name one with {option}"
        )
    if called:
        advice = ""
        if what == "tag" and named is None:
            advice = f"; name another column with {option}, or a dataset that names its tags"
        raise InputError(
            f"{expected} expected in column {called[0]!r} of {path}, found "
            f"{excerpt(repr(features[called[0]]))[1:-1]}{advice}"
        )
    raise InputError(
        f"{expected} expected in a column {' or '.join(usual)} of {path}, it has "
        f"{', '.join(features)}; name one with {option}"
    )


class Documents:
    """Numbers documents as they begin; `marked` tells whether any row marked one."""

    def __init__(self) -> None:
        self.marked = False
        self._number = -1
        self._begins = True
        self._key: str | int | None = None

    def mark(self) -> None:
        """The next sentence begins a document."""
        self.marked = self._begins = True

    def of(self, key: str | int | None, row: _Row) -> int:
        """The document of the next sentence, from 0."""
        if self._number >= 0 and (key is None) != (self._key is None):
            row.fail("a document in every row or in none expected")
        self._number += self._begins or key != self._key
        self._begins, self._key = False, key
        self.marked = self.marked or key is not None
        return self._number


class _Row:
    """One row's values, checked; errors say where it stands."""

    def __init__(self, number: int, path: Path, columns: Columns) -> None:
        self._where = f"row {number} of {path}"
        self._columns = columns

    def fail(self, what: str) -> NoReturn:
        raise InputError(f"{what}, {self._where}")

    def words(self, value: object) -> tuple[str, ...]:
        return self._list(value, self._columns.tokens, str, "strings")

    def tags(self, value: object) -> tuple[str, ...]:
        column, names = self._columns.tags or "", self._columns.names
        if names is None:
            return tuple(tag.strip(" ") for tag in self._list(value, column, str, "strings"))
        numbers = self._list(value, column, int, "tags")
        for number in numbers:
            if not 0 <= number < len(names):
                self.fail(f"a tag from 0 to {len(names) - 1} expected, found {number}")
        return tuple(names[number] for number in numbers)

    def check(self, words: tuple[str, ...], tags: tuple[str, ...] | None) -> None:
        """Refuses what no corpus file could hold."""
        for word in words:
            if fault := word_fault(word):
                self.fail(f"token {excerpt(word)} cannot be used, it {fault}")
        for tag in tags or ():
            if tag != "O" and (fault := word_fault(tag)):
                self.fail(f"tag {excerpt(tag)} cannot be used, it {fault}")

    def document(self, value: object) -> str | int | None:
        if value is not None and not isinstance(value, str | int):
            self.fail(f"a document as a string or an integer expected, found {value!r}")
        return value

    def _list(self, value: object, column: str, type_: type[_T], what: str) -> tuple[_T, ...]:
        if not isinstance(value, list):
            self.fail(f"a list expected in column {column!r}, found {excerpt(repr(value))[1:-1]}")
        for item in value:
            if not isinstance(item, type_):
                self.fail(f"{what} expected in column {column!r}, found {item!r}")
        return tuple(value)


def _rows(dataset: Any, columns: Columns, path: Path) -> Iterator[tuple[object, object, object]]:
    """Words, tags and document of each row, as Python values."""
    wanted = [c for c in (columns.tokens, columns.tags, columns.document) if c is not None]
    chosen = dataset.select_columns(wanted).with_format(None)
    with stage(f"reading {path}", "rows", len(dataset)) as tell:
        for batch in chosen.iter(batch_size=_BATCH):
            words = batch[columns.tokens]
            nothing = [None] * len(words)
            tags = nothing if columns.tags is None else batch[columns.tags]
            documents = nothing if columns.document is None else batch[columns.document]
            yield from zip(words, tags, documents, strict=True)
            tell(len(words))


def _elements(feature: Any) -> Any:
    """The type of the elements of a list column; None for other columns."""
    return feature[0] if isinstance(feature, list) else getattr(feature, "feature", None)


def _is_text(feature: Any) -> bool:
    return getattr(feature, "dtype", None) in _STRINGS


def _names(feature: Any) -> tuple[str, ...] | None:
    """The names of a ClassLabel; None for other types."""
    names = getattr(feature, "names", None)
    return tuple(names) if isinstance(names, list) else None


def _is_key(feature: Any) -> bool:
    dtype = str(getattr(feature, "dtype", ""))
    return _elements(feature) is None and (dtype in _STRINGS or "int" in dtype)
