"""The corpus check on small corpora counted by hand."""

from types import SimpleNamespace

import pytest

from featbert.data.check import CONLL_2003_ENGLISH, _recognise, check_corpus
from featbert.data.corpus import Corpus, Sentence, Split
from featbert.data.load import load_corpus
from featbert.data.options import ReadingOptions
from featbert.errors import InputError


def test_labels_and_what_a_part_adds_to_train():
    def tagged(name: str, words: str, tags: str) -> Split:
        return Split(name, (Sentence(tuple(words.split()), tuple(tags.split())),))

    splits = tagged("train", "a dog", "DET NOUN"), tagged("dev", "a cat sat", "DET NOUN VERB")
    report = check_corpus(Corpus("x", {split.name: split for split in splits}, targets="labels"))
    assert report.splits["dev"].labels == {"DET": 1, "NOUN": 1, "VERB": 1}
    assert report.against_train["dev"].new_types == ["VERB"]
    assert report.against_train["dev"].unseen_words == 2
    bare = {name: Split(name, (Sentence((name,)),)) for name in ("train", "test")}
    assert check_corpus(Corpus("x", bare)).against_train["test"].unseen_forms == 0
    report = check_corpus(Corpus("x", {"test": bare["test"]}))
    test = report.splits["test"]
    assert (report.against_train, test.documents, test.labels) == ({}, None, {})


def conll_2003(*, words: int = 0, entities: int = 0, sentences: int = 0) -> str | None:
    """What a corpus with the published counts, off in dev by the numbers given, is said to be."""
    counts = {
        "train": (14_041, 203_621, 23_499),
        "dev": (3_250 + sentences, 51_362 + words, 5_942 + entities),
        "test": (3_453, 46_435, 5_648),
    }
    reports = {
        name: SimpleNamespace(sentences=n, words=n_words, labels={"PER": 1, "LOC": n_entities - 1})
        for name, (n, n_words, n_entities) in counts.items()
    }
    return _recognise(reports)


@pytest.mark.parametrize(
    ("off", "noted"),
    [({}, ()), ({"words": 1}, ("51,363", "51,362")), ({"entities": -1}, ("5,941", "5,942"))],
)
def test_conll_2003_is_recognised_by_its_counts(off, noted):
    found = conll_2003(**off)
    assert (found == CONLL_2003_ENGLISH) == (not noted)
    assert all(part in found for part in (CONLL_2003_ENGLISH, *noted))
    assert conll_2003(sentences=1) is None


@pytest.mark.parametrize(
    ("text", "targets", "advice"),
    [
        ("7 Rome B-LOC\n8 . O\n\n9 Oslo B-LOC\n", "entities", "token_column=2"),
        (
            "Wort Marke\nRome LOC\n. O\n. O\n\nOslo LOC\n. O\n. O\n",
            "entities",
            "token_column='Wort'",
        ),
        ("Rome B-LOC\n. O\n" * 101, "entities", "blank line"),
        ("EU;B-ORG;O\nis;O;O\n", None, "delimiter=';'"),
        ("Rome O\n. O\n", "entities", "tag_column"),
        ("I like it\tP\nNot me\tN\n", "labels", "task='classification'"),
        ("Wort Klasse\nRome N\n\nOslo N\n", "labels", "token_column='Wort'"),
        ("Rome B-LOC\n1 O\n2 O\n", "entities", ""),
        ("The DT\ndog NN\nran VB\n\nNo PR\n", "labels", ""),
    ],
)
def test_what_is_probably_read_wrongly_says_what_to_do(tmp_path, text, targets, advice):
    for name in ("train", "dev"):
        (tmp_path / f"{name}.conll").write_text(text, "utf-8")
    *found, overlap = check_corpus(load_corpus(tmp_path, targets=targets)).doubts
    assert "also in train" in overlap
    assert [(advice in doubt, doubt.split(":")[0]) for doubt in found] == [
        (True, "train, dev")
    ] * bool(advice)
    (tmp_path / "dev.conll").unlink()
    assert "dev_share" in check_corpus(load_corpus(tmp_path, targets=targets)).doubts[-1]


@pytest.mark.parametrize(
    ("name", "text", "advice"),
    [
        ("train.conll", "Wort Marke\n-DOCSTART- O\n\nRome B-LOC\n", "token_column='Wort'"),
        ("train.csv", "tokens,ner_tags\nIn Rome,O B-LOC\nHe is,O O\n", "whole sentence.*JSONL"),
    ],
)
def test_what_is_no_tag_may_be_a_header_or_a_sentence(tmp_path, name, text, advice):
    (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(InputError, match=advice):
        load_corpus(tmp_path)


ROME, RAIN = "Rome B-LOC\n. O\n\n", "It O\n. O\n\n"


@pytest.mark.parametrize(
    ("parts", "options", "advice"),
    [
        ({"train": ROME, "dev": RAIN}, {}, {"dev": "epoch"}),
        ({"train": ROME, "dev": ROME + RAIN, "test": RAIN}, {}, {"test": ""}),
        ({"train": RAIN, "dev": ROME}, {}, {"train": ""}),
        ({"train": RAIN + ROME, "dev": ROME}, {"limit": 1}, {"train": "limit"}),
        ({"train": RAIN, "dev": RAIN}, {}, {"train, dev": "tag_column"}),
        ({"train": RAIN + ROME, "dev": RAIN + ROME}, {"limit": 1}, {"train, dev": "limit"}),
        ({"train": ROME, "dev": ROME.replace("LOC", "PER")}, {}, {"dev": "LOC"}),
        ({"train": 2 * ROME + ROME.replace("LOC", "PER"), "dev": ROME}, {}, {}),
    ],
)
def test_parts_without_entities_or_types(tmp_path, parts, options, advice):
    for i, (name, text) in enumerate(parts.items()):
        (tmp_path / f"{name}.conll").write_text(text.replace(".", "." * (i + 1)), "utf-8")
    found = check_corpus(load_corpus(tmp_path, ReadingOptions(**options))).doubts
    assert [
        (where, advice[where] in text) for where, text in (d.split(": ", 1) for d in found)
    ] == [(where, True) for where in advice]
    if any("B-" in text for text in parts.values()) and not options:
        assert "tag_column" not in "".join(found)


@pytest.mark.parametrize(
    ("classes", "options", "advice"),
    [
        ("ppppnnnn", {"limit": 4}, "limit"),
        ("p" * 15 + "n" * 15, {"limit": 25}, "limit"),
        ("ppppnnnn", {}, ""),
        ("pnpnpnpn", {"limit": 4}, ""),
        ("pppp", {}, "target"),
        ("pppp", {"limit": 9}, "target"),  # all of the file
    ],
)
def test_classes_in_their_order(tmp_path, classes, options, advice):
    for part in ("train", "dev"):
        rows = [f"{part} {i}\t{kind}\n" for i, kind in enumerate(classes)]
        (tmp_path / f"{part}.tsv").write_text("text\tlabel\n" + "".join(rows), "utf-8")
    found = check_corpus(load_corpus(tmp_path, ReadingOptions(**options), targets="classes")).doubts
    assert [advice in doubt for doubt in found] == [True] * bool(advice)
    (tmp_path / "dev.tsv").write_text("text\tlabel\na\tp\nb\tp\n", "utf-8")
    found = check_corpus(load_corpus(tmp_path, targets="classes")).doubts
    assert [doubt.startswith("dev: ") for doubt in found] == [len({*classes}) > 1]


@pytest.mark.parametrize(
    ("answers", "options", "advice"),
    [
        (["a", "a;b", "c"], {}, "class_separator=';'"),
        (["a", "a;b", "c"], {"class_separator": ";"}, ""),
        (["a;b", "c"], {}, ""),
        (["a|c", "A|c"], {}, "A, a"),
        (["nan", "b"], {}, "missing='nan'"),
        (["nan|a", "b"], {}, ""),
        (["", ""], {}, "no text"),
    ],
)
def test_sets_that_are_probably_misread(tmp_path, answers, options, advice):
    for part in ("train", "dev"):
        rows = [f"{part} {i}\t{answer}\n" for i, answer in enumerate(answers)]
        (tmp_path / f"{part}.tsv").write_text("text\tlabels\n" + "".join(rows), "utf-8")
    found = check_corpus(load_corpus(tmp_path, ReadingOptions(**options), targets="sets")).doubts
    assert [*{advice in doubt for doubt in found}] == [True] * bool(advice)


@pytest.mark.parametrize("sign", "|;,")
def test_classes_with_a_separator_may_be_several(tmp_path, sign):
    answers = ["a", f"a{sign}b", "b", "c"]
    rows = [f"text {i}\t{answer}\n" for i, answer in enumerate(answers)]
    (tmp_path / "train.tsv").write_text("text\tlabel\n" + "".join(rows), "utf-8")
    found = check_corpus(load_corpus(tmp_path, targets="classes")).doubts
    advice = f"task='multilabel' class_separator={sign!r}"
    assert [advice in doubt for doubt in found if "dev" not in doubt] == [True]


def test_the_samples_raise_no_doubt():
    samples = {"sample": "entities", "sample:choice": "choices", "sample:multilabel": "sets"}
    for name, targets in samples.items():
        assert check_corpus(load_corpus(name, targets=targets)).doubts == []
