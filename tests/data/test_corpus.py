"""Sentences, splits and corpora: fingerprints, splits joined, and what does not fit together."""

from contextlib import nullcontext

import numpy as np
import pytest

from featbert.data.corpus import Corpus, Sentence, Split, join_splits
from featbert.errors import InputError


def split(*sentences: Sentence) -> Split:
    return Split("train", sentences)


def test_fingerprints_of_text_and_of_tags():
    one = split(Sentence(("a", "b"), ("O", "B-X"), 0), Sentence(("c",), ("O",), 1))
    other_tags = split(Sentence(("a", "b"), ("O", "O"), 0), Sentence(("c",), ("O",), 1))
    assert one.text_fingerprint == other_tags.text_fingerprint
    assert one.tag_fingerprint != other_tags.tag_fingerprint
    changed = [
        split(Sentence(("a", "b"), None, 0), Sentence(("c",), None, 0)),  # documents
        split(Sentence(("a", "b", "c"), None, 0)),  # sentences
        split(Sentence(("ab",), None, 0), Sentence(("c",), None, 1)),  # words
        split(Sentence(("a", "B"), None, 0), Sentence(("c",), None, 1)),
    ]
    assert len({s.text_fingerprint for s in (one, *changed)}) == 5


def test_a_fingerprint_stays_what_it_is():
    """Stores and runs are found by it."""
    one = split(Sentence(("EU", "é"), ("B-ORG", "O"), 0), Sentence(("x",), ("O",), None))
    assert one.text_fingerprint[:16] == "5276ade330926812"
    assert one.tag_fingerprint[:16] == "968d0ae3e0757b24"


def test_documents_of_joined_splits_stay_different():
    def numbered(name: str, documents: list[int | None]) -> Split:
        sentences = (Sentence((f"{name}{i}",), ("O",), d) for i, d in enumerate(documents))
        return Split(name, tuple(sentences))

    both = join_splits([numbered("a", [0, 0, 2]), numbered("b", [0, 1, 1])])
    assert both.name == "a+b"
    assert [s.words for s in both] == [("a0",), ("a1",), ("a2",), ("b0",), ("b1",), ("b2",)]
    assert [s.document for s in both] == [0, 0, 2, 3, 4, 4]
    plain = join_splits([numbered("a", [None]), numbered("b", [None])])
    assert [s.document for s in plain] == [None, None]
    one = numbered("a", [0])
    assert join_splits([one]) is one


@pytest.mark.parametrize("of", [list, np.array, lambda values: np.array(values, dtype=object)])
def test_words_and_tags_may_be_lists_and_arrays(of):
    sentence = Sentence(of(["a", "b"]), of(["O", "B-X"]))
    assert sentence == Sentence(("a", "b"), ("O", "B-X"))
    assert {type(value) for value in (*sentence.words, *sentence.tags)} == {str}


@pytest.mark.parametrize(
    ("words", "tags"),
    [("Rome", None), (["a", None], None), (np.array([1, 2]), None), (None, None), (("a",), "O")],
)
def test_words_and_tags_are_several_strings(words, tags):
    with pytest.raises(InputError):
        Sentence(words, tags)


ROME = Sentence(("in", "Rome"), ("O", "B-LOC"))
CLASS = Sentence(("in", "Rome"), ("O",))
NONE = Sentence(("in", "Rome"))


@pytest.mark.parametrize(
    ("targets", "sentences", "place"),
    [
        ("entities", (ROME, CLASS), "sentence 2 of dev"),
        ("labels", (CLASS,), "sentence 1 of dev"),
        ("entities", (NONE, ROME), "sentence 1 of dev"),
        ("classes", (CLASS, ROME), "sentence 2 of dev"),
        ("entities", (), "'dev'"),
        # Splits and words may have no answers.
        ("entities", (ROME, Sentence(("a", "b"), ("", ""))), None),
        ("entities", (NONE, NONE), None),
        ("classes", (CLASS, NONE), None),
        ("spans", (CLASS, ROME, NONE), None),
        (None, (CLASS, ROME), None),
    ],
)
def test_a_corpus_has_the_tags_of_its_targets(targets, sentences, place):
    with pytest.raises(InputError, match=place) if place else nullcontext():
        corpus = Corpus("mine", {"dev": Split("dev", sentences)}, targets=targets)
        assert corpus["dev"].sentences == sentences


@pytest.mark.parametrize(
    "splits", [[Split("dev", (ROME,))], {"dev": [ROME]}, {"dev": Split("test", (ROME,))}]
)
def test_the_splits_of_a_corpus_are_by_name(splits):
    with pytest.raises(InputError, match=r"dev|train"):
        Corpus("mine", splits)
