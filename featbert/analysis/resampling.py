"""Whether a difference of micro F1 could be chance of the text: paired resampling of its units.

A unit is a document, or a sentence where a text has no documents. Two systems' counts of one unit
belong together; what is drawn anew is which system a unit's counts are counted for (approximate
randomisation), or which units the text consists of (bootstrap).

Source: Noreen 1989, Computer-Intensive Methods for Testing Hypotheses; Yeh 2000, COLING
(randomisation for F1); Koehn 2004, EMNLP (paired bootstrap); Holm 1979.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from featbert.analysis.seeds import LEVEL
from featbert.errors import InputError
from featbert.tasks.entities import f1_of

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

RESAMPLES = 10_000
# Numbers of a block of resamples: 32 MB.
BLOCK = 4_000_000
# Two resamples whose counts are equal may differ in the last bits of F1.
TIE = 1e-12


@dataclass(frozen=True)
class PairedTest:
    """A difference of micro F1 between two systems on one text.

    Attributes:
        difference: F1 of the second less F1 of the first, in [-1, 1].
        low, high: percentile bootstrap interval of the difference at `level`.
        p_value: two-sided, by approximate randomisation; exact where `exact`.
        units: documents or sentences that were drawn.
        resamples: of each method; swaps were all enumerated where `exact`.
        exact: whether every way to swap was counted.
    """

    difference: float
    low: float
    high: float
    level: float
    p_value: float
    units: int
    resamples: int
    exact: bool


def by_unit(counts: Counts, units: Sequence[int] | NDArray[np.int64]) -> Counts:
    """(S, 3) counts of sentences -> (U, 3) of their units, numbered from 0."""
    places = np.asarray(units, np.int64)
    summed = np.zeros((int(places.max()) + 1 if len(places) else 0, counts.shape[1]), np.int64)
    np.add.at(summed, places, counts)
    return summed


def paired_test(
    first: Counts,
    second: Counts,
    *,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
    seed: int = 0,
) -> PairedTest:
    """Tests the difference of two systems on one text.

    Args:
        first, second: (U, 3) correct, predicted and gold entities of each unit; to pool seeds,
            each system's counts summed over its seeds.
        seed: of the random draws, so that a table shows the same twice.

    Raises:
        InputError: shapes differ, there are no units, or the gold counts are of another text.
    """
    if first.shape != second.shape or first.ndim != 2 or first.shape[1] != 3 or not len(first):
        raise InputError(
            f"counts (units, 3) of two systems on one text expected, found {first.shape} and "
            f"{second.shape}"
        )
    if not np.array_equal(first[:, 2], second[:, 2]):
        place = int(np.flatnonzero(first[:, 2] != second[:, 2])[0])
        raise InputError(
            "gold entities of one text expected in both systems, they differ in unit "
            f"{place + 1}: {first[place, 2]} and {second[place, 2]}"
        )
    p_value, exact = randomisation(first, second, resamples=resamples, seed=seed)
    low, high = bootstrap_interval(first, second, resamples=resamples, level=level, seed=seed)
    return PairedTest(
        difference=float(f1_of(second.sum(0)) - f1_of(first.sum(0))),
        low=low,
        high=high,
        level=level,
        p_value=p_value,
        units=len(first),
        resamples=resamples,
        exact=exact,
    )


def randomisation(
    first: Counts, second: Counts, *, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[float, bool]:
    """Two-sided p-value of the difference, and whether it is exact.

    Under the null hypothesis a unit's counts could as well be the other system's. Where there are
    no more ways to swap than resamples, every way is counted.
    """
    change = (second - first).astype(np.float64)
    totals = first.sum(0), second.sum(0)
    seen = abs(float(f1_of(totals[1]) - f1_of(totals[0])))
    # Units in which the systems agree swap without effect.
    change = change[change.any(axis=1)]
    exact = 2 ** min(len(change), 62) <= resamples
    swaps = _all_swaps(len(change)) if exact else _random_swaps(len(change), resamples, seed)
    as_far = drawn = 0
    for swap in swaps:
        moved = swap @ change
        differences = f1_of(totals[1] - moved) - f1_of(totals[0] + moved)
        as_far += int((np.abs(differences) >= seen - TIE).sum())
        drawn += len(swap)
    # The text as it is counts as one of the resamples.
    return (as_far / drawn if exact else (as_far + 1) / (drawn + 1)), exact


def bootstrap_interval(
    first: Counts,
    second: Counts,
    *,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
    seed: int = 0,
) -> tuple[float, float]:
    """Percentile interval of the difference over texts of as many units, drawn with replacement."""
    units = len(first)
    random = np.random.default_rng([seed, 1])
    both = np.concatenate([first, second], axis=1).astype(np.float64)
    differences: list[Floats] = []
    for rows in _blocks(units, resamples):
        drawn = random.integers(0, units, (rows, units))
        drawn += np.arange(rows)[:, None] * units
        weights = np.bincount(drawn.ravel(), minlength=rows * units).reshape(rows, units)
        totals = weights.astype(np.float64) @ both
        differences.append(f1_of(totals[:, 3:]) - f1_of(totals[:, :3]))
    tail = (1 - level) / 2
    low, high = np.quantile(np.concatenate(differences), [tail, 1 - tail])
    return float(low), float(high)


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values of a family of tests, adjusted so that one error in all stays as rare as in one."""
    adjusted = [1.0] * len(p_values)
    highest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = highest
    return adjusted


def _all_swaps(units: int) -> Iterator[Floats]:
    """(2^U, U) every way to swap, in blocks."""
    bits = np.arange(units)
    start = 0
    for rows in _blocks(max(1, units), 1 << units):
        numbers = np.arange(start, start + rows)[:, None]
        yield (numbers >> bits & 1).astype(np.float64)
        start += rows


def _random_swaps(units: int, resamples: int, seed: int) -> Iterator[Floats]:
    """(R, U) fair coins, in blocks."""
    random = np.random.default_rng([seed, 0])
    for rows in _blocks(units, resamples):
        coins = random.integers(0, 256, (rows, -(-units // 8)), dtype=np.uint8)
        yield np.unpackbits(coins, axis=1, count=units).astype(np.float64)


def _blocks(units: int, resamples: int) -> Iterator[int]:
    """Resamples of each block."""
    rows = max(1, BLOCK // units)
    for start in range(0, resamples, rows):
        yield min(rows, resamples - start)
