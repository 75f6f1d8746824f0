"""A score for each item: a linear function and the squared error.

    score = middle + reach * (w . x + b)

middle and reach are the middle and half of the range of the training scores, so that the loss does
not depend on their unit. Nothing keeps a score inside that range.
"""

from typing import Any

from torch import Tensor, nn
from torch.nn import functional

from featbert.encoders.batching import Ints
from featbert.models.combination import full_precision


class Score(nn.Module):
    """One number an item."""

    def __init__(self, width: int, classes: tuple[str, ...], settings: Any) -> None:
        """`width` is D; `classes` are the lowest and the highest training score, as text."""
        super().__init__()
        low, high = map(float, classes)
        self.middle = (low + high) / 2
        self.reach = (high - low) / 2 or 1.0
        self.classifier = nn.Linear(width, 1)

    def _position(self, vectors: Tensor) -> Tensor:
        """(W, D) -> (W,) in fp32: -1 is the lowest training score, 1 the highest."""
        with full_precision(vectors):
            found: Tensor = self.classifier(vectors.float())
        return found.squeeze(1)

    def linear(self) -> tuple[Tensor, Tensor]:
        """The function that the scores are."""
        weight, bias = self.classifier.weight, self.classifier.bias
        return self.reach * weight, self.reach * bias + self.middle

    def loss(self, vectors: Tensor, lengths: Ints, targets: Tensor) -> Tensor:
        """Sum of the items' squared errors, in units of `reach`; targets (W,) are scores."""
        wanted = (targets.float() - self.middle) / self.reach
        return functional.mse_loss(self._position(vectors), wanted, reduction="sum")

    def decode(self, vectors: Tensor, lengths: Ints) -> Tensor:
        """(W,) scores."""
        return self.middle + self.reach * self._position(vectors)

    def probabilities(self, vectors: Tensor, lengths: Ints) -> tuple[Tensor, Tensor]:
        """(W,) what `decode` gives, and (W, 0): scores have no classes."""
        scores = self.decode(vectors, lengths)
        return scores, scores.new_zeros(len(scores), 0)
