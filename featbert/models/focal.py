"""A softmax that is trained with the focal loss: items that are nearly learned count less.

    loss = - sum over items of w_y (1 - p_y)^gamma log p_y

The weights w are as in `softmax`. gamma 0 is the cross-entropy.

Source: Lin et al. 2017, section 3.
"""

import torch
from torch import Tensor
from torch.nn import functional

from featbert.encoders.batching import Ints
from featbert.models.softmax import Softmax
from featbert.tasks.base import TargetSummary

# Lowest 1 - p of an item: the slope of a power below 1 has no limit at 0.
_LOWEST = 1e-6


class Focal(Softmax):
    """Only the loss differs from a softmax."""

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
