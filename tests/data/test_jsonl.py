"""JSONL read."""

import json
import re

import pytest

from featbert.data.files import RawFile, read_file
from featbert.data.jsonl import jsonl_sentences
from featbert.errors import InputError


@pytest.fixture
def read(tmp_path):
    def reader(*lines, **options):
        path = tmp_path / "dev.jsonl"
        text = "\n".join(
            x if isinstance(x, str) else json.dumps(x, ensure_ascii=False) for x in lines
        )
        path.write_text(text, "utf-8")
        return RawFile(path, tuple(jsonl_sentences(read_file(path), path, **options)))

    return reader


def test_tokens_and_tags(read):
    raw = read(
        {"tokens": ["New York", "\u2028"], "tags": ["B-LOC", "O "], "id": 3},
        " \t",
        "",
        {"words": ["a"], "ner_tags": ["O"]},
    )
    assert [(s.words, s.tags, s.document, s.lines[0]) for s in raw.sentences] == [
        (("New York", "\u2028"), ("B-LOC", "O"), None, 1),
        (("a",), ("O",), None, 4),
    ]


def test_other_keys(read):
    row = {"form": ["a"], "upos": ["X"], "tags": ["O"]}
    raw = read(row, token_column="form", tag_column="upos")
    assert raw.sentences[0].tags == ("X",)
    raw = read(row, token_column="form", tag_keys=("pos", "upos"))
    assert raw.sentences[0].tags == ("X",)


@pytest.mark.parametrize("key", ["document", "doc_id"])
def test_a_change_of_document_begins_a_new_one(read, key):
    names = ["x", "x", "y", "x", 1, 1, "1"]
    raw = read(*({"tokens": ["a"], "tags": ["O"], key: name} for name in names))
    assert [s.document for s in raw.sentences] == [0, 0, 1, 2, 3, 3, 4]


def test_untagged(read):
    assert read({"tokens": ["a"]}, tag_keys=None).sentences[0].tags is None
    assert read({"tokens": ["a"], "tags": [1]}, tag_keys=None).sentences[0].tags is None


GOOD = {"tokens": ["a"], "tags": ["O"]}


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ('{"tokens": ["a"', "tokens"),
        ("[" * 100_000, r"\["),
        ("9" * 5000, "9"),
        ("[1]", "1"),
        ({}, "tokens"),
        ({"tokens": ["a"]}, "'tokens'"),
        ({"tokens": "a", "tags": "O"}, "'tokens'"),
        ({"tokens": [1], "tags": ["O"]}, "'1' in 'tokens'"),
        ({"tokens": ["a"], "ner_tags": [3]}, "'3' in 'ner_tags'"),
        ({"tokens": ["a"], "tags": ["O", "O"]}, "1 token .*2 tags"),
        ({"tokens": [], "tags": []}, "token"),
        ({"tokens": [""], "tags": ["O"]}, "''"),
        ({"tokens": ["a\nb"], "tags": ["O"]}, r"'a\\nb'"),
        ('{"tokens": ["\\ud800"], "tags": ["O"]}', "ud800"),
        ({"tokens": ["-DOCSTART-"], "tags": ["O"]}, "-DOCSTART-"),
        ({"tokens": ["a"], "tags": ["B-a\tb"]}, r"'B-a\\tb'"),
        ({**GOOD, "document": 1.5}, "'1.5'"),
        ({**GOOD, "document": "x"}, "document"),
    ],
)
def test_errors_name_file_line_and_value(read, line, value):
    with pytest.raises(InputError, match=f"{value}.*") as error:
        read(GOOD, line)
    assert re.search(r"line 2 of .*dev\.jsonl", str(error.value))
    assert len(str(error.value)) < 600


def test_only_blank_lines(read):
    with pytest.raises(InputError, match=r"dev\.jsonl"):
        read(" ", "")
