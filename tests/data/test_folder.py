"""Corpora loaded: folders, files, the sample, and one scheme for all splits."""

from __future__ import annotations

from pathlib import Path

import pytest

from featbert.data.load import load_corpus
from featbert.errors import InputError, MissingError


@pytest.fixture
def folder(tmp_path):
    def make(where: str = "news", **files: str) -> Path:
        path = tmp_path / where
        path.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (path / name.replace("__", ".")).write_text(text, encoding="utf-8")
        return path

    return make


def tags(corpus, split):
    return [" ".join(row) for row in corpus[split].tags]


def test_a_folder(folder):
    path = folder(
        eng__testb="it O\n",
        eng__train="-DOCSTART- O\n\n# text = x\nEU I-ORG\nis O\n",
        eng__testa="Rome I-LOC\n",
    )
    corpus = load_corpus(path)
    assert list(corpus.splits) == ["train", "dev", "test"]
    assert (corpus.name, corpus.language, corpus.source) == ("news", None, str(path))
    train = corpus["train"]
    assert train.name == "train"
    assert train.path == path / "eng.train"
    assert train.sentences[0].words == ("EU", "is")
    assert train.sentences[0].document == 0
    assert corpus["dev"].sentences[0].document is None
    assert tags(corpus, "train") == ["B-ORG O"]
    assert train.notes.comment_lines == 1
    assert train.notes.encoding == "utf-8"


def test_column_files_and_jsonl_together(folder):
    path = folder(train__conll="EU B-ORG\n", dev__jsonl='{"tokens": ["a"], "tags": ["B-ORG"]}\n')
    corpus = load_corpus(path)
    assert corpus["dev"].sentences[0].words == ("a",)


def test_one_scheme_for_all_splits(folder):
    # dev alone would be IOB1, test alone BIO; train says BIOES.
    path = folder(
        train__txt="a B-X\nb E-X\n\na S-X\n",
        dev__txt="a I-X\nb I-X\n\nc O\n",
        test__txt="a B-X\nb I-X\n",
    )
    corpus = load_corpus(path)
    assert {s.notes.scheme for s in corpus.splits.values()} == {"BIOES"}
    assert [s.notes.repaired_tags for s in corpus.splits.values()] == [0, 2, 1]
    assert tags(corpus, "train") == ["B-X I-X", "B-X"]
    assert tags(corpus, "dev") == ["B-X I-X", "O"]
    assert tags(corpus, "test") == ["B-X I-X"]


def test_the_evidence_may_stand_in_any_split(folder):
    path = folder(train="a B-X\nb I-X\n", dev="a O\n", test="a B-X\nb L-X\n")
    assert load_corpus(path)["train"].notes.scheme == "BIOES"


def test_a_given_scheme(folder):
    path = folder(train__txt="a PER\nb PER\nc O\n")
    with pytest.raises(InputError, match="PER"):
        load_corpus(path)
    corpus = load_corpus(path, scheme="io")
    assert tags(corpus, "train") == ["B-PER I-PER O"]
    assert corpus["train"].notes.scheme == "IO"
    with pytest.raises(InputError, match=r"tag scheme 'bios' is not known.*did you mean 'bioes'"):
        load_corpus(path, scheme="bios")


def test_tags_of_no_scheme_say_where(folder):
    path = folder(train__txt="a O\n", dev__txt="-DOCSTART- O\n\nEU B-X\nrejects VBZ\n")
    with pytest.raises(InputError) as error:
        load_corpus(path)
    message = str(error.value)
    for part in ("tag expected", "found 'VBZ'", f"line 4 of {path / 'dev.txt'}", "--tag-column"):
        assert part in message


def test_tags_of_no_scheme_say_where_in_jsonl(folder):
    first, third = (
        '{"tokens": ["a"], "tags": ["O"]}',
        '{"tokens": ["a", "b"], "tags": ["B-PER", "N"]}',
    )
    path = folder(train__jsonl=f"{first}\n\n{third}")
    with pytest.raises(InputError, match=r"found 'N', line 3 of .*train.jsonl \(word 'b'\)"):
        load_corpus(path)


def test_columns_and_encoding(folder):
    path = folder(train__txt="")
    (path / "train.txt").write_bytes("1 Köln B-LOC NE\n".encode("latin-1"))
    corpus = load_corpus(path, encoding="latin-1", token_column=2, tag_column=3)
    assert corpus["train"].sentences[0].words == ("Köln",)
    assert corpus["train"].notes.encoding == "iso8859-1"


def test_untagged(folder):
    path = folder(train__txt="EU\nis\n", dev__txt="a O\n")
    with pytest.raises(InputError, match=r"train.txt .*untagged"):
        load_corpus(path)
    corpus = load_corpus(path, tagged=False)
    assert corpus["train"].sentences[0].words == ("EU", "is")
    assert all(s.tags is None for split in corpus.splits.values() for s in split)
    assert corpus["dev"].notes.scheme == "none"


@pytest.mark.parametrize(
    ("name", "split"),
    [("eng.testa", "dev"), ("train.json", "train"), ("tweets.txt", "test"), ("train.dat", "train")],
)
def test_a_file_alone(folder, name, split):
    text = '{"tokens": ["a"], "tags": ["O"]}' if name.endswith("json") else "a O\n"
    path = folder(**{name: text}) / name
    corpus = load_corpus(path)
    assert list(corpus.splits) == [split]
    assert corpus.source == str(path)
    assert corpus.name == "news-" + name.removesuffix(".txt")


@pytest.mark.parametrize(
    ("where", "name", "language"),
    [("wikiann/de", "wikiann-de", "de"), ("wikigold", "wikigold", None), ("wiki/DE", "DE", None)],
)
def test_names_and_languages(folder, where, name, language):
    path = folder(where, train="a O\n")
    corpus = load_corpus(path)
    assert (corpus.name, corpus.language) == (name, language)
    assert load_corpus(path, language="nl").language == "nl"
    assert load_corpus(path / "train").name == f"{name}-train"


def test_source_is_absolute(folder, monkeypatch):
    path = folder(train="a O\n")
    monkeypatch.chdir(path.parent)
    monkeypatch.setenv("HOME", str(path.parent))
    for given in ("news", "~/news", "./news"):
        assert load_corpus(given).source == str(path)
    monkeypatch.chdir(path)
    assert load_corpus(".").name == "news"


def test_missing_paths_name_the_nearest(folder):
    path = folder("wikigold", train="a O\n")
    with pytest.raises(MissingError, match=r"wikigolt does not exist: .*did you mean 'wikigold'"):
        load_corpus(path.parent / "wikigolt")
    with pytest.raises(MissingError, match=r"has no 'wikigol'.*did you mean 'wikigold'"):
        load_corpus(path.parent / "wikigol" / "train")
    with pytest.raises(MissingError, match="train is a file, not a folder"):
        load_corpus(path / "train" / "x")


def test_a_folder_without_splits(folder):
    with pytest.raises(InputError, match=r"split files expected in .*found notes.txt"):
        load_corpus(folder(notes__txt="a O\n"))


@pytest.mark.parametrize("path", [None, "sample"])
def test_the_embedded_sample(path, tmp_path, monkeypatch):
    (tmp_path / "sample").mkdir()  # a folder of that name needs ./sample
    monkeypatch.chdir(tmp_path)
    corpus = load_corpus(path)
    assert (corpus.name, corpus.source, corpus.language) == ("sample", "sample", "en")
    assert list(corpus.splits) == ["train", "dev", "test"]
    assert corpus.entity_types == ("LOC", "MISC", "ORG", "PER")
    for split in corpus.splits.values():
        assert split.path is None
        assert split.has_documents
        assert split.is_tagged
        assert split.notes.repaired_tags == 0
    assert load_corpus(path, tagged=False)["train"].notes.scheme == "none"
    with pytest.raises(InputError, match="split files expected"):
        load_corpus("./sample")
