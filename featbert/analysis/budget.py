"""What searching buys: the expected best score on dev against the budget of a random search.

The best of k of n trials is the i-th lowest score x_(i) in C(i-1, k-1) of the C(n, k) subsets. The
mean over all subsets is an unbiased estimate of the expected best of k trials (Tang et al. 2020,
ACL). The mean over draws with replacement (Dodge et al. 2019, EMNLP) is too low.

A row costs its extraction once, and each trial the mean of all. Bands are percentile bootstrap
intervals over trials. Trials of one number are drawn together, as a sampler's seed draws the same
parts of their ranges for all rows. A row is ahead at a budget if the bootstrap interval of the
difference at the level `CLAIM` excludes 0. At most half of each row's trials count, because the
bootstrap of a maximum is too narrow beyond. If a budget has room for more of them, the row would
reach more than is computed. Then only its own lead is reported.
"""

import dataclasses
import itertools
import statistics
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from featbert.analysis.comparison import BudgetCurve, BudgetLead, Comparison, Row, same_task
from featbert.analysis.cost import machines_of
from featbert.analysis.interval import LEVEL, Floats
from featbert.runs.record import SearchRecord, TriedSettings

# Trials of a row, from which on something is said of it.
FEWEST_TRIALS = 8
# Level of differences. In simulations an interval of 99% excludes a true difference of 0 in 1 to 6%
# of searches with 24 or more trials, whether or not trials of one number are correlated. At 95% it
# does in up to 11%.
CLAIM = 0.99
RESAMPLES = 2000


def with_budgets(comparison: Comparison, searches: Sequence[SearchRecord]) -> Comparison:
    """The comparison with curves of the rows that a random search found, and who is ahead.

    `searches` come from the experiments in the runs directories.
    """
    searched = [*_searched(comparison, searches)]
    n_numbers = 1 + max((max(trials) for _, trials, _ in searched), default=0)
    numbers = np.random.default_rng(0).integers(0, n_numbers, (RESAMPLES, 4 * n_numbers))
    resampled, curves = dict[str, Floats](), dict[str, BudgetCurve]()
    for row, trials, left_out in searched:
        samples = _resampled({n: trial.dev or 0.0 for n, trial in trials.items()}, numbers)
        resampled[row.name] = samples
        curves[row.name] = _curve(row, [*trials.values()], left_out, samples)
    currencies = ["operations", "trials", *["seconds"] * (len(machines_of(comparison)) < 2)]
    pairs = [
        (a.name, b.name)
        for (a, *_), (b, *_) in itertools.product(searched, searched)
        if a.frozen and not b.frozen and same_task(a, b)
    ]
    leads = []
    for currency, (a, b) in itertools.product(currencies, pairs):
        spans = tuple(_spans(curves[a], curves[b], resampled[a], resampled[b], currency))
        leads.append(BudgetLead(a, b, currency, spans))
    return dataclasses.replace(
        comparison, budgets=tuple(curves.values()), budget_leads=tuple(leads)
    )


def subset_weights(n: int) -> Floats:
    """(n, n) share of subsets of k = 1..n of n values in which the i-th lowest is the highest."""
    i = np.arange(n, 1, -1)
    rows = []
    for k in range(1, n + 1):  # C(i-2, k-1) / C(i-1, k-1) = (i-k) / (i-1), from k/n for i = n on
        shares = np.cumprod([k / n, *(np.maximum(i - k, 0) / (i - 1))])
        rows.append(shares[::-1])
    return np.array(rows)


def expected_best(scores: Sequence[float]) -> Floats:
    """(n,) the expected highest of k = 1..n scores, drawn without replacement."""
    return subset_weights(len(scores)) @ np.sort(np.asarray(scores, np.float64))


def _searched(
    comparison: Comparison, searches: Sequence[SearchRecord]
) -> Iterator[tuple[Row, dict[int, TriedSettings], int]]:
    """Rows that a random search found, its finished trials by number, and how many others ended.

    Rows with fewer than `FEWEST_TRIALS` finished trials are left out.
    """
    rows = [row for row in comparison.rows if row.trained_on == ("train",)]
    for row in rows:
        names = {run.name for run in row.runs}
        of_row = [
            {n: trial for n, trial in enumerate(search.tried) if trial.state != "waiting"}
            for search in searches
            if search.sampler == "random" and names & {*search.rows}
        ]
        ended = max(of_row, key=len, default={})
        finished = {n: trial for n, trial in ended.items() if trial.dev is not None}
        if len(finished) >= FEWEST_TRIALS:
            yield row, finished, len(ended) - len(finished)


def _resampled(scores: Mapping[int, float], numbers: NDArray[np.int64]) -> Floats:
    """(R, n) `expected_best` of n trials, drawn with replacement from `scores` by number.

    They are the first n in each row of `numbers` (R, N) that these trials have.
    """
    n, trial_numbers = len(scores), np.array([*scores])
    first = np.argsort(~np.isin(numbers, trial_numbers), axis=1, kind="stable")[:, :n]
    # If a row of numbers has fewer of them, other trials take their place.
    places = np.searchsorted(trial_numbers, np.take_along_axis(numbers, first, axis=1)) % n
    best: Floats = np.sort(np.array([*scores.values()])[places], axis=1) @ subset_weights(n).T
    return best


def _curve(row: Row, trials: Sequence[TriedSettings], left_out: int, drawn: Floats) -> BudgetCurve:
    n = len(trials)
    dev = [trial.dev or 0.0 for trial in trials]
    tests = [trial.test for trial in trials if trial.test is not None]
    test = None
    if len(tests) == n:
        # Trials come in any order, so any of those with equal scores may be the chosen one.
        of_equals = [
            statistics.fmean(t for t, d in zip(tests, dev, strict=True) if d == score)
            for score in sorted(dev)
        ]
        test = subset_weights(n) @ np.array(of_equals)
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=0)
    numbers = np.arange(1, n + 1)
    of = {n: np.mean([getattr(t, n) or 0.0 for t in trials]) for n in ("seconds", "operations")}
    arrays = {
        "trials": numbers,
        "operations": (row.cost.extraction_flops or 0.0) + numbers * of["operations"],
        "seconds": (row.cost.extraction_seconds or 0.0) + numbers * of["seconds"],
        "dev": expected_best(dev),
        "low": low,
        "high": high,
    }
    curves = {name: tuple(array.tolist()) for name, array in arrays.items()}
    chosen = None if test is None else tuple(test.tolist())
    return BudgetCurve(row.name, **curves, test=chosen, left_out=left_out)


def _spans(
    one: BudgetCurve, two: BudgetCurve, drawn: Floats, other: Floats, currency: str
) -> Iterator[tuple[float, float | None, str | None]]:
    """Budgets from the first that has room for a trial of each, by who can be said to be ahead."""
    costs = [np.array(getattr(curve, currency)) for curve in (one, two)]
    first = max(cost[0] for cost in costs)
    budgets = sorted({float(cost) for row_costs in costs for cost in row_costs if cost >= first})
    tail = (1 - CLAIM) / 2
    ahead: list[str | None] = []
    for budget in budgets:
        room = [int(np.searchsorted(row_costs, budget, "right")) for row_costs in costs]
        used = [min(n, len(row_costs) // 2) for n, row_costs in zip(room, costs, strict=True)]
        low, high = np.quantile(drawn[:, used[0] - 1] - other[:, used[1] - 1], [tail, 1 - tail])
        whole = [n == budget_room for n, budget_room in zip(used, room, strict=True)]
        leader = one.row if low > 0 and whole[1] else two.row if high < 0 and whole[0] else None
        ahead.append(leader)
    places = [0, *(n for n in range(1, len(ahead)) if ahead[n] != ahead[n - 1])]
    for place, end in itertools.zip_longest(places, places[1:]):
        yield budgets[place], None if end is None else budgets[end - 1], ahead[place]
