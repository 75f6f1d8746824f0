"""The body "linear": the output reads the word vectors, with dropout.

On a tuned encoder this is the classifier of Devlin et al. 2019, section 5.3. On frozen states it is
a linear probe.
"""

from torch import Tensor, nn

from featbert.encoders.batching import Ints
from featbert.encoders.kernels import Dropout


class DropoutOnly(nn.Module):
    """Dropout of the word vectors."""

    def __init__(self, width: int, *, dropout: float) -> None:
        super().__init__()
        self.width = width
        self.dropout = Dropout(dropout)

    def forward(self, vectors: Tensor, lengths: Ints) -> Tensor:
        """(W, D) -> (W, D)"""
        dropped: Tensor = self.dropout(vectors.float())
        return dropped
