"""What batches are drawn from: stored states, or subwords for an encoder that is tuned.

A batch is a set of sequence numbers. Its parts under a token budget are computed one by one.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from featbert.data.corpus import Sentence
from featbert.encoders.alignment import Alignment
from featbert.encoders.batches import PieceBatch
from featbert.encoders.batching import Ints, length_batches, padded_tokens, ranges
from featbert.encoders.device import to_device
from featbert.encoders.encoder import Encoder
from featbert.encoders.flops import forward_flops, training_flops
from featbert.encoders.layers import LayerCombination
from featbert.encoders.memory import available_memory
from featbert.features.store import FeatureStore
from featbert.models.model import BatchLayout, Model
from featbert.models.registry import KEPT_POOLINGS, KINDS

# Share of the available memory that vectors may take. Larger ones are read from disk.
MEMORY_SHARE = 0.6


class Inputs(Protocol):
    """Sequences of one text, ready to be batched.

    Attributes:
        offsets: (S + 1,) words before each sequence.
    """

    offsets: Ints

    def parts(self, sentences: Ints, token_budget: int) -> Iterator[Ints]:
        """Each sentence once, in parts of at most the budget. A longer one is a part by itself."""

    def tokens(self, sentences: Ints) -> int:
        """Padded tokens of a part."""

    def batch(self, sentences: Ints, token_budget: int | None = None) -> Any:
        """What `Model.states` takes, for whole sequences in this order.

        A sequence of more tokens than the budget is computed in parts, if possible.
        """

    def layout(self, sentences: Ints) -> BatchLayout:
        """How the vectors of a batch follow one another."""

    def flops(self, model: Model, sentences: Ints, *, training: bool) -> float:
        """Operations of a part: forward, and backward through trained parameters."""


class FeatureInputs:
    """Frozen vectors in the precision that they are stored in: in memory once, or mapped.

    They are of words, or of whole texts: one a sequence, or two of a pair that was encoded apart.
    """

    def __init__(
        self,
        states: Tensor | Sequence[Sequence[Tensor]],
        places: Ints,
        device: torch.device,
        *,
        offsets: Ints | None = None,
        pairs: Ints | None = None,
    ) -> None:
        """
        Args:
            states: (k, N, H) in the combination's order, on the device. On disk instead k tensors
                (n, H) for each of several texts that follow one another.
            places: (S, T, 2) first and end vector in `states` of each sequence (T = 1), or of both
                texts of each pair that was encoded apart. If the head reads sequences, the place
                of [CLS] comes before them.
            offsets: (S + 1,) words before each sequence, if vectors are of whole texts, so that
                batches have the same sequences as with vectors of words.
            pairs: (S, 2) words of both texts of each pair, if the head reads sequences.
        """
        self.states, self.device = states, device
        self.starts: Ints = places[..., 0]
        self.sizes: Ints = np.diff(places)[..., 0]
        self.lengths: Ints = self.sizes.sum(axis=1) - (pairs is not None)
        words = np.concatenate([[0], np.cumsum(self.lengths)])
        self.offsets: Ints = words if offsets is None else offsets
        by_text = self.sizes if pairs is None else pairs + np.array([1, 0])
        self.layout_lengths: Ints = by_text if by_text.shape[1] == 2 else by_text[:, 0]

    def parts(self, sentences: Ints, token_budget: int) -> Iterator[Ints]:
        """Length buckets: a sentence costs its words."""
        for part in length_batches(self.lengths[sentences], token_budget):
            yield sentences[part]

    def tokens(self, sentences: Ints) -> int:
        """Words, as if padded to the longest sentence: how `parts` counts them."""
        return padded_tokens(self.lengths[sentences])

    def batch(self, sentences: Ints, token_budget: int | None = None) -> Tensor:
        """(k, W, H) the sentences' vectors, gathered by word index."""
        places = ranges(self.starts[sentences].ravel(), self.sizes[sentences].ravel())
        words = torch.from_numpy(places)
        if isinstance(self.states, Tensor):
            return self.states.index_select(1, to_device(words, self.device))
        return to_device(_gathered(self.states, words), self.device)

    def layout(self, sentences: Ints) -> BatchLayout:
        """Words of each sequence, or of its texts."""
        return BatchLayout(self.layout_lengths[sentences])

    def flops(self, model: Model, sentences: Ints, *, training: bool) -> float:
        """Every matrix of the model meets every word once, or every sequence."""
        words = float(self.layout(sentences).lengths.sum())
        return model.head_flops(words, float(len(sentences))) * (3 if training else 1)


def stored_inputs(
    store: FeatureStore,
    names: Sequence[str],
    combination: LayerCombination,
    reads: str,
    device: torch.device,
    *,
    chosen: Ints | None = None,
    sentences: Sequence[Sentence] = (),
) -> FeatureInputs:
    """Inputs of one or more splits of a store, which follow one another as if one.

    Vectors that would take most of the available memory stay on disk. InputError for vectors that
    the store lacks.

    Args:
        reads: vectors that the head reads (`Settings.reads`): "words", "sequence", or pooled ones.
        chosen: numbers of the sentences to read, in their order. None means all.
        sentences: the sentences themselves, if sequences are read.
    """
    layers, m, kinds = combination.indices, store.manifest, KINDS[reads]
    parts = [(name, kind) for kind in kinds for name in names]
    *before, n_vectors = np.cumsum([0, *(m.rows(*part) for part in parts)]).tolist()
    places_by_part = [store.index(name).places(kind) for name, kind in parts]
    moved = [places + n for places, n in zip(places_by_part, before, strict=True)]
    # (kinds, S, T, 2) places in the vectors of all parts, one after the other
    by_kind = np.concatenate(moved).reshape(len(kinds), -1, *moved[0].shape[1:])
    by_kind = by_kind if chosen is None else by_kind[:, chosen]
    places = np.moveaxis(by_kind, 0, 2).reshape(by_kind.shape[1], -1, 2)
    offsets = pairs = None
    if reads == "sequence":
        pairs = np.diff(np.array([(0, s.pair or 0, len(s)) for s in sentences]))
        places = np.concatenate([by_kind[1][:, :1], by_kind[0]], axis=1)
    elif reads != "words":
        lengths = np.concatenate([np.diff(store.offsets(name)) for name in names])
        lengths = lengths if chosen is None else lengths[chosen]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
    read_vectors, read_places = _without_gaps(places)
    # One whole layer is in memory for a moment, with the chosen vectors.
    numbers = (len(layers) * len(read_vectors) + n_vectors) * m.hidden_size
    if available_memory() * MEMORY_SHARE < numbers * np.dtype(m.dtype).itemsize:
        mapped = (text for name, kind in parts for text in store.mapped(name, layers, kind))
        arrays = [[*map(torch.from_numpy, text)] for text in mapped]
        return FeatureInputs(arrays, places, device, offsets=offsets, pairs=pairs)
    states = torch.empty(
        (len(layers), len(read_vectors), m.hidden_size), dtype=getattr(torch, m.dtype)
    )
    for row, layer in zip(states, layers, strict=True):
        read = (store.read(name, [layer], kind=kind)[0] for name, kind in parts)
        whole = torch.cat([*map(torch.from_numpy, read)])
        torch.index_select(whole, 0, torch.from_numpy(read_vectors), out=row)
    return FeatureInputs(states.to(device), read_places, device, offsets=offsets, pairs=pairs)


def _without_gaps(places: Ints) -> tuple[Ints, Ints]:
    """Numbers of the vectors of texts, each once, and (S, T, 2) the texts' places among them."""
    begins, at, text = np.unique(places[..., 0], return_index=True, return_inverse=True)
    sizes = np.diff(places)[..., 0].ravel()[at]
    moved = np.cumsum(sizes) - sizes - begins
    return ranges(begins, sizes), places + moved[text.reshape(places.shape[:2])][..., None]


def _gathered(texts: Sequence[Sequence[Tensor]], words: Tensor) -> Tensor:
    """(k, W, H) of numbered words of texts that follow one another."""
    ends = torch.tensor([len(layers[0]) for layers in texts]).cumsum(0)
    text_of = torch.searchsorted(ends, words, right=True)
    like = texts[0][0]
    states = like.new_empty((len(texts[0]), len(words), like.shape[1]))
    for number, layers in enumerate(texts):
        places = (text_of == number).nonzero().squeeze(1)
        begin = int(ends[number]) - len(layers[0])
        for state, layer in zip(states, layers, strict=True):
            state[places] = layer.index_select(0, words[places] - begin)
    return states


class PieceInputs:
    """Subwords of one text for an encoder that is tuned."""

    def __init__(
        self, alignment: Alignment, encoder: Encoder, device: torch.device, *, reads: str = "words"
    ) -> None:
        """`reads` names the vectors that the head reads (`Settings.reads`)."""
        self.alignment, self.encoder, self.device, self.reads = alignment, encoder, device, reads
        self.offsets: Ints = alignment.sentences
        self.lengths: Ints = np.diff(self.offsets)
        # (S, T) each: a text is read from consecutive windows.
        begins, ends = np.moveaxis(alignment.word_parts[alignment.texts], 2, 0)
        self.first: Ints = alignment.windows_of(begins)
        self.last: Ints = alignment.windows_of(ends - 1)
        if reads in KEPT_POOLINGS:
            self.first = alignment.units[alignment.text_units]
            self.last = alignment.units[alignment.text_units + 1] - 1

    def parts(self, sentences: Ints, token_budget: int) -> Iterator[Ints]:
        """Sentences that share windows stay together within the budget."""
        clusters = [
            cluster
            for together in self._sharing(sentences)
            for cluster in self._within(together, token_budget)
        ]
        part: list[Ints] = []
        rows = longest = 0
        for cluster in sorted(clusters, key=lambda cluster: -self._size(cluster)[1]):
            windows, width = self._size(cluster)
            if part and (rows + windows) * longest > token_budget:
                yield np.concatenate(part)
                part, rows = [], 0
            longest = longest if part else width
            part.append(cluster)
            rows += windows
        if part:
            yield np.concatenate(part)

    def tokens(self, sentences: Ints) -> int:
        """Pieces of the windows that are read, padded to the longest."""
        return padded_tokens(self.alignment.window_lengths[self._windows(sentences)])

    def batch(self, sentences: Ints, token_budget: int | None = None) -> PieceBatch:
        """The windows that the sentences' words are read from."""
        if self.reads == "cls":
            batch = self.encoder.batcher.firsts(self.alignment, sentences)
        elif self.reads in KEPT_POOLINGS:
            batch = self.encoder.batcher.pieces(self.alignment, sentences)
        else:
            firsts = self.reads == "sequence"
            batch = self.encoder.batcher.words(self.alignment, sentences, firsts=firsts)
        if token_budget is not None:
            batch = replace(batch, rows=max(1, token_budget // batch.ids.shape[1]))
        return batch.to(self.device)

    def layout(self, sentences: Ints) -> BatchLayout:
        """Vectors of each sequence, or of its texts: its words or pieces, or the first piece."""
        if self.reads in KEPT_POOLINGS:
            lengths = self.alignment.unit_lengths[self.alignment.text_units[sentences]]
            lengths = np.ones_like(lengths) if self.reads == "cls" else lengths
            return BatchLayout(lengths if lengths.shape[1] == 2 else lengths[:, 0])
        by_text = self.reads == "sequence" or self.alignment.texts.shape[1] == 2
        words = self.alignment.pairs if by_text else self.lengths
        assert words is not None
        return BatchLayout(words[sentences] + ([1, 0] if self.reads == "sequence" else 0))

    def flops(self, model: Model, sentences: Ints, *, training: bool) -> float:
        """The encoder over the windows that are read, and the head over the words.

        Below the lowest trained layer there is no backward pass.
        """
        windows = self._windows(sentences)
        head = model.head_flops(float(self.layout(sentences).lengths.sum()), float(len(sentences)))
        lengths = self.alignment.window_lengths[windows]
        if not training:
            return head + forward_flops(self.encoder, lengths)
        return 3 * head + training_flops(self.encoder, lengths)

    def _windows(self, sentences: Ints) -> Ints:
        """Numbers of the windows that the sentences' words are read from, each once."""
        first = self.first[sentences].ravel()
        return np.unique(ranges(first, self.last[sentences].ravel() - first + 1))

    def _sharing(self, sentences: Ints) -> list[Ints]:
        """The sentences in text order, cut between neighbours that share no window.

        For pairs of texts that are apart these are windows of the second text.
        """
        if not len(sentences):
            return []
        order = sentences[np.lexsort((sentences, self.first[sentences, -1]))]
        parted = np.flatnonzero(self.first[order[1:], -1] > self.last[order[:-1], -1]) + 1
        return np.split(order, parted)

    def _within(self, together: Ints, token_budget: int) -> Iterator[Ints]:
        """Neighbours that share windows, cut if their windows exceed the budget."""
        start = 0
        for end in range(1, len(together) + 1):
            rows, longest = self._size(together[start:end])
            if rows * longest > token_budget and end - start > 1:
                yield together[start : end - 1]
                start = end - 1
        yield together[start:]

    def _size(self, cluster: Ints) -> tuple[int, int]:
        """Windows that a cluster reads, and the longest of them."""
        if self.first.shape[1] == 1:  # neighbours share windows
            windows = np.arange(self.first[cluster[0], 0], self.last[cluster[-1], 0] + 1)
        else:
            windows = self._windows(cluster)
        return len(windows), int(self.alignment.window_lengths[windows].max())


class GroupedInputs:
    """Groups of sequences that are answered together: here a group counts as one sequence.

    A batch has a number of groups, and no part of it has a piece of one.
    """

    def __init__(self, inputs: Inputs, groups: Ints) -> None:
        """`groups` are (G + 1,) sequences of `inputs` before each group."""
        self.inputs, self.groups = inputs, groups
        self.sizes: Ints = np.diff(groups)
        self.offsets: Ints = inputs.offsets[groups]
        self.lengths: Ints = np.diff(self.offsets)

    def sequences(self, groups: Ints) -> Ints:
        """Numbers of the sequences of groups, in their order."""
        return ranges(self.groups[groups], self.sizes[groups])

    def parts(self, groups: Ints, token_budget: int) -> Iterator[Ints]:
        """Longest first, as many together as the budget allows."""
        waiting = groups[np.argsort(-self.lengths[groups], kind="stable")]
        while len(waiting):
            fits = 1  # doubled, so that the tokens of long parts are seldom counted
            while fits < len(waiting) and self.tokens(waiting[: 2 * fits]) <= token_budget:
                fits *= 2
            sizes = range(fits + 1, min(2 * fits, len(waiting) + 1))
            fits += bisect_right(sizes, token_budget, key=lambda n: self.tokens(waiting[:n]))
            yield waiting[:fits]
            waiting = waiting[fits:]

    def tokens(self, groups: Ints) -> int:
        return self.inputs.tokens(self.sequences(groups))

    def batch(self, groups: Ints, token_budget: int | None = None) -> Any:
        return self.inputs.batch(self.sequences(groups), token_budget)

    def layout(self, groups: Ints) -> BatchLayout:
        """The layout of the sequences, with the number in each group."""
        return replace(self.inputs.layout(self.sequences(groups)), groups=self.sizes[groups])

    def flops(self, model: Model, groups: Ints, *, training: bool) -> float:
        return self.inputs.flops(model, self.sequences(groups), training=training)


def grouped(inputs: Inputs, groups: Ints | None) -> Inputs:
    """`GroupedInputs` if there are groups, else the inputs."""
    return inputs if groups is None else GroupedInputs(inputs, groups)
