"""Texts in folders that are called like their classes."""

import pytest

from featbert.data.folder import not_read
from featbert.data.load import load_corpus
from featbert.data.options import ReadingOptions
from featbert.errors import InputError
from featbert.tasks.suited import suited_task


def write(folder, *parts, n=3):
    for part in parts:
        for number in range(n):
            path = folder / part / f"{number}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{part} is\n\nnumber {number}.\n")


def test_each_split_has_folders_of_classes(tmp_path):
    write(tmp_path, "train/neg", "train/pos", "train/unsup", "test/neg", "test/pos")
    (tmp_path / "README").write_text("About.")
    corpus = load_corpus(tmp_path, targets="classes")
    assert corpus.splits.keys() == {"train", "test"}
    assert corpus["train"].tags == [("neg",), ("pos",)] * 3
    assert corpus["train"].sentences[1].texts == ("train/pos is\n\nnumber 0.",)
    assert not_read(tmp_path) == ["train/unsup/"]
    assert suited_task(str(tmp_path), ReadingOptions()) == "classification"
    (bad := tmp_path / "train" / "pos" / "9.txt").write_bytes(b"caf\xe9")
    with pytest.raises(InputError, match=str(bad)):
        suited_task(str(tmp_path), ReadingOptions())
    bad.unlink()
    first = load_corpus(tmp_path, ReadingOptions(limit=2), targets="classes")
    assert first["train"].tags == [("neg",), ("pos",)]


def test_folders_of_classes_alone_are_train(tmp_path):
    write(tmp_path, "sport", "news")
    write(tmp_path, "more", n=1)
    corpus = load_corpus(tmp_path, targets="classes")
    assert corpus.splits.keys() == {"train"}
    assert {tag for (tag,) in corpus["train"].tags} == {"sport", "news", "more"}
    assert len(corpus["train"]) == 7
    with pytest.raises(InputError, match="classification"):
        load_corpus(tmp_path)
    write(tmp_path / "test", "sport", "news")
    assert load_corpus(tmp_path / "test", targets="classes").splits.keys() == {"test"}
    alone = ReadingOptions(alone="test")
    write(tmp_path / "unnamed", "sport", "news")
    assert load_corpus(tmp_path / "unnamed", alone, targets="classes").splits.keys() == {"test"}


@pytest.mark.parametrize(
    ("text", "are_words"),
    [
        ("Rome B-LOC\nis O\n\nOslo B-LOC\n", True),
        ("-DOCSTART- -X- O\n\nRome NNP B-LOC\n. . O\n", True),
        ("Rome\tPROPN\nis\tAUX\n.\tPUNCT\n", True),
        ("# text = Rome is\n1\tRome\t_\t_\n2\tis\t_\t_\n", True),
        ("Word Entity\n" + "Rome B-LOC\nis O\n" * 3, True),
        ("a good film .\ni liked it !\n", False),
        ("GOOD FILM", False),
        ("THE SHIP LEFT\nALL WELL\n", False),
    ],
)
@pytest.mark.parametrize("targets", ["classes", "entities", None])
def test_words_in_columns_are_no_texts_of_classes(tmp_path, text, are_words, targets):
    for place in ("train/a", "train/b"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "1.txt").write_text(text)
    if are_words:
        with pytest.raises(InputError, match=f"{tmp_path / 'train'} .*train.conll"):
            load_corpus(tmp_path, targets=targets)
    elif targets == "classes":
        assert load_corpus(tmp_path, targets=targets)["train"].tags == [("a",), ("b",)]


@pytest.mark.parametrize("parts", [("only",), ()])
def test_other_folders_are_no_classes(tmp_path, parts):
    write(tmp_path, *parts)
    for corpus in ("one", "two"):  # a folder of corpora
        (tmp_path / "corpora" / corpus).mkdir(parents=True)
        (tmp_path / "corpora" / corpus / "train.txt").write_text("a O\n")
    for place in (tmp_path, tmp_path / "corpora"):
        with pytest.raises(InputError, match="train, dev, test"):
            load_corpus(place, targets="classes")
