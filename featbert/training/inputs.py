"""What the loop draws batches from: one shape for both approaches.

A batch is a set of sentence ids; an `Inputs` turns it into what its tagger's forward takes, and
knows what each sentence costs, so that the loop can cut a batch under a token budget.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from featbert.features.alignment import Alignment, ranges
from featbert.features.encoder import Encoder, PieceBatch
from featbert.features.flops import encoder_flops, matrix_entries
from featbert.features.layers import LayerCombination
from featbert.features.store import FeatureStore
from featbert.tagging.bilstm import FeatureBatch

Ints = NDArray[np.int64]


class Inputs(Protocol):
    """One split, ready to be batched.

    Attributes:
        offsets: (S + 1,) words before each sentence.
        costs: (S,) tokens each sentence costs, for the token budget.
    """

    offsets: Ints
    costs: Ints

    def flops(self, tagger: nn.Module) -> float:
        """Operations of one forward pass of the tagger over the whole split."""

    def batch(self, sentences: Ints) -> Any:
        """The tagger's input for whole sentences, in this order."""


class FeatureInputs:
    """Frozen vectors of one split, the selected layers in memory once, in stored precision."""

    def __init__(
        self,
        store: FeatureStore,
        split: str,
        combination: LayerCombination,
        device: torch.device,
    ) -> None:
        self.offsets: Ints = store.offsets(split)
        self.costs: Ints = np.diff(self.offsets)
        # (k, N, H)
        self.states: Tensor = torch.from_numpy(store.read(split, combination.indices)).to(device)

    def flops(self, tagger: nn.Module) -> float:
        """Every matrix of the tagger meets every word once."""
        return 2.0 * matrix_entries(tagger) * float(self.offsets[-1])

    def batch(self, sentences: Ints) -> FeatureBatch:
        """The sentences' vectors, gathered by word index."""
        lengths = self.costs[sentences]
        words = torch.from_numpy(ranges(self.offsets[sentences], lengths))
        return FeatureBatch(self.states.index_select(1, words.to(self.states.device)), lengths)


class PieceInputs:
    """Wordpieces of one split for the trainable encoder."""

    def __init__(self, alignment: Alignment, encoder: Encoder, device: torch.device) -> None:
        self.offsets: Ints = alignment.sentences
        self.alignment = alignment
        self.encoder = encoder
        self.device = device
        self.costs: Ints = self._costs()

    def flops(self, tagger: nn.Module) -> float:
        """The encoder over the windows each sentence reads, and the classifier over all words.

        Where sentences share a window (document context) it counts for each of them: a batch of
        single sentences reads it again.
        """
        head = matrix_entries(tagger) - matrix_entries(self.encoder)
        return 2.0 * head * float(self.offsets[-1]) + encoder_flops(
            self.encoder,
            self.alignment.window_lengths[self._windows_read()],
            num_layers=self.encoder.num_layers,
            hidden_size=self.encoder.hidden_size,
        )

    def batch(self, sentences: Ints) -> PieceBatch:
        """The windows that the sentences' words are read from."""
        return self.encoder.sentence_batch(self.alignment, sentences).to(self.device)

    def _costs(self) -> Ints:
        """(S,) pieces of the windows that each sentence's words are read from."""
        before = np.concatenate([[0], np.cumsum(self.alignment.window_lengths)])
        first, last = self._first_and_last_windows()
        costs: Ints = before[last + 1] - before[first]
        return costs

    def _windows_read(self) -> Ints:
        """The windows of all sentences, one sentence after the other."""
        first, last = self._first_and_last_windows()
        return ranges(first, last - first + 1)

    def _first_and_last_windows(self) -> tuple[Ints, Ints]:
        """(S,) each: a sentence's words are read from consecutive windows."""
        first = self.alignment.windows_of(self.offsets[:-1])
        return first, self.alignment.windows_of(self.offsets[1:] - 1)
