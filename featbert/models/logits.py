"""Logits W x + b in fp32, and outputs of single items, words or sequences, that begin with them."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from featbert.encoders.batching import Ints
from featbert.models.combination import full_precision
from featbert.tasks.base import TargetSummary

# Lowest 1 - p of an item in the focal loss: the slope of a power below 1 has no limit at 0.
_LOWEST = 1e-6


class Logits(nn.Module):
    """A linear layer from vectors to C logits. Outputs add the loss and the answers."""

    def __init__(self, width: int, n_logits: int) -> None:
        super().__init__()
        self.classifier = nn.Linear(width, n_logits)

    def logits(self, vectors: Tensor) -> Tensor:
        """(W, D) -> (W, C) in fp32: logits of few bits would tie."""
        with full_precision(vectors):
            logits: Tensor = self.classifier(vectors.float())
        return logits

    def linear(self) -> tuple[Tensor, Tensor]:
        """W (C, D) and b (C,), for export."""
        return self.classifier.weight, self.classifier.bias

    def set_linear(self, weight: Tensor, bias: Tensor) -> None:
        """Sets W and b, as `linear` returns them."""
        with torch.no_grad():
            self.classifier.weight.copy_(weight)
            self.classifier.bias.copy_(bias)


class Softmax(Logits):
    """A softmax over the classes of each item, with cross-entropy.

        loss = - sum over items of w_y log p_y        w_c = n / (C n_c) if balanced, else 1

    n items, of which n_c have class c, and C classes that occur. The mean weight of the training
    items is 1, as in scikit-learn's `compute_class_weight`. With label smoothing e each class has
    e / C of the target, and the right one 1 - e more (Szegedy et al. 2016, section 7).
    """

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
    """A softmax that is trained with the focal loss: items that are nearly learned count less.

        loss = - sum over items of w_y (1 - p_y)^gamma log p_y

    The weights w are as in `Softmax`. gamma 0 is the cross-entropy (Lin et al. 2017, section 3).
    """

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


class Sigmoid(Logits):
    """Independent classes for each text: a sigmoid for each, and binary cross-entropy.

        P(class c) = 1 / (1 + exp(-(w_c . x + b_c)))
        loss = sum over texts of the mean over classes

    With balanced weights the loss of a text that has class c counts (n - n_c) / n_c times, if n_c
    of n training texts have it: both sides of a class weigh the same. Answers are probabilities,
    which the task compares with its thresholds.
    """

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


class Score(Logits):
    """A score for each item: a linear function and the squared error.

        score = middle + reach * (w . x + b), where w . x + b is -1 and 1 at the ends of the range

    middle and reach are the middle and half of the range of the training scores, so the loss does
    not depend on their unit. Scores may be outside of that range.
    """

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
