"""Columns of text: usual pairs, and those that are not read."""

import pytest

from featbert.data.check import check_corpus
from tests.data.reading import json_lines, read

A, B = ["is rome old", "do cats bark"], ["Rome was founded long ago.", "Cats meow and purr."]


def corpus(folder, columns, ending="jsonl", **options):
    """A corpus whose train part has these columns."""
    rows = [*zip(*columns.values(), strict=True)]
    text = json_lines(dict(zip(columns, row, strict=True)) for row in rows)
    if ending == "tsv":
        text = "".join("\t".join(map(str, row)) + "\n" for row in [columns, *rows])
    return read(folder, text, ending, **options)


@pytest.mark.parametrize("ending", ["jsonl", "tsv"])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("question", "passage"),
        ("Title", "Content"),
        ("title", "text"),
        ("query", "document"),
        ("claim", "evidence"),
        ("premise", "hypothesis"),
        ("sentence", "aspect"),
        ("subject", "body"),
        ("context", "hypothesis"),
    ],
)
def test_usual_pairs(tmp_path, first, second, ending):
    found = corpus(tmp_path, {"idx": [0, 1], second: B, first: A, "label": [0, 1]}, ending)
    assert [s.texts for s in found["train"]] == [*zip(A, B, strict=True)]
    assert found["train"].notes.unread_columns == ()
    alone = corpus(tmp_path, {second: B, first: A, "label": [0, 1]}, ending, text=first)
    assert [s.texts for s in alone["train"]] == [(text,) for text in A]
    assert alone["train"].notes.unread_columns == (second,)


UNREAD = {
    "aufsatz": ["Das ist ein Satz.", "Und noch ein Satz."],
    "文": ["这部电影非常好看。", "服务很差，不推荐。"],
    "note": ["a b c d", "e f g h"],
}
NO_TEXTS = {
    "url": ["https://a.b/some page", "https://c.d/an other"],
    "date": ["2020-01-01 10:00:00", "2021-02-03 11:00:00"],
    "sentence_parse": ["( ( a b c ) )", "( ( d e f ) )"],
    "genre": ["fiction", "travel"],
    "source": ["one and the same", "one and the same"],
    "n": [1, 2],
    "tags": [["a b c d"], ["e f g h"]],
    "empty": ["", None],
}


@pytest.mark.parametrize("name", [*UNREAD, *NO_TEXTS])
def test_texts_that_are_not_read_are_named(tmp_path, name):
    values = (UNREAD | NO_TEXTS)[name]
    found = corpus(tmp_path, {"sentence": A, name: values, "label": [0, 1]})
    assert [len(s.texts) for s in found["train"]] == [1, 1]
    assert found["train"].notes.unread_columns == ((name,) if name in UNREAD else ())
    doubts = [doubt for doubt in check_corpus(found).doubts if f"pair={name!r}" in doubt]
    assert len(doubts) == (name in UNREAD)
    if isinstance(values[0], str) and values[0]:
        both = corpus(
            tmp_path, {"sentence": A, name: values, "label": [0, 1]}, text="sentence", pair=name
        )
        assert both["train"].notes.unread_columns == ()


@pytest.mark.parametrize("without", [0, 2])
def test_an_object_may_lack_the_texts_that_are_not_read(tmp_path, without):
    rows = [
        {"text": f"{text} {n}", "label": 0, "note": f"{text} b c d"} for n, text in enumerate(A + B)
    ]
    del rows[without]["note"]
    found = read(tmp_path, json_lines(rows), "jsonl")
    assert found["train"].notes.unread_columns == ("note",)


@pytest.mark.parametrize(
    ("labels", "named"), [([1, 0, 1, 0], ("part",)), ([1, 1, 0, 0], ()), ([1, 0, 0, 1], ("part",))]
)
def test_a_short_text_that_decides_the_answer_is_named(tmp_path, labels, named):
    texts = [A[0], A[0], A[1], A[1]]
    columns = {
        "text": texts,
        "part": ["food", "staff", "food", "staff"],
        "no": ["1", "2", "1", "2"],
    }
    found = corpus(tmp_path, columns | {"label": labels})
    assert found["train"].notes.unread_columns == named


@pytest.mark.parametrize(
    "other",
    [
        {"annotations": {"ann1": {"label": "pos", "seconds": 12}}},
        {"labels": {"sentiment": {"pos": 0.9, "neg": 0.1}}},
        {"tokens": [["good", [0, 4]], ["food", [5, 9]]]},
        {"note": ["a", {"b": 1}]},
    ],
    ids=lambda other: next(iter(other)),
)
@pytest.mark.parametrize("place", [0, 2])
def test_columns_that_are_not_read_may_hold_anything(tmp_path, other, place):
    rows = [{"text": "good food", "label": n} | dict.fromkeys(other, f"a b {n}") for n in "xyz"]
    rows[place] |= other
    corpus = read(tmp_path, json_lines(rows), "jsonl")
    assert [(s.texts, s.tags) for s in corpus["train"]] == [(("good food",), (n,)) for n in "xyz"]


@pytest.mark.parametrize(
    ("columns", "options", "named"),
    [
        ({"label": [0, 1, 1], "sentiment": ["a", "a", "b"]}, {}, ("sentiment",)),
        ({"stars": [1, 2, 2], "rating": [1, 1, 2], "category": "xyx"}, {}, ("stars", "rating")),
        ({"label": [0, 1, 1], "sentiment": ["a", "a", "b"]}, {"target": "sentiment"}, ()),
        ({"label": [0, 1, 1], "sentiment": ["a", "b", "b"]}, {}, ()),  # the same answers
        ({"label": [0, 1, 2], "coarse_label": [0, 1, 1]}, {}, ("coarse_label",)),
        ({"label": [0, 1, 1], "sentiment": [None, None, None], "note": "abb"}, {}, ()),
    ],
)
def test_other_columns_of_answers_are_named(tmp_path, columns, options, named):
    found = corpus(tmp_path, {"text": [*A, "so"], **columns}, **options)
    assert found["train"].notes.other_answers == named
    advice = [doubt for doubt in check_corpus(found).doubts if "target=" in doubt]
    assert [name in advice[0] for name in named] == [True] * len(named)
    assert len(advice) == bool(named)


@pytest.mark.parametrize(
    ("values", "parts"),
    [(["train", "train", "Validation"], ["train", "dev"]), (["test"] * 3, []), (["test", "a"], [])],
)
def test_a_column_of_parts_is_named(tmp_path, values, parts):
    texts = {"text": "a", "label": "x"}
    words = {"tokens": ["a"], "tags": ["O"]}
    for targets, row in (("classes", texts), ("entities", words)):
        rows = [{"part": value, **row} for value in values]
        found = read(tmp_path, json_lines(rows), "jsonl", targets)
        assert found["train"].notes.part_columns == ("part",) * bool(parts)
        doubts = [doubt for doubt in check_corpus(found).doubts if "column part" in doubt]
        assert len(doubts) == bool(parts)


@pytest.mark.parametrize("target", ["title", 1])
def test_the_column_of_answers_is_no_text(tmp_path, target):
    found = corpus(
        tmp_path, {"title": ["Dr. of many things", "Mr. x y z"], "text": B}, target=target
    )
    assert [s.texts for s in found["train"]] == [(text,) for text in B]
    assert found["train"].tags == [("Dr. of many things",), ("Mr. x y z",)]
    assert found["train"].notes.unread_columns == ()


def test_a_pair_may_lack_one_text(tmp_path):
    found = corpus(tmp_path, {"title": ["Great", None], "content": B, "label": [1, 0]})
    assert [s.texts for s in found["train"]] == [("Great", B[0]), ("", B[1])]
    assert found["train"].notes.empty_texts == 1
    lists = corpus(tmp_path, {"claim": A, "evidence": [[["x", 1]], []], "label": ["yes", "no"]})
    assert [s.texts for s in lists["train"]] == [(text,) for text in A]  # no second text
    neither = corpus(tmp_path, {"title": ["Great", None], "content": [B[0], None], "label": [1, 0]})
    assert [s.texts for s in neither["train"]] == [("Great", B[0]), ("", "")]


@pytest.mark.parametrize("name", ["Tweet", "comment_text", "reviewText", "headline"])
@pytest.mark.parametrize("target", ["polarity", "Class Index", "overall", "intent"])
def test_usual_names_of_texts_and_classes(tmp_path, name, target):
    found = corpus(tmp_path, {name: A, target: ["x", "y"]}, "tsv")["train"]
    assert [(*s.texts, *s.tags) for s in found] == [*zip(A, "xy", strict=True)]
