"""The generated text: the same from the same seed, of the size asked for, and well formed."""

from __future__ import annotations

import statistics

from benchmarks.corpora import head
from benchmarks.text import CONLL2003, LONGEST, Size, generated_corpus
from featbert.data.load import load_corpus
from featbert.data.tags import detect_scheme

SMALL = {"train": Size(300), "dev": Size(60)}


def fingerprints(corpus) -> list[str]:
    return [f for s in corpus.splits.values() for f in (s.text_fingerprint, s.tag_fingerprint)]


def test_a_seed_gives_one_text() -> None:
    once, again = generated_corpus(SMALL), generated_corpus(SMALL)
    assert fingerprints(once) == fingerprints(again)
    assert fingerprints(once) != fingerprints(generated_corpus(SMALL, seed=2))


def test_the_text_is_what_it_was() -> None:
    """Numbers of different days are of one text."""
    first = generated_corpus({"train": Size(2)})["train"]
    assert [" ".join(s.words) for s in first] == [
        "The first issue sold 776 copies .",
        "It does , from May to October , and the trip across the California .",
    ]


def test_a_longer_text_begins_with_a_shorter_one_of_free_length() -> None:
    long = head(generated_corpus({"train": Size(80)}), 30)["train"]
    assert {len(s) for s in long} <= set(range(1, LONGEST + 1))
    assert len(long) == 30


def test_sizes_are_met_to_the_word() -> None:
    sizes = {"train": Size(200, 2905), "dev": Size(50, 700), "test": Size(9, 9)}
    corpus = generated_corpus(sizes)
    for name, size in sizes.items():
        assert (len(corpus[name]), corpus[name].n_words) == (size.sentences, size.words)


def test_tags_are_bio_at_the_rate_of_news() -> None:
    train = generated_corpus(SMALL)["train"]
    assert detect_scheme(train.tags) == "BIO"
    begun = sum(tag.startswith("B-") for row in train.tags for tag in row)
    assert 0.08 < begun / train.n_words < 0.13  # CoNLL-2003's train has 0.115
    assert {tag[2:] for row in train.tags for tag in row} == {"", "PER", "LOC", "ORG", "MISC"}


def test_lengths_spread_as_in_news() -> None:
    """CoNLL-2003's train: mean 14.5 words."""
    lengths = [len(s) for s in generated_corpus({"train": Size(1500)})["train"]]
    assert 13.5 < statistics.mean(lengths) < 15.5
    assert 9 < statistics.stdev(lengths) < 13


def test_dev_does_not_repeat_train() -> None:
    sample = load_corpus("sample")
    corpus = generated_corpus(SMALL)
    train = {word for s in sample["train"] for word in s.words}
    dev = {word for s in corpus["dev"] for word in s.words}
    assert dev - train  # words of the sample's dev alone


def test_conll_has_the_size_that_was_published() -> None:
    assert sum(size.sentences for size in CONLL2003.values()) == 20_744
    assert sum(size.words or 0 for size in CONLL2003.values()) == 301_418
