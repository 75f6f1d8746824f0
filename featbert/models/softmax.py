"""A softmax over the classes of each item, words or sequences: linear classifier, cross-entropy.

    loss = - sum over items of w_y log p_y        w_c = n / (C n_c) if balanced, else 1

n items, of which n_c have class c, and C classes that occur. The mean weight of the training items
is 1, as in scikit-learn's `compute_class_weight`. With label smoothing e each class has e / C of
the target, and the right one 1 - e more (Szegedy et al. 2016, section 7).

    focal loss = - sum over items of w_y (1 - p_y)^gamma log p_y

Items that are nearly learned count less. gamma 0 is the cross-entropy (Lin et al. 2017, section 3).
"""

import torch
from torch import Tensor
from torch.nn import functional

from featbert.encoders.batching import Ints
from featbert.models.logits import Logits
from featbert.tasks.base import TargetSummary

# Lowest 1 - p of an item: the slope of a power below 1 has no limit at 0.
_LOWEST = 1e-6


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


class Focal(Softmax):
    """A softmax with the focal loss."""

    def __init__(
        self, width: int, targets: TargetSummary, *, class_weight: str, gamma: float
    ) -> None:
        super().__init__(width, targets, class_weight=class_weight)
        self.gamma = gamma

    def loss(self, vectors: Tensor, lengths: Ints, targets: Tensor) -> Tensor:
        """Sum of the items' losses. Items without an answer have a cross-entropy of 0."""
        logits = self.logits(vectors)  # (W, C)
        losses = functional.cross_entropy(logits, targets, self.weight, reduction="none")  # (W,)
        places = targets.clamp_min(0)[:, None]
        log_shares = torch.log_softmax(logits, 1).gather(1, places).squeeze(1)  # (W,)
        factors = (-torch.expm1(log_shares)).clamp_min(_LOWEST) ** self.gamma
        return (factors * losses).sum()
