"""Probabilities of answers as forecasts: how well they are calibrated, and by how much to scale.

    confidence    probability of an item's answer: the highest one, except for some words with a CRF
    ECE           sum over bins of n_b / n * |share of right answers in b - mean confidence in b|
    Brier score   mean over items of half the squared distance of probabilities and right answer
    temperature   T > 0 for which softmax(log p / T) has the highest likelihood

The bins of the expected calibration error are 15 of equal width, open on the left. Half the squared
distance is in [0, 1] for any number of classes, and is (p - y)^2 for two. Since
softmax(log p / T) = softmax(logits / T), no logits are needed.

Sources: Guo et al. 2017, and Brier 1950.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pydantic.dataclasses
from numpy.typing import NDArray

from featbert.schema import STRICT, Amount, Count, Share

BINS = 15
# Values of probabilities, key to name for people. Lower is better.
CALIBRATION = {"ece": "ECE", "brier": "Brier score"}
# The smallest probability above 0 in float16, in which probabilities are kept.
_SMALLEST = 2.0**-24
_LARGEST_TEMPERATURE = 100.0


def is_distribution(shares: NDArray[Any]) -> bool:
    """Whether probabilities (T, C) are of classes, and finite."""
    return shares.size > 0 and bool(np.isfinite(shares).all())


@pydantic.dataclasses.dataclass(frozen=True, config=STRICT)
class Reliability:
    """Additive counts of bins of confidence, from low to high.

    Attributes:
        items: number of items by bin.
        right: number of items with the right answer.
        confidence: sum of the confidences.
    """

    items: list[Count]
    right: list[Count]
    confidence: list[Amount]

    @classmethod
    def total(cls, parts: Iterable[Self]) -> Self:
        """The bins of several texts or runs together."""
        columns = zip(*((part.items, part.right, part.confidence) for part in parts), strict=True)
        return cls(*(np.sum(column, axis=0).tolist() for column in columns))

    @property
    def error(self) -> float:
        """The expected calibration error."""
        gaps = np.abs(np.array(self.right) - np.array(self.confidence))
        return float(gaps.sum() / max(1, sum(self.items)))


@pydantic.dataclasses.dataclass(frozen=True, config=STRICT)
class ProbabilityScores:
    """Scores of the probabilities of one split: values by key, and bins of confidence."""

    values: dict[str, Share]
    reliability: Reliability


@dataclass(frozen=True)
class Forecasts:
    """Probabilities of E items that have a gold answer.

    Attributes:
        shares: (E, K) probabilities of each item's possible answers. They add up to about 1.
        right: (E,) column of the gold answer, -1 if it is not among the possible ones.
        sizes: (E,) number of possible answers, which are the first columns. None means all.
        answers: (E,) column of the given answer. None means the one with the highest probability.
    """

    shares: NDArray[np.float64]
    right: NDArray[np.int64]
    sizes: NDArray[np.int64] | None = None
    answers: NDArray[np.int64] | None = None

    def reliability(self) -> Reliability:
        """Counts of bins of confidence."""
        answers = self.shares.argmax(axis=1) if self.answers is None else self.answers
        confidence = self.shares[np.arange(len(answers)), answers]
        hits = answers == self.right
        bins = np.clip(np.ceil(confidence * BINS).astype(np.int64) - 1, 0, BINS - 1)
        return Reliability(
            np.bincount(bins, minlength=BINS).tolist(),
            np.bincount(bins[hits], minlength=BINS).tolist(),
            np.bincount(bins, confidence, BINS).tolist(),
        )

    def values(self) -> dict[str, float]:
        """ECE and Brier score."""
        labelled = np.flatnonzero(self.right >= 0)
        squares = (self.shares**2).sum(axis=1) + 1
        squares[labelled] -= 2 * self.shares[labelled, self.right[labelled]]
        return {"ece": self.reliability().error, "brier": float(squares.mean() / 2)}

    def loss(self, temperature: float = 1.0) -> float:
        """Mean negative log-likelihood of the gold answers at a temperature."""
        labelled = np.flatnonzero(self.right >= 0)
        logits = np.log(np.maximum(self.shares[labelled], _SMALLEST)) / temperature
        if self.sizes is not None:
            logits[np.arange(self.shares.shape[1]) >= self.sizes[labelled, None]] = -np.inf
        highest = logits.max(axis=1, keepdims=True)
        normaliser = highest[:, 0] + np.log(np.exp(logits - highest).sum(axis=1))
        return float((normaliser - logits[np.arange(len(labelled)), self.right[labelled]]).mean())

    def temperature(self) -> float:
        """The temperature with the lowest loss, between 0.01 and 100."""
        from scipy.optimize import minimize_scalar

        edge = float(np.log(_LARGEST_TEMPERATURE))
        minimum = minimize_scalar(
            lambda log: self.loss(float(np.exp(log))), bounds=(-edge, edge), method="bounded"
        )
        return float(np.exp(minimum.x))
