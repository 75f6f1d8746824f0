"""A softmax over the classes of each item, words or sequences: linear classifier, cross-entropy."""

import torch
from torch import Tensor
from torch.nn import functional

from featbert.encoders.batching import Ints
from featbert.models.logits import Logits
from featbert.tasks.base import TargetSummary


class Softmax(Logits):
    """Logits of each item by itself."""

    def __init__(self, width: int, targets: TargetSummary) -> None:
        super().__init__(width, len(targets.classes))

    def loss(self, vectors: Tensor, lengths: Ints, targets: Tensor) -> Tensor:
        """Sum of the items' cross-entropies.

        targets (W,) are class numbers, or -100, torch's number for items that have no loss.
        """
        return functional.cross_entropy(self.logits(vectors), targets, reduction="sum")

    def decode(self, vectors: Tensor, lengths: Ints) -> Tensor:
        """(W,) number of each item's most probable class."""
        return self.logits(vectors).argmax(1)

    def probabilities(self, vectors: Tensor, lengths: Ints) -> tuple[Tensor, Tensor]:
        """(W,) answers as in `decode`, and (W, C) the probability of every class."""
        logits = self.logits(vectors)
        return logits.argmax(1), torch.softmax(logits, 1)
