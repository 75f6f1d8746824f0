"""A score for each item: a linear function and the squared error.

    score = middle + reach * (w . x + b), where w . x + b is -1 and 1 at the ends of the range

middle and reach are the middle and half of the range of the training scores, so the loss does not
depend on their unit. Scores may be outside of that range.
"""

from torch import Tensor
from torch.nn import functional

from featbert.encoders.batching import Ints
from featbert.models.logits import Logits
from featbert.tasks.base import TargetSummary


class Score(Logits):
    """One number an item."""

    def __init__(self, width: int, targets: TargetSummary) -> None:
        super().__init__(width, 1)
        self.middle = (targets.lowest + targets.highest) / 2
        self.reach = (targets.highest - targets.lowest) / 2 or 1.0

    def linear(self) -> tuple[Tensor, Tensor]:
        """W and b of the scores."""
        weight, bias = super().linear()
        return self.reach * weight, self.reach * bias + self.middle

    def set_linear(self, weight: Tensor, bias: Tensor) -> None:
        super().set_linear(weight / self.reach, (bias - self.middle) / self.reach)

    def loss(self, vectors: Tensor, lengths: Ints, targets: Tensor) -> Tensor:
        """Sum of the items' squared errors, in units of `reach`. targets (W,) are scores."""
        scaled_targets = (targets.float() - self.middle) / self.reach
        return functional.mse_loss(self.logits(vectors).squeeze(1), scaled_targets, reduction="sum")

    def decode(self, vectors: Tensor, lengths: Ints) -> Tensor:
        """(W,) scores."""
        return self.middle + self.reach * self.logits(vectors).squeeze(1)

    def probabilities(self, vectors: Tensor, lengths: Ints) -> tuple[Tensor, Tensor]:
        """(W,) scores, and (W, 0), since scores have no classes."""
        scores = self.decode(vectors, lengths)
        return scores, scores.new_zeros(len(scores), 0)
