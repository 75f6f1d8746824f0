"""Arrays of JSON in forms of other programs."""

import json

import pytest

from featbert.data.load import load_corpus
from featbert.data.options import ReadingOptions
from featbert.errors import InputError
from featbert.tasks.suited import suited_task


def studio(text, *choices, name="mood", **annotation):
    """A task of Label Studio with choices."""
    results = [{"from_name": name, "type": "choices", "value": {"choices": [*choices]}}]
    return {"data": {"text": text}, "annotations": [{"result": results, **annotation}]}


def write(folder, rows):
    (folder / "train.json").write_text(json.dumps(rows))
    return folder


@pytest.mark.parametrize("name", ["mood", "label"])
def test_choices_of_label_studio_are_classes(tmp_path, name):
    rows = [studio("It is.", "good", name=name), studio("It was.", "bad", name=name)]
    rows += [studio("It may.", "bad", name=name, was_cancelled=True)]
    rows += [{"data": {"text": "It can."}, "annotations": []}]
    train = load_corpus(write(tmp_path, rows), targets="classes")["train"]
    assert [(s.texts, s.tags) for s in train] == [
        (("It is.",), ("good",)),
        (("It was.",), ("bad",)),
        (("It may.",), None),
        (("It can.",), None),
    ]
    assert suited_task(str(tmp_path), ReadingOptions()) == "classification"


def test_several_annotations_of_a_text_are_refused(tmp_path):
    row = studio("It is.", "good")
    row["annotations"] += studio("It is.", "bad")["annotations"]
    with pytest.raises(InputError, match="row 2"):
        load_corpus(write(tmp_path, [studio("It was.", "bad"), row]), targets="classes")


def test_several_choices_of_label_studio_are_a_set(tmp_path):
    write(tmp_path, [studio("It is.", "good", "new"), studio("It was.", "bad")])
    train = load_corpus(tmp_path, targets="sets")["train"]
    assert [sorted(tag.split("|")) for (tag,) in train.tags] == [["good", "new"], ["bad"]]


def test_answers_to_several_questions_of_label_studio_are_named(tmp_path):
    rows = [studio("It is.", "good"), studio("It was.", "bad")]
    for row in rows:
        row["annotations"][0]["result"] += studio("", "news", name="kind")["annotations"][0][
            "result"
        ]
    write(tmp_path, rows)
    with pytest.raises(InputError, match=r"(?=.*mood)(?=.*kind)(?=.*target)"):
        load_corpus(tmp_path, targets="classes")
    train = load_corpus(tmp_path, ReadingOptions(target="mood"), targets="classes")["train"]
    assert train.tags == [("good",), ("bad",)]


def test_choices_on_spans_of_label_studio_are_no_classes(tmp_path):
    row = studio("Rome is.", "sure")
    span = {"type": "labels", "value": {"start": 0, "end": 4, "labels": ["LOC"]}}
    row["annotations"][0]["result"].append(span)
    train = load_corpus(write(tmp_path, [row]))["train"]
    assert train.tags == [("B-LOC", "O", "O")]


def test_tokens_of_spacy_are_words_with_tags_in_documents(tmp_path):
    def tokens(*pairs):
        return {"tokens": [{"orth": word, "ner": ner, "tag": "X"} for word, ner in pairs]}

    document = {"paragraphs": [{"sentences": [tokens(("Rome", "U-LOC"), ("is", "O"))]}]}
    other = {"paragraphs": [{"sentences": [tokens(("It", "O")), tokens(("was", "O"))]}]}
    write(tmp_path, [document, other])
    train = load_corpus(tmp_path)["train"]
    assert [s.words for s in train] == [("Rome", "is"), ("It",), ("was",)]
    assert train.tags == [("B-LOC", "O"), ("O",), ("O",)]
    assert [s.document for s in train] == [0, 1, 1]
    labels = load_corpus(tmp_path, ReadingOptions(tag_column="pos_tags"), targets="labels")["train"]
    assert {tag for tags in labels.tags for tag in tags} == {"X"}


def test_lists_of_columns_are_rows_if_one_has_texts(tmp_path):
    write(tmp_path, {"text": ["It is.", "It was."], "label": ["x", "y"]})
    train = load_corpus(tmp_path, targets="classes")["train"]
    assert [(s.texts, s.tags) for s in train] == [(("It is.",), ("x",)), (("It was.",), ("y",))]
    chinese = ["这部电影第一次看的时候很好看", "那本书读起来实在太无聊了一点"]
    write(tmp_path, {"text": chinese, "label": ["x", "y"]})
    train = load_corpus(tmp_path, targets="classes")["train"]
    assert [s.texts for s in train] == [(text,) for text in chinese]
    write(tmp_path, {"text": ["It", "was"], "ner_tags": ["O", "O"]})  # a sentence
    assert [s.words for s in load_corpus(tmp_path)["train"]] == [("It", "was")]


def test_a_list_of_one_span_is_no_class(tmp_path):
    rows = [{"text": "It is Rome.", "label": [[6, 10, "LOC"]]}, {"text": "It was.", "label": []}]
    write(tmp_path, rows)
    assert suited_task(str(tmp_path), ReadingOptions()) == "entities"


def test_ratings_of_label_studio_get_advice(tmp_path):
    row = studio("It is.", "good")
    row["annotations"][0]["result"][0] |= {"type": "rating", "value": {"rating": 4}}
    with pytest.raises(InputError, match="JSON-MIN"):
        load_corpus(write(tmp_path, [row, row]), targets="classes")
