"""Alignment: a split's words as wordpieces, and the windows that an encoder reads.

Frozen and tuned encoders both use it. ARCHITECTURE.md explains how a word gets its window ("One
window mechanism for both contexts"). Each piece is owned by one window, so that no piece is lost or
counts twice. A word is in one window, unless it has more pieces than a window.

The two texts of a pair share their windows (packing "joint"), or each distinct text has its own
("apart"). If a joint pair is too long, the shorter text is repeated in each window of the longer
one. If the shorter text would take more than half of a window, only its beginning is repeated. It
then has windows of its own, with the beginning of the longer text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from featbert.data.corpus import Sentence
from featbert.encoders.batching import Ints, ranges
from featbert.encoders.encoding import Context, Packing, texts_of
from featbert.encoders.tokenizer import WordPieces
from featbert.errors import InputError


@dataclass(frozen=True)
class Alignment:
    """S sentences, N words and P pieces of one split, read in V windows.

    Attributes:
        pieces: (P,) piece ids without specials.
        parts: (M, 2) first and end piece of each part of a word, which is in one window. A word
            that fits in a window is one part. A piece may be in the parts of several words.
        word_parts: (N + 1,) word n has parts word_parts[n] .. word_parts[n + 1] - 1.
        texts: (S, T, 2) first and end word of each sentence (T = 1), or of both texts of each pair
            that is encoded apart. Equal texts are stored once.
        windows: (V, 1, 2) first and end piece of each window, in text order. (V, 2, 2) of both
            texts if windows hold pairs.
        owned: (V + 1,) window v gives the vectors of parts owned[v] .. owned[v + 1] - 1.
        owned_pieces: (V + 1,) window v owns pieces owned_pieces[v] .. owned_pieces[v + 1] - 1.
        units: (U + 1,) windows of each context unit (sentence, document, or one text of pairs):
            unit u has windows units[u] .. units[u + 1] - 1.
        pairs: (S, 2) words of both texts of each pair. None without pairs.
        n_special: special tokens that the encoder adds to each window.
        counts: of unusual inputs: windowed_sentences (documents, in document context),
            unknown_words, overlong_words (of several parts).
    """

    pieces: Ints
    parts: Ints
    word_parts: Ints
    texts: Ints
    windows: Ints
    owned: Ints
    owned_pieces: Ints
    units: Ints
    n_special: int
    counts: dict[str, int]
    pairs: Ints | None = None

    @property
    def n_words(self) -> int:
        return len(self.word_parts) - 1

    @cached_property
    def window_lengths(self) -> Ints:
        """(V,) pieces of each window, specials included."""
        lengths: Ints = np.diff(self.windows).sum(axis=(1, 2)) + self.n_special
        return lengths

    @cached_property
    def whole_lengths(self) -> Ints:
        """(V,) pieces that each window owns, and its specials."""
        lengths: Ints = np.diff(self.owned_pieces) + self.n_special
        return lengths

    @cached_property
    def unit_lengths(self) -> Ints:
        """(U,) pieces that the windows of each unit own, and their specials."""
        return np.diff(np.concatenate([[0], np.cumsum(self.whole_lengths)])[self.units])

    @cached_property
    def begun_words(self) -> Ints:
        """(V,) words that begin in the part that each window owns."""
        return np.diff(np.searchsorted(self.word_parts[:-1], self.owned))

    def owned_parts(self, windows: Ints) -> Ints:
        """The parts of words that `windows` own, window by window."""
        return ranges(self.owned[windows], self.owned[windows + 1] - self.owned[windows])

    @property
    def sentences(self) -> Ints:
        """(S + 1,) words before each sentence. A text of several pairs counts in each."""
        lengths = np.diff(self.texts).sum(axis=(1, 2))
        return np.concatenate([[0], np.cumsum(lengths)])

    @cached_property
    def unit_words(self) -> Ints:
        """(U + 1,) words before each unit."""
        return np.searchsorted(self.word_parts, self.owned[self.units])

    @cached_property
    def text_units(self) -> Ints:
        """(S, T) the unit that has each of `texts`."""
        return np.searchsorted(self.unit_words, self.texts[..., 0], side="right") - 1

    def unit_windows(self, units: Ints) -> tuple[Ints, Ints]:
        """The windows of `units`, unit by unit, and how many each has."""
        sizes = np.diff(self.units)[units]
        return ranges(self.units[units], sizes), sizes

    def windows_of(self, parts: Ints) -> Ints:
        """(len(parts),) the window that each of `parts` is read from."""
        return np.searchsorted(self.owned, parts, side="right") - 1


def align(
    sentences: Sequence[Sentence],
    wordpieces: WordPieces,
    *,
    positions: int,
    context: Context = "sentence",
    packing: Packing | None = None,
) -> Alignment:
    """Aligns the words of `sentences` to wordpieces and plans the windows.

    `positions` is the longest sequence that the encoder reads, specials included. `context` is a
    word's sentence or its whole document. `packing` is for pairs.
    """
    joint = packing == "joint"
    n_special = wordpieces.n_special + (len(wordpieces.middle) if joint else 0)
    capacity = positions - n_special
    if capacity < 1 + joint:
        raise InputError(
            f"the encoder reads {positions} positions, which {n_special} special tokens fill; "
            "use another encoder"
        )
    if single := [n for n, s in enumerate(sentences, 1) if packing and s.pair is None]:
        raise InputError(f"is for pairs, but text {single[0]} is single", setting="packing")
    sizes = np.array([(s.pair or 0, len(s) - (s.pair or 0)) for s in sentences], dtype=np.int64)
    pairs = None if packing is None else sizes.reshape(-1, 2)
    texts, numbers, unit_words = texts_of(sentences, context, packing)
    pieces, words, unknown = wordpieces.pieces(
        [text.words for text in texts], [text.touches for text in texts]
    )
    edges = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    begins = np.append(0, words[:, 1])  # of texts: a piece before the first word is of none
    runs = _runs(words, len(pieces))
    places = np.searchsorted(runs, begins[unit_words])
    windows: list[Ints] = [np.zeros((0, 1 + joint, 2), dtype=np.int64)]
    owned_pieces: list[Ints] = [np.zeros(1, dtype=np.int64)]
    per_unit: list[int] = [0]
    for unit, (first, end) in enumerate(pairwise(places)):
        counts, start = np.diff(runs[first : end + 1]), runs[first]
        if joint and pairs is not None:
            second = begins[unit_words[unit] + pairs[unit, 0]]
            spans, owns = plan_pair(counts, int(np.searchsorted(runs, second) - first), capacity)
        else:
            spans, owns = plan_windows(counts, capacity)
            spans = spans[:, None]
        windows.append(start + spans)
        owned_pieces.append(start + owns[1:])
        per_unit.append(len(spans))
    edges_of_windows = np.concatenate(owned_pieces)
    first, last = np.searchsorted(edges_of_windows, words - [0, 1], side="right").T - 1
    n_parts = last - first + 1
    of_window = ranges(first, n_parts)
    parts = np.repeat(words, n_parts, axis=0)
    parts[:, 0] = np.maximum(parts[:, 0], edges_of_windows[of_window])
    parts[:, 1] = np.minimum(parts[:, 1], edges_of_windows[of_window + 1])
    return Alignment(
        pieces=pieces,
        parts=parts,
        word_parts=np.concatenate([[0], np.cumsum(n_parts)]),
        texts=np.stack([edges[numbers], edges[numbers + 1]], axis=2),
        windows=np.concatenate(windows),
        owned=np.searchsorted(of_window, np.arange(len(edges_of_windows))),
        owned_pieces=edges_of_windows,
        units=np.cumsum(per_unit),
        n_special=n_special,
        counts={
            f"windowed_{context}s": int(np.sum(np.array(per_unit) > 1)),
            # An empty text is one empty word.
            "unknown_words": unknown - sum(text.words.count("") for text in texts),
            "overlong_words": int(np.sum(n_parts > 1)),
        },
        pairs=pairs,
    )


def _runs(words: Ints, n_pieces: int) -> Ints:
    """(K + 1,) edges of runs of pieces that stay together: of words (N, 2) with common pieces."""
    long = words[np.diff(words)[:, 0] > 1]
    inside = np.zeros(n_pieces + 1, dtype=np.int64)  # how many words go on at each piece
    np.add.at(inside, long[:, 0] + 1, 1)
    np.add.at(inside, long[:, 1], -1)
    return np.flatnonzero(np.cumsum(inside) == 0)


def plan_windows(piece_counts: Ints, capacity: int) -> tuple[Ints, Ints]:
    """Windows of one text.

    Args:
        piece_counts: (T,) wordpieces of each word, at least 1 each.
        capacity: pieces that a window holds without specials, at least 1. The pieces of a longer
            word are spread over windows as if each were a word.

    Returns:
        windows: (V, 2) first and end piece of each window, left to right.
        owned: (V + 1,) window v owns pieces owned[v] .. owned[v + 1] - 1. One window owns each
            piece, together with the other pieces of its word. Every window owns pieces.
    """
    total = int(piece_counts.sum())
    if total <= capacity:
        return np.array([[0, total]]), np.array([0, total])
    spread = piece_counts > capacity
    counts = np.repeat(np.where(spread, 1, piece_counts), np.where(spread, piece_counts, 1))
    ends = np.concatenate([[0], np.cumsum(counts)])  # (T' + 1,)
    windows = _cover(ends, capacity)
    owner = _owners(windows, ends)
    used = np.unique(owner)
    firsts = np.searchsorted(owner, used)
    return ends[windows[used]], ends[np.concatenate([firsts, [len(counts)]])]


def plan_pair(piece_counts: Ints, split: int, capacity: int) -> tuple[Ints, Ints]:
    """Windows of two texts that share them.

    Args:
        piece_counts: (T,) wordpieces of each word of the first text, then of the second.
        split: words of the first text. Both have at least one.
        capacity: pieces that a window holds without specials, at least 2.

    Returns:
        windows: (V, 2, 2) first and end piece of each window in each of the texts.
        owned: (V + 1,) as `plan_windows` returns it.
    """
    parts = (piece_counts[:split], piece_counts[split:])
    middle, total, half = int(parts[0].sum()), int(piece_counts.sum()), capacity // 2
    if total <= capacity:
        return np.array([[[0, middle], [middle, total]]]), np.array([0, total])
    fits = [int(counts.sum()) <= half for counts in parts]
    # A text is repeated in the windows of the other one, whole or by its beginning.
    heads = [max(1, int(np.searchsorted(np.cumsum(c), half, side="right"))) for c in parts]
    sizes = [min(int(c[:n].sum()), half) for c, n in zip(parts, heads, strict=True)]
    windows: list[Ints] = []
    owned: list[Ints] = [np.zeros(1, dtype=np.int64)]
    starts = (0, middle)
    for text, second in ((0, 1), (1, 0)):
        if fits[text]:
            continue
        spans, owns = plan_windows(parts[text], capacity - sizes[second])
        pair_spans = np.empty((len(spans), 2, 2), dtype=np.int64)
        pair_spans[:, text] = starts[text] + spans
        pair_spans[:, second] = starts[second], starts[second] + sizes[second]
        windows.append(pair_spans)
        owned.append(starts[text] + owns[1:])
    owned[-1][-1] = total  # a second text that is repeated whole is read from the last window
    return np.concatenate(windows), np.concatenate(owned)


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
    """(T,) the window of each word in which its smaller side of context is largest."""
    n_words = len(ends) - 1
    whole = int(ends[-1]) + 1
    best = np.full(n_words, -1, dtype=np.int64)
    owner = np.zeros(n_words, dtype=np.int64)
    for v, (start, end) in enumerate(windows):
        words = np.arange(start, end)
        before = np.full(len(words), whole) if start == 0 else ends[words] - ends[start]
        after = np.full(len(words), whole) if end == n_words else ends[end] - ends[words + 1]
        score = np.minimum(before, after)
        better = score > best[start:end]
        best[start:end][better] = score[better]
        owner[start:end][better] = v
    return owner
