"""The corpus check on small corpora counted by hand."""

from types import SimpleNamespace

import pytest

from featbert.data.check import CONLL_2003_ENGLISH, _recognise, check_corpus
from featbert.data.corpus import Corpus, Sentence, Split
from featbert.data.load import load_corpus
from tests.data.reading import json_lines, read


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


def doubts(folder, parts, ending="conll", targets="entities", **options):
    corpus = read(folder, "", ending, targets, parts=parts, **options)
    return check_corpus(corpus).doubts


def table(header, answers):
    """Parts of texts with these answers; no text is in two of them."""
    return {
        part: header + "".join(f"{part} {i}\t{answer}\n" for i, answer in enumerate(answers))
        for part in ("train", "dev")
    }


def conll_2003(*, words: int = 0, entities: int = 0, sentences: int = 0) -> str | None:
    """What a corpus with the published counts, off in dev by the numbers given, is said to be."""
    dev = (3_250 + sentences, 51_362 + words, 5_942 + entities)
    counts = {"train": (14_041, 203_621, 23_499), "dev": dev, "test": (3_453, 46_435, 5_648)}
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


NAMED = "Wort Marke\nRome LOC\n. O\n. O\n\nOslo LOC\n. O\n. O\n"


@pytest.mark.parametrize(
    ("text", "targets", "advice"),
    [
        ("7 Rome B-LOC\n8 . O\n\n9 Oslo B-LOC\n", "entities", "token_column=2"),
        ("d1 8 Rome B-LOC\nd1 9 . O\n\nd2 1 It O\nd2 2 . O\n", "entities", "token_column"),
        (NAMED, "entities", "token_column='Wort'"),
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
    *found, overlap = doubts(tmp_path, {"train": text, "dev": text}, targets=targets)
    assert "also in train" in overlap
    assert [(advice in doubt, doubt.split(":")[0]) for doubt in found] == [
        (True, "train, dev")
    ] * bool(advice)
    (tmp_path / "dev.conll").unlink()
    assert "dev_share" in doubts(tmp_path, {}, targets=targets)[-1]


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
    other = {n: text.replace(".", "." * i) for i, (n, text) in enumerate(parts.items(), 1)}
    found = doubts(tmp_path, other, **options)
    places = [doubt.split(": ", 1) for doubt in found]
    assert [(where, advice[where] in text) for where, text in places] == [
        (where, True) for where in advice
    ]
    if any("B-" in text for text in parts.values()) and not options:
        assert "tag_column" not in "".join(found)


@pytest.mark.parametrize(
    ("types", "doubted"),
    [(("B-PER", "I-PER"), True), (("O", "PER"), True), (("PER", "E-mail", "B-cell"), False)],
)
def test_tags_of_words_as_types_of_spans_are_doubted(tmp_path, types, doubted):
    spans = [{"start": 2 * n, "end": 2 * n + 1, "label": name} for n, name in enumerate(types)]
    rows = [{"text": "a b c d", "spans": spans}, {"text": "e f", "spans": []}]
    parts = {"train": json_lines(rows), "dev": json_lines([{**rows[0], "text": "x y z u"}])}
    assert any(types[0] in doubt for doubt in doubts(tmp_path, parts, "jsonl")) == doubted


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
    parts = table("text\tlabel\n", classes)
    found = doubts(tmp_path, parts, "tsv", "classes", **options)
    assert [advice in doubt for doubt in found] == [True] * bool(advice)
    parts["dev"] = "text\tlabel\na\tp\nb\tp\n"
    found = doubts(tmp_path, parts, "tsv", "classes")
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
    found = doubts(tmp_path, table("text\tlabels\n", answers), "tsv", "sets", **options)
    assert [*{advice in doubt for doubt in found}] == [True] * bool(advice)


@pytest.mark.parametrize("sign", "|;,")
def test_classes_with_a_separator_may_be_several(tmp_path, sign):
    parts = table("text\tlabel\n", ["a", f"a{sign}b", "b", "c"])
    found = doubts(tmp_path, parts, "tsv", "classes")
    assert [f"task='multilabel' class_separator={sign!r}" in doubt for doubt in found] == [True]


@pytest.mark.parametrize(
    ("classes", "alike"),
    [(["1", "1,0", "2"], "1 and 1,0"), (["1,5", "1.5", "a"], "1,5 and 1.5"), (["1", "2,0"], "")],
)
@pytest.mark.parametrize("targets", ["classes", "sets"])
def test_numbers_in_two_notations_are_doubted(tmp_path, classes, alike, targets):
    found = doubts(tmp_path, table("text\tlabel\n", classes), "tsv", targets)
    assert sum(" and " in doubt for doubt in found) == bool(alike)
    assert alike in " ".join(found)


def test_the_samples_raise_no_doubt():
    samples = {"sample": "entities", "sample:choice": "choices", "sample:multilabel": "sets"}
    for name, targets in samples.items():
        assert check_corpus(load_corpus(name, targets=targets)).doubts == []
