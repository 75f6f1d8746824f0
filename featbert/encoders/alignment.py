"""Alignment: a split's words as wordpieces, and the windows that an encoder reads them in.

Both approaches use this one module, so that word, piece and context mean the same in both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from featbert.data.corpus import Sentence
from featbert.encoders.ranges import ranges
from featbert.encoders.windows import plan_windows
from featbert.encoders.wordpieces import WordPieces
from featbert.errors import InputError

Ints = NDArray[np.int64]
Context = Literal["sentence", "document"]
CONTEXTS: tuple[Context, ...] = ("sentence", "document")


class ContextError(InputError):
    """Document context on a text without documents, or an unknown context."""


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
    def n_sentences(self) -> int:
        return len(self.sentences) - 1

    @property
    def window_lengths(self) -> Ints:
        """(V,) pieces of each window, specials included."""
        return self.windows[:, 1] - self.windows[:, 0] + self.n_special

    def owned_words(self, windows: Ints) -> Ints:
        """The words that `windows` own, window by window."""
        return ranges(self.owned[windows], self.owned[windows + 1] - self.owned[windows])

    def windows_of(self, words: Ints) -> Ints:
        """(len(words),) the window that each of `words` is read from."""
        return np.searchsorted(self.owned, words, side="right") - 1

    @property
    def sentence_lengths(self) -> Ints:
        """(S,) words of each sentence."""
        return np.diff(self.sentences)


def check_context(context: str, *, has_documents: bool) -> None:
    """Raises ContextError for an unknown context, or for documents that a text lacks."""
    if context not in CONTEXTS:
        raise ContextError(f"context sentence or document expected, found {context!r}")
    if context == "document" and not has_documents:
        raise ContextError(
            "documents expected for --context document, this text marks none (-DOCSTART- lines); "
            "use --context sentence"
        )


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
        ContextError: document context where sentences have no document, or positions that
            leave no room for a piece beside the specials.
    """
    capacity = positions - wordpieces.n_special
    if capacity < 1:
        raise ContextError(
            f"an encoder with more than {wordpieces.n_special} positions expected, "
            f"this one has {positions}"
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
