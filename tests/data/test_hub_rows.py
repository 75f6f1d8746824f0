"""Rows of datasets as sentences: which columns are read, and what is refused."""

from __future__ import annotations

import datasets
import pytest

from featbert.data.load import load_corpus
from featbert.errors import InputError
from tests.data.support import ROWS, features, tags


def test_tags_as_strings_and_repairs(saved):
    types = features(ner_tags=datasets.List(datasets.Value("string")))
    rows = {"tokens": [["a", "b", "c"]], "ner_tags": [["B-X", "I-Y ", "O"]]}
    corpus = load_corpus(saved(types=types, train=rows))
    assert tags(corpus, "train") == ["B-X B-Y O"]
    assert corpus["train"].notes.repaired_tags == 1
    assert load_corpus(corpus.source, tagged=False)["train"].sentences[0].tags is None
    bad = saved("bad", types=types, train={"tokens": [["a"]], "ner_tags": [["X"]]})
    with pytest.raises(InputError, match=r"BIOES tag expected .* 'X', row 1 of .*/train \(word"):
        load_corpus(bad, scheme="bioes")


def test_documents(saved):
    types = features(document_id=datasets.Value("string"))
    keys = ["b", "b", "a", "b"]
    rows = {"tokens": [["x"]] * 4, "ner_tags": [[0]] * 4}
    corpus = load_corpus(saved(types=types, train=rows | {"document_id": keys}))
    assert [s.document for s in corpus["train"]] == [0, 0, 1, 2]
    holes = saved("holes", types=types, train=rows | {"document_id": ["b", "b", None, "b"]})
    with pytest.raises(InputError, match="in every row or in none expected, row 3 of"):
        load_corpus(holes)
    none = load_corpus(saved("none", types=types, train=rows | {"document_id": [None] * 4}))
    assert not none["train"].has_documents
    marked = [["x"], ["-DOCSTART-"], ["y"], ["z"], ["-DOCSTART-"], ["-DOCSTART-"], ["x"]]
    corpus = load_corpus(saved("marks", train={"tokens": marked, "ner_tags": [[0]] * 7}))
    assert [(s.words, s.document) for s in corpus["train"]] == [
        (("x",), 0), (("y",), 1), (("z",), 1), (("x",), 2),
    ]  # fmt: skip


def test_rows_without_a_word_are_counted(saved, workspace):
    rows = {"tokens": [[], ["x"], []], "ner_tags": [[], [0], []]}
    source = saved(train=rows)
    assert load_corpus(source)["train"].notes.empty_rows == 2
    shown = workspace.call("check", source)
    assert shown.exit_code == 0
    assert ["empty", "rows", "2"] in [line.split() for line in shown.stdout.splitlines()]
    with pytest.raises(InputError, match=r"sentences expected, .*/train holds none"):
        load_corpus(saved("empty", train={"tokens": [[]], "ner_tags": [[]]}))


LIST = datasets.List
TEXT, NUMBER = datasets.Value("string"), datasets.Value("int64")
REFUSED = [
    ([["a", "b"]], [[0]], {}, "one tag a token expected, found 2 tokens and 1 tag, row 1 of"),
    ([["a"], None], [[0], [0]], {}, "a list expected in column 'tokens', found None, row 2 of"),
    ([["a", None]], [[0, 0]], {}, "strings expected in column 'tokens', found None, row 1 of"),
    ([["a"]], [[-1]], {}, "a tag from 0 to 4 expected, found -1, row 1 of"),
    ([["a", ""]], [[0, 0]], {}, "token '' cannot be used, it is empty, row 1 of"),
    ([["a\tb"]], [[0]], {}, "cannot be used, it holds a tab"),
    (
        [["a"]],
        [[0]],
        {"ner_tags": LIST(NUMBER)},
        "a list of tags by name expected in column 'ner_t",
    ),
    (
        [[1]],
        [[0]],
        {"tokens": LIST(NUMBER)},
        r"a list of strings expected in column 'tokens' .*int",
    ),
    (["a b"], [[0]], {"tokens": TEXT}, "a list of strings expected in column 'tokens' of"),
]


@pytest.mark.parametrize(("tokens", "numbers", "types", "message"), REFUSED)
def test_what_is_no_sentence_is_refused(saved, tokens, numbers, types, message):
    rows = {"tokens": tokens, "ner_tags": numbers}
    source = saved(types=features(**types), train=rows)
    with pytest.raises(InputError, match=message) as caught:
        load_corpus(source)
    assert "\n" not in str(caught.value)


def test_columns_by_name(saved):
    types = features(words=LIST(TEXT), labels=LIST(TEXT), extra=LIST(TEXT), label=NUMBER)
    row = {"tokens": [["a"]], "ner_tags": [[1]], "words": [["b"]], "labels": [["O"]]}
    source = saved(types=types, train=row | {"extra": [["B-Z"]], "label": [0]})
    with pytest.raises(InputError, match=r"one token column .* tokens and words; .*--token-column"):
        load_corpus(source)
    with pytest.raises(InputError, match=r"one tag column .* ner_tags and labels; .*--tag-column"):
        load_corpus(source, token_column="words")
    corpus = load_corpus(source, token_column="words", tag_column="extra")
    assert corpus["train"].sentences[0].words == ("b",)
    assert tags(corpus, "train") == ["B-Z"]
    for wrong, message in (
        ("lables", r"found 'lables' \(did you mean 'labels'\?\); it has tokens, ner_tags, words"),
        ("label", "a list of tags by name expected in column 'label'"),
        ("words", "a tag column beside the words expected"),
        (3, "the name of a dataset's tag column expected, found 3"),
    ):
        with pytest.raises(InputError, match=message):
            load_corpus(source, token_column="words", tag_column=wrong)
    with pytest.raises(InputError, match="the number of a file's token column expected, found 'w"):
        load_corpus("sample", token_column="w")
    with pytest.raises(InputError, match="Unicode and needs no encoding, found 'latin-1'"):
        load_corpus(source, encoding="latin-1")


def test_without_the_usual_columns_or_splits(saved):
    other = datasets.Features({"text": TEXT})
    with pytest.raises(InputError, match=r"column tokens or words of .*, it has text; name one"):
        load_corpus(saved("text", types=other, train={"text": ["a"]}))
    with pytest.raises(InputError, match=r"split train, validation or test .*, it has en, de"):
        load_corpus(saved("languages", en=ROWS, de=ROWS))
    with pytest.raises(InputError, match=r"one dev split expected .*, found dev, validation"):
        load_corpus(saved("two", dev=ROWS, validation=ROWS))
