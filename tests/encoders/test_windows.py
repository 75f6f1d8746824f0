"""Windows: a brute-force oracle for who reads each word, and what holds for every text."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from featbert.encoders.windows import plan_windows

TEXTS = st.lists(st.integers(1, 9), min_size=1, max_size=60)


def context(counts, window, word):
    """Pieces beside `word` in `window`, the smaller side; a side at the text's edge is complete."""
    start, end = window
    left = math.inf if start == 0 else sum(counts[start:word])
    right = math.inf if end == len(counts) else sum(counts[word + 1 : end])
    return min(left, right)


@given(TEXTS, st.integers(1, 20))
@example([6, 3, 9, 1], 10)  # a window inside another one
@example([1] * 50, 1)
@example([9, 9, 9], 2)  # words longer than a window
def test_each_word_is_read_where_it_has_most_context(counts, capacity):
    windows, owned = plan_windows(np.array(counts), capacity)
    clipped = [min(c, capacity) for c in counts]
    for word in range(len(counts)):
        holding = [v for v, (start, end) in enumerate(windows) if start <= word < end]
        best = max(context(clipped, windows[v], word) for v in holding)
        (owner,) = (v for v in range(len(windows)) if owned[v] <= word < owned[v + 1])
        assert owner in holding
        assert context(clipped, windows[owner], word) == best


@given(TEXTS, st.integers(1, 20))
def test_every_word_once_in_order_within_capacity(counts, capacity):
    windows, owned = plan_windows(np.array(counts), capacity)
    assert owned[0] == 0
    assert owned[-1] == len(counts)
    assert (np.diff(owned) > 0).all()  # every window is needed
    clipped = np.minimum(counts, capacity)
    for (start, end), first, last in zip(windows, owned[:-1], owned[1:], strict=True):
        assert start <= first < last <= end
        assert clipped[start:end].sum() <= capacity


@given(TEXTS, st.integers(1, 20))
def test_a_pass_costs_about_twice_a_single_one(counts, capacity):
    windows, _ = plan_windows(np.array(counts), capacity)
    clipped = np.minimum(counts, capacity)
    cost = sum(int(clipped[start:end].sum()) for start, end in windows)
    assert cost <= 2 * clipped.sum() + capacity


@given(TEXTS, st.integers(1, 400))
def test_a_text_that_fits_is_one_window(counts, capacity):
    windows, _ = plan_windows(np.array(counts), capacity)
    assert (len(windows) == 1) == (np.minimum(counts, capacity).sum() <= capacity)


@given(st.integers(1, 300), st.integers(1, 64))
def test_no_word_is_left_with_little_context(n_words, capacity):
    """Half a window of overlap leaves a word a quarter of a window on its poorer side."""
    counts = [1] * n_words
    windows, owned = plan_windows(np.array(counts), capacity)
    for v in range(len(windows)):
        for word in range(owned[v], owned[v + 1]):
            assert context(counts, windows[v], word) >= capacity // 4 - 1


def test_by_hand():
    # capacity 4, seven words of one piece: 0-3, 2-5, 3-6 (the last reaches back as far as it can)
    windows, owned = plan_windows(np.ones(7, dtype=np.int64), 4)
    assert windows.tolist() == [[0, 4], [2, 6], [3, 7]]
    # Word 3 ends the first window and begins the third; word 4 has one piece beside it in the
    # second (right) and in the third (left), and takes the earlier.
    assert owned.tolist() == [0, 3, 5, 7]


@pytest.mark.parametrize("count", [5, 50])
def test_a_word_longer_than_a_window_is_one_of_its_own(count):
    windows, owned = plan_windows(np.array([2, count, 2]), 4)
    assert windows.tolist() == [[0, 1], [1, 2], [2, 3]]
    assert owned.tolist() == [0, 1, 2, 3]
