"""The body of the feature-based approach: a BiLSTM over the word vectors of a sequence.

Devlin et al. 2019, section 5.3: "a randomly initialized two-layer 768-dimensional BiLSTM before
the classification layer". The paper does not say whether 768 is the size per direction or in
total; featbert reads it as 768 units per direction.
"""

from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from featbert.encoders.batching import Ints
from featbert.encoders.device import has_native_bf16, to_device, without_onednn
from featbert.models.combination import full_precision
from featbert.models.recurrence import Packing, bilstm


class BiLSTM(nn.Module):
    """Dropout, BiLSTM, dropout."""

    def __init__(self, width: int, settings: Any) -> None:
        super().__init__()
        self.dropout = nn.Dropout(settings.dropout)
        self.lstm = nn.LSTM(
            width,
            settings.lstm_size,
            num_layers=settings.lstm_layers,
            dropout=settings.dropout if settings.lstm_layers > 1 else 0.0,
            bidirectional=True,
        )
        self.width = 2 * settings.lstm_size

    def forward(self, vectors: Tensor, lengths: Ints) -> Tensor:
        """(W, D) -> (W, width), unpadded; lengths (B,) are words of each sequence, at least 1."""
        packing = Packing.of(lengths)
        order = to_device(packing.order, vectors.device)
        # (W, D), time step by time step over the sequences that have not ended
        packed = self.dropout(vectors.index_select(0, order))
        states = self.dropout(self._recur(packed, packing).float())
        return torch.empty_like(states).index_copy(0, order, states)

    def _recur(self, vectors: Tensor, packing: Packing) -> Tensor:
        """(W, D) -> (W, 2H) in packed order."""
        if vectors.is_cuda:
            # Autocast turns cuDNN's LSTM into fp16, whatever precision it was asked for.
            with full_precision(vectors):
                return self._packed(vectors.float(), packing)
        if torch.is_autocast_enabled("cpu"):
            return self._packed(vectors, packing)
        return bilstm(self.lstm, vectors, packing)

    def _packed(self, vectors: Tensor, packing: Packing) -> Tensor:
        words = PackedSequence(vectors, torch.tensor(packing.sizes))
        # Sequences of one length go to oneDNN's LSTM, which in bfloat16 needs a processor for it.
        alike = not vectors.is_cuda and packing.sizes[0] == packing.sizes[-1]
        with without_onednn() if alike and not has_native_bf16("cpu") else nullcontext():
            states: Tensor = self.lstm(words)[0].data
        return states
