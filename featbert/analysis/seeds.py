"""What a few seeds can say about a mean and a difference: intervals by Student's t.

A bootstrap over three seeds would be too narrow: it cannot draw what it has not seen.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

# Of every interval that is shown, over seeds as over text.
LEVEL = 0.95
# With two numbers the interval is twelve times their distance: it says nothing.
FEWEST = 3


@dataclass(frozen=True)
class Interval:
    """A mean with the interval in which it lies at `level`, from n numbers."""

    mean: float
    low: float
    high: float
    level: float
    n: int


def t_interval(values: Sequence[float], *, level: float = LEVEL) -> Interval | None:
    """The interval of the mean of independent numbers; None for fewer than three."""
    n = len(values)
    if n < FEWEST:
        return None
    mean = statistics.fmean(values)
    half = _quantile(n - 1, level) * statistics.stdev(values) / math.sqrt(n)
    return Interval(mean, mean - half, mean + half, level, n)


def paired_interval(
    first: Sequence[float], second: Sequence[float], *, level: float = LEVEL
) -> Interval | None:
    """The interval of the mean difference, second less first, of numbers that belong together.

    For runs of the same seeds, which see the same batches.
    """
    return t_interval([b - a for a, b in zip(first, second, strict=True)], level=level)


def _quantile(freedom: int, level: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + level) / 2))
