"""JSONL: a sentence a line, `{"tokens": ["Rome", "."], "tags": ["B-LOC", "O"]}`.

A key `document` (or `doc_id`, `document_id`), a string or an integer, marks documents: a new one
begins where its value changes. Other keys and blank lines are skipped. The keys of the words are
`WORD_KEYS`, those of the tags depend on what is read (`tags`).
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NoReturn

from featbert.data.corpus import Sentence
from featbert.data.files import Documents, Row, excerpt, json_rows, word_fault
from featbert.data.tags import ENTITY_KEYS
from featbert.errors import InputError
from featbert.text import counted

WORD_KEYS = ("tokens", "words")
DOCUMENT_KEYS = ("document", "doc_id", "document_id")


def sentence_of(
    row: Row, words: tuple[str, ...], tags: tuple[str, ...] | None, documents: Documents
) -> Sentence:
    """The sentence under the first of the keys that exist; without keys of `tags`, words alone."""
    found = _strings(row, "token", words)
    bare = None
    if tags is not None:
        bare = tuple(tag.strip(" ") for tag in _strings(row, "tag", tags))
        if len(bare) != len(found):
            _fail(row, f"{counted(len(found), 'token')} but {counted(len(bare), 'tag')}")
    if not found:
        _fail(row, "no token")
    key = next((row.values[k] for k in DOCUMENT_KEYS if k in row.values), None)
    if isinstance(key, bool) or not isinstance(key, str | int | None):
        _fail(row, f"document {excerpt(repr(key))} is neither a string nor an integer")
    if documents.seen and (key is None) != (documents.key is None):
        _fail(row, "some rows have a document and others have none")
    return Sentence(found, bare, documents.of_next(key), lines=(row.number,))


def _strings(row: Row, what: str, keys: tuple[str, ...]) -> tuple[str, ...]:
    key = next((k for k in keys if k in row.values), None)
    if key is None:
        _fail(row, f"no key {keys[0]!r}; it has {', '.join(map(repr, row.values)) or 'none'}")
    value = row.values[key]
    if not isinstance(value, list):
        _fail(row, f"{key!r} is not a list of strings")
    for item in value:
        if not isinstance(item, str):
            shown = excerpt(json.dumps(item, default=str))
            _fail(row, f"{shown} in {key!r} is not a string; write tags by name")
        if fault := word_fault(item):
            _fail(row, f"{what} {excerpt(item)} {fault}")
    return tuple(value)


def _fail(row: Row, fault: str) -> NoReturn:
    shown = excerpt(json.dumps(row.values, ensure_ascii=False, default=str))
    raise InputError(f"{fault}, {row.where}: {shown}")


def jsonl_sentences(
    lines: Iterable[str],
    path: Path,
    *,
    token_column: str | None = None,
    tag_column: str | None = None,
    tag_keys: tuple[str, ...] | None = ENTITY_KEYS,
) -> Iterator[Sentence]:
    """The sentences of lines, one at a time; `path` is for messages. Raises InputError.

    Args:
        token_column, tag_column: keys, where they are not the usual ones.
        tag_keys: the usual keys of tags; None reads words alone.
    """
    words = (token_column,) if token_column else WORD_KEYS
    tags = (tag_column,) if tag_column else tag_keys
    documents = Documents()
    for row in json_rows(lines, path):
        yield sentence_of(row, words, tags, documents)
