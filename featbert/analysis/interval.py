"""One interval of a score or a difference, over other seeds and other text.

A row has n runs (seeds) on the same U units of text. A run's value is a function of its summed
counts. The jackknife writes it as a mean of U contributions, by leaving one unit out at a time.
Contributions of seed s and unit u follow the crossed random model

    z[s, u] = value + seed[s] + unit[u] + both[s, u]

Two rows of a difference share the units, and their seeds are independent. The variance has three
mean squares:

    S  of values over seeds, through n: it holds seed and both
    T  of contributions over units, averaged over seeds, through U: it holds unit and both
    B  of the residual, through n U: it holds both

Both is counted twice in S and T, and is taken off once: V = T + max(S - B, 0).

S has k degrees of freedom after Welch. V has df:

    share  = sqrt(S max(S - B, 0)) / V, at most 1
    1 / df = share / k + (1 - share)^2 / (U - 1)

Satterthwaite's formula has the square of the first share. It covers too little, as the share is
estimated too small whenever S is. Coverage by simulation: `docs/explanation/statistics.md`, with
`benchmarks/coverage.py`.

Sources: Efron and Stein 1981 (jackknife). Welch 1947. Satterthwaite 1946. Searle, Casella and
McCulloch 1992, Variance Components, chapter 4. Bouthillier et al. 2021, MLSys (seeds and text).
"""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pydantic.dataclasses
from numpy.typing import NDArray

from featbert.errors import InputError
from featbert.schema import STRICT, Amount, Count, Share

Counts = NDArray[Any]
Floats = NDArray[np.float64]
# Values (...) of summed counts (..., K).
Of = Callable[[NDArray[Any]], Floats]

T = TypeVar("T")

LEVEL = 0.95
# With two runs the interval over seeds is twelve times their difference: it says nothing.
FEWEST = 3
# With fewer documents, sentences or examples an interval over text says nothing.
FEWEST_UNITS = 5
# A smaller number is rounding.
TIE = 1e-12
# No more seeds than this are proposed, nor more text than this times the text.
MOST_SEEDS = 1_000
MOST_TEXT = 1_000


@pydantic.dataclasses.dataclass(frozen=True, config=STRICT)
class Estimate:
    """A score, or a difference of two, with its interval at `level`.

    Attributes:
        p_value: two-sided, of the null value. It is below 1 - `level` exactly if the interval
            excludes the null value.
        df: degrees of freedom.
        seeds: number of runs of each row.
        seed_variances: variance of each row's value over seeds, for one run. Zeros if the interval
            does not cover other seeds.
        run_variances: the part of each row's variance over text, for one run, that more runs lower.
        shared_variance: the variance over text that more runs do not lower.
        covers_seeds: whether each row has at least `FEWEST` runs, or needs no seed. If not, the
            interval is of these runs on other text.
        covers_text: whether there were counts of units. If not, the interval is of other seeds on
            this text, and `units` is 0.
    """

    value: float
    low: float
    high: float
    level: Share
    p_value: Share
    df: float
    null: float
    seeds: tuple[Count, ...]
    units: Count
    seed_variances: tuple[Amount, ...]
    run_variances: tuple[Amount, ...]
    shared_variance: Amount
    covers_seeds: bool
    covers_text: bool = True

    def possible_ends(self, lowest: float) -> tuple[float, float]:
        """The interval of a score that is from `lowest` to 1."""
        return max(self.low, lowest), min(self.high, 1.0)

    def ends(self, level: float) -> tuple[float, float]:
        """The interval at another level."""
        half = float(half_width(self.over_seeds + self.over_text, self.df, level))
        return self.value - half, self.value + half

    @property
    def over_seeds(self) -> float:
        """Variance of the value over seeds on unlimited text."""
        return float(_per_run(self.seed_variances, self.seeds))

    @property
    def over_text(self) -> float:
        """Variance of the value over text."""
        return float(self.shared_variance + _per_run(self.run_variances, self.seeds))


@dataclass(frozen=True)
class Moments:
    """Mean squares of a row's runs, or of several rows' with leading axes (...).

    Attributes:
        value: (...) mean over runs.
        by_unit: (..., U) contributions less their mean, averaged over runs.
        over_seeds: (...) variance of values between runs.
        residual: (...) part of it, due to text that runs answer differently.
        runs: number of runs.
    """

    value: Floats
    by_unit: Floats
    over_seeds: Floats
    residual: Floats
    runs: int


@dataclass(frozen=True)
class Variance:
    """Variance of a value or difference (...), by source, with its degrees of freedom (...)."""

    seeds: Floats
    text: Floats
    df: Floats


def half_width(squared_error: Any, df: Any, level: float = LEVEL) -> Floats:
    """Half the width of the interval (...) at `level`. 0 without an error."""
    from scipy.special import stdtrit  # takes longer to load than a table to make

    quantile = stdtrit(np.minimum(df, 1e9), (1 + level) / 2) if level < 1 else np.inf
    error = np.sqrt(squared_error)
    half: Floats = np.where(error > 0, quantile, 0.0) * error
    return half


def score_estimate(counts: Counts, of: Of, *, null: float = 0.0) -> Estimate:
    """The mean score of a row's runs, given their counts (n, U, K).

    `of` maps counts (..., K) to values (...). `null` is the value that `p_value` tests, such as a
    floor. InputError for fewer than two units.
    """
    return estimate([_moments_of(counts, of)], null)


def difference_estimate(first: Counts, second: Counts, of: Of) -> Estimate:
    """The second row's mean score less the first row's.

    Args:
        first, second: (n, U, K) counts of each run and unit. Rows may have unequal numbers of runs.
            Runs of two rows are independent, also those with the same seed.
        of: maps counts (..., K) to values (...).

    Raises:
        InputError: the rows have other units, or fewer than two.
    """
    if first.shape[1:] != second.shape[1:]:
        raise InputError(f"counts of two rows have shapes {first.shape} and {second.shape}")
    return estimate([_moments_of(first, of), _moments_of(second, of)])


def _moments_of(counts: Counts, of: Of) -> Moments:
    if counts.ndim != 3 or not len(counts) or counts.shape[1] < 2:
        raise InputError(f"an interval needs counts of a run on two units; shape {counts.shape}")
    return moments(*contributions(counts.astype(np.float64), of))


def seeds_estimate(*rows: Sequence[float]) -> Estimate | None:
    """The mean of one row's scores, or the second row's less the first's, over other seeds only.

    None if a row has fewer than `FEWEST` scores, or if no score depends on the seed.
    """
    if min(map(len, rows)) < FEWEST or all(np.ptp(row) <= TIE for row in rows):
        return None
    without_text = [moments(np.asarray(row), np.zeros((len(row), 2))) for row in rows]
    return dataclasses.replace(estimate(without_text), units=0, covers_text=False)


def for_every_seed(by_row: Sequence[Sequence[T]], has_seed: Sequence[bool]) -> list[Sequence[T]]:
    """Runs, or their scores, of each row. A run without a seed is repeated for the seeds of others.

    It gives the same numbers with every seed, so its variance over seeds is then 0.
    """
    n_seeds = max(map(len, by_row))
    pairs = zip(by_row, has_seed, strict=True)
    return [runs if varies else [*runs[:1]] * n_seeds for runs, varies in pairs]


def contributions(counts: NDArray[Any], of: Of) -> tuple[Floats, Floats]:
    """Values of runs (...) and the contributions of units, less their mean (..., U).

    `counts` are (..., U, K). Contributions are the jackknife's pseudo-values.
    """
    units = counts.shape[-2]
    total = counts.sum(-2, keepdims=True)
    without = of(total - counts)
    deviations = (units - 1) * (without.mean(-1, keepdims=True) - without)
    return of(total[..., 0, :]), deviations


def moments(values: Floats, deviations: Floats) -> Moments:
    """Mean squares of values (..., n) and contributions (..., n, U)."""
    runs, units = deviations.shape[-2:]
    by_unit = deviations.mean(-2)
    if runs == 1:
        zero = np.zeros_like(values[..., 0])
        return Moments(values[..., 0], by_unit, zero, zero, 1)
    squares = (deviations**2).sum((-2, -1)) - runs * (by_unit**2).sum(-1)
    residual = np.maximum(squares, 0) / ((runs - 1) * (units - 1) * units)
    return Moments(values.mean(-1), by_unit, values.var(-1, ddof=1), residual, runs)


def variance(rows: Sequence[Moments]) -> Variance:
    """Variance of one row's value, or of the difference of two."""
    by_unit = rows[-1].by_unit - rows[0].by_unit if len(rows) == 2 else rows[0].by_unit
    units = by_unit.shape[-1]
    text = _sound((by_unit**2).sum(-1) / ((units - 1) * units))
    if any(row.runs < FEWEST for row in rows):
        return Variance(np.zeros_like(text), text, np.full_like(text, units - 1))
    runs = [row.runs for row in rows]
    parts = [row.over_seeds / row.runs for row in rows]
    seeds = _sound(sum(parts) - _per_run([row.residual for row in rows], runs))
    return Variance(seeds, text, _df(seeds, text, parts, runs, units))


def _sound(squared: Floats) -> Floats:
    """Variances. Those that are negative, or rounding, are 0."""
    return np.where(squared > TIE**2, squared, 0)


def _df(
    seeds: Floats, text: Floats, parts: Sequence[Any], runs: Sequence[Any], units: Any
) -> Floats:
    """Degrees of freedom. `parts`: S / n of each row. `squares` / `total`^2 is 1 / k of Welch."""
    total = np.sum(parts, axis=0)
    squares = _per_run([part**2 for part in parts], [np.maximum(n - 1, 1) for n in runs])
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.minimum(np.sqrt(seeds * total) / (seeds + text), 1)
        inverse = share * squares / total**2 + (1 - share) ** 2 / (units - 1)
    return np.where(seeds > 0, 1 / np.where(seeds > 0, inverse, 1), units - 1)


def estimate(rows: Sequence[Moments], null: float = 0.0) -> Estimate:
    """One row's value, or the second row's value less the first's."""
    from scipy.special import stdtr

    spread = variance(rows)
    value = float(rows[-1].value - (rows[0].value if len(rows) == 2 else 0))
    value = null if abs(value - null) <= TIE else value
    distance = abs(value - null)
    seeds, text, df = float(spread.seeds), float(spread.text), float(spread.df)
    half = float(half_width(seeds + text, df))
    error = (seeds + text) ** 0.5
    p_value = 2 * float(stdtr(df, -distance / error)) if error else float(distance == 0)
    counts = tuple(row.runs for row in rows)
    residuals = tuple(float(row.residual) for row in rows)
    # The parts are estimated apart, and none of them may exceed the whole.
    specific = _per_run(residuals, counts)
    part = min(1.0, text / specific) if specific else 0.0
    total = _per_run([float(row.over_seeds) for row in rows], counts)
    return Estimate(
        value=value,
        low=value - half,
        high=value + half,
        level=LEVEL,
        p_value=p_value,
        df=df,
        null=null,
        seeds=counts,
        units=rows[0].by_unit.shape[-1],
        seed_variances=tuple(
            float(row.over_seeds) * seeds / total if total else 0.0 for row in rows
        ),
        run_variances=tuple(part * residual for residual in residuals),
        shared_variance=max(0.0, text - specific),
        covers_seeds=min(counts) >= FEWEST,
    )


def _per_run(variances: Sequence[Any], runs: Sequence[Any]) -> Any:
    """Variance of a mean over runs, or of the difference of two: numbers or arrays."""
    return sum(v / n for v, n in zip(variances, runs, strict=True))


# What would settle it -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Needed:
    """What would make an interval exclude the null value, if the value stays as it is.

    Attributes:
        seeds: more runs of each row on the same text. None if no number would, or if the variance
            over seeds is unknown.
        units: more units of text with the same runs. None if no number would.
    """

    seeds: int | None
    units: int | None


def needed(result: Estimate, *, level: float = LEVEL, power: float = 0.8) -> Needed:
    """How many more seeds, or units, settle a difference at `level` with probability `power`.

    Both are 0 if the interval excludes the null value already.
    """
    if result.p_value < 1 - level:
        return Needed(0, 0)
    if result.value == result.null:
        return Needed(None, None)
    more_runs = np.arange(1, MOST_SEEDS + 1)
    times = 1.05 ** np.arange(1, np.log(MOST_TEXT) / np.log(1.05))
    more_units = np.ceil((times - 1) * result.units).astype(int)
    seeds = _first(_settled(result, level, power, more_runs=more_runs), more_runs)
    units = _first(_settled(result, level, power, times=times), more_units)
    return Needed(seeds if result.covers_seeds else None, units if result.covers_text else None)


def _settled(
    result: Estimate, level: float, power: float, *, more_runs: Any = 0, times: Any = 1.0
) -> NDArray[np.bool_]:
    """Whether the value is far enough from null with `more_runs` and `times` as much text."""
    from scipy.special import stdtrit

    runs = [n + more_runs for n in result.seeds]
    seeds = np.asarray(_per_run(result.seed_variances, runs))
    text = (result.shared_variance + _per_run(result.run_variances, runs)) / times
    units = result.units * times
    df = units - 1
    if result.covers_seeds:
        variances = zip(result.seed_variances, result.run_variances, runs, strict=True)
        parts = [(over_seeds + of_run / times) / n for over_seeds, of_run, n in variances]
        df = _df(seeds, text, parts, runs, units)
    quantiles = stdtrit(df, (1 + level) / 2) + stdtrit(df, power)
    return np.asarray(abs(result.value - result.null) >= quantiles * np.sqrt(seeds + text))


def _first(settled: NDArray[np.bool_], amounts: NDArray[Any]) -> int | None:
    return int(amounts[settled.argmax()]) if settled.any() else None


# Several tests ------------------------------------------------------------------------------------


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values of a family of tests, adjusted so that one error in all stays as rare as in one.

    Source: Holm 1979.
    """
    p, order = np.array(p_values), np.argsort(p_values, kind="stable")
    factors = np.arange(len(p), 0, -1)
    p[order] = np.maximum.accumulate(np.minimum(1.0, factors * p[order]))
    return [*map(float, p)]
