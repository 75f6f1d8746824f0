"""Rows read as sentences: lines of JSONL, a JSON array, rows of a table or a dataset.

    {"tokens": ["Rome", "."], "tags": ["B-LOC", "O"]}

A sentence is a list of words with a list of tags, by name or by number, in columns with usual names
(`columns`) or the columns that the caller names. The first row decides. Or it is a text with spans
of characters (`annotations`): split as raw text is (`words`), tagged by whole words. A span with a
text of its own is read at the place of that text (`offsets`). In such a file a text without a list
of spans has no entity. A tag that is null or -100 means a word without an answer.

A key `document` (or `doc_id`, `document_id`), a string or an integer, marks documents: a new one
begins when its value changes, and after a row with `-DOCSTART-` as its only word. Rows without a
word are counted and skipped.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from featbert.data.annotations import (
    SPAN_KEYS,
    fail,
    finished_annotations,
    is_damaged,
    is_unanswered,
    parts_of,
    text_and_spans,
    text_in,
    trimmed_place,
)
from featbert.data.answers import count_missing, missing_mark, rejected
from featbert.data.columns import DOCUMENT_KEYS, WORD_KEYS, Column, only_column
from featbert.data.corpus import UNLABELLED, ReadingNotes, Sentence
from featbert.data.examples import TextReader
from featbert.data.files import DOCSTART, Documents, RawFile, RawRow, word_fault
from featbert.data.folder import SPLIT_WORDS
from featbert.data.nested import TextEntity, flat_entities
from featbert.data.offsets import Part, Place, doubt_unit, notice_partial, notice_parts, places_of
from featbert.data.spans import words_at
from featbert.errors import FormError, other_task, spelling
from featbert.text import counted, excerpt, listed


@dataclass
class WordReader(TextReader):
    """Reads rows as sentences.

    Attributes:
        word_columns: of words and of tags.
        has_spans: whether rows are texts with spans.
        cut: `texts` and `places` of a sentence, if the last row is a text. Empty if it has words.
        annotated: by number, texts with spans: the row, the places of its words, spans and types.
    """

    documents: Documents = field(default_factory=Documents)
    word_columns: tuple[str, str | None] | None = None
    has_spans: bool = False
    cut: dict[str, Any] = field(default_factory=dict)
    annotated: dict[int, tuple[RawRow, list[Place], list[tuple[Part, str]]]] = field(
        default_factory=dict
    )

    def begin(self, first: RawRow) -> None:
        """Looks for columns of words, or for texts with spans."""
        self.has_spans = text_and_spans(first.values) is not None
        if not self.must and is_unanswered(first.values, self.keys):
            self.has_spans, self.keys = True, None
        if not self.has_spans:
            self._find_columns(first)

    def __call__(self, row: RawRow) -> list[Sentence]:
        """The sentence of a row, or none for a mark of documents or a row without a word."""
        annotated = text_and_spans(row.values)
        if annotated is None and self.has_spans and (text := text_in(row.values)) is not None:
            annotated = text, []
        self.cut = {}
        if annotated is not None:
            row = self._with_words(row, *annotated)
        word_column, tag_column = self._find_columns(row)
        if row.values.get(word_column) == [DOCSTART]:
            self.documents.begin()
            return []
        words, tags = self._strings(row, "token", word_column), None
        if tag_column is not None:
            tags = self._tags(row, tag_column, len(words))
            if len(tags) != len(words):
                fail(row, f"{counted(len(words), 'token')} but {counted(len(tags), 'tag')}")
        if not words:
            self.notes["empty_rows"] += 1
            return []
        values = (row.values[k] for k in DOCUMENT_KEYS if k in row.values)
        key = next((value for value in values if not isinstance(value, list | dict)), None)
        if isinstance(key, bool) or not isinstance(key, str | int | None):
            fail(row, f"document {excerpt(repr(key))} is neither a string nor an integer")
        if self.documents.seen and (key is None) != (self.documents.key is None):
            fail(row, "some rows have a document and others have none")
        return [Sentence(words, tags, self.documents.of_next(key), lines=(row.number,))]

    def _find_columns(self, row: RawRow) -> tuple[str, str | None]:
        """The named columns of words and tags, or the only lists with a usual name."""
        if self.word_columns is None:
            words = self._list_column(row, self.options.token_column, WORD_KEYS, "token_column")
            tags = None
            if self.keys is not None:
                tags = self._list_column(row, self.options.tag_column, self.keys, "tag_column")
            self.word_columns = words or "", tags
        return self.word_columns

    def _list_column(
        self, row: RawRow, column: Column | None, keys: Sequence[str], setting: str
    ) -> str | None:
        """A column of lists. InputError without one, except tags that need not be there."""
        lists = [name for name, value in row.values.items() if isinstance(value, list)]
        names, of_tags = lists if column is None else [*row.values], setting == "tag_column"
        name = only_column(column, keys, names, setting, row.where)
        if name is None and (self.must or not of_tags):
            advice = "" if lists else f", or read texts with {other_task('classification')}"
            if of_tags and any(key in lists for key in SPAN_KEYS):
                advice = ", or write a tag for each word: spans of words are not read"
            raise FormError(
                f"no column of lists called {', '.join(keys)} in {row.where}; it has "
                f"{listed(row.values) or 'none'}; name one with {spelling(setting)}{advice}"
            )
        return name

    def _with_words(self, row: RawRow, text: str, spans: Sequence[Any]) -> RawRow:
        """The row with words, and tags that are not yet known, instead of text and spans."""
        from featbert.data.words import split_words  # which takes a while to import

        places = split_words(text)
        self.cut = {"texts": (text,), "places": tuple(places)}
        if is_damaged(row.values):
            fail(row, "the annotations have no list of results; export them again")
        if (several := len(finished_annotations(row.values))) > 1:
            fail(row, f"{several} annotations of one text; keep one of them")
        if self.keys and not rejected(row.values):
            parts = [part for span in spans for part in parts_of(row, text, span)]
            self.annotated[row.number] = row, places, parts
        keys = (*DOCUMENT_KEYS, "answer", "annotations", "data")
        values = {key: row.values[key] for key in keys if row.values.get(key, text) != text}
        words = [text[a:b] for a, b in places]
        return replace(row, values=values | {"tokens": words, "tags": ["O"] * len(words)})

    def completed(self, sentences: list[Sentence]) -> list[Sentence]:
        """The sentences, with the tags of their spans."""
        parts = [part for *_, spans in self.annotated.values() for part, _ in spans]
        rule = self.options.nested
        places = iter(places_of(parts, self.path, "entities", self.notes))
        words_of = {s[0][0].text: places for _, places, s in self.annotated.values() if s}
        bare = [part for part in parts if part.own is None]
        self.notes["doubtful_offsets"] = doubt_unit(bare, words_of, self.path)
        partial: list[tuple[str, str]] = []
        overlapping: list[tuple[str, str]] = []
        tags: dict[int, tuple[str, ...]] = {}
        for number, (row, words, spans) in self.annotated.items():
            entities: list[TextEntity] = []
            for part, kind in spans:
                if (place := next(places)) is None and part.own is not None:
                    continue
                start, end = trimmed_place(row, part, place)
                first, last = words_at(words, start, end - start)
                if (words[first][0], words[last][1]) != (start, end):
                    partial.append((part.text[start:end], part.where))
                entities.append(TextEntity(kind, first, last, part.text[start:end], part.where))
            by_word, pairs = flat_entities(entities, rule)
            for entity, rival in pairs:
                place_of_rival = f"with {rival.text} ({rival.type}), {rival.where}"
                overlapping.append((f"{entity.text} ({entity.type})", place_of_rival))
            row_tags = ["O"] * len(words)
            for word, entity in by_word.items():
                row_tags[word] = f"{'B' if word == entity.first else 'I'}-{entity.type}"
            tags[number] = tuple(row_tags)
        notice_partial(partial, self.path, "entities", self.notes)
        self.notes["overlapping_entities"] = len(overlapping)
        fault = f"share words with others and are left out ({spelling('nested', rule)})"
        notice_parts(overlapping, self.path, "entities", fault)
        return [replace(s, tags=tags.get(s.lines[0], s.tags)) for s in sentences]

    def _tags(self, row: RawRow, column: Column, n: int) -> tuple[str, ...]:
        """The tags of a row of n words."""
        mark = rejected(row.values)
        if mark is None and (column not in row.values or row.values[column] is not None):
            return tuple(tag.strip(" ") for tag in self._strings(row, "tag", column))
        count_missing(self.notes, mark or "null", n)
        return (UNLABELLED,) * n

    def _strings(self, row: RawRow, noun: str, column: Column) -> tuple[str, ...]:
        if not isinstance(values := row.values.get(column), list):
            fail(row, f"{column!r} is not a list of strings")
        strings, missing_values = [], self.options.missing_values
        for item in values:
            mark = None
            if noun == "tag":
                mark = missing_mark(None if item == -100 else item, missing_values)
                item = str(item) if type(item) is int and item >= 0 else item
            if mark is not None and (mark != "empty" or "" in (missing_values or ())):
                count_missing(self.notes, mark)
                strings.append(UNLABELLED)
                continue
            if not isinstance(item, str):
                shown = excerpt(json.dumps(item, default=str))
                fail(row, f"{shown} in {column!r} is not a string")
            if fault := word_fault(item):
                fail(row, f"{noun} {excerpt(item)} {fault}")
            strings.append(item)
        return tuple(strings)


def read_rows(rows: Iterable[RawRow], reader: TextReader) -> RawFile:
    """The sentences or examples of one file, or the first ones."""
    sentences: list[Sentence] = []
    number, unit = 0, "line"
    parts: dict[str, set[str]] | None = None  # by name of a column, the parts that it names
    for row in rows:
        of_row, unit = reader(row), row.unit
        names = row.values if parts is None else parts
        parts = {
            name: {*(parts or {}).get(name, ()), SPLIT_WORDS[value]}
            for name in names
            if (value := str(row.values.get(name)).lower()) in SPLIT_WORDS
        }
        sentences += of_row
        number += bool(of_row)
        if number == reader.options.limit:
            break
    sentences = reader.completed(sentences)
    empty = len({s.lines for s in sentences if "" in s.words})
    part_columns = tuple(
        name for name, names_of_parts in (parts or {}).items() if len(names_of_parts) > 1
    )
    notes = ReadingNotes(empty_texts=empty, part_columns=part_columns, **reader.notes)
    return RawFile(reader.path, tuple(sentences), notes, unit)
