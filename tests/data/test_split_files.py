"""Which file is which split."""

from __future__ import annotations

import pytest

from featbert.data.split_files import find_splits, splits_named, stem
from featbert.errors import InputError


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("train", "train"),
        ("train.txt", "train"),
        ("train.txt.conll", "train"),
        ("TRAIN.CoNLL", "train"),
        ("eng.train", "train"),
        ("wnut17train.conll", "train"),
        ("wnutTrain.conll", None),  # case is not read: "latest" and "laTest" must be one
        ("en-train.jsonl", "train"),
        ("train.en.tsv", "train"),
        ("NER-de-train.tsv", "train"),
        ("train_v2.conll", "train"),
        ("dev.bio", "dev"),
        ("valid.txt", "dev"),
        ("validation.jsonl", "dev"),
        ("val", "dev"),
        ("testa", "dev"),
        ("eng.testa", "dev"),
        ("eng.testa.txt", "dev"),
        ("emerging.dev.conll", "dev"),
        ("onto.development.ner", "dev"),
        ("test", "test"),
        ("testb", "test"),
        ("eng.testb", "test"),
        ("conll03_testb.iob", "test"),
        ("emerging.test.annotated", "test"),
        (".train.conll", None),
        ("README.md", None),
        ("README_test.txt", None),
        ("README", None),
        ("test.py", None),
        ("train.conll.bak", None),
        ("train.conll~", None),
        ("train.en", None),  # a side of a bitext
        ("train.pkl", None),
        ("latest.txt", None),
        ("constrain.txt", None),
        ("interval.txt", None),
        ("retrain.conll", None),
        ("testc", None),
        ("notes.txt", None),
    ],
)
def test_names(name, split):
    assert splits_named(name) == (() if split is None else (split,))


def test_names_that_leave_it_open():
    assert splits_named("dev-train.conll") == ("train", "dev")


def test_stems():
    assert stem("train.txt.conll") == "train"
    assert stem("eng.testa") == "eng.testa"
    assert stem("conll") == "conll"


def folder(path, *names):
    for name in names:
        (path / name).write_text("EU O\n")
    return path


def test_a_folder(tmp_path):
    (tmp_path / "test.conll").mkdir()
    found = find_splits(folder(tmp_path, "eng.testb", "eng.testa", "eng.train", "README", ".dev"))
    assert list(found.items()) == [
        ("train", tmp_path / "eng.train"),
        ("dev", tmp_path / "eng.testa"),
        ("test", tmp_path / "eng.testb"),
    ]


def test_only_what_is_there(tmp_path):
    assert list(find_splits(folder(tmp_path, "dev.txt"))) == ["dev"]


def test_ambiguity_lists_the_candidates(tmp_path):
    folder(tmp_path, "train.txt", "valid.txt", "testa.txt")
    with pytest.raises(InputError, match=r"one dev file .* found 2: testa.txt, valid.txt;"):
        find_splits(tmp_path)


def test_a_file_for_two_splits(tmp_path):
    with pytest.raises(InputError, match=r"train-dev.conll could be train or dev by its name"):
        find_splits(folder(tmp_path, "train-dev.conll", "test.conll"))


def test_nothing_found_lists_what_was_seen(tmp_path):
    with pytest.raises(InputError, match="found no file at all"):
        find_splits(folder(tmp_path, ".hidden"))
    (tmp_path / "de").mkdir()
    with pytest.raises(InputError, match=r"found a.conll, de/$"):
        find_splits(folder(tmp_path, "a.conll"))
    with pytest.raises(InputError, match=r" and 10 more$"):
        find_splits(folder(tmp_path, *(f"x{i}.conll" for i in range(20))))
