"""Arrays of JSON in forms of other programs."""

import json

import pytest

from featbert.data.options import ReadingOptions
from featbert.errors import InputError
from featbert.tasks.suited import suited_task
from tests.data.reading import read


def answer(*choices, name="mood"):
    """A result of Label Studio."""
    return {"from_name": name, "type": "choices", "value": {"choices": [*choices]}}


def studio(text, *results, **annotation):
    """A task of Label Studio."""
    return {"data": {"text": text}, "annotations": [{"result": [*results], **annotation}]}


def tokens(*pairs):
    return {"tokens": [{"orth": word, "ner": ner, "tag": "X"} for word, ner in pairs]}


def train_of(folder, rows, targets="classes", **options):
    return read(folder, json.dumps(rows), "json", targets, **options)["train"]


SPAN = {"type": "labels", "value": {"start": 0, "end": 2, "labels": ["LOC"]}}
SEVERAL = [
    studio("It is.", answer("good"), answer("news", name="kind")),
    studio("It was.", answer("bad"), answer("news", name="kind")),
]
SPACY = [
    {"paragraphs": [{"sentences": [tokens(("Rome", "U-LOC"), ("is", "O"))]}]},
    {"paragraphs": [{"sentences": [tokens(("It", "O")), tokens(("was", "O"))]}]},
]
COLUMNS = {"text": ["It is.", "It was."], "label": ["x", "y"]}
CHINESE = {
    "text": ["这部电影第一次看的时候很好看", "那本书读起来实在太无聊了一点"],
    "label": ["x", "y"],
}


@pytest.mark.parametrize(
    ("rows", "targets", "options", "tags"),
    [
        ([studio("It is.", answer("a")), studio("It.", answer("b"))], "classes", {}, ["a", "b"]),
        ([studio("It is.", answer("a", name="label"))], "classes", {}, ["a"]),
        (
            [studio("It is.", answer("b", "a")), studio("It.", answer("c"))],
            "sets",
            {},
            ["a|b", "c"],
        ),
        (SEVERAL, "classes", {"target": "mood"}, ["good", "bad"]),
        ([studio("It is.", answer("sure"), SPAN)], "entities", {}, ["B-LOC O O"]),
        (SPACY, "entities", {}, ["B-LOC O", "O", "O"]),
        (SPACY, "labels", {"tag_column": "pos_tags"}, ["X X", "X", "X"]),
        (COLUMNS, "classes", {}, ["x", "y"]),
        (CHINESE, "classes", {}, ["x", "y"]),
        ({"text": ["It", "was"], "ner_tags": ["O", "O"]}, "entities", {}, ["O O"]),  # a sentence
    ],
)
def test_answers_in_forms_of_other_programs(tmp_path, rows, targets, options, tags):
    train = train_of(tmp_path, rows, targets, **options)
    assert [" ".join(row) for row in train.tags] == tags
    if rows is SPACY:
        assert [s.words for s in train] == [("Rome", "is"), ("It",), ("was",)]
        assert [s.document for s in train] == [0, 1, 1]
    else:
        assert "".join(train.sentences[0].words).startswith(("It", CHINESE["text"][0]))


def test_texts_that_nobody_annotated_have_no_class(tmp_path):
    rows = [studio("It is.", answer("a")), studio("It may.", answer("b"), was_cancelled=True)]
    train = train_of(tmp_path, [*rows, {"data": {"text": "It can."}, "annotations": []}])
    assert [s.tags for s in train] == [("a",), None, None]
    assert train.notes.missing == {"was_cancelled": 1, "no annotation": 1}


def test_several_annotations_or_questions_are_refused(tmp_path):
    rows = [studio("It was.", answer("bad")), studio("It is.", answer("good"))]
    rows[1]["annotations"] *= 2
    with pytest.raises(InputError, match="row 2"):
        train_of(tmp_path, rows)
    with pytest.raises(InputError, match=r"(?=.*mood)(?=.*kind)(?=.*target)"):
        train_of(tmp_path, SEVERAL)


@pytest.mark.parametrize(
    ("rows", "task"),
    [
        ([studio("It is.", answer("a")), studio("It was.", answer("b"))], "classification"),
        ([{"text": "It is.", "label": [[0, 2, "X"]]}, {"text": "It.", "label": []}], "entities"),
    ],
)
def test_a_list_of_one_span_is_no_class(tmp_path, rows, task):
    (tmp_path / "train.json").write_text(json.dumps(rows))
    assert suited_task(str(tmp_path), ReadingOptions()) == task
