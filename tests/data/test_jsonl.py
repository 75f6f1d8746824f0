"""Rows of words: JSONL and JSON."""

import json

import pytest

from featbert.data.columns import ENTITY_KEYS
from featbert.data.files import read_file
from featbert.data.jsonl import json_rows
from featbert.data.options import ReadingOptions
from featbert.data.rows import WordReader, read_rows
from featbert.errors import InputError


@pytest.fixture
def read(tmp_path):
    def reader(*lines, name="dev.jsonl", token=None, tag=None, keys=ENTITY_KEYS, limit=None):
        path = tmp_path / name
        text = "\n".join(
            x if isinstance(x, str) else json.dumps(x, ensure_ascii=False) for x in lines
        )
        path.write_text(text, "utf-8")
        options = ReadingOptions(token_column=token, tag_column=tag, limit=limit)
        return read_rows(json_rows(read_file(path), path), WordReader(options, keys, path))

    return reader


def test_tokens_and_tags(read):
    raw = read(
        {"tokens": ["New York", "\u2028"], "tags": ["B-LOC", "O "], "id": 3},
        " \t",
        "",
        {"tokens": [], "tags": []},
        {"tokens": ["a"], "tags": [3]},
    )
    assert [(s.words, s.tags, s.document, s.lines[0]) for s in raw.sentences] == [
        (("New York", "\u2028"), ("B-LOC", "O"), None, 1),
        (("a",), ("3",), None, 5),
    ]
    assert raw.notes.empty_rows == 1
    assert read({"tokens": ["a"], "tags": [1.5]}, keys=None).sentences[0].tags is None


def test_texts_with_spans_of_characters(read):
    spans = [[0, 13, "PER"], [22, 28, "LOC"]]  # white space at the end, and a part of a word
    objects = [dict(zip(("start", "end", "label"), span, strict=True)) for span in spans]
    for key, found in (("label", spans), ("spans", objects)):
        raw = read({"text": "Ada Lovelace lived in London-Chelsea.", key: found})
        (one,) = raw.sentences
        assert one.words == ("Ada", "Lovelace", "lived", "in", "London-Chelsea", ".")
        tags = ("B-PER", "I-PER", "O", "O", "B-LOC", "O")
        assert (one.tags, raw.notes.partial_words) == (tags, 1)


ADA = "Ada Lee saw Rome."
SPANS = [(0, 7, "PER"), (12, 16, "LOC")]


def label_studio(*results, **more):
    return {"annotations": [{"result": list(results), **more}], "data": {"id": "7", "text": ADA}}


def result(start, end, *labels):
    value = {"start": start, "end": end, "text": ADA[start:end], "labels": [*labels]}
    return {"value": value, "id": "r", "from_name": "label", "type": "labels"}


RESULTS = [result(*span) for span in SPANS]
RELATION = {"from_id": "r", "to_id": "s", "type": "relation", "labels": ["in"]}
CHOICE = {"value": {"choices": ["good"]}, "type": "choices"}
REGION = {"start": 0, "end": 7, "text": ADA[:7]}
NOTES = [
    {"value": REGION | {"choices": ["good"]}, "type": "choices"},
    {"value": REGION | {"text": ["a note"]}, "type": "textarea"},
]

# The offsets of HyperText count in an element of the page, its global ones in the text.
ELEMENT = {"start": "/p[1]/text()[1]", "startOffset": 0}


def hypertext(start, end, kind):
    value = {"globalOffsets": {"start": start, "end": end}, "text": ADA[start:end]}
    return {"type": "hypertextlabels", "value": ELEMENT | value | {"hypertextlabels": [kind]}}


HYPERTEXT = [hypertext(*span) for span in SPANS]


def keyed(*keys):
    return [dict(zip(keys, span, strict=True)) for span in SPANS]


@pytest.mark.parametrize(
    "row",
    [
        label_studio(*RESULTS, RELATION, CHOICE),
        label_studio(*NOTES, *RESULTS, *NOTES),
        label_studio(*HYPERTEXT),
        {"text": ADA, "label": [item["value"] for item in HYPERTEXT]},
        {"data": ADA, "label": [*map(list, SPANS)]},
        {"data": ADA, "entities": keyed("start_offset", "end_offset", "label")},
        {"id": 3, "text": ADA, "ner": [RESULTS[0]["value"], RESULTS[1]["value"]]},
        {"content": ADA, "annotations": keyed("start", "end", "tag"), "metadata": {}},
        {"document": ADA, "tokens": keyed("start", "end", "entityLabel"), "relations": []},
        {"text": ADA, "entities": [{"span": [a, b], "type": t} for a, b, t in SPANS]},
        {"text": ADA, "label": {t: {ADA[a:b]: [[a, b - 1]]} for a, b, t in SPANS}},
        [ADA, {"entities": [*map(list, SPANS)]}],
        {"text": ADA, "spans": [*keyed("start", "end", "label"), *keyed("start", "end", "label")]},
    ],
    ids=lambda row: " ".join(row) if isinstance(row, dict) else "pair",
)
def test_texts_with_spans_as_tools_write_them(read, row):
    for raw in (read(row), read(json.dumps([row]), name="dev.json")):
        (one,) = raw.sentences
        assert one.words == ("Ada", "Lee", "saw", "Rome", ".")
        assert one.tags == ("B-PER", "I-PER", "O", "B-LOC", "O")


TOKENS = [{"id": 0, "start": 0, "end": 3, "tag": "NNP", "pos": "PROPN", "dep": "nsubj", "head": 0}]


def test_the_tokens_of_a_document_of_spacy_are_no_entities(read):
    ents, text = keyed("start", "end", "label"), {"text": ADA, "tokens": TOKENS}
    rows = [text | {"ents": ents}, text | {"ents": []}]
    tagged = [" ".join(s.tags) for s in read(*rows).sentences]
    assert tagged == ["B-PER I-PER O B-LOC O", "O O O O O"]
    with pytest.raises(InputError):
        read(text)  # tagged, without a recognition of entities


@pytest.mark.parametrize("first", [{"labels": ["news"]}, {"labels": []}, {"label": [], "ner": []}])
def test_an_empty_list_hides_no_spans(read, first):
    spans = {"annotations": keyed("start", "end", "label")}
    rows = [{"text": ADA} | spans, {"text": ADA} | first | spans, {"text": ADA, "ner": []}]
    rows[2]["tokens"] = [["Ada", [0, 3]]]
    tagged = [" ".join(s.tags) for s in read(*rows).sentences]
    assert tagged == ["B-PER I-PER O B-LOC O"] * 2 + ["O O O O O"]


@pytest.mark.parametrize("key", ["examples", "annotations"])
def test_rows_below_a_key(read, key):
    spans = {"entities": [*map(list, SPANS)]}
    row = [ADA, spans] if key == "annotations" else {"content": ADA, **spans}
    raw = read(json.dumps({key: [row, None, row], "classes": ["PER"]}), name="dev.json")
    assert [s.tags[0] for s in raw.sentences] == ["B-PER", "B-PER"]
    for other in ([], ["x"], 3, [[0, 3, "PER"]]):
        raw = read(json.dumps({"tokens": ["a"], "tags": ["O"], key: other}), name="dev.json")
        assert [s.words for s in raw.sentences] == [("a",)]


def test_texts_that_nobody_annotated_have_no_answers(read):
    rows = [label_studio(*RESULTS), label_studio(was_cancelled=True), label_studio()]
    raw = read(*rows, {"annotations": [], "data": {"text": ADA}})
    annotated = {"B-PER", "I-PER", "O", "B-LOC"}
    assert [{*s.tags} for s in raw.sentences] == [annotated, {""}, {"O"}, {""}]
    assert raw.notes.missing == {"was_cancelled": 5, "no annotation": 5}
    damaged = (5, "x", [None], [{}], *([{"result": found}] for found in (None, "x", [None])))
    for damage in damaged:
        with pytest.raises(InputError, match="line 4 of"):
            read(*rows, {"annotations": damage, "data": {"text": ADA}})
    both = label_studio(*RESULTS) | {"annotations": rows[0]["annotations"] * 2}
    with pytest.raises(InputError, match=r"2 annotations .*line 2 of"):
        read(rows[0], both)
    with pytest.raises(InputError, match=r"label.*line 2 of"):
        read(rows[0], label_studio(*RESULTS, {"value": REGION, "type": "labels"}))


def test_other_keys(read):
    row = {"form": ["a"], "upos": ["X"], "tags": ["O"], "text": "a"}
    for names in ({"tag": "upos"}, {"token": 1, "tag": 2}, {"keys": ("pos", "upos")}):
        raw = read(row, **names)
        assert (raw.sentences[0].words, raw.sentences[0].tags) == (("a",), ("X",))
    with pytest.raises(InputError, match=r"tags, ner.*tag_column|tag_column.*tags, ner"):
        read(row | {"ner": ["O"]})


@pytest.mark.parametrize("wrap", [lambda rows: rows, lambda rows: {"version": 1, "data": rows}])
def test_a_json_array_is_its_rows(read, wrap):
    rows = [{"words": [word], "ner_tags": ["O"]} for word in "abc"]
    raw = read(json.dumps(wrap(rows), indent=2), name="dev.json", limit=2)
    assert [(s.words, s.tags, s.lines) for s in raw.sentences] == [
        (("a",), ("O",), (1,)),
        (("b",), ("O",), (2,)),
    ]
    with pytest.raises(InputError, match=r"1 token .*2 tags, row 2 of .*dev\.json"):
        read(json.dumps(wrap([rows[0], {"words": ["a"], "ner_tags": ["O", "O"]}])), name="dev.json")


@pytest.mark.parametrize("key", ["document", "doc_id"])
def test_documents_begin_where_their_key_changes_and_after_marks(read, key):
    names = ["x", "x", "y", "x", 1, 1, "1"]
    raw = read(*({"tokens": ["a"], "tags": ["O"], key: name} for name in names))
    assert [s.document for s in raw.sentences] == [0, 0, 1, 2, 3, 3, 4]
    words = [["x"], ["-DOCSTART-"], ["y"], ["z"], ["-DOCSTART-"], ["-DOCSTART-"], ["x"]]
    raw = read(*({"tokens": one, "tags": ["O"], key: None} for one in words))
    assert [s.document for s in raw.sentences] == [0, 1, 1, 2]


ROWS = [{"text": "Rome is old.", "label": 1}, {"text": "Bonn is new.", "label": 0}]


@pytest.mark.parametrize(
    "whole",
    [
        {"data": ROWS},
        {name: {str(i): row[name] for i, row in enumerate(ROWS)} for name in ROWS[0]},
        {"columns": ["text", "label"], "index": [0, 1], "data": [[*row.values()] for row in ROWS]},
        [[row["text"], {"label": row["label"]}] for row in ROWS],
    ],
    ids=["data", "columns", "split", "spacy"],
)
def test_tables_in_json(tmp_path, whole):
    path = tmp_path / "train.json"
    path.write_text(json.dumps(whole), "utf-8")
    assert [row.values for row in json_rows(read_file(path), path)] == ROWS
    columns = json.dumps({"columns": [0, 1], "index": [0], "data": [["a b", "x"]]})
    assert [row.values for row in json_rows([columns], path)] == [{"0": "a b", "1": "x"}]
