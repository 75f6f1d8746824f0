"""What batches are drawn from: stored states, or subwords for an encoder that is tuned.

A batch is a set of sequence numbers; an `Inputs` cuts it under a token budget into parts that are
computed one after the other, and turns a part into what `Model.states` takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from featbert.encoders.alignment import Alignment
from featbert.encoders.batching import length_batches, padded_tokens, ranges
from featbert.encoders.device import DTYPE_BYTES, to_device
from featbert.encoders.encoder import Encoder, PieceBatch, encoder_flops, matrix_entries
from featbert.encoders.layers import LayerCombination
from featbert.encoders.memory import available_memory
from featbert.features.store import FeatureStore

Ints = NDArray[np.int64]
# Share of the memory that is left which vectors may take; larger ones are read from disk.
MEMORY_SHARE = 0.6


class Inputs(Protocol):
    """Sequences of one text, ready to be batched.

    Attributes:
        offsets: (S + 1,) words before each sequence.
        lengths: (S,) words of each sequence.
        prediction_factor: padded tokens of a batch of prediction over those of training, by device
            kind. A GPU has room, since no gradients are kept. On a processor a BiLSTM's time steps
            want rows, as many as take no more memory than a step of training; an encoder is fastest
            where its caches hold the states.
    """

    offsets: Ints
    lengths: Ints
    prediction_factor: ClassVar[Mapping[str, float]]

    def parts(self, sentences: Ints, token_budget: int) -> Iterator[Ints]:
        """Each sentence once, in parts of so many padded tokens; a longer one by itself."""

    def tokens(self, sentences: Ints) -> int:
        """Padded tokens of a part."""

    def batch(self, sentences: Ints) -> Any:
        """What `Model.states` takes, for whole sequences in this order."""

    def flops(self, model: nn.Module, sentences: Ints, *, training: bool) -> float:
        """Operations of a part: forward, and backward through what is trained."""


class FeatureInputs:
    """Frozen vectors in the precision that they are stored in: in memory once, or mapped."""

    prediction_factor: ClassVar[Mapping[str, float]] = {"cpu": 0.5, "cuda": 4}

    def __init__(
        self,
        states: Tensor | Sequence[Sequence[Tensor]],
        offsets: Ints,
        *,
        starts: Ints | None = None,
    ) -> None:
        """
        Args:
            states: (k, N, H) in the combination's order, on the model's device; or, left on disk,
                for each of several texts that follow one another k tensors (n, H).
            offsets: (S + 1,) words before each sentence.
            starts: (S,) place of each sentence's first word in `states`, where those have other
                sentences too; by default they follow one another as in `offsets`.
        """
        self.states = states
        self.offsets = offsets
        self.starts: Ints = offsets[:-1] if starts is None else starts
        self.lengths: Ints = np.diff(offsets)
        self.device = states.device if isinstance(states, Tensor) else torch.device("cpu")

    @classmethod
    def of_store(
        cls,
        store: FeatureStore,
        splits: str | Sequence[str],
        combination: LayerCombination,
        device: torch.device,
        *,
        sentences: Ints | None = None,
    ) -> FeatureInputs:
        """The selected layers of one or more splits, which follow one another as if one.

        Where they would take most of the memory that is left they stay on disk.

        Args:
            sentences: numbers of those that are wanted, in their order; all by default. Layers
                are read whole, one after the other, and no other vectors of them are kept.

        Raises:
            InputError: the store lacks one of the layers.
        """
        names = [splits] if isinstance(splits, str) else splits
        lengths = np.concatenate([np.diff(store.offsets(name)) for name in names])
        starts: Ints = np.cumsum(lengths) - lengths
        n_read = 0  # words that are held for a moment beside those that are kept
        if sentences is not None:
            n_read = int(lengths.sum())
            starts, lengths = starts[sentences], lengths[sentences]
        offsets: Ints = np.concatenate([[0], np.cumsum(lengths)])
        vector = store.manifest.hidden_size * DTYPE_BYTES[store.manifest.dtype]
        needed = (len(combination.indices) * int(offsets[-1]) + n_read) * vector
        have = available_memory()
        if have is not None and have * MEMORY_SHARE < needed:
            mapped = [store.mapped(name, combination.indices) for name in names]
            texts = [[torch.from_numpy(a) for a in arrays] for arrays in mapped]
            inputs = cls(texts, offsets, starts=starts)
            inputs.device = device
            return inputs
        if sentences is not None:
            words = torch.from_numpy(ranges(starts, lengths))
            size = (len(combination.indices), len(words), store.manifest.hidden_size)
            states = torch.empty(size, dtype=getattr(torch, store.manifest.dtype))
            for kept, layer in zip(states, combination.indices, strict=True):
                read = (torch.from_numpy(store.read(name, [layer])[0]) for name in names)
                torch.index_select(torch.cat(list(read)), 0, words, out=kept)
            return cls(states.to(device), offsets)
        parts = [torch.from_numpy(store.read(name, combination.indices)) for name in names]
        states = parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)
        return cls(states.to(device), offsets)

    def parts(self, sentences: Ints, token_budget: int) -> Iterator[Ints]:
        """Length buckets: a sentence costs its words."""
        for part in length_batches(self.lengths[sentences], token_budget):
            yield sentences[part]

    def tokens(self, sentences: Ints) -> int:
        """Words, as if padded to the longest sentence: how `parts` counts them."""
        return padded_tokens(self.lengths[sentences])

    def batch(self, sentences: Ints) -> Tensor:
        """(k, W, H) the sentences' vectors, gathered by word index."""
        words = torch.from_numpy(ranges(self.starts[sentences], self.lengths[sentences]))
        if isinstance(self.states, Tensor):
            return self.states.index_select(1, to_device(words, self.device))
        return to_device(_gathered(self.states, words), self.device)

    def flops(self, model: nn.Module, sentences: Ints, *, training: bool) -> float:
        """Every matrix of the model meets every word once."""
        words = float(self.lengths[sentences].sum())
        return 2.0 * matrix_entries(model) * words * (3 if training else 1)


def _gathered(texts: Sequence[Sequence[Tensor]], words: Tensor) -> Tensor:
    """(k, W, H) of numbered words of texts that follow one another."""
    if len(texts) == 1:
        return torch.stack([layer.index_select(0, words) for layer in texts[0]])
    ends = torch.tensor([len(layers[0]) for layers in texts]).cumsum(0)
    text_of = torch.searchsorted(ends, words, right=True)
    like = texts[0][0]
    states = like.new_empty((len(texts[0]), len(words), like.shape[1]))
    for number, layers in enumerate(texts):
        here = (text_of == number).nonzero().squeeze(1)
        begin = int(ends[number]) - len(layers[0])
        for held, layer in zip(states, layers, strict=True):
            held[here] = layer.index_select(0, words[here] - begin)
    return states


class PieceInputs:
    """Subwords of one text for an encoder that is tuned."""

    prediction_factor: ClassVar[Mapping[str, float]] = {"cpu": 0.25, "cuda": 4}

    def __init__(self, alignment: Alignment, encoder: Encoder, device: torch.device) -> None:
        self.offsets: Ints = alignment.sentences
        self.lengths: Ints = np.diff(self.offsets)
        self.alignment = alignment
        self.encoder = encoder
        self.device = device
        # (S,) each: a sentence's words are read from consecutive windows.
        self.first: Ints = alignment.windows_of(self.offsets[:-1])
        self.last: Ints = alignment.windows_of(self.offsets[1:] - 1)

    def parts(self, sentences: Ints, token_budget: int) -> Iterator[Ints]:
        """Sentences that share windows stay together, so that a window is computed once.

        Where their windows exceed the budget they are parted, and a window between is read twice.
        """
        clusters = [
            cluster
            for together in self._sharing(sentences)
            for cluster in self._within(together, token_budget)
        ]
        sizes = [self._size(cluster) for cluster in clusters]
        by_longest = sorted(range(len(clusters)), key=lambda i: -sizes[i][1])
        part: list[Ints] = []
        rows = longest = 0
        for i in by_longest:
            if part and (rows + sizes[i][0]) * longest > token_budget:
                yield np.concatenate(part)
                part, rows = [], 0
            if not part:
                longest = sizes[i][1]
            part.append(clusters[i])
            rows += sizes[i][0]
        if part:
            yield np.concatenate(part)

    def tokens(self, sentences: Ints) -> int:
        """Pieces of the windows that are read, padded to the longest."""
        return padded_tokens(self.alignment.window_lengths[self._windows(sentences)])

    def batch(self, sentences: Ints) -> PieceBatch:
        """The windows that the sentences' words are read from."""
        return self.encoder.sentence_batch(self.alignment, sentences).to(self.device)

    def flops(self, model: nn.Module, sentences: Ints, *, training: bool) -> float:
        """The encoder over the windows that are read, and the classifier over the words.

        What is frozen has no backward pass, below the lowest layer that is trained.
        """
        windows = self._windows(sentences)
        words = float(self.lengths[sentences].sum())
        head = 2.0 * (matrix_entries(model) - matrix_entries(self.encoder)) * words
        body = encoder_flops(self.encoder, self.alignment.window_lengths[windows])
        if not training:
            return head + body
        return 3 * head + body * self.encoder.training_passes

    def _windows(self, sentences: Ints) -> Ints:
        """Numbers of the windows that the sentences' words are read from, each once."""
        sizes = self.last[sentences] - self.first[sentences] + 1
        return np.unique(ranges(self.first[sentences], sizes))

    def _sharing(self, sentences: Ints) -> list[Ints]:
        """The sentences, in text order, parted wherever neighbours share no window."""
        if not len(sentences):
            return []
        order = sentences[np.lexsort((sentences, self.first[sentences]))]
        parted = np.flatnonzero(self.first[order[1:]] > self.last[order[:-1]]) + 1
        return np.split(order, parted)

    def _within(self, together: Ints, token_budget: int) -> Iterator[Ints]:
        """Neighbours that share windows, cut where their windows exceed the budget."""
        start = 0
        for end in range(1, len(together) + 1):
            rows, longest = self._size(together[start:end])
            if rows * longest > token_budget and end - start > 1:
                yield together[start : end - 1]
                start = end - 1
        yield together[start:]

    def _size(self, cluster: Ints) -> tuple[int, int]:
        """Windows that a cluster reads, and the longest of them."""
        first, last = int(self.first[cluster[0]]), int(self.last[cluster[-1]])
        return last - first + 1, int(self.alignment.window_lengths[first : last + 1].max())
