"""How often an interval of a difference covers the truth, by simulation, and how wide it is.

    python -m benchmarks.coverage
    python -m benchmarks.coverage chosen
    python -m benchmarks.coverage draws
    python -m benchmarks.coverage needed --replications 300

Two rows answer U units of text, each with n seeds. The logit of a right answer is the sum of five
normal numbers: the row's level, the seed, the unit (shared by both rows), the unit in this row, and
the unit in this run. Seeds are small, medium or large: from run to run, a row's share of right
answers has a standard deviation of 0.2, 1 or 4 points. With "one row" the first row has equal
answers in all runs, as from a convex solver, and the second row has medium seeds.

    accuracy   a unit is one answer
    entity F1  a unit is a document. Sizes are log-normal, 1 to 200 gold entities. Right ones are
               binomial, wrong ones Poisson
    Matthews   a unit is an answer of two classes, 70% positive
    spans F1   a unit is a question. Two of five wrong answers share words with the right one
    Pearson    a unit is a gold score. The level is the logarithm of the prediction's precision
    correlations
               the same, by the mean of Pearson and Spearman

The truth is the mean over seeds of the measure on unlimited text, by quadrature. Power is of a
difference of 2.8 standard errors. Rules that are compared:

    one interval  `featbert.analysis.interval`
    two tests     the t interval over paired seeds and the test over text must exclude the value
    sum           variances over seeds and text are added, degrees of freedom by Satterthwaite
    less both     the same, less the part that both variances count
    pooled        the one interval, with one variance of seeds for both rows
    pigeonhole    Owen 2007: seeds and units are drawn with replacement, percentiles
    pigeonhole t  its standard error with the degrees of freedom of "sum"
"""

import argparse
import dataclasses
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, stdtrit
from scipy.stats import rankdata

from featbert.analysis.interval import (
    Estimate,
    contributions,
    difference_estimate,
    half_width,
    moments,
    needed,
    variance,
)
from featbert.tasks.measures import accuracy_of, f1_of, matthews_of, pearson_of, pearson_spearman_of

Array = NDArray[Any]
SEEDS = (3, 5, 10)
UNITS = (30, 300, 2000)
# Standard deviation of the share of right answers over seeds.
SPREADS = {
    "small": (0.002, 0.002),
    "medium": (0.01, 0.01),
    "large": (0.04, 0.04),
    "one row": (0.0, 0.01),
}
CHOSEN, TODAY = "one interval", "two tests"
# Share of wrong answers to questions that share words with the right one.
PARTLY = 0.4
# Logits: levels of the two rows, and standard deviations of unit, unit in row and unit in run.
LEVELS = (1.6, 1.8)
UNIT, IN_ROW, IN_RUN = 1.5, 0.7, 0.7
TOTAL = float(np.sqrt(UNIT**2 + IN_ROW**2 + IN_RUN**2))
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(41)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
RESAMPLES = 200
# Rules are compared on texts of as many units at most, as bootstraps are slow.
MOST_DRAWN = 300
CHUNK = 200_000  # answers


def share_right(level: Array) -> Array:
    """(...) share of right answers of rows with such levels on unlimited text."""
    return np.asarray(expit(np.asarray(level)[..., None] + TOTAL * NODES) @ WEIGHTS)


def seed_deviation(level: float, spread: float) -> float:
    """Standard deviation of seeds on the logit, from its value on the share of right answers."""
    slope = float((share_right(np.array(level + 1e-3)) - share_right(np.array(level))) / 1e-3)
    return spread / slope


# Models -------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Model:
    """A measure with its true model.

    `text` draws what both rows share, in the shape (R, 1, U). `answers` draws counts (R, n, U, K)
    from the text, levels of runs (R, n, 1) and noise of their units (R, n, U). `truth` is the
    measure of runs with levels (...) on unlimited text.
    """

    of: Callable[[Array], Array]
    text: Callable[[np.random.Generator, tuple[int, ...]], Array]
    answers: Callable[[np.random.Generator, Array, Array, Array], Array]
    truth: Callable[[Array], Array]


def _no_text(random: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return np.zeros(shape)


def _answers(random: np.random.Generator, text: Array, levels: Array, noise: Array) -> Array:
    right = random.random(noise.shape, np.float32) < expit(levels + noise)
    return np.stack([right, np.ones_like(right)], -1).astype(np.float64)


def _overlaps(random: np.random.Generator, text: Array, levels: Array, noise: Array) -> Array:
    right = random.random(noise.shape, np.float32) < expit(levels + noise)
    partly = random.beta(2, 3, noise.shape) * (random.random(noise.shape) < PARTLY)
    return np.stack([np.where(right, 1, partly), np.ones_like(partly)], -1)


def _overlaps_truth(levels: Array) -> Array:
    return 1 - (1 - share_right(levels)) * (1 - PARTLY * 2 / 5)


def _document_sizes(random: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return np.clip(np.exp(1.7 + 0.9 * random.standard_normal(shape)).round(), 1, 200)


def _entities(random: np.random.Generator, text: Array, levels: Array, noise: Array) -> Array:
    share = expit(levels + noise).astype(np.float64)
    gold = np.broadcast_to(text, share.shape)
    right = random.binomial(gold.astype(np.int64), share)
    wrong = random.poisson(0.9 * gold * (1 - share))
    return np.stack([right, right + wrong, gold], -1)


def _entities_truth(levels: Array) -> Array:
    share = share_right(levels)
    return 2 * share / (share + 0.9 * (1 - share) + 1)


def _gold_classes(random: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return random.random(shape) < 0.7


def _classes(random: np.random.Generator, text: Array, levels: Array, noise: Array) -> Array:
    gold = np.broadcast_to(text, noise.shape)
    right = random.random(noise.shape, np.float32) < expit(levels + noise + 0.8 * gold - 0.56)
    positive = right == gold
    columns = [right, np.ones_like(right), ~positive, positive, ~gold, gold]
    return np.stack(columns, -1).astype(np.float64)


def _classes_truth(levels: Array) -> Array:
    found, rejected = 0.7 * share_right(levels + 0.24), 0.3 * share_right(levels - 0.56)
    right, positive, ones = found + rejected, found + 0.3 - rejected, np.ones_like(found)
    return matthews_of(np.stack([right, ones, 1 - positive, positive, 0.3 * ones, 0.7 * ones], -1))


def _gold_scores(random: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return random.standard_normal(shape)


def _scores(random: np.random.Generator, text: Array, levels: Array, noise: Array) -> Array:
    gold = np.broadcast_to(text, noise.shape)
    return _sums(gold + np.exp(-levels / 2) * noise, gold)


def _scores_and_ranks(
    random: np.random.Generator, text: Array, levels: Array, noise: Array
) -> Array:
    gold = np.broadcast_to(text, noise.shape)
    x = gold + np.exp(-levels / 2) * noise
    return np.concatenate(
        [_sums(x, gold), _sums(rankdata(x, axis=-1), rankdata(gold, axis=-1))], -1
    )


def _sums(x: Array, y: Array) -> Array:
    return np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], -1)


def _scores_truth(levels: Array) -> Array:
    return 1 / np.sqrt(1 + TOTAL**2 * np.exp(-levels))


def _correlations_truth(levels: Array) -> Array:
    """Spearman's correlation of two normal numbers: Pearson 1907."""
    pearson = _scores_truth(levels)
    return (pearson + 6 / np.pi * np.arcsin(pearson / 2)) / 2


MODELS = {
    "accuracy": Model(accuracy_of, _no_text, _answers, share_right),
    "entity F1": Model(f1_of, _document_sizes, _entities, _entities_truth),
    "Matthews": Model(matthews_of, _gold_classes, _classes, _classes_truth),
    "Pearson": Model(pearson_of, _gold_scores, _scores, _scores_truth),
    "spans F1": Model(accuracy_of, _no_text, _overlaps, _overlaps_truth),
    "correlations": Model(
        pearson_spearman_of, _gold_scores, _scores_and_ranks, _correlations_truth
    ),
}
# All rules are compared by the first measures.
WITH_ALL_RULES = 4

# Simulation ---------------------------------------------------------------------------------------

Pair = tuple[float, float]


def rows_of_counts(
    model: Model,
    random: np.random.Generator,
    shape: tuple[int, int, int],
    spreads: Sequence[float],
    levels: Sequence[float] = LEVELS,
    correlation: float = 0.0,
) -> list[tuple[Array, Array]]:
    """For each row counts (R, n, U, K) and the levels of runs (R, n), given R, n and U.

    `correlation` of the rows' seeds, if all rows have different answers in their runs.
    """
    replications, runs, units = shape
    text = model.text(random, (replications, 1, units))
    shared = UNIT * random.standard_normal((replications, 1, units), np.float32)
    draws = random.standard_normal((replications, runs, 1), np.float32) if correlation else 0.0
    rows = []
    for level, spread in zip(levels, spreads, strict=True):
        # A row that answers alike in all runs is drawn once.
        drawn = (replications, runs if spread else 1)
        own = random.standard_normal((*drawn, 1), np.float32)
        seeds = correlation**0.5 * draws + (1 - correlation) ** 0.5 * own
        levels_of_runs = level + seed_deviation(level, spread) * seeds
        noise = shared + IN_ROW * random.standard_normal(shared.shape, np.float32)
        noise = noise + IN_RUN * random.standard_normal((*drawn, units), np.float32)
        counts = model.answers(random, text, levels_of_runs, noise)
        times = runs // drawn[1]
        rows.append((counts.repeat(times, 1), levels_of_runs[..., 0].repeat(times, 1)))
    return rows


def true_difference(model: Model, spreads: Pair) -> float:
    """The second row's mean over seeds on unlimited text, less the first's."""
    first, second = (true_score(model, *row) for row in zip(LEVELS, spreads, strict=True))
    return second - first


def true_score(model: Model, level: float, spread: float) -> float:
    """A row's mean over seeds on unlimited text."""
    return float(model.truth(level + seed_deviation(level, spread) * NODES) @ WEIGHTS)


@dataclasses.dataclass(frozen=True)
class Cell:
    """R replications of a cell.

    Attributes:
        error: (R,) difference less the truth.
        over_seeds: (R,) half the t interval over paired seeds.
        over_text: (R,) mean square of contributions over units, through U.
        halves: by rule, the distances (R,) below and above the difference that it includes.
    """

    error: Array
    over_seeds: Array
    over_text: Array
    runs: int
    units: int
    halves: dict[str, tuple[Array, Array]]

    def includes(self, rule: str, distance: float = 0.0) -> Array:
        """(R,) whether the interval includes the truth, or a value that is so much lower."""
        error = self.error + distance
        if rule != TODAY:
            below, above = self.halves[rule]
            return (error <= below) & (error >= -above)
        # The normal limit of exchanging units at random, which vary around no difference.
        over_text = 1.96 * np.sqrt(self.over_text + error**2 / self.units)
        return (abs(error) <= self.over_seeds) | (abs(error) <= over_text)

    def width(self, rule: str) -> float:
        """Median half of the interval. Two tests have the wider one of two intervals."""
        if rule == TODAY:
            return float(np.median(np.maximum(self.over_seeds, 1.96 * np.sqrt(self.over_text))))
        return float(np.median(np.mean(self.halves[rule], axis=0)))


def cells(model: Model, spreads: Pair, units: int, replications: int, seed: int) -> dict[int, Cell]:
    """A cell for each number of seeds. Few seeds are the first ones of many."""
    random = np.random.default_rng([seed, units])
    truth, most = true_difference(model, spreads), max(SEEDS)
    size = max(1, CHUNK // (units * most))
    chunks: dict[int, list[Cell]] = {runs: [] for runs in SEEDS}
    for start in range(0, replications, size):
        shape = (min(size, replications - start), most, units)
        rows = rows_of_counts(model, random, shape, spreads)
        parts = [contributions(counts, model.of) for counts, _ in rows]
        for runs in SEEDS:
            first_runs = [(v[:, :runs], deviations[:, :runs]) for v, deviations in parts]
            chunks[runs].append(_cell(first_runs, truth, random))
    return {runs: _joined(pieces) for runs, pieces in chunks.items()}


def _joined(pieces: list[Cell]) -> Cell:
    def joined(values: list[Array]) -> Array:
        return np.concatenate(values)

    return Cell(
        joined([piece.error for piece in pieces]),
        joined([piece.over_seeds for piece in pieces]),
        joined([piece.over_text for piece in pieces]),
        pieces[0].runs,
        pieces[0].units,
        {
            rule: (
                joined([piece.halves[rule][0] for piece in pieces]),
                joined([piece.halves[rule][1] for piece in pieces]),
            )
            for rule in pieces[0].halves
        },
    )


def _cell(rows: list[tuple[Array, Array]], truth: float, random: np.random.Generator) -> Cell:
    first, second = (moments(*row) for row in rows)
    runs, units = rows[0][1].shape[1:]
    one = variance([first, second])
    half = half_width(one.seeds + one.text, one.df)
    parts = [row.over_seeds / runs for row in (first, second)]
    both = (first.residual + second.residual) / runs
    total = parts[0] + parts[1]
    seeds = np.maximum(total - both, 0)
    squares = np.maximum((parts[0] ** 2 + parts[1] ** 2) / (runs - 1), 1e-300)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.nan_to_num(np.minimum(np.sqrt(seeds * total) / (one.text + seeds), 1))
    pooled = 1 / (share / (2 * runs - 2) + (1 - share) ** 2 / (units - 1))

    def symmetric(squared: Array, df: Array) -> tuple[Array, Array]:
        half = stdtrit(df, 0.975) * np.sqrt(squared)
        return half, half

    def satterthwaite(squared: Array) -> Array:
        return np.asarray(squared**2 / (squares + one.text**2 / (units - 1)))

    difference = second.value - first.value
    pigeonhole: dict[str, tuple[Array, Array]] = {}
    if units <= MOST_DRAWN:
        draws = _pigeonhole(rows, random) - difference[:, None]
        low, high = np.quantile(draws, [0.025, 0.975], axis=1)
        pigeonhole["pigeonhole"] = -low, high
        df = satterthwaite(one.text + total)
        pigeonhole["pigeonhole t"] = symmetric(draws.var(1), df)
    paired = rows[1][0] - rows[0][0]
    return Cell(
        error=difference - truth,
        over_seeds=stdtrit(runs - 1, 0.975) * paired.std(-1, ddof=1) / runs**0.5,
        over_text=one.text * (units - 1) / units,
        runs=runs,
        units=units,
        halves={
            CHOSEN: (half, half),
            "sum": symmetric(one.text + total, satterthwaite(one.text + total)),
            "less both": symmetric(one.text + seeds, satterthwaite(one.text + seeds)),
            "pooled": symmetric(one.text + seeds, pooled),
            **pigeonhole,
        },
    )


def _pigeonhole(rows: list[tuple[Array, Array]], random: np.random.Generator) -> Array:
    """(R, B) differences, with the seeds of each row and the units drawn with replacement."""
    replications, runs, units = rows[0][1].shape
    by_unit = random.multinomial(units, np.full(units, 1 / units), RESAMPLES) / units
    total: Array = np.zeros((replications, RESAMPLES))
    for (values, deviations), sign in zip(rows, (-1, 1), strict=True):
        by_run = random.multinomial(runs, np.full(runs, 1 / runs), RESAMPLES) / runs
        drawn = values[..., None] + deviations @ by_unit.T
        total += sign * np.einsum("rnb,bn->rb", drawn, by_run)
    return total


# Rows that dev chooses ----------------------------------------------------------------------------

# Numbers of frozen and of tuned rows.
SIDES = ((1, 1), (4, 1), (8, 1), (16, 1), (4, 4), (8, 4))
# Levels of the rows of a side are so far apart: equal rows, and about one point.
STEPS = (0.0, 0.08)


def chosen_by_dev(
    key: tuple[str, str],
    sides: tuple[int, int],
    shape: tuple[int, int, int],
    step: float,
    seed: int,
) -> tuple[Array, Array]:
    """Whether intervals on test cover the difference of the best rows by dev of both sides.

    Args:
        shape: R replications, n seeds, and U units of dev and of test.
        step: by how much the level of a row is above the one before, on each side.

    Returns:
        (R,) of the interval of one test, and of Holm's test of each row against the best one if no
        other difference is significant.
    """
    (model, pair), (replications, runs, units) = (MODELS[key[0]], SPREADS[key[1]]), shape
    random, n_rows = np.random.default_rng([seed, *sides, *shape]), sum(sides)
    levels = [LEVELS[0] + step * place for n in sides for place in range(n)]
    truth = np.array([true_score(model, level, pair[1]) for level in levels])
    alone, together = list[Array](), list[Array]()
    size = max(1, CHUNK // (units * runs))
    for start in range(0, replications, size):
        of_chunk = min(size, replications - start), runs, 2 * units
        rows = rows_of_counts(model, random, of_chunk, [pair[1]] * n_rows, levels)
        counts = np.stack([of_row for of_row, _ in rows])  # (rows, R, n, 2 U, K)
        on_dev = model.of(counts[..., :units, :].sum(-2)).mean(-1)
        best = on_dev[: sides[0]].argmax(0), sides[0] + on_dev[sides[0] :].argmax(0)
        places = np.arange(of_chunk[0])
        first, second = (
            moments(*contributions(counts[row, places][..., units:, :], model.of)) for row in best
        )
        spread = variance([first, second])
        error = abs(second.value - first.value - (truth[best[1]] - truth[best[0]]))
        for covered, n_tests in ((alone, 1), (together, n_rows - 1)):
            level = 1 - 0.05 / n_tests
            covered.append(error <= half_width(spread.seeds + spread.text, spread.df, level))
    return np.concatenate(alone), np.concatenate(together)


# Rows that learn from the same draws --------------------------------------------------------------

# Of the seeds of two rows, as far as both learn from the part of train that a seed drew.
CORRELATIONS = (0.0, 0.5, 0.9)


def with_same_draws(
    key: tuple[str, str], correlation: float, shape: tuple[int, int, int], seed: int
) -> Array:
    """Whether intervals cover the truth, and half their widths: (2, 2, R).

    First of independent rows, then of rows that are subtracted seed by seed. `shape`: R, n, U.
    """
    (model, spreads), (replications, runs, units) = (MODELS[key[0]], SPREADS[key[1]]), shape
    random, truth = np.random.default_rng([seed, runs, units]), true_difference(model, spreads)
    size, chunks = max(1, CHUNK // (units * runs)), list[Array]()
    for start in range(0, replications, size):
        of_chunk = min(size, replications - start), runs, units
        rows = rows_of_counts(model, random, of_chunk, spreads, correlation=correlation)
        first, second = (contributions(counts, model.of) for counts, _ in rows)
        independent = [moments(*first), moments(*second)]
        together = [moments(second[0] - first[0], second[1] - first[1])]
        error = together[0].value - truth
        spreads_of_rules = [variance(of_rows) for of_rows in (independent, together)]
        halves = [half_width(v.seeds + v.text, v.df) for v in spreads_of_rules]
        chunks.append(np.array([[abs(error) <= half, half] for half in halves]))
    return np.concatenate(chunks, -1)


# What would settle it -----------------------------------------------------------------------------

MORE_SEEDS, TIMES_TEXT = 40, 8
# The second row's level above the first's: no difference, and about 1, 2 and 3 points.
GAPS = (0.0, 0.08, 0.16, 0.25)


@dataclasses.dataclass
class Advice:
    """What followed on the advice of `needed`.

    Attributes:
        settled_first: tries that were settled without more.
        settled: for each other try with advice that was simulated, whether it was settled then.
        amounts: the advice of these tries: more seeds, or more text as a multiple of the text.
        settled_by_most: for tries without advice, or with more than was simulated, whether the
            most that was simulated settled them.
    """

    settled_first: int = 0
    settled: list[bool] = dataclasses.field(default_factory=list)
    amounts: list[float] = dataclasses.field(default_factory=list)
    settled_by_most: list[bool] = dataclasses.field(default_factory=list)


def follow(
    shape: tuple[int, int], spread: float, gap: float, *, text: bool, tries: int, seed: int
) -> Advice:
    """Asks how many more seeds, or how much more text, then adds them to n seeds and U units."""
    random = np.random.default_rng([seed, *shape, text])
    model, (runs, units) = MODELS["accuracy"], shape
    most = (runs, units * TIMES_TEXT) if text else (runs + MORE_SEEDS, units)
    advice = Advice()
    for _ in range(tries):
        levels = (LEVELS[0], LEVELS[0] + gap)
        rows = rows_of_counts(model, random, (1, *most), (spread, spread), levels)
        before = _difference(rows, runs, units)
        proposal = needed(before)
        more = proposal.units if text else proposal.seeds
        if more == 0:
            advice.settled_first += 1
        elif more is None or more > (most[1] - units if text else MORE_SEEDS):
            advice.settled_by_most.append(_difference(rows, *most).p_value < 0.05)
        else:
            then = (runs, units + more) if text else (runs + more, units)
            advice.settled.append(_difference(rows, *then).p_value < 0.05)
            advice.amounts.append(more / units if text else more)
    return advice


def _difference(rows: list[tuple[Array, Array]], runs: int, units: int) -> Estimate:
    first, second = (counts[0, :runs, :units] for counts, _ in rows)
    return difference_estimate(first, second, accuracy_of)


# Tables -------------------------------------------------------------------------------------------


def percent(shares: Array | list[float] | list[bool]) -> str:
    """The mean share; a dash without any."""
    return f"{100 * np.mean(shares):.1f}" if len(shares) else "–"


def percents(cells: Sequence[Array]) -> str:
    """The lowest and the highest mean share of several cells."""
    shares = [cell.mean() for cell in cells]
    return f"{percent([min(shares)])} to {percent([max(shares)])}"


def table(head: list[str], lines: Iterable[list[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _line(key: tuple[str, str], replications: int, seed: int) -> list[Cell]:
    """The cells of a measure and a variance of seeds, by units and seeds."""
    model, pair = MODELS[key[0]], SPREADS[key[1]]
    by_units = [cells(model, pair, units, replications, seed) for units in UNITS]
    return [cell for by_runs in by_units for cell in by_runs.values()]


def coverage_tables(replications: int, seed: int, processes: int) -> Iterator[str]:
    """Coverage of the interval in each cell, then of all rules on texts of up to `MOST_DRAWN`."""
    keys = list(itertools.product(MODELS, SPREADS))
    lines, all_cells = [], []
    with ProcessPoolExecutor(processes) as pool:
        rows = pool.map(_line, keys, itertools.repeat(replications), itertools.repeat(seed))
        for key, row in zip(keys, rows, strict=True):
            all_cells += row if key[0] in tuple(MODELS)[:WITH_ALL_RULES] else []
            lines.append([*key, *(percent(cell.includes(CHOSEN)) for cell in row)])
            print(*lines[-1], file=sys.stderr, flush=True)
    yield table(["measure", "seeds vary", *(f"{u} × {n}" for u in UNITS for n in SEEDS)], lines)
    lines = []
    for rule in (TODAY, *all_cells[0].halves):
        for runs in SEEDS:
            chosen = [c for c in all_cells if c.runs == runs and c.units <= MOST_DRAWN]
            included = [cell.includes(rule) for cell in chosen]
            widths = [cell.width(rule) / cell.width(CHOSEN) for cell in chosen]
            power = [
                1 - float(cell.includes(rule, 2.8 * cell.error.std()).mean()) for cell in chosen
            ]
            within = sum(0.93 <= cell.mean() <= 0.97 for cell in included)
            figures = [f"{within} of {len(included)}", f"{np.mean(widths):.2f}", percent(power)]
            lines.append([rule, str(runs), percents(included), *figures])
    head = ["rule", "seeds", "coverage", "cells within 93 to 97", "width", "power"]
    yield table(head, lines)


def chosen_tables(replications: int, seed: int, processes: int) -> Iterator[str]:
    """Coverage for rows that dev chose, tested alone, and together with the other rows."""
    keys = [(name, spread) for name in ("accuracy", "entity F1") for spread in tuple(SPREADS)[:3]]
    cases = list(itertools.product(STEPS, SIDES))
    arguments = [
        (key, sides, (replications, runs, 300), step, seed)
        for step, sides in cases
        for runs in SEEDS
        for key in keys
    ]
    with ProcessPoolExecutor(processes) as pool:
        results = iter([*pool.map(chosen_by_dev, *zip(*arguments, strict=True))])
    lines = []
    for step, sides in cases:
        line = [" + ".join(map(str, sides)), "1 point apart" if step else "equal"]
        for _ in SEEDS:
            of_keys = list(itertools.islice(results, len(keys)))
            line += [percents(by_rule) for by_rule in zip(*of_keys, strict=True)]
        lines.append(line)
    rules = [f"{n} seeds, {rule}" for n in SEEDS for rule in ("one test", "with all rows")]
    yield table(["frozen + tuned rows", "rows are", *rules], lines)


def draws_tables(replications: int, seed: int, processes: int) -> Iterator[str]:
    """Coverage for rows whose seeds drew the same parts of train, over texts of all sizes."""
    cases = list(itertools.product([("accuracy", "medium"), ("accuracy", "large")], CORRELATIONS))
    arguments = [
        (key, correlation, (replications, runs, units), seed)
        for key, correlation in cases
        for runs in SEEDS
        for units in UNITS
    ]
    with ProcessPoolExecutor(processes) as pool:
        results = iter([*pool.map(with_same_draws, *zip(*arguments, strict=True))])
    lines = []
    for key, correlation in cases:
        line = [*key, f"{correlation:g}"]
        for _ in SEEDS:
            of_runs = list(itertools.islice(results, len(UNITS)))
            for of_rule in zip(*of_runs, strict=True):
                line.append(percents([covered for covered, _ in of_rule]))
            widths = [np.median(pair[1]) / np.median(one[1]) for one, pair in of_runs]
            line.append(f"{min(widths):.2f} to {max(widths):.2f}")
        lines.append(line)
    rules = ("independent", "seed by seed", "width")
    columns = [f"{n} seeds, {rule}" for n in SEEDS for rule in rules]
    yield table(["measure", "seeds vary", "correlation", *columns], lines)


def needed_tables(tries: int, seed: int, processes: int) -> Iterator[str]:
    """What follows on advice to train more seeds, and to label more text."""
    for text in (False, True):
        lines = []
        for runs, units, spread, gap in itertools.product(
            (3, 5), (300,), ("medium", "large"), GAPS
        ):
            share = SPREADS[spread][0]
            advice = follow((runs, units), share, gap, text=text, tries=tries, seed=seed)
            rows = share_right(np.array([LEVELS[0], LEVELS[0] + gap]))
            amount = f"{np.median(advice.amounts):.2g}" if advice.amounts else "–"
            lines.append(
                [
                    spread,
                    str(runs),
                    f"{100 * (rows[1] - rows[0]):.1f}",
                    percent([advice.settled_first / tries]),
                    percent([len(advice.settled) / tries]),
                    amount,
                    percent(advice.settled),
                    percent(advice.settled_by_most),
                ]
            )
        yield table(
            [
                "seeds vary",
                "seeds",
                "true difference",
                "settled at once",
                "advised",
                "more text, times" if text else "more seeds",
                "then settled",
                "not advised, settled by " + (f"{TIMES_TEXT}×" if text else f"{MORE_SEEDS} more"),
            ],
            lines,
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--replications", type=int, default=2000, help="of each cell")
    parser.add_argument(
        "what", nargs="?", default="coverage", choices=["coverage", "needed", "chosen", "draws"]
    )
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    by_name = {
        "coverage": coverage_tables,
        "needed": needed_tables,
        "chosen": chosen_tables,
        "draws": draws_tables,
    }
    tables = by_name[options.what]
    for text in tables(options.replications, options.seed, options.processes):
        print(text, end="\n\n", flush=True)


if __name__ == "__main__":
    main()
