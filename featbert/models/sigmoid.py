"""Independent classes for each text: a sigmoid for each, and binary cross-entropy.

P(class c) = 1 / (1 + exp(-(w_c . x + b_c)))        loss = sum over texts of the mean over classes

With balanced weights the loss of a text that has class c counts (n - n_c) / n_c times, if n_c of n
training texts have it: both sides of a class weigh the same.
"""

import torch
from torch import Tensor
from torch.nn import functional

from featbert.encoders.batching import Ints
from featbert.models.logits import Logits
from featbert.tasks.base import TargetSummary


class Sigmoid(Logits):
    """Answers are probabilities. The task compares them with its thresholds."""

    pos_weight: Tensor | None

    def __init__(
        self, width: int, targets: TargetSummary, *, thresholds: str, class_weight: str = "none"
    ) -> None:
        super().__init__(width, len(targets.classes))
        weight = None
        if class_weight == "balanced":
            counts = torch.tensor(targets.counts)
            weight = (targets.items - counts) / counts
            weight = weight.where(weight > 0, 1)  # a class of all texts has one side
        self.register_buffer("pos_weight", weight, persistent=False)

    def loss(self, vectors: Tensor, lengths: Ints, targets: Tensor) -> Tensor:
        """Sum of the texts' losses. targets (T, C) are 1 for the classes of a text, else 0."""
        losses = functional.binary_cross_entropy_with_logits(
            self.logits(vectors), targets.float(), reduction="none", pos_weight=self.pos_weight
        )
        return losses.mean(1).sum()

    def decode(self, vectors: Tensor, lengths: Ints) -> Tensor:
        """(T, C) the probability of every class."""
        return torch.sigmoid(self.logits(vectors))

    def probabilities(self, vectors: Tensor, lengths: Ints) -> tuple[Tensor, Tensor]:
        """(T, C) as in `decode`, twice."""
        shares = self.decode(vectors, lengths)
        return shares, shares
