"""Alignment: a split's words as wordpieces, and the windows that an encoder reads them in.

Frozen and tuned encoders both use this module, so word, piece and context mean the same in both.

A text (a sentence, or a document where context is the document) that is longer than the encoder's
positions is covered by windows of whole words with an overlap of half a window, so that a pass over
it costs about twice its length. Each word is read from the window where it has the most context on
both sides: the larger minimum of pieces to its left and to its right, a side that reaches the
text's edge counting as complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from featbert.data.corpus import Sentence
from featbert.encoders.batching import ranges
from featbert.encoders.encoding import Context, check_context
from featbert.encoders.tokenizer import WordPieces
from featbert.errors import InputError

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Alignment:
    """S sentences, N words and P pieces of one split, read in V windows.

    Attributes:
        pieces: (P,) piece ids without specials.
        word_pieces: (N + 1,) word n has pieces word_pieces[n] .. word_pieces[n + 1] - 1.
        sentences: (S + 1,) sentence s has words sentences[s] .. sentences[s + 1] - 1.
        windows: (V, 2) first and end piece of each window, in text order.
        owned: (V + 1,) window v gives the vectors of words owned[v] .. owned[v + 1] - 1.
        units: (U + 1,) windows of each context unit (sentence or document): unit u has
            windows units[u] .. units[u + 1] - 1.
        n_special: special pieces that the encoder adds around each window.
        counts: what was unusual: windowed_sentences (documents, in document context),
            unknown_words, overlong_words.
    """

    pieces: Ints
    word_pieces: Ints
    sentences: Ints
    windows: Ints
    owned: Ints
    units: Ints
    n_special: int
    counts: dict[str, int]

    @property
    def n_words(self) -> int:
        return len(self.word_pieces) - 1

    @property
    def window_lengths(self) -> Ints:
        """(V,) pieces of each window, specials included."""
        return self.windows[:, 1] - self.windows[:, 0] + self.n_special

    @property
    def sentence_lengths(self) -> Ints:
        """(S,) words of each sentence."""
        return np.diff(self.sentences)

    def owned_words(self, windows: Ints) -> Ints:
        """The words that `windows` own, window by window."""
        return ranges(self.owned[windows], self.owned[windows + 1] - self.owned[windows])

    def windows_of(self, words: Ints) -> Ints:
        """(len(words),) the window that each of `words` is read from."""
        return np.searchsorted(self.owned, words, side="right") - 1


def align(
    sentences: Sequence[Sentence],
    wordpieces: WordPieces,
    *,
    positions: int,
    context: Context = "sentence",
) -> Alignment:
    """Aligns the words of `sentences` to wordpieces and plans the windows.

    Args:
        positions: sequence length the encoder can read, specials included.
        context: what a word sees: its sentence, or its whole document.

    Raises:
        InputError: document context where sentences have no document, or positions that leave no
            room for a piece between the specials.
    """
    capacity = positions - wordpieces.n_special
    if capacity < 1:
        raise InputError(
            f"the encoder reads {positions} positions, which {wordpieces.n_special} special pieces "
            "fill; use another encoder"
        )
    pieces, word_pieces, unknown = wordpieces.pieces([s.words for s in sentences])
    offsets = np.concatenate([[0], np.cumsum([len(s) for s in sentences], dtype=np.int64)])
    unit_words = offsets[_unit_starts(sentences, context)]
    counts = np.diff(word_pieces)
    windows: list[Ints] = []
    owned: list[Ints] = [np.zeros(1, dtype=np.int64)]
    per_unit: list[int] = [0]
    for first, end in pairwise(unit_words):
        spans, owns = plan_windows(counts[first:end], capacity)
        starts = word_pieces[first + spans[:, 0]]
        ends = np.minimum(word_pieces[first + spans[:, 1]], starts + capacity)
        windows.append(np.stack([starts, ends], axis=1))
        owned.append(first + owns[1:])
        per_unit.append(len(spans))
    return Alignment(
        pieces=pieces,
        word_pieces=word_pieces,
        sentences=offsets,
        windows=np.concatenate(windows) if windows else np.zeros((0, 2), dtype=np.int64),
        owned=np.concatenate(owned),
        units=np.cumsum(per_unit),
        n_special=wordpieces.n_special,
        counts={
            f"windowed_{context}s": int(np.sum(np.array(per_unit) > 1)),
            "unknown_words": unknown,
            "overlong_words": int(np.sum(counts > capacity)),
        },
    )


def _unit_starts(sentences: Sequence[Sentence], context: Context) -> Ints:
    """(U + 1,) the first sentence of each context unit, and the number of sentences."""
    n = len(sentences)
    if context == "sentence":
        return np.arange(n + 1)
    check_context(context, has_documents=all(s.document is not None for s in sentences))
    documents = [s.document for s in sentences]
    new = [i for i in range(n) if i == 0 or documents[i] != documents[i - 1]]
    return np.array([*new, n])


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
