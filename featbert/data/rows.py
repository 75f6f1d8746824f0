"""Rows read as sentences or examples: lines of JSONL, a JSON array, rows of a table or a dataset.

    {"tokens": ["Rome", "."], "tags": ["B-LOC", "O"]}

    {"text": "Rome.", "spans": [{"start": 0, "end": 4, "label": "LOC"}]}

A sentence is a list of words with a list of tags, by name or by number, under usual names (`Words`,
`tags`) or those that the caller names; the first row says which. Or it is a text with spans of
characters, as annotation tools write them (doccano, Prodigy, Label Studio, LightTag, UBIAI, spaCy):
split as raw text is (`words`), tagged by whole words; a span with a text of its own is where that
is (`offsets`). A text without a list of spans in such a file has no entity. A tag that is null or
-100 is of a word without an answer.

A key `document` (or `doc_id`, `document_id`), a string or an integer, marks documents: a new one
begins where its value changes, and after a row whose only word is `-DOCSTART-`. Rows without a word
are counted and skipped.
"""

import functools
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
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
    lower_names,
    usual_column,
    word_fault,
)
from featbert.data.offsets import PARTIAL, UNITS, Part, Place, notice_of, places_of, unit_of
from featbert.data.spans import words_at
from featbert.errors import InputError
from featbert.progress import notice
from featbert.text import counted, listed

WORD_KEYS = ("tokens", "words", "token", "word", "form", "text")
# What tools call a text with spans, these spans, their types, ends and texts.
TEXT_KEYS = ("text", "data", "content", "document", "sentence")
SPAN_KEYS = ("spans", "entities", "label", "labels", "ner", "annotations", "tokens")
TYPE_KEYS = ("label", "labels", "tag", "type", "entityLabel", "entity_type")
START_KEYS, END_KEYS = ("start", "start_offset", "begin"), ("end", "end_offset", "stop")
OWN_KEYS = ("text", "surface", "surface_form", "mention", "quote", "value", "name")
DOCUMENT_KEYS = ("document", "doc_id", "document_id")


@dataclass
class Words(Examples):
    """Reads rows as sentences."""

    documents: Documents = field(default_factory=Documents)
    of_spans: bool = False
    # By number, texts with spans: the row, the places of its words, spans and their types.
    marked: dict[int, tuple[Row, list[Place], list[tuple[Part, str]]]] = field(default_factory=dict)

    def begin(self, first: Row) -> None:
        """Looks at the columns of the first rows, and at whether these have texts with spans."""
        self.of_spans = text_and_spans(first.values) is not None
        if not self.must and unanswered(first.values, self.keys):
            self.of_spans, self.keys = True, None
        if not self.of_spans:
            super().begin(first)

    def __call__(self, row: Row) -> list[Sentence]:
        """The sentence of a row; none for a mark of documents, or where it has no word."""
        marked = text_and_spans(row.values)
        if marked is None and self.of_spans and (text := _text_of(row.values)) is not None:
            marked = text, []
        if marked is not None:
            row = self._worded(row, *marked)
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
                    if name == "tag_column" and not self.must:
                        continue  # such as a test part, whose answers are kept back
                    texts = "" if lists else ", or read texts with --task classification"
                    if name == "tag_column" and any(key in lists for key in SPAN_KEYS):
                        texts = ", or write a tag for each word: spans of words are not read"
                    raise InputError(
                        f"no column of lists called {', '.join(usual)} in {row.where}; it has "
                        f"{listed(row.values) or 'none'}; name one with --{option}{texts}"
                    )
        self.columns = Columns(**found)
        return self.columns

    def _worded(self, row: Row, text: str, spans: Sequence[Any]) -> Row:
        """The row with words, and with tags that are not yet known, in place of text and spans."""
        from featbert.data.words import split_words  # which takes a while to import

        places = split_words(text)
        if (several := len(_finished(row.values))) > 1:
            _fail(row, f"{several} annotations of one text; keep one of them")
        if self.keys and not rejected(row.values):
            self.marked[row.number] = row, places, [_part(row, text, one) for one in spans]
        of_row = (*DOCUMENT_KEYS, "answer", "annotations", "data")
        kept = {key: row.values[key] for key in of_row if row.values.get(key, text) != text}
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
                others = {entities[i] for i in range(first, last + 1) if i in entities}
                if others - {entity}:
                    advice = "a word has one tag, so keep one entity where some nest or overlap"
                    both = f"{min(others)} and {entity}"
                    _fail(row, f"the entities {both} share words; {advice}")
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
        words = {spans[0][0].text: places for _, places, spans in self.marked.values() if spans}

        @functools.lru_cache(16)
        def edges(text: str) -> tuple[set[int], set[int]]:
            return {start for start, _ in words[text]}, {end for _, end in words[text]}

        def is_whole(part: Part, place: Place | None) -> bool:
            starts, ends = edges(part.text)
            return place is not None and place[0] in starts and place[1] in ends

        off = [part for part in parts if not is_whole(part, UNITS[0].place(part))]
        few = len(off) < 3 and 2 * len(off) <= len(parts)
        if not few and (unit := unit_of(parts, is_whole)) != UNITS[0]:
            spans = f"{len(off):,} of {counted(len(parts), 'span')}"
            first = f"the first is {off[0].start} to {off[0].end}, {off[0].where}"
            notice(
                f"offsets in {self.path} are read as characters from 0, ends not included; "
                f"{spans} then begin or end inside a word or beyond the text ({first}), and would "
                f"not as {unit}; convert them, or give each span its text, as in "
                '"text": "Rome", which shows how they count'
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


def text_and_spans(values: Mapping[Any, Any]) -> tuple[str, list[Any]] | None:
    """The text of a row and its spans; None where the row has words, or a text without spans.

    Prodigy leaves out an empty list of spans. Label Studio has them in the results of annotations,
    CLUENER in a mapping from types to texts to offsets.
    """
    text = _text_of(values)
    lists = (value for key in WORD_KEYS if isinstance(value := values.get(key), list))
    if text is None or any(isinstance(item, str) for value in lists for item in value):
        return None
    for key in SPAN_KEYS:
        spans = values.get(key)
        if isinstance(spans, Mapping):
            spans = [
                {"label": kind, "text": own, "start": place[0], "end": place[-1]}
                for kind, texts in spans.items()
                if isinstance(texts, Mapping)
                for own, places in texts.items()
                for place in places
            ] or None
        if not isinstance(spans, list) or not all(isinstance(item, list | dict) for item in spans):
            continue
        if any("result" in item for item in spans):
            of_text = (item["result"] for item in _finished(values)[:1])
            spans = [item for results in of_text for item in results if _has_ends(item)]
        if key != "tokens" or (spans and {*TYPE_KEYS} & {*spans[0]}):  # else Prodigy's
            return text, spans
    prodigy = values.get("answer") in ("accept", "reject", "ignore")
    return (text, []) if prodigy and not {*values} & {*CLASS_KEYS} else None


def unanswered(values: Mapping[Any, Any], keys: Collection[str] | None) -> bool:
    """Whether a row is a text without the spans or tags that have these names, as test parts are.

    False where none are asked for.
    """
    if not keys or any(isinstance(value, list | Mapping) for value in values.values()):
        return False
    answers = {*keys, *SPAN_KEYS} & lower_names([*values]).keys()
    return not answers and _text_of(values) is not None


def _text_of(values: Mapping[Any, Any]) -> str | None:
    """The text of a row with spans, by its usual names; of Label Studio's `data` its only text."""
    for key in TEXT_KEYS:
        value = values.get(key)
        if isinstance(value, Mapping):
            texts = [item for item in value.values() if isinstance(item, str)]
            value = value.get("text", texts[0] if len(texts) == 1 else None)
        if isinstance(value, str):
            return value
    return None


def _finished(values: Mapping[Any, Any]) -> list[Mapping[Any, Any]]:
    """Label Studio's annotations of a text, but for those that were cancelled."""
    made = values.get("annotations")
    results = [item for item in made if "result" in item] if isinstance(made, list) else []
    return [item for item in results if not item.get("was_cancelled")]


def _has_ends(result: Any) -> bool:
    """Whether one of Label Studio's results is a span, not a relation or a choice."""
    value = result.get("value")
    return isinstance(value, Mapping) and "start" in value


def _part(row: Row, text: str, span: Any) -> tuple[Part, str]:
    """A span as the file gives it, and its type."""
    given, own = span, None
    if isinstance(span, dict):
        inner = span.get("value")  # of Label Studio's results
        span = span | inner if isinstance(inner, dict) else span
        own = next((span[key] for key in OWN_KEYS if isinstance(span.get(key), str)), None)
        ends = [next((span[k] for k in keys if k in span), None) for keys in (START_KEYS, END_KEYS)]
        ends = span.get("span", ends)
        span = [*ends, next((span[key] for key in TYPE_KEYS if key in span), None)]
    match span:
        case [int(start), int(end), str(kind) | [str(kind)], *_] if not word_fault(kind.strip()):
            return Part(text, start, end, own, row.where), kind.strip()
        case [int(), int(), [_, _, *_] as kinds, *_]:
            shown = f"the labels {listed(map(str, kinds))}"
            _fail(row, f"{excerpt(json.dumps(given))} has {shown}; a word has one tag, so keep one")
        case [int(), int(), None | [], *_] | [int(), int()]:
            _fail(row, f"{excerpt(json.dumps(given))} has no label; add one, or remove the span")
    return _fail(row, f"{excerpt(json.dumps(given))} is no start, end and label of a span")


def _trimmed(row: Row, part: Part, place: Place | None) -> Place:
    """First and end character of a span without white space around it."""
    inner = part.text[slice(*place)].strip() if place else ""
    if place is None or not inner:
        size = counted(len(part.text), "character")
        fault = f"is no part of the text, which has {size}"
        if place is not None or part.start == part.end:
            fault = "is empty; remove it"
        _fail(row, f"the span from {part.start} to {part.end} {fault}")
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
