"""Real corpora; skipped where they are absent."""

import pytest

from featbert.data.check import check_corpus
from featbert.data.load import load_corpus
from featbert.tasks.base import get_task

SPLITS = ("train", "dev", "test")

# folder: scheme, sentences, documents, words, entities (words and entities counted with awk:
# lines of two columns; begin tags in BIO, or I- after another last column in wikigold)
EXPECTED = {
    "wikigold": ("IOB1", [1023, 376, 297], [87, 29, 29], [23379, 8779, 6849], [2109, 795, 654]),
    "wnut17": ("BIO", [3394, 1009, 1287], [None] * 3, [62730, 15733, 23394], [1975, 836, 1079]),
    "wikiann/de": ("BIO", [5000, 1000, 1000], [None] * 3, [48828, 10022, 9504], [6918, 1364, 1372]),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_counts(name, shared_data):
    scheme, sentences, documents, words, entities = EXPECTED[name]
    corpus = load_corpus(shared_data / name)
    report = check_corpus(corpus)
    found = [report.splits[s] for s in SPLITS]
    assert [r.scheme for r in found] == [scheme] * 3
    assert [r.sentences for r in found] == sentences
    assert [r.documents for r in found] == documents
    assert [r.words for r in found] == words
    assert [sum(r.labels.values()) for r in found] == entities
    assert {(r.repaired_tags, r.comment_lines) for r in found} == {(0, 0)}
    assert report.recognised is None
    assert corpus.name == name.replace("/", "-")
    assert corpus.language == (name[-2:] if "/" in name else None)


def test_parts_of_speech(shared_data):
    """Counts of the treebank's lines by awk: words have an integer as ID."""
    corpus = load_corpus(shared_data / "ud-ewt", targets="labels")
    report = check_corpus(corpus)
    found = [report.splits[s] for s in SPLITS]
    assert [r.sentences for r in found] == [4002, 2001, 2077]
    assert [r.documents for r in found] == [159, 318, 316]
    assert [r.words for r in found] == [64611, 25147, 25094]
    assert [r.non_words for r in found] == [752, 363, 356]
    assert [r.comment_lines for r in found] == [8163, 4320, 4470]
    assert [sum(r.labels.values()) for r in found] == [r.words for r in found]
    assert len(get_task("labels").classes_of(corpus)) == 17
    words = load_corpus(shared_data / "ud-ewt", targets=None)
    for split in SPLITS:  # one text, whatever is read of it
        assert words[split].text_fingerprint == corpus[split].text_fingerprint
