"""Windows over a text that is longer than the encoder's positions.

A text (a sentence, or a document where context is the document) is covered by windows of whole
words with an overlap of half a window, so that a pass over it costs about twice its length. Each
word is read from the window where it has the most context on both sides: the larger minimum of
pieces to its left and to its right, a side that reaches the text's edge counting as complete.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def plan_windows(piece_counts: Ints, capacity: int) -> tuple[Ints, Ints]:
    """Windows of one text.

    Args:
        piece_counts: (T,) wordpieces of each word, at least 1 each.
        capacity: pieces a window can hold, specials not counted; at least 1. A word with more
            pieces is a window of its own and keeps its first `capacity` pieces.

    Returns:
        windows: (V, 2) first word and end word (exclusive) of each window, left to right.
        owned: (V + 1,) window v gives the vectors of words owned[v] .. owned[v + 1] - 1; every
            word is owned by one window that holds it, and every window owns a word.
    """
    counts = np.minimum(piece_counts, capacity)
    ends = np.concatenate([[0], np.cumsum(counts)])  # (T + 1,)
    n_words = len(counts)
    if ends[-1] <= capacity:
        return np.array([[0, n_words]]), np.array([0, n_words])
    windows = _cover(ends, capacity)
    owner = _owners(windows, ends)
    used = np.unique(owner)
    firsts = np.searchsorted(owner, used)
    return windows[used], np.concatenate([firsts, [n_words]])


def _cover(ends: Ints, capacity: int) -> Ints:
    """Overlapping windows that hold every word, each as many words as fit."""
    n_words = len(ends) - 1
    windows: list[tuple[int, int]] = []
    start = 0
    while True:
        end = int(np.searchsorted(ends, ends[start] + capacity, side="right")) - 1
        if end == n_words:
            # The last window reaches back as far as it can, so its words keep left context.
            start = min(start, int(np.searchsorted(ends, ends[-1] - capacity, side="left")))
            windows.append((start, end))
            return np.array(windows)
        windows.append((start, end))
        half = int(np.searchsorted(ends, ends[start] + (capacity + 1) // 2, side="left"))
        start = min(max(half, start + 1), end)  # no gap, and always forward


def _owners(windows: Ints, ends: Ints) -> Ints:
    """(T,) for each word the window in which its smaller side of context is largest."""
    n_words = len(ends) - 1
    whole = int(ends[-1]) + 1
    best = np.full(n_words, -1, dtype=np.int64)
    owner = np.zeros(n_words, dtype=np.int64)
    for v, (start, end) in enumerate(windows):
        words = np.arange(start, end)
        left = np.full(len(words), whole) if start == 0 else ends[words] - ends[start]
        right = np.full(len(words), whole) if end == n_words else ends[end] - ends[words + 1]
        score = np.minimum(left, right)
        better = score > best[start:end]
        best[start:end][better] = score[better]
        owner[start:end][better] = v
    return owner
