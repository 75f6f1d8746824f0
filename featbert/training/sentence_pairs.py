"""What the language model reads: segments of the text, or pairs of segments.

Devlin et al. 2019, section 3.1 and appendix A.2: a sequence holds two spans of text, A and B,
together no longer than the encoder reads; half of the time B follows A in its document, else it
is from elsewhere in the corpus. Here spans are whole sentences, and the B of one pair is
exchanged with the B of another instead of being drawn anew, so that an epoch reads every piece
and asks for each in one sequence alone. No piece is dropped: a sentence that is too long is
windowed, with the overlap of `features/windows`, and a piece is asked for in the window that owns
it; the others show it as context.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from featbert.data.corpus import Sentence
from featbert.encoders.windows import plan_windows
from featbert.encoders.wordpieces import WordPieces

Ints = NDArray[np.int64]
# Next-sentence labels, as pre-trained heads have them; NO_PAIR is no part of the loss.
FOLLOWS, RANDOM, NO_PAIR = 0, 1, -100
Span = tuple[int, int]


@dataclass(frozen=True)
class PieceText:
    """S sentences as P pieces.

    Attributes:
        pieces: (P,) piece ids without specials.
        words: (P,) number of the word that each piece belongs to.
        sentences: (S + 1,) sentence s has pieces sentences[s] .. sentences[s + 1] - 1.
        documents: (S,) document of each sentence; None where not every sentence has one.
        unknown: words for which the tokenizer emitted nothing.
    """

    pieces: Ints
    words: Ints
    sentences: Ints
    documents: Ints | None
    unknown: int = 0

    @property
    def sizes(self) -> Ints:
        """(S,) pieces of each sentence."""
        return np.diff(self.sentences)


@dataclass(frozen=True)
class Sequences:
    """R sequences of a text; spans are first and end piece.

    Attributes:
        first: (R, 2) the text, or A of a pair.
        second: (R, 2) B of a pair; empty where there is none.
        owned: (R, 2) the part of `first` whose pieces may be asked for: less than all of it in
            the windows of a long sentence. All of `second` may be.
        labels: (R,) FOLLOWS, RANDOM or NO_PAIR.
    """

    first: Ints
    second: Ints
    owned: Ints
    labels: Ints

    def __len__(self) -> int:
        return len(self.labels)

    def places(self) -> Iterator[Ints]:
        """For each sequence the places of the pieces that may be asked for."""
        for (start, end), (start_b, end_b) in zip(self.owned, self.second, strict=True):
            yield np.concatenate([np.arange(start, end), np.arange(start_b, end_b)])

    def lengths(self, special: int, separator: int) -> Ints:
        """(R,) pieces of each sequence, with `special` around it and `separator` after a B."""
        pair = np.diff(self.second, axis=1)[:, 0]
        lengths: Ints = np.diff(self.first, axis=1)[:, 0] + special + pair + separator * (pair > 0)
        return lengths


def piece_text(sentences: Sequence[Sentence], wordpieces: WordPieces) -> PieceText:
    """The wordpieces of a split's words."""
    pieces, word_pieces, unknown = wordpieces.pieces([s.words for s in sentences])
    ends = np.cumsum([0, *map(len, sentences)], dtype=np.int64)
    documents = [s.document for s in sentences if s.document is not None]
    return PieceText(
        pieces,
        np.repeat(np.arange(len(word_pieces) - 1), np.diff(word_pieces)),
        word_pieces[ends],
        np.array(documents, dtype=np.int64) if len(documents) == len(sentences) else None,
        unknown,
    )


def segments(text: PieceText, capacity: int) -> Sequences:
    """Single sequences: a document's sentences, as many as fit; else one sentence each.

    Args:
        capacity: pieces that a sequence holds beside the specials.
    """
    rows = _Rows()
    for begin, end in _runs(text, capacity):
        if _size(text, begin, end) > capacity and end == begin + 1:
            rows.windows(text, begin, capacity)
        else:
            for span in _pack(text, begin, end, capacity):
                rows.add(_pieces(text, span))
    return rows.sequences()


def pairs(text: PieceText, *, capacity: int, single: int, random: np.random.Generator) -> Sequences:
    """Pairs of spans, half of them with the B that follows A, cut anew with every `random`.

    A document is cut into spans of at most half a sequence, which are A and B in turn. Half of
    the pairs, drawn at random, then exchange their Bs with pairs of other documents. What a
    document leaves over is A or B of a pair that does not follow, as long as such pairs are no
    more than half; beyond that, and where a sentence is longer than half a sequence, it is read
    without a partner and without a label. With fewer than two pairs nothing can be exchanged.

    Args:
        capacity: pieces that A and B hold together, specials not counted.
        single: the same for a sequence without B.
    """
    documents = text.documents
    assert documents is not None
    half = capacity // 2
    rows = _Rows()
    first: list[Span] = []
    second: list[Span] = []
    lone: list[Span] = []
    for begin, end in _runs(text, half):
        if _size(text, begin, begin + 1) > half:
            rows.windows(text, begin, single)
            continue
        spans = list(_pack(text, begin, end, half, first=int(random.integers(1, half + 1))))
        first += spans[0 : len(spans) // 2 * 2 : 2]
        second += spans[1::2]
        lone += spans[len(spans) // 2 * 2 :]
    left_over = min(len(lone) // 2, len(first))
    exchanged = (len(first) + left_over) // 2 - left_over
    if exchanged == 1:  # one alone has nobody to exchange with
        exchanged = 2 if len(first) > 1 else 0
    chosen = random.permutation(len(first))[:exchanged]
    partners = _exchange(documents[[first[i][0] for i in chosen]], random)
    swapped = dict(zip(chosen.tolist(), chosen[partners].tolist(), strict=True))
    for i, span in enumerate(first):
        label = RANDOM if i in swapped else FOLLOWS
        rows.add(_pieces(text, span), _pieces(text, second[swapped.get(i, i)]), label)
    lone = [lone[i] for i in random.permutation(len(lone))]
    paired = sorted(lone[: 2 * left_over], key=lambda span: int(documents[span[0]]))
    for span, other in zip(paired[:left_over], paired[left_over:], strict=True):
        rows.add(_pieces(text, span), _pieces(text, other), RANDOM)
    for span in lone[2 * left_over :]:
        rows.add(_pieces(text, span))
    return rows.sequences()


class _Rows:
    """Sequences in the making."""

    def __init__(self) -> None:
        self.rows: list[tuple[Span, Span, Span, int]] = []

    def add(self, first: Span, second: Span = (0, 0), label: int = NO_PAIR) -> None:
        self.rows.append((first, second, first, label))

    def windows(self, text: PieceText, sentence: int, capacity: int) -> None:
        """A long sentence, alone, in overlapping windows."""
        start, end = _pieces(text, (sentence, sentence + 1))
        words = text.words[start:end]
        # A word that is longer than a window is cut into parts that fit.
        parts = [
            min(capacity, size - done)
            for size in np.bincount(words - words[0]).tolist()
            for done in range(0, size, capacity)
        ]
        spans, owned = plan_windows(np.array(parts), capacity)
        ends = start + np.concatenate([[0], np.cumsum(parts)])
        for window, own in zip(spans, pairwise(owned), strict=True):
            span = (int(ends[window[0]]), int(ends[window[1]]))
            self.rows.append((span, (0, 0), (int(ends[own[0]]), int(ends[own[1]])), NO_PAIR))

    def sequences(self) -> Sequences:
        first, second, owned = (
            np.array([row[part] for row in self.rows], dtype=np.int64).reshape(-1, 2)
            for part in range(3)
        )
        return Sequences(first, second, owned, np.array([r[3] for r in self.rows], dtype=np.int64))


def _runs(text: PieceText, limit: int) -> Iterator[Span]:
    """Consecutive sentences of one document, none longer than `limit`; or one that is longer."""
    long = text.sizes > limit
    documents = text.documents
    begin = 0
    for s in range(1, len(long) + 1):
        if (
            s == len(long)
            or long[s]
            or long[s - 1]
            or documents is None
            or documents[s] != documents[s - 1]
        ):
            yield begin, s
            begin = s


def _pack(
    text: PieceText, begin: int, end: int, capacity: int, first: int | None = None
) -> Iterator[Span]:
    """Sentences begin .. end - 1 in spans of at most `capacity` pieces, one sentence at least.

    Args:
        first: capacity of the first span, which then leaves the last sentence to another.
    """
    start = begin
    for s in range(begin + 1, end):
        room = capacity if first is None or start > begin else first
        leaves = first is not None and start == begin and s == end - 1
        if leaves or _size(text, start, s + 1) > room:
            yield start, s
            start = s
    if end > start:
        yield start, end


def _exchange(documents: Ints, random: np.random.Generator) -> Ints:
    """(n,) a partner for each of n pairs: another pair, of another document where there is one.

    Sorted by document and rotated by at least the largest document's share, every pair meets one
    of another document; where one document has more than half, as many as can.
    """
    n = len(documents)
    if not n:
        return np.zeros(0, dtype=np.int64)
    _, group, sizes = np.unique(documents, return_inverse=True, return_counts=True)
    by_document = np.lexsort([random.random(n), random.permutation(len(sizes))[group]])
    low, high = sorted((int(sizes.max()), n - int(sizes.max())))
    shift = int(random.integers(max(low, 1), min(high, n - 1) + 1))
    partners = np.empty(n, dtype=np.int64)
    partners[by_document] = np.roll(by_document, shift)
    return partners


def _size(text: PieceText, begin: int, end: int) -> int:
    return int(text.sentences[end] - text.sentences[begin])


def _pieces(text: PieceText, span: Span) -> Span:
    """Sentences as pieces."""
    return int(text.sentences[span[0]]), int(text.sentences[span[1]])
