"""A softmax over the classes of each item, words or sequences: linear classifier, cross-entropy.

    loss = - sum over items of w_y log p_y        w_c = n / (C n_c) if balanced, else 1

n items, of which n_c have class c, and C classes that occur. The mean weight of the training items
is 1, as in scikit-learn's `compute_class_weight`. With label smoothing e each class has e / C of
the target, and the right one 1 - e more (Szegedy et al. 2016, section 7).
"""

import torch
from torch import Tensor
from torch.nn import functional

from featbert.encoders.batching import Ints
from featbert.models.logits import Logits
from featbert.tasks.base import TargetSummary


class Softmax(Logits):
    """Logits of each item by itself."""

    weight: Tensor | None

    def __init__(
        self,
        width: int,
        targets: TargetSummary,
        *,
        class_weight: str = "none",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(width, len(targets.classes))
        self.label_smoothing = label_smoothing
        weight = None
        if class_weight == "balanced":
            counts = torch.tensor(targets.counts, dtype=torch.float64)
            weight = counts.sum() / ((counts > 0).sum() * counts)
            weight = weight.where(counts > 0, 0).float()
        self.register_buffer("weight", weight, persistent=False)

    def loss(self, vectors: Tensor, lengths: Ints, targets: Tensor) -> Tensor:
        """Sum of the items' weighted cross-entropies.

        targets (W,) are class numbers, or -100, torch's number for items that have no loss.
        """
        logits = self.logits(vectors)
        return functional.cross_entropy(
            logits, targets, self.weight, reduction="sum", label_smoothing=self.label_smoothing
        )

    def decode(self, vectors: Tensor, lengths: Ints) -> Tensor:
        """(W,) number of each item's most probable class."""
        return self.logits(vectors).argmax(1)

    def probabilities(self, vectors: Tensor, lengths: Ints) -> tuple[Tensor, Tensor]:
        """(W,) answers as in `decode`, and (W, C) the probability of every class."""
        logits = self.logits(vectors)
        return logits.argmax(1), torch.softmax(logits, 1)
