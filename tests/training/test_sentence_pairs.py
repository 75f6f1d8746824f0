"""Sequences of a language model: every piece once, nothing too long, half of the pairs true."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from featbert.data.corpus import Sentence
from featbert.encoders.source import find_encoder
from featbert.encoders.windows import plan_windows
from featbert.encoders.wordpieces import load_wordpieces
from featbert.training.sentence_pairs import (
    FOLLOWS,
    NO_PAIR,
    RANDOM,
    PieceText,
    _exchange,
    pairs,
    piece_text,
    segments,
)


def text_of(sentences, documents=None):
    """A text from the pieces of each word of each sentence."""
    sizes = np.array([size for sentence in sentences for size in sentence])
    ends = np.cumsum([0, *(sum(sentence) for sentence in sentences)])
    return PieceText(
        np.arange(sizes.sum()) + 1000,
        np.repeat(np.arange(len(sizes)), sizes),
        ends,
        None if documents is None else np.array(documents),
    )


def random_text(seed, *, documents=40, sentences=9, longest=12):
    """Documents of 1 to `sentences` sentences of 1 to `longest` words of 1 to 3 pieces."""
    random = np.random.default_rng(seed)
    numbers = np.repeat(np.arange(documents), random.integers(1, sentences + 1, documents))
    words = [random.integers(1, 4, random.integers(1, longest + 1)) for _ in numbers]
    return text_of(words, numbers)


def asked_times(text, sequences):
    """(P,) in how many sequences each piece may be asked for."""
    return np.bincount(np.concatenate(list(sequences.places())), minlength=len(text.pieces))


def sentence_of(text, piece):
    return int(np.searchsorted(text.sentences, piece, side="right")) - 1


def document_of(text, piece):
    return int(text.documents[sentence_of(text, piece)])


def check_spans(text, sequences, capacity, half=None):
    """Every piece once; whole sentences of one document; A and B within the capacity."""
    limit = half or capacity
    assert (asked_times(text, sequences) == 1).all()
    sizes = np.diff(sequences.first)[:, 0] + np.diff(sequences.second)[:, 0]
    assert sizes.max() <= capacity
    for first, second, owned in zip(
        sequences.first, sequences.second, sequences.owned, strict=True
    ):
        sentence = sentence_of(text, first[0])
        start, end = text.sentences[sentence], text.sentences[sentence + 1]
        if end - start > limit:  # a window of a long sentence, alone
            assert start <= first[0] <= owned[0] < owned[1] <= first[1] <= end
            assert second.tolist() == [0, 0]
            continue
        assert owned.tolist() == first.tolist()
        for span in (first, second):
            if span[1] == 0:
                continue
            assert np.isin(span, text.sentences).all()
            assert 0 < span[1] - span[0] <= limit
            if text.documents is None:
                assert sentence_of(text, span[0]) == sentence_of(text, span[1] - 1)
            else:
                assert document_of(text, span[0]) == document_of(text, span[1] - 1)


@pytest.mark.parametrize("seed", range(5))
def test_segments_hold_as_many_sentences_of_a_document_as_fit(seed):
    text = random_text(seed)
    found = segments(text, 40)
    check_spans(text, found, 40)
    assert (found.labels == NO_PAIR).all()
    assert (found.second == 0).all()
    for (start, end), (next_start, _) in zip(found.first, found.first[1:], strict=False):
        assert end == next_start
        if document_of(text, start) == document_of(text, end):
            following = sentence_of(text, end)
            assert text.sentences[following + 1] - start > 40


def test_segments_by_hand():
    text = text_of([[1, 1], [2, 1], [1], [5, 5], [1], [1]], [0, 0, 0, 0, 0, 1])
    found = segments(text, 6)
    # 2 + 3 + 1 fit; the sentence of 10 is windowed word by word; the last two are two documents
    assert found.first.tolist() == [[0, 6], [6, 11], [11, 16], [16, 17], [17, 18]]
    assert found.owned.tolist() == found.first.tolist()


def test_without_documents_a_sequence_is_a_sentence():
    text = text_of([[1, 1], [2], [1], [3, 3]])
    assert segments(text, 6).first.tolist() == [[0, 2], [2, 4], [4, 5], [5, 11]]
    assert segments(text, 6).lengths(2, 1).tolist() == [4, 4, 3, 8]


@pytest.mark.parametrize("capacity", [5, 8, 13])
def test_long_sentences_are_windowed_as_elsewhere(capacity):
    sizes = np.random.default_rng(1).integers(1, 5, 60)
    text = text_of([[1, 2], sizes, [2]], [0, 0, 0])
    found = segments(text, capacity)
    spans, owned = plan_windows(sizes, capacity)
    ends = 3 + np.concatenate([[0], np.cumsum(sizes)])
    assert found.first[1:-1].tolist() == ends[spans].tolist()
    assert found.owned[1:-1].tolist() == ends[np.stack([owned[:-1], owned[1:]], 1)].tolist()
    assert np.diff(found.first).sum() > len(text.pieces)  # they overlap
    check_spans(text, found, capacity)


def test_no_piece_of_an_overlong_word_is_dropped():
    text = text_of([[1, 23, 2], [50]])
    found = segments(text, 6)
    assert (asked_times(text, found) == 1).all()
    assert np.diff(found.first).max() <= 6


@pytest.mark.parametrize("capacity", [16, 31, 61, 200])
@pytest.mark.parametrize("seed", range(4))
def test_pairs(seed, capacity):
    text = random_text(seed)
    found = pairs(
        text, capacity=capacity, single=capacity + 1, random=np.random.default_rng([seed, 7])
    )
    check_spans(text, found, capacity + 1, capacity // 2)
    labelled = found.labels != NO_PAIR
    assert np.diff(found.second[labelled])[:, 0].min() > 0
    assert (found.second[~labelled] == 0).all()
    follows, random = (int((found.labels == label).sum()) for label in (FOLLOWS, RANDOM))
    assert follows > 5
    assert abs(follows - random) <= 1
    for (start, end), (second, _), label in zip(
        found.first, found.second, found.labels, strict=True
    ):
        if label == FOLLOWS:
            assert second == end
            assert document_of(text, start) == document_of(text, second)
        elif label == RANDOM:
            assert document_of(text, start) != document_of(text, second)
    if capacity == 16:  # most sentences are longer than half, which leaves many over
        return
    # Without a label: what is longer than half a sequence, and one span that is left over.
    alone = found.first[~labelled]
    sizes = np.diff(text.sentences)[[sentence_of(text, start) for start, _ in alone]]
    assert np.sum(sizes <= capacity // 2) <= 1


def test_pairs_of_another_epoch_are_others():
    text = random_text(0)
    first, second, again = (
        pairs(text, capacity=50, single=51, random=np.random.default_rng([1, epoch]))
        for epoch in (1, 2, 1)
    )
    assert (first.first == again.first).all()
    assert (first.second == again.second).all()
    assert (first.labels == again.labels).all()
    assert {*map(tuple, first.first)} != {*map(tuple, second.first)}  # other cuts
    assert {*map(tuple, first.second)} != {*map(tuple, second.second)}  # and other partners


def test_a_document_of_two_sentences_is_a_pair_however_short():
    text = text_of([[1], [1]] * 6, np.repeat(np.arange(6), 2))
    found = pairs(text, capacity=50, single=51, random=np.random.default_rng(0))
    assert len(found) == 6
    assert sorted(found.labels) == [FOLLOWS] * 3 + [RANDOM] * 3
    assert sorted(found.first[:, 0]) == [0, 2, 4, 6, 8, 10]


def test_documents_of_one_sentence_do_not_outweigh_the_true_pairs():
    text = text_of([[1], [1]] * 2 + [[1]] * 50, [0, 0, 1, 1, *range(2, 52)])
    found = pairs(text, capacity=50, single=51, random=np.random.default_rng(0))
    assert [int((found.labels == x).sum()) for x in (FOLLOWS, RANDOM, NO_PAIR)] == [2, 2, 46]
    assert (asked_times(text, found) == 1).all()


@pytest.mark.parametrize("seed", range(10))
def test_in_one_document_a_random_b_is_from_elsewhere_in_it(seed):
    text = text_of([[4]] * 40, [0] * 40)
    found = pairs(text, capacity=8, single=9, random=np.random.default_rng(seed))
    follows = found.labels == FOLLOWS
    assert (found.second[follows, 0] == found.first[follows, 1]).all()
    at_random = found.labels == RANDOM
    assert follows.sum() == at_random.sum() == 10
    assert (found.second[at_random, 0] != found.first[at_random, 1]).all()


@pytest.mark.parametrize(
    ("documents", "labels"),
    [
        ([0], [NO_PAIR]),
        ([0, 0], [FOLLOWS]),
        ([0, 1], [NO_PAIR, NO_PAIR]),
        ([0, 0, 1, 1], [RANDOM, RANDOM]),  # one alone has nobody to exchange with
        ([0, 0, 1, 1, 2, 2], [FOLLOWS, RANDOM, RANDOM]),
        ([0, 0, 1, 2], [FOLLOWS, RANDOM]),
    ],
)
def test_the_smallest_corpora(documents, labels):
    text = text_of([[1]] * len(documents), documents)
    for seed in range(5):
        found = pairs(text, capacity=10, single=11, random=np.random.default_rng(seed))
        assert sorted(found.labels) == labels
        assert (asked_times(text, found) == 1).all()


@given(st.lists(st.integers(0, 3), min_size=2, max_size=6), st.integers(0, 20))
def test_as_many_exchange_with_another_document_as_can(documents, seed):
    found = _exchange(np.array(documents), np.random.default_rng(seed))
    n = len(documents)
    assert sorted(found) == list(range(n))
    assert (found != np.arange(n)).all()

    def same(partners):
        return sum(documents[i] == documents[p] for i, p in enumerate(partners))

    assert same(found) == min(
        same(p) for p in permutations(range(n)) if all(i != j for i, j in enumerate(p))
    )


def test_the_pieces_are_those_of_the_words(encoder_folder):
    wordpieces = load_wordpieces(find_encoder(str(encoder_folder("bert"))))
    words = [("The", "unaffordable", "lamb"), ("Hamilton", "\u200b", "."), ("fox",)]
    sentences = [Sentence(w, document=d) for w, d in zip(words, (0, 0, 3), strict=True)]
    text = piece_text(sentences, wordpieces)
    pieces, ends, unknown = wordpieces.pieces(words)
    assert text.unknown == unknown == 1
    assert text.pieces.tolist() == pieces.tolist()
    assert [int((text.words == n).sum()) for n in range(7)] == np.diff(ends).tolist()
    assert text.sentences.tolist() == [0, ends[3], ends[6], ends[7]]
    assert text.documents.tolist() == [0, 0, 3]
    mixed = [Sentence(("a",), document=0), Sentence(("b",))]
    assert piece_text(mixed, wordpieces).documents is None
