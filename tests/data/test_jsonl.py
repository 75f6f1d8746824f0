"""JSONL read and written."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from featbert.data.corpus import Sentence
from featbert.data.jsonl import read_jsonl, write_jsonl
from featbert.errors import InputError


@pytest.fixture
def read(tmp_path):
    def reader(*lines, **options):
        path = tmp_path / "dev.jsonl"
        text = "\n".join(
            x if isinstance(x, str) else json.dumps(x, ensure_ascii=False) for x in lines
        )
        path.write_bytes(text.encode(options.get("encoding", "utf-8")))
        return read_jsonl(path, **options)

    return reader


def test_tokens_and_tags(read):
    raw = read(
        {"tokens": ["New York", "\u2028"], "tags": ["B-LOC", "O"], "id": 3},
        " \t",
        "",
        {"words": ["a"], "ner_tags": ["O"]},
    )
    assert [(s.words, s.tags, s.document, s.line) for s in raw.sentences] == [
        (("New York", "\u2028"), ("B-LOC", "O"), None, 1),
        (("a",), ("O",), None, 4),
    ]
    assert raw.line_of(raw.sentences[0], 1) == 1


@pytest.mark.parametrize("key", ["document", "doc_id"])
def test_a_change_of_document_begins_a_new_one(read, key):
    names = ["x", "x", "y", "x", 1, 1, "1"]
    raw = read(*({"tokens": ["a"], "tags": ["O"], key: name} for name in names))
    assert [s.document for s in raw.sentences] == [0, 0, 1, 2, 3, 3, 4]


def test_untagged(read):
    assert read({"tokens": ["a"]}, tagged=False).sentences[0].tags is None
    assert read({"tokens": ["a"], "tags": [1]}, tagged=False).sentences[0].tags is None


def test_encoding(read):
    raw = read({"tokens": ["ö"], "tags": ["O"]}, encoding="latin-1")
    assert (raw.sentences[0].words, raw.encoding) == (("ö",), "iso8859-1")


GOOD = {"tokens": ["a"], "tags": ["O"]}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"tokens": ["a"', r"a JSON object such as .* expected \(Expecting"),
        ("[" * 100_000, "JSON object"),
        ("[1]", "a JSON object expected"),
        ({"tags": ["O"]}, "\"tokens\" expected, found 'tags'"),
        ({}, '"tokens" expected, found no key'),
        ({"tokens": ["a"]}, "\"tags\" expected, found 'tokens'"),
        ({"tokens": "a", "tags": "O"}, '"tokens" as a list'),
        ({"tokens": [1], "tags": ["O"]}, "strings in \"tokens\" expected, found '1'"),
        ({"tokens": ["a"], "ner_tags": [3]}, "write tags by name"),
        ({"tokens": ["a"], "tags": ["O", "O"]}, "found 1 token and 2 tags"),
        ({"tokens": [], "tags": []}, "at least one token"),
        ({"tokens": [""], "tags": ["O"]}, "it is empty"),
        ({"tokens": ["a\nb"], "tags": ["O"]}, "it holds a tab"),
        ('{"tokens": ["\\ud800"], "tags": ["O"]}', "lone surrogate"),
        ({"tokens": ["-DOCSTART-"], "tags": ["O"]}, "document mark"),
        ({"tokens": ["a"], "tags": ["B-a\tb"]}, "tag .* it holds a tab"),
        ({**GOOD, "document": 1.5}, "as a string or an integer expected, found '1.5'"),
        ({**GOOD, "document": True}, "found 'True'"),
        ({**GOOD, "document": "x"}, "in every line or in none"),
    ],
)
def test_errors_name_file_and_line(read, line, expected):
    with pytest.raises(InputError, match=expected) as error:
        read(GOOD, line)
    assert "line 2 of" in str(error.value)
    assert "dev.jsonl" in str(error.value)
    assert "\n" not in str(error.value)


def test_only_blank_lines(read):
    with pytest.raises(InputError, match="only blank lines"):
        read(" ", "")


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\n\t\r\0"), min_size=1).filter(
    lambda w: w.strip(" ") and not w.startswith("-DOCSTART-")
)


@given(st.lists(st.lists(WORDS, min_size=1, max_size=4), min_size=1, max_size=4), st.booleans())
def test_round_trip(tmp_path_factory, rows, documents):
    path = tmp_path_factory.mktemp("jsonl") / "out.jsonl"
    sentences = [
        Sentence(tuple(r), ("B-X",) * len(r), i // 2 if documents else None)
        for i, r in enumerate(rows)
    ]
    write_jsonl(path, sentences)
    raw = read_jsonl(path)
    assert [Sentence(s.words, s.tags, s.document) for s in raw.sentences] == sentences


def test_the_bytes():
    stream = io.StringIO()
    write_jsonl(stream, [Sentence(("Köln",), ("B-LOC",), 0), Sentence(("a",))])
    assert stream.getvalue() == (
        '{"tokens": ["Köln"], "tags": ["B-LOC"], "document": 0}\n{"tokens": ["a"]}\n'
    )
