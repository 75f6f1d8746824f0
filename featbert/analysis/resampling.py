"""Whether a difference could be chance (`docs/explanation/statistics.md`).

A unit is a document, or a sentence if a text has fewer than two documents. Approximate
randomisation exchanges the counts of random units between two systems. The bootstrap draws the
units of a text with replacement.

Sources: Noreen 1989, Computer-Intensive Methods for Testing Hypotheses. Yeh 2000, COLING
(randomisation for F1). Koehn 2004, EMNLP (paired bootstrap). Holm 1979.
"""

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pydantic.dataclasses
from numpy.typing import NDArray

from featbert.errors import InputError
from featbert.schema import STRICT, Count, Share
from featbert.text import counted

Counts = NDArray[Any]
Floats = NDArray[np.float64]
# Values (...) of summed counts (..., K).
Of = Callable[[NDArray[Any]], Floats]

# The level of all intervals, over seeds and over text.
LEVEL = 0.95
# With two numbers the interval is twelve times their distance: it says nothing.
FEWEST = 3
RESAMPLES = 10_000
# Numbers of a block of resamples: 32 MB.
BLOCK = 4_000_000
# Values of two resamples with equal counts may differ in their last bits.
TIE = 1e-12


@pydantic.dataclasses.dataclass(frozen=True, config=STRICT)
class PairedTest:
    """A difference between two systems on one text: the second's value less the first's.

    Attributes:
        low, high: percentile bootstrap interval of the difference at `level`.
        p_value: two-sided, by approximate randomisation. `exact` if every way to swap was counted.
        units: number of documents or sentences that were drawn.
    """

    difference: float
    low: float
    high: float
    level: Share
    p_value: Share
    units: Count
    resamples: Count
    exact: bool


def paired_test(first: Counts, second: Counts, of: Of, *, resamples: int = RESAMPLES) -> PairedTest:
    """Tests the difference of two systems on one text.

    `first` and `second` are (U, K) counts of each unit, summed over seeds to pool them. `of` is the
    measure of summed counts.
    """
    if first.shape != second.shape or not len(first):
        raise InputError(f"counts of two systems have shapes {first.shape} and {second.shape}")
    p_value, exact = randomisation(first, second, of, resamples=resamples)
    low, high = bootstrap_interval(first, second, of, resamples=resamples)
    difference = float(of(second.sum(0)) - of(first.sum(0)))
    return PairedTest(difference, low, high, LEVEL, p_value, len(first), resamples, exact)


def randomisation(
    first: Counts, second: Counts, of: Of, *, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[float, bool]:
    """Two-sided p-value of the difference, and whether it is exact.

    Under the null hypothesis a unit's counts could as well be the other system's. Every way to swap
    is counted if there are no more of them than resamples.
    """
    change = (second - first).astype(np.float64)
    totals = first.sum(0), second.sum(0)
    n_extreme = abs(float(of(totals[1]) - of(totals[0])))
    # Units in which the systems agree swap without effect.
    change = change[change.any(axis=1)]
    exact = 2 ** min(len(change), 62) <= resamples
    swaps = [_all_swaps(len(change))] if exact else _random_swaps(len(change), resamples, seed)
    as_far = n_swaps = 0
    for swap in swaps:
        moved = swap @ change
        differences = of(totals[1] - moved) - of(totals[0] + moved)
        as_far += int((np.abs(differences) >= n_extreme - TIE).sum())
        n_swaps += len(swap)
    # The text as it is counts as one of the resamples.
    return (as_far / n_swaps if exact else (as_far + 1) / (n_swaps + 1)), exact


def bootstrap_interval(
    first: Counts, second: Counts, of: Of, *, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[float, float]:
    """Percentile interval of the difference over texts of as many units, drawn with replacement."""
    units, width = first.shape
    random = np.random.default_rng([seed, 1])
    counts = np.concatenate([first, second], axis=1).astype(np.float64)
    differences: list[Floats] = []
    for rows in _blocks(units, resamples):
        places = random.integers(0, units, (rows, units))
        places += np.arange(rows)[:, None] * units
        weights = np.bincount(places.ravel(), minlength=rows * units).reshape(rows, units)
        totals = weights.astype(np.float64) @ counts
        differences.append(of(totals[:, width:]) - of(totals[:, :width]))
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(np.concatenate(differences), [tail, 1 - tail])
    return float(low), float(high)


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values of a family of tests, adjusted so that one error in all stays as rare as in one."""
    p, order = np.array(p_values), np.argsort(p_values, kind="stable")
    factors = np.arange(len(p), 0, -1)
    p[order] = np.maximum.accumulate(np.minimum(1.0, factors * p[order]))
    return [*map(float, p)]


def _all_swaps(units: int) -> Floats:
    """(2^U, U) every way to swap."""
    return (np.arange(1 << units)[:, None] >> np.arange(units) & 1).astype(np.float64)


def _random_swaps(units: int, resamples: int, seed: int) -> Iterator[Floats]:
    """(R, U) fair coins, in blocks."""
    random = np.random.default_rng([seed, 0])
    for rows in _blocks(units, resamples):
        coins = random.integers(0, 256, (rows, -(-units // 8)), dtype=np.uint8)
        yield np.unpackbits(coins, axis=1, count=units).astype(np.float64)


def _blocks(units: int, resamples: int) -> Iterator[int]:
    rows = max(1, BLOCK // units)
    for start in range(0, resamples, rows):
        yield min(rows, resamples - start)


# Over seeds ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Interval:
    """A mean of n numbers with its interval at `level`."""

    mean: float
    low: float
    high: float
    level: float
    n: int


def t_interval(values: Sequence[float]) -> Interval | None:
    """The interval of the mean of independent numbers. None for fewer than three."""
    n = len(values)
    if n < FEWEST:
        return None
    from scipy.special import stdtrit  # takes longer to load than a table to make

    mean = statistics.fmean(values)
    quantile = float(stdtrit(n - 1, (1 + LEVEL) / 2))
    half = quantile * statistics.stdev(values) / math.sqrt(n)
    return Interval(mean, mean - half, mean + half, LEVEL, n)


def few_seeds(n: int) -> str:
    """Says that fewer than `FEWEST` seeds leave the question open."""
    says = counted(n, "seed says", "seeds say")
    return f"{says} nothing about other seeds; that takes at least {FEWEST}"
