"""The fine-tuned tagger: encoder, dropout, linear classifier on each word's vector.

Devlin et al. 2019, section 5.3: the representation of the first sub-token is the input to the
classifier; no CRF, no RNN.
"""

from __future__ import annotations

from torch import Tensor, nn

from featbert.features.encoder import Encoder, PieceBatch
from featbert.tagging.combination import full_precision


class FineTuneTagger(nn.Module):
    """The encoder with a classifier on top; every parameter is trained."""

    def __init__(self, encoder: Encoder, num_labels: int, *, dropout: float = 0.1) -> None:
        super().__init__()
        self.encoder = encoder
        self.dropout = nn.Dropout(dropout)
        self.classifier = nn.Linear(encoder.hidden_size, num_labels)

    def forward(self, batch: PieceBatch) -> Tensor:
        """(W, C) logits, one row for each word in the batch's order of sentences and words."""
        states = self.encoder(batch)
        with full_precision(states):
            logits: Tensor = self.classifier(self.dropout(states.float()))
        return logits
