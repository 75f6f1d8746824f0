"""The tables of docs/explanation/verdicts.md: answers of kept experiments under two rules.

The earlier rule is computed again from scores and kept intervals. Two tests had to reject:

    seeds   the t interval of differences between runs with the same seed, from three seeds on
    text    the exchange of units between the runs of two rows, added up over these seeds, after
            Holm. With many units, or without counts, by its normal limit
"""

import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

from docs.kept import EXPERIMENTS, kept_runs
from featbert.analysis.compare import compare
from featbert.analysis.comparison import (
    Comparison,
    Contest,
    Difference,
    Row,
    best_by_dev,
    rivals,
)
from featbert.analysis.interval import FEWEST, LEVEL, TIE, Of, holm
from featbert.errors import MissingError
from featbert.runs.record import SUFFIX, read_experiment_record
from featbert.runs.results import listed_in
from featbert.runs.run import Run
from featbert.units import interval, p_value, short_points

UNDECIDED, OPEN = "undecided", "not settled"
# With more units the exchange is close to its normal limit.
MOST_UNITS = 100
EXCHANGES = 10_000
_WORDS = {1: "ahead", -1: "behind"}


class Verdict(NamedTuple):
    """The best row by dev against the best one of the other side, under both rules.

    `difference` and `pair` are empty if there is no such pair. `why` is empty if both rules agree.
    """

    experiment: str
    contest: str
    pair: str
    difference: str
    before: str
    after: str
    why: str


class EarlierTests(NamedTuple):
    """The two tests of a pair: None for each that was not possible."""

    over_seeds: tuple[float, float] | None
    over_text: float | None

    @property
    def sign(self) -> int:
        """1 or -1 if both reject that the rows are equal, else 0."""
        if self.over_seeds is None or self.over_text is None or self.over_text >= 1 - LEVEL:
            return 0
        low, high = self.over_seeds
        return (low > 0) - (high < 0)


def seeds_interval(row: Row, base: Row, split: str) -> tuple[float, float] | None:
    """The t interval of a row's lead over another one, in runs with the same seed."""
    scores, others = (
        {run.seed: run.scores[split][r.task.measure.key] for run in r.runs} for r in (row, base)
    )
    leads = [score - others[seed] for seed, score in scores.items() if seed in others]
    if len(leads) < FEWEST:
        return None
    mean, n = statistics.fmean(leads), len(leads)
    half = float(stdtrit(n - 1, (1 + LEVEL) / 2)) * statistics.stdev(leads) / n**0.5
    return mean - half, mean + half


def exchange_p_value(first: NDArray[Any], second: NDArray[Any], of: Of) -> float:
    """Share of random exchanges of units (U, K) after which two rows are as far apart as now."""
    change = (second - first).astype(np.float64)
    coins = np.random.default_rng(0).integers(0, 2, (EXCHANGES, len(change)))
    moved, totals = coins @ change, (first.sum(0), second.sum(0))
    far = (
        abs(of(totals[1] - moved) - of(totals[0] + moved))
        >= abs(of(totals[1]) - of(totals[0])) - TIE
    )
    return float((far.sum() + 1) / (EXCHANGES + 1))


def limit_p_value(difference: Difference) -> float:
    """The normal limit of `exchange_p_value`: exchanged units vary around no difference."""
    estimate = difference.estimate
    units, value = estimate.units, estimate.value
    squared_error = estimate.over_text * (units - 1) / units + value**2 / units
    return 2 * float(ndtr(-abs(value) / squared_error**0.5)) if value else 1.0


def text_tests(
    comparison: Comparison, split: str, runs: Mapping[str, Run]
) -> dict[frozenset[str], float]:
    """p-values over text after Holm, by pairs of rows. `runs` have counts, by name."""
    tested = [d for d in comparison.differences if d.split == split and d.estimate.covers_text]
    adjusted = holm([_text_p_value(d, comparison, runs) for d in tested])
    return {frozenset((d.row, d.baseline)): p for d, p in zip(tested, adjusted, strict=True)}


def _text_p_value(difference: Difference, comparison: Comparison, runs: Mapping[str, Run]) -> float:
    pair = [comparison.row(name) for name in (difference.baseline, difference.row)]
    seeds = {*pair[0].seeds} & {*pair[1].seeds}
    if difference.estimate.units > MOST_UNITS or not seeds:
        return limit_p_value(difference)
    members = [[runs[run.name] for run in row.runs if run.seed in seeds] for row in pair]
    classes = {name for row in members for run in row for name in run.record.signature.entity_types}
    try:
        first, second = (
            np.sum([run.counts(difference.split, sorted(classes)).units for run in row], axis=0)
            for row in members
        )
    except MissingError:
        return limit_p_value(difference)
    return exchange_p_value(first, second, pair[0].task.measure.of)


def why(earlier: EarlierTests, now: Difference, rows: tuple[Row, Row]) -> str:
    """Why the interval says something else than the two tests."""
    estimate = now.estimate
    if earlier.sign and not now.sign:
        excludes_0 = estimate.low > 0 or estimate.high < 0
        return (
            "Holm's correction counts for seeds, too"
            if excludes_0
            else "runs with the same seed are no pairs"
        )
    if not estimate.covers_text:
        return "without predictions text was not tested, now the interval is over seeds"
    if not all(row.has_seed for row in rows) and estimate.covers_seeds:
        return "the one run of a solver stands for every seed"
    if earlier.over_seeds is None:
        return "fewer than three seeds, now the interval is of these runs"
    ends = interval(*earlier.over_seeds)
    if not earlier.over_seeds[0] <= 0 <= earlier.over_seeds[1]:
        return f"p over text was {p_value(earlier.over_text or 0)}"
    return f"over paired seeds it was {ends}, Welch's test has more degrees of freedom"


def verdict(
    comparison: Comparison, contest: Contest, group: list[Row], name: str, runs: Mapping[str, Run]
) -> Verdict:
    """The verdict of a contest among a group of rows, in the experiment with this name."""
    task = comparison.rows[0].task_name
    about = " · ".join(filter(None, (task, contest.about)))
    competing = [row for row in group if row.competes]
    if contest.leader is None:
        return Verdict(name, about, "", "", "no row learned", "no row learned", "")
    leader = comparison.row(contest.leader)
    rival = best_by_dev([row for row in competing if row.frozen != leader.frozen])
    rival = rival or best_by_dev([row for row in competing if row is not leader])
    if rival is None:
        return Verdict(name, about, leader.label, "", "one row", "one row", "")
    pair = f"{leader.label} against {rival.label}"
    difference = comparison.difference(leader, rival, contest.split)
    if difference is None:
        return Verdict(name, about, pair, "", UNDECIDED, "no interval", "")
    tests = text_tests(comparison, contest.split, runs)
    earlier = EarlierTests(
        seeds_interval(leader, rival, contest.split),
        tests.get(frozenset((leader.name, rival.name))),
    )
    before, after = _WORDS.get(earlier.sign, UNDECIDED), _WORDS.get(difference.sign, OPEN)
    shown = f"{short_points(difference.value)} {interval(difference.low, difference.high)}"
    reason = "" if earlier.sign == difference.sign else why(earlier, difference, (leader, rival))
    return Verdict(name, about, pair, shown, before, after, reason)


@cache
def verdicts() -> tuple[Verdict, ...]:
    """Of all kept experiments, by name."""
    return tuple(_verdicts())


def _verdicts() -> Iterator[Verdict]:
    for file in sorted(EXPERIMENTS.glob("*/*.jsonl.xz")):
        kept = {run.name: run for run in kept_runs(file)}
        for path in listed_in(file, f"*{SUFFIX}"):
            record = read_experiment_record(file, path.name.removesuffix(SUFFIX))
            runs = {name: kept[name] for name in record.rows}
            for comparison in compare(runs.values(), groups="task", experiment=record):
                groups = rivals(comparison.rows)
                for contest, group in zip(comparison.contests, groups, strict=True):
                    yield verdict(comparison, contest, group, record.name, runs)


def verdict_table() -> Iterator[str]:
    """A line for each verdict."""
    yield "| experiment | text | best row by dev, and its rival | interval | before | now | why |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for line in verdicts():
        cells = (cell.replace("_", "\\_").replace("|", "\\|") for cell in line)
        yield f"| {' | '.join(cells)} |"


def verdict_counts() -> Iterator[str]:
    """How many verdicts went from which word to which."""
    yield "| before | now | verdicts |"
    yield "| --- | --- | ---: |"
    for (before, now), number in Counter((v.before, v.after) for v in verdicts()).most_common():
        yield f"| {before} | {now} | {number} |"


TABLES: dict[str, Callable[..., Iterator[str]]] = {
    "verdicts": verdict_table,
    "counted verdicts": verdict_counts,
}
