"""A softmax over the classes of each item, words or sequences: linear classifier, cross-entropy."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from featbert.encoders.batching import Ints
from featbert.models.combination import full_precision


class Softmax(nn.Module):
    """Logits of each item by itself."""

    def __init__(self, width: int, classes: tuple[str, ...]) -> None:
        super().__init__()
        self.classifier = nn.Linear(width, len(classes))

    def logits(self, vectors: Tensor) -> Tensor:
        """(W, D) -> (W, C) in fp32: logits of few bits would tie."""
        with full_precision(vectors):
            logits: Tensor = self.classifier(vectors.float())
        return logits

    def linear(self) -> tuple[Tensor, Tensor]:
        """W and b of the logits."""
        return self.classifier.weight, self.classifier.bias

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
