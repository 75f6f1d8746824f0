"""Alignment: whose pieces are whose, in which window, in which context."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from featbert.data.corpus import Sentence
from featbert.encoders.alignment import align, plan_windows
from featbert.encoders.source import find_encoder
from featbert.encoders.tokenizer import load_wordpieces
from featbert.errors import InputError
from tests.features.support import sentences_of

TEXT = ["The quick fox jumps .", "Jordan", "unaffordable Hamilton " * 8 + ".", "EU \u200b x"]


@pytest.fixture(scope="module")
def wordpieces(encoder_folder):
    return load_wordpieces(find_encoder(str(encoder_folder("bert"))))


@pytest.mark.parametrize(
    ("documents", "options", "named"),
    [
        (None, {"positions": 40, "context": "document"}, "context='document'"),
        ([0, 0, None, 1], {"positions": 40, "context": "document"}, "context='document'"),
        (None, {"positions": 2}, "2 positions"),
    ],
)
def test_what_cannot_be_aligned_is_refused(wordpieces, documents, options, named):
    with pytest.raises(InputError, match=named):
        align(sentences_of(TEXT, documents), wordpieces, **options)


def test_a_word_longer_than_a_window_is_spread_over_windows_and_counted(wordpieces):
    long = align(
        sentences_of([["fox", "internationalisation" * 3, "fox"]]), wordpieces, positions=6
    )
    assert long.counts == {"windowed_sentences": 1, "unknown_words": 0, "overlong_words": 1}
    assert np.diff(long.word_parts).tolist() == [1, len(long.parts) - 2, 1]
    assert len(long.parts) > 3
    assert long.unit_words.tolist() == [0, 3]


UNITS = st.lists(
    st.lists(st.sampled_from(["The", "fox", "unaffordable", ".", "世", "ที่", "x", ""]), min_size=1),
    min_size=1,
    max_size=4,
)


@settings(max_examples=200)
@given(UNITS, st.integers(5, 14), st.randoms(use_true_random=False), st.booleans())
def test_every_piece_of_every_text_is_owned_once(wordpieces, texts, positions, random, joined):
    sentences = [
        Sentence(
            tuple(words),
            touches=tuple(joined and random.random() < 0.7 and n > 0 for n in range(len(words))),
        )
        for words in texts
    ]
    assert_owned_once(align(sentences, wordpieces, positions=positions), positions)
    pairs = [
        Sentence(a.words + b.words, pair=len(a), touches=a.touches + b.touches)
        for a, b in zip(sentences, reversed(sentences), strict=True)
    ]
    for packing in ("joint", "apart"):
        found = align(pairs, wordpieces, positions=positions + 1, packing=packing)
        assert_owned_once(found, positions + 1)
        assert found.sentences[-1] == sum(map(len, pairs))
        if packing == "joint":  # a window has pieces of both texts
            assert (np.diff(found.windows, axis=2) > 0).all()


def assert_owned_once(alignment, positions):
    """Brute force: each piece is in the window that owns it, and each part in its word's."""
    assert (alignment.window_lengths <= positions).all()
    assert alignment.owned_pieces[[0, -1]].tolist() == [0, len(alignment.pieces)]
    for (start, end), window in zip(
        pairwise(alignment.owned_pieces), alignment.windows, strict=True
    ):
        assert start < end
        held = {piece for a, b in window for piece in range(a, b)}
        assert held >= {*range(start, end)}
    for v, (first, end) in enumerate(pairwise(alignment.owned)):
        assert {*alignment.windows_of(np.arange(first, end))} <= {v}
        for start, stop in alignment.parts[first:end]:
            assert alignment.owned_pieces[v] <= start < stop <= alignment.owned_pieces[v + 1]
    for first, end in pairwise(alignment.word_parts):
        parts = alignment.parts[first:end]
        assert parts[1:, 0].tolist() == parts[:-1, 1].tolist()
    assert alignment.owned[-1] == len(alignment.parts) == alignment.word_parts[-1]
    assert (np.diff(alignment.word_parts) > 0).all()
    assert alignment.begun_words.sum() == alignment.n_words


def test_no_sentences(wordpieces):
    found = align([], wordpieces, positions=12)
    assert (len(np.diff(found.sentences)), found.n_words, len(found.windows)) == (0, 0, 0)


COUNTS = st.lists(st.integers(1, 9), min_size=1, max_size=60)


def context(counts, window, word):
    """Pieces beside `word` in `window`, the smaller side; a side at the text's edge is complete."""
    start, end = window
    left = math.inf if start == 0 else sum(counts[start:word])
    right = math.inf if end == len(counts) else sum(counts[word + 1 : end])
    return min(left, right)


ONES = st.integers(1, 200).map(lambda n: [1] * n)


@given(COUNTS | ONES, st.integers(1, 20) | st.integers(1, 400))
@example([6, 3, 9, 1], 10)  # a window inside another one
@example([1] * 50, 1)
@example([9, 9, 9], 2)  # words longer than a window
def test_each_word_once_with_most_context_for_twice_the_cost_of_one_pass(counts, capacity):
    windows, owned = plan_windows(np.array(counts), capacity)
    assert owned[[0, -1]].tolist() == [0, sum(counts)]
    assert (np.diff(owned) > 0).all()  # every window is needed
    assert (windows[:, 0] <= owned[:-1]).all()
    assert (owned[1:] <= windows[:, 1]).all()
    assert np.diff(windows).max() <= capacity
    assert np.diff(windows).sum() <= 2 * sum(counts) + capacity
    assert (len(windows) == 1) == (sum(counts) <= capacity)
    # A word longer than a window is as many words as it has pieces.
    spread = [n for c in counts for n in ([c] if c <= capacity else [1] * c)]
    edges = np.cumsum([0, *spread])
    assert np.isin(owned, edges).all()
    windows, owned = np.searchsorted(edges, windows), np.searchsorted(edges, owned)
    for owner, words in enumerate(pairwise(owned)):
        for word in range(*words):
            holding = [window for window in windows if window[0] <= word < window[1]]
            found = context(spread, windows[owner], word)
            assert found == max(context(spread, window, word) for window in holding)
            # Windows overlap by half: a quarter is left on the poorer side.
            assert max(spread) > 1 or found >= capacity // 4 - 1


def test_by_hand():
    # capacity 4, seven words of one piece: 0-3, 2-5, 3-6 (the last reaches back as far as it can)
    windows, owned = plan_windows(np.ones(7, dtype=np.int64), 4)
    assert windows.tolist() == [[0, 4], [2, 6], [3, 7]]
    # Word 3 ends the first window and begins the third; word 4 has one piece beside it in the
    # second (right) and in the third (left), and takes the earlier.
    assert owned.tolist() == [0, 3, 5, 7]
