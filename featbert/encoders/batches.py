"""Padded batches of windows, with the positions of the words that are read from them."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from featbert.encoders.alignment import Alignment
from featbert.encoders.batching import Ints, ranges
from featbert.encoders.device import to_device
from featbert.encoders.encoding import SubwordPooling
from featbert.encoders.tokenizer import WordPieces

NO_PARTS: Ints = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class PieceBatch:
    """R windows as one padded batch, and the positions of words in it.

    Attributes:
        ids: (R, longest) piece ids with specials, padded on the right.
        mask: (R, longest) 1 for pieces, 0 for padding. None if no row is padded.
        types: (R, longest) 1 in the second text of a pair. None without pairs, or if the encoder
            does not distinguish them.
        positions: (Q,) places in the flattened (R * longest) batch that are read.
        segments: (Q,) the word of each place, if several places are averaged (mean pooling, or
            first pieces of windows). None if place q is word q.
        n_words: W, vectors that are read: of words, sequences (of which only first pieces are
            read), or pieces.
        rows: windows that are computed at a time. None for all.
    """

    ids: Tensor
    mask: Tensor | None
    types: Tensor | None
    positions: Tensor
    segments: Tensor | None
    n_words: int
    rows: int | None = None

    def to(self, device: torch.device) -> Self:
        """The batch on `device`."""
        values = vars(self).items()
        tensors: Any = {n: to_device(v, device) for n, v in values if isinstance(v, Tensor)}
        return replace(self, **tensors)

    def part(self, start: int, stop: int) -> tuple[Self, Tensor]:
        """Windows `start` to `stop`, and the numbers of their places among the (Q,) places."""
        rows, first = slice(start, stop), start * self.ids.shape[1]
        end = first + self.ids[rows].numel()
        numbers = ((self.positions >= first) & (self.positions < end)).nonzero().squeeze(1)
        part = replace(
            self,
            ids=self.ids[rows],
            mask=None if self.mask is None else self.mask[rows],
            types=None if self.types is None else self.types[rows],
            positions=self.positions[numbers] - first,
        )
        return part, numbers


@dataclass(frozen=True)
class Batcher:
    """Makes batches for an encoder.

    With `causal` attention the first piece of a window has seen nothing. Its last piece is read in
    place of the first one.
    """

    wordpieces: WordPieces
    pooling: SubwordPooling
    causal: bool
    has_types: bool

    def windows(
        self,
        alignment: Alignment,
        windows: Ints,
        parts: Ints | None = None,
        *,
        firsts: bool = False,
        pieces: bool = False,
    ) -> PieceBatch:
        """The windows (R,) as a padded batch, in this order.

        Args:
            parts: (W,) parts of words to read, which the windows own. By default all, window by
                window.
            firsts: whether [CLS] of each window is read, too, after the parts.
            pieces: whether all pieces that each window owns, and its specials, are read, too, after
                all others (`Alignment.whole_lengths`).
        """
        spans = alignment.windows[windows]  # (R, T, 2)
        lengths = alignment.window_lengths[windows]
        specials = (self.wordpieces.prefix, self.wordpieces.middle, self.wordpieces.suffix)
        prefix, middle, suffix = (np.array(ids, dtype=np.int64) for ids in specials)
        row_ids: list[Ints] = []
        for row in spans:
            first, *second = (alignment.pieces[start:end] for start, end in row)
            row_ids += [prefix, first, *(ids for text in second for ids in (middle, text)), suffix]
        places = np.arange(longest := int(lengths.max()))
        inside = places < lengths[:, None]  # (R, longest)
        ids = np.full(inside.shape, self.wordpieces.pad_id, dtype=np.int64)
        ids[inside] = np.concatenate(row_ids)
        # (R, T) place of the first piece of each text
        sizes = np.diff(spans)[..., 0] + len(middle)
        begins = len(prefix) + np.cumsum(sizes, axis=1) - sizes
        types = None
        if begins.shape[1] == 2 and self.has_types:
            types = torch.from_numpy(inside & (places >= begins[:, 1:])).long()
        parts = alignment.owned_parts(windows) if parts is None else parts
        order = np.argsort(windows)
        rows = order[np.searchsorted(windows, alignment.windows_of(parts), sorter=order)]
        # Place of a piece in the flattened batch: row start + place of the text + place in it.
        first, end = alignment.parts[parts].T
        text = np.sum(first[:, None] >= spans[rows, 1:, 0], axis=1)  # (W,) 1 in the second one
        base = rows * longest + begins[rows, text] - spans[rows, text, 0]
        positions = self._read(base + first, base + end)
        segments: Ints | None = None
        if self.pooling == "mean":
            segments = np.repeat(np.arange(len(parts)), end - first)
        further = self._first_places(lengths) if firsts else NO_PARTS
        if pieces:
            whole = inside.copy()
            owned = alignment.owned_pieces[windows[:, None] + [0, 1]]
            for begin, (start, stop) in zip(begins.T, np.moveaxis(spans, 0, 2), strict=True):
                # (R, longest) the piece of this text at each place
                piece = places - begin[:, None] + start[:, None]
                in_text = (piece >= start[:, None]) & (piece < stop[:, None])
                whole &= ~in_text | ((piece >= owned[:, :1]) & (piece < owned[:, 1:]))
            further = np.concatenate([further, np.flatnonzero(whole)])
        if segments is not None:
            segments = np.concatenate([segments, len(parts) + np.arange(len(further))])
        return PieceBatch(
            torch.from_numpy(ids),
            None if inside.all() else torch.from_numpy(inside).long(),
            types,
            torch.from_numpy(np.concatenate([positions, further])),
            None if segments is None else torch.from_numpy(segments),
            len(parts) + len(further),
        )

    def words(self, alignment: Alignment, sentences: Ints, *, firsts: bool = False) -> PieceBatch:
        """The words of whole sentences, in the given order of sentences.

        With `firsts` the first special piece of a sentence is before its words, or of its first
        text if texts are apart. This needs sentence context.
        """
        texts = alignment.texts[sentences]  # (B, T, 2)
        sizes = np.diff(texts)[..., 0]
        words = ranges(texts[..., 0].ravel(), sizes.ravel())
        begin, end = alignment.word_parts[words], alignment.word_parts[words + 1]
        parts = self._read(begin, end)
        first_windows, n_windows = alignment.unit_windows(alignment.text_units[sentences, 0])
        windows = alignment.windows_of(parts)
        windows = np.unique(np.concatenate([windows, first_windows]) if firsts else windows)
        batch = self.windows(alignment, windows, parts)
        if len(parts) > len(words) and batch.segments is not None:
            word_of_part = torch.from_numpy(np.repeat(np.arange(len(words)), end - begin))
            batch = replace(batch, segments=word_of_part[batch.segments], n_words=len(words))
        if not firsts:
            return batch
        # Numbers of vectors in the result. Firsts of several windows of a text are averaged.
        lengths = sizes.sum(axis=1)
        begin = np.cumsum(lengths + 1) - (lengths + 1)
        numbers = ranges(begin + 1, lengths)
        numbers = numbers if batch.segments is None else numbers[batch.segments.numpy()]
        segments = torch.from_numpy(np.concatenate([numbers, np.repeat(begin, n_windows)]))
        rows = np.searchsorted(windows, first_windows)
        first_places = self._first_places(alignment.window_lengths[windows])[rows]
        places = torch.cat([batch.positions, torch.from_numpy(first_places)])
        n_words = len(words) + len(sentences)
        if len(places) > n_words:
            return replace(batch, positions=places, segments=segments, n_words=n_words)
        positions = torch.empty_like(places).index_copy(0, segments, places)
        return replace(batch, positions=positions, segments=None, n_words=n_words)

    def firsts(self, alignment: Alignment, sentences: Ints) -> PieceBatch:
        """[CLS] of whole sentences, or of both texts if these are apart."""
        windows, sizes = alignment.unit_windows(alignment.text_units[sentences].ravel())
        batch = self.windows(alignment, windows, NO_PARTS, firsts=True)
        sequences = torch.from_numpy(np.repeat(np.arange(len(sizes)), sizes))
        return replace(batch, n_words=len(sizes), segments=sequences)

    def pieces(self, alignment: Alignment, sentences: Ints) -> PieceBatch:
        """All pieces of whole sentences with specials, text after text if these are apart.

        Pieces that several windows of a pair repeat count once (`Alignment.whole_lengths`).
        """
        in_units, _ = alignment.unit_windows(alignment.text_units[sentences].ravel())
        windows, rows = np.unique(in_units, return_inverse=True)
        batch = self.windows(alignment, windows, NO_PARTS, pieces=True)
        sizes = alignment.whole_lengths[windows]
        numbers = ranges((np.cumsum(sizes) - sizes)[rows], sizes[rows])
        positions = batch.positions[torch.from_numpy(numbers)]
        return replace(batch, positions=positions, segments=None, n_words=len(positions))

    def _read(self, begins: Ints, ends: Ints) -> Ints:
        """The numbers that represent words with the numbers begin .. end - 1, word by word."""
        if self.pooling == "mean":
            return ranges(begins, ends - begins)
        return begins if self.pooling == "first" else ends - 1

    def _first_places(self, lengths: Ints) -> Ints:
        """(R,) place in the flattened batch of each window's first piece. See the class."""
        places: Ints = np.arange(len(lengths)) * lengths.max() + (lengths - 1) * self.causal
        return places


def segment_pool(vectors: Tensor, lengths: Ints, how: str) -> Tensor:
    """(W, D) -> (B, D) float32: sum, mean, max or first ("cls") of runs of `lengths` (B,)."""
    if how == "cls":
        starts = torch.from_numpy(np.cumsum(lengths) - lengths)
        return vectors.index_select(0, to_device(starts, vectors.device)).float()
    sizes = to_device(torch.from_numpy(lengths), vectors.device)
    pooled: Tensor = torch.segment_reduce(vectors.float(), how, lengths=sizes, unsafe=True)
    return pooled
