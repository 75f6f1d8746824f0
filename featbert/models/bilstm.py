"""The feature-based tagger: a two-layer BiLSTM on frozen word vectors and a linear classifier.

Devlin et al. 2019, section 5.3: "a randomly initialized two-layer 768-dimensional BiLSTM before
the classification layer". The paper does not say whether 768 is the size per direction or in
total; featbert reads it as 768 units per direction.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from featbert.encoders.device import processor_has_bf16, to_device, without_onednn
from featbert.encoders.layers import LayerCombination
from featbert.models.combination import CombineLayers, full_precision
from featbert.models.recurrence import Packing, bilstm


@dataclass(frozen=True)
class FeatureBatch:
    """Frozen vectors of the words of B sentences, one sentence after the other, unpadded.

    Attributes:
        states: (k, W, H) hidden states in the combination's order, in the stored precision.
        lengths: (B,) words of each sentence, at least 1 each.
    """

    states: Tensor
    lengths: NDArray[np.int64]


class BiLSTMTagger(nn.Module):
    """Layer combination, dropout, BiLSTM, dropout, linear classifier; one logit row a word."""

    def __init__(
        self,
        combination: LayerCombination,
        hidden_size: int,
        num_labels: int,
        *,
        lstm_size: int = 768,
        lstm_layers: int = 2,
        dropout: float = 0.5,
    ) -> None:
        """
        Args:
            hidden_size: H of the encoder.
            num_labels: C.
            lstm_size: units per direction.
            lstm_layers: layers of the BiLSTM; 0 is a linear probe: the classifier reads the
                combined vectors.
            dropout: of the word vectors, between the LSTM layers and before the classifier.
        """
        super().__init__()
        self.combine = CombineLayers(combination, hidden_size)
        self.dropout = nn.Dropout(dropout)
        self.lstm: nn.LSTM | None = None
        if lstm_layers:
            self.lstm = nn.LSTM(
                self.combine.width,
                lstm_size,
                num_layers=lstm_layers,
                dropout=dropout if lstm_layers > 1 else 0.0,
                bidirectional=True,
            )
        self.classifier = nn.Linear(
            2 * lstm_size if lstm_layers else self.combine.width, num_labels
        )

    def forward(self, batch: FeatureBatch) -> Tensor:
        """(W, C) logits, one row for each word in the batch's order of sentences and words."""
        if self.lstm is None:
            vectors = self.dropout(self.combine(batch.states))
            with full_precision(vectors):
                probed: Tensor = self.classifier(vectors.float())
            return probed
        packing = Packing.of(batch.lengths)
        order = to_device(packing.order, batch.states.device)
        # (W, D), time step by time step over the sentences that are still running
        vectors = self.dropout(self.combine(batch.states.index_select(1, order)))
        states = self._recur(vectors, packing)
        with full_precision(states):
            logits: Tensor = self.classifier(self.dropout(states.float()))
        return torch.empty_like(logits).index_copy(0, order, logits)

    def _recur(self, vectors: Tensor, packing: Packing) -> Tensor:
        """(W, D) -> (W, 2H) in packed order."""
        assert self.lstm is not None
        if vectors.is_cuda:
            # Autocast turns cuDNN's LSTM into fp16, whatever precision it was asked for.
            with full_precision(vectors):
                return self._packed(vectors, packing)
        if torch.is_autocast_enabled("cpu"):
            return self._packed(vectors, packing)
        return bilstm(self.lstm, vectors, packing)

    def _packed(self, vectors: Tensor, packing: Packing) -> Tensor:
        """The same by `nn.LSTM`."""
        assert self.lstm is not None
        words = PackedSequence(vectors, torch.tensor(packing.sizes))
        # Sentences of one length go to oneDNN's LSTM, which in bfloat16 needs a processor for it.
        alike = not vectors.is_cuda and packing.sizes[0] == packing.sizes[-1]
        with without_onednn() if alike and not processor_has_bf16() else nullcontext():
            states: Tensor = self.lstm(words)[0].data
        return states
