"""Corpora loaded: split files of folders, files, the sample, entities and labels."""

import json
import os
from pathlib import Path

import pytest

from featbert.data.folder import splits_named
from featbert.data.load import load_corpus
from featbert.data.options import ReadingOptions
from featbert.errors import InputError
from featbert.tasks.base import get_task
from tests.data.support import tags


@pytest.fixture
def folder(tmp_path):
    def make(where: str = "news", **files: str) -> Path:
        path = tmp_path / where
        path.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (path / name.replace("__", ".")).write_text(text, encoding="utf-8")
        return path

    return make


def test_a_folder(folder):
    train = "-DOCSTART- O\n\n# text = x\nEU I-ORG\nis O\n"
    parts = {"eng__testb": "it O\n", "eng__train": train, "eng__testa": "Rome I-LOC\n"}
    path = folder(**parts, README="", __dev="x O\n")
    (path / "test.conll").mkdir()
    corpus = load_corpus(path)
    assert list(corpus.splits) == ["train", "dev", "test"]
    assert (corpus.name, corpus.language, corpus.source) == ("news", None, str(path))
    train = corpus["train"]
    assert (train.name, train.path) == ("train", path / "eng.train")
    assert train.sentences[0].words == ("EU", "is")
    assert train.sentences[0].document == 0
    assert corpus["dev"].sentences[0].document is None
    assert tags(corpus, "train") == ["B-ORG O"]
    assert (train.notes.comment_lines, train.notes.encoding) == (1, "utf-8")


@pytest.mark.parametrize("mark", ["_", "-"])
def test_a_mark_in_place_of_a_tag_says_how_to_leave_it_out(folder, mark):
    path = folder(train__txt="Ada B-PER\nran O\n", test__txt=f"Bo {mark}\nran {mark}\n")
    with pytest.raises(InputError, match=f"line 1 of .*test.txt.*missing='{mark}'"):
        load_corpus(path)
    assert load_corpus(path, ReadingOptions(missing=mark))["test"].sentences[0].tags is None


@pytest.mark.parametrize("form", ["columns", "jsonl"])
def test_a_language_before_every_word_is_no_part_of_it(tmp_path, form):
    def read(*sentences):
        name = {"columns": "train.conll", "jsonl": "train.jsonl"}[form]
        lines = ("".join(f"{word}\tO\n" for word in words) for words in sentences)
        if form == "jsonl":
            rows = ({"tokens": words, "tags": ["O"] * len(words)} for words in sentences)
            lines = map(json.dumps, rows)
        (tmp_path / name).write_text("\n".join(lines), "utf-8")
        split = load_corpus(tmp_path)["train"]
        assert len(split.notes.dialects) == ([s.words for s in split] != [*map(tuple, sentences)])
        return [s.words for s in split]

    assert read(["de:Rom", "de::"], ["de:de:x"]) == [("Rom", ":"), ("de:x",)]
    for words in (["Rom", "de:x"], ["de:a", "en:b"], ["de:a", "de:"], ["http:a", "http:b"]):
        assert read(words) == [tuple(words)]
    assert read(["de:a"], ["b"]) == [("de:a",), ("b",)]
    assert read(["re:invent"]) == [("re:invent",)]


def test_one_scheme_for_all_splits(folder):
    # dev alone would be IOB1, test alone BIO; train says BIOES.
    train, dev = "a B-X\nb E-X\n\na S-X\n", "a I-X\nb I-X\n\nc O\n"
    corpus = load_corpus(folder(train__txt=train, dev__txt=dev, test__txt="a B-X\nb I-X\n"))
    assert {s.notes.scheme for s in corpus.splits.values()} == {"BIOES"}
    assert [s.notes.repaired_tags for s in corpus.splits.values()] == [0, 2, 1]
    assert tags(corpus, "train") == ["B-X I-X", "B-X"]
    assert tags(corpus, "dev") == ["B-X I-X", "O"]
    assert tags(corpus, "test") == ["B-X I-X"]
    last = folder("last", train="a B-X\nb I-X\n", dev="a O\n", test="a B-X\nb L-X\n")
    assert load_corpus(last)["train"].notes.scheme == "BIOES"


def test_a_given_scheme(folder):
    path = folder(train__txt="a PER\nb PER\nc O\n")
    with pytest.raises(InputError, match="'PER'"):
        load_corpus(path)
    corpus = load_corpus(path, ReadingOptions(file_scheme="io"))
    assert tags(corpus, "train") == ["B-PER I-PER O"]
    assert corpus["train"].notes.scheme == "IO"
    with pytest.raises(InputError, match=r"'bios'.*'bioes'"):
        load_corpus(path, ReadingOptions(file_scheme="bios"))
    with pytest.raises(InputError, match="';;'"):
        load_corpus(path, ReadingOptions(delimiter=";;"))


@pytest.mark.parametrize("kind", ["conll", "jsonl"])
def test_labels_are_taken_as_they_are(folder, kind):
    words, labels = ["a", "b", "c"], ["NOUN", "VERB", "X"]
    text = "".join(f"{w} {t}\n" for w, t in zip(words, labels, strict=True))
    if kind == "jsonl":
        text = json.dumps({"tokens": words, "upos": labels, "ner": ["O"] * 3})
    path = folder(**{f"train__{kind}": text})
    corpus = load_corpus(path, targets="labels")
    assert tags(corpus, "train") == ["NOUN VERB X"]
    assert corpus.targets == "labels"
    notes = corpus["train"].notes
    assert (notes.scheme, notes.repaired_tags) == ("none", 0)
    with pytest.raises(InputError, match="scheme"):
        load_corpus(path, ReadingOptions(file_scheme="bio"), targets="labels")
    with pytest.raises(InputError, match=r"'label'.*'labels'"):
        load_corpus(path, targets="label")


def test_conllu_has_labels_and_entities_only_where_named(folder):
    row = "1\tRome\trome\tPROPN\tNNP\t_\t0\troot\t_\t{}\n\n"
    path = folder(**{"en-ud-train__conllu": row.format("B-LOC")})
    assert tags(load_corpus(path, targets="labels"), "train") == ["PROPN"]
    assert tags(load_corpus(path, ReadingOptions(tag_column="misc")), "train") == ["B-LOC"]
    assert load_corpus(path, targets=None)["train"].sentences[0].words == ("Rome",)
    with pytest.raises(InputError, match=r"en-ud-train\.conllu"):
        load_corpus(path)
    options = ReadingOptions(token_column="lemma", tag_column="xpos")
    named = load_corpus(path, options, targets="labels")
    assert (named["train"].sentences[0].words, tags(named, "train")) == (("rome",), ["NNP"])


def test_untagged(folder):
    path = folder(train__txt="EU\nis\n", dev__txt="a O\n")
    with pytest.raises(InputError, match=r"train\.txt"):
        load_corpus(path)
    corpus = load_corpus(path, targets=None)
    assert corpus["train"].sentences[0].words == ("EU", "is")
    assert all(s.tags is None for split in corpus.splits.values() for s in split)
    assert (corpus.targets, corpus["dev"].notes.scheme) == (None, "none")


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("eng.testa", "dev"),
        ("train.json", "train"),
        ("tweets.txt", "train"),
        ("my-test.txt", "test"),
    ],
)
def test_a_file_alone(folder, name, split):
    text = '{"tokens": ["a"], "tags": ["O"]}' if name.endswith("json") else "a O\n"
    path = folder(**{name: text}) / name
    corpus = load_corpus(path)
    assert list(corpus.splits) == [split]
    assert corpus.source == str(path)
    assert corpus.name == "news-" + name.removesuffix(".txt").removesuffix(".json")


@pytest.mark.parametrize(
    ("where", "name", "language"),
    [
        ("wikiann/de", "wikiann-de", "de"),
        ("wikigold", "wikigold", None),
        ("wiki/DE", "DE", None),
        ("my/qa", "qa", None),
    ],
)
def test_names_and_languages(folder, where, name, language):
    path = folder(where, train="a O\n")
    corpus = load_corpus(path)
    assert (corpus.name, corpus.language) == (name, language)
    assert load_corpus(path, ReadingOptions(language="nl")).language == "nl"
    assert load_corpus(path / "train").name == f"{name}-train"


def test_source_is_absolute(folder, monkeypatch):
    path = folder(train="a O\n")
    monkeypatch.chdir(path.parent)
    monkeypatch.setenv("HOME", str(path.parent))
    for given in ("news", "~/news", "./news"):
        assert load_corpus(given).source == str(path)
    monkeypatch.chdir(path)
    assert load_corpus(".").name == "news"


@pytest.mark.parametrize("path", [None, "sample"])
def test_the_embedded_sample(path, tmp_path, monkeypatch):
    (tmp_path / "sample").mkdir()  # a folder of that name needs ./sample
    (tmp_path / "sample" / "train.parquet").touch()
    monkeypatch.chdir(tmp_path)
    corpus = load_corpus(path)
    assert (corpus.name, corpus.source, corpus.language) == ("sample", "sample", "en")
    sizes = {name: (len(split), split.n_words) for name, split in corpus.splits.items()}
    assert sizes == {"train": (632, 9300), "dev": (155, 2673), "test": (150, 2580)}
    assert get_task("entities").classes_of(corpus) == ("LOC", "MISC", "ORG", "PER")
    assert len({s.words for split in corpus.splits.values() for s in split}) == 632 + 155 + 150
    for split in corpus.splits.values():
        assert (split.path, split.has_documents, split.is_tagged) == (None, True, True)
        assert (split.notes.repaired_tags, split.notes.comment_lines) == (0, 0)
    with pytest.raises(InputError, match=str(tmp_path / "sample")):
        load_corpus("./sample")


SPLIT_NAMES = {
    "train": (
        *("train", "train.txt", "train.txt.conll", "TRAIN.CoNLL", "eng.train", "wnut17train.conll"),
        *("en-train.jsonl", "train.en.tsv", "NER-de-train.tsv", "train_v2.conll"),
        *("en_ewt-ud-train.conllu", "train.char.bmes", "train.char", "demo.train.bmeso"),
    ),
    "dev": (
        *("dev.bio", "valid.txt", "validation.jsonl", "val", "testa", "eng.testa", "eng.testa.txt"),
        *("emerging.dev.conll", "onto.development.ner"),
    ),
    "test": (*("test", "testb", "eng.testb", "conll03_testb.iob", "emerging.test.annotated"),),
    None: (
        "wnutTrain.conll",  # case does not count: "latest" and "laTest" must be one
        "train.en",  # a side of a bitext
        *(".train.conll", "README.md", "README_test.txt", "README", "test.py", "train.conll.bak"),
        *("train.conll~", "train.pkl", "latest.txt", "constrain.txt", "interval.txt"),
        *("retrain.conll", "testc", "notes.txt"),
    ),
}


@pytest.mark.parametrize("split", SPLIT_NAMES)
def test_which_file_is_which_split(split):
    expected = () if split is None else (split,)
    assert all(splits_named(name) == expected for name in SPLIT_NAMES[split])
    assert splits_named("dev-train.conll") == ("train", "dev")


def test_what_may_never_end_is_no_corpus(tmp_path):
    (tmp_path / "dev.conll").write_text("EU O\n", "utf-8")
    os.mkfifo(tmp_path / "train.conll")
    for data in (tmp_path / "train.conll", tmp_path, "/dev/zero"):
        with pytest.raises(InputError, match=str(data)):
            load_corpus(str(data))


def test_an_open_stream_is_a_corpus():
    reading, writing = os.pipe()
    with os.fdopen(reading), os.fdopen(writing, "w") as stream:
        stream.write("EU B-ORG\n\nParis B-LOC\n")
        stream.close()
        (test,) = load_corpus(f"/dev/fd/{reading}").splits.values()
    assert [s.words for s in test.sentences] == [("EU",), ("Paris",)]


def test_words_of_a_tsv_after_a_comment(folder):
    text = "#\thttp://a\n1\tAda\tB-PER\tO\n2\tsings\tO\tO\n\n#\thttp://b\n1\tTom\tB-PER\tO\n"
    train = load_corpus(folder(train__tsv=text), ReadingOptions(tag_column=3))["train"]
    assert [s.words for s in train] == [("Ada", "sings"), ("Tom",)]
    assert (train.tags, train.notes.comment_lines) == ([("B-PER", "O"), ("B-PER",)], 2)
