"""JSONL: a sentence a line, `{"tokens": ["Rome", "."], "tags": ["B-LOC", "O"]}`.

`words` is read for `tokens` and `ner_tags` for `tags`, where the latter are names. A key
`document` (or `doc_id`), a string or an integer, marks documents: where its value changes a new
one begins. Other keys are passed over, and so are blank lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn, TextIO

from featbert.data.corpus import Sentence
from featbert.data.files import (
    RawFile,
    RawSentence,
    codec_name,
    excerpt,
    read_text,
    word_fault,
    writing,
)
from featbert.errors import InputError
from featbert.progress import stage, told
from featbert.text import counted

_WORD_KEYS = ("tokens", "words")
_TAG_KEYS = ("tags", "ner_tags")
_DOCUMENT_KEYS = ("document", "doc_id")


def read_jsonl(path: str | Path, *, encoding: str = "utf-8", tagged: bool = True) -> RawFile:
    """Read a JSONL file; `tagged=False` reads the words alone.

    Raises:
        MissingError: no such file.
        InputError: not such a file; the message names the line.
    """
    path = Path(path)
    lines = read_text(path, encoding).split("\n")
    with stage(f"reading {path.name}", "lines", len(lines)) as tell:
        sentences = tuple(jsonl_sentences(told(lines, tell, every=1000), path, tagged=tagged))
    if not sentences:
        raise InputError(f"sentences expected, {path} has only blank lines")
    return RawFile(path, sentences, codec_name(encoding), word_per_line=False)


def jsonl_sentences(lines: Iterable[str], path: Path, *, tagged: bool) -> Iterator[RawSentence]:
    """The sentences of lines, one by one; `path` is for messages. Raises InputError."""
    document = -1
    key: str | int | None = None
    seen = False
    for number, line in enumerate(lines, start=1):
        if not line.strip(" \t"):
            continue
        row = JsonLine(path, number, line)
        words, tags = row.words(), row.tags() if tagged else None
        if tags is not None and len(tags) != len(words):
            found = f"{counted(len(words), 'token')} and {counted(len(tags), 'tag')}"
            row.fail(f"one tag a token expected, found {found}")
        new = row.document()
        if seen and (new is None) != (key is None):
            row.fail('"document" in every line or in none expected')
        if new is not None and (not seen or new != key):
            document += 1
        key, seen = new, True
        yield RawSentence(words, tags, None if new is None else document, number)


def write_jsonl(target: str | Path | TextIO, sentences: Iterable[Sentence]) -> None:
    """Write sentences a line each, UTF-8, with their tags and document numbers where known.

    A path is written under a temporary name and renamed. Raises MissingError where its folder
    does not exist.
    """
    with writing(target) as stream:
        for sentence in sentences:
            row: dict[str, Any] = {"tokens": sentence.words}
            if sentence.tags is not None:
                row["tags"] = sentence.tags
            if sentence.document is not None:
                row["document"] = sentence.document
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")


class JsonLine:
    """One line's object, and errors that say where it stands."""

    def __init__(self, path: Path, number: int, line: str) -> None:
        self._where = f"line {number} of {path}"
        self._line = line
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else "cannot be parsed"
            self.fail(f'a JSON object such as {{"tokens": […], "tags": […]}} expected ({reason})')
        if not isinstance(row, dict):
            self.fail("a JSON object expected")
        self._row: dict[str, Any] = row

    def fail(self, what: str) -> NoReturn:
        raise InputError(f"{what}, {self._where}: {excerpt(self._line)}")

    def words(self) -> tuple[str, ...]:
        words = self._strings(_WORD_KEYS)
        if not words:
            self.fail("at least one token expected, found none")
        for word in words:
            if fault := word_fault(word):
                self.fail(f"token {excerpt(word)} cannot be used, it {fault}")
        return words

    def tags(self) -> tuple[str, ...]:
        tags = self._strings(_TAG_KEYS)
        for tag in tags:
            if tag != "O" and (fault := word_fault(tag)):
                self.fail(f"tag {excerpt(tag)} cannot be used, it {fault}")
        return tuple(tag.strip(" ") for tag in tags)

    def document(self) -> str | int | None:
        value = self._first(_DOCUMENT_KEYS)
        if isinstance(value, bool) or not isinstance(value, str | int | None):
            self.fail(
                f'"document" as a string or an integer expected, found {excerpt(repr(value))}'
            )
        return value

    def _first(self, keys: Iterable[str]) -> Any:
        return next((self._row[k] for k in keys if k in self._row), None)

    def _strings(self, keys: tuple[str, ...]) -> tuple[str, ...]:
        value = self._first(keys)
        if value is None:
            found = ", ".join(map(repr, self._row)) or "no key"
            self.fail(f'"{keys[0]}" expected, found {found}')
        if not isinstance(value, list):
            self.fail(f'"{keys[0]}" as a list of strings expected')
        for item in value:
            if not isinstance(item, str):
                advice = "; write tags by name, as in B-PER" if keys is _TAG_KEYS else ""
                self.fail(
                    f'strings in "{keys[0]}" expected, found {excerpt(json.dumps(item))}{advice}'
                )
        return tuple(value)
