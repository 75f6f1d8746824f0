"""A comparison: rows of tuning x layers x settings, with means over seeds and a baseline.

What further analyses add to it are numbers of its rows, by name.

The baseline of a row is the fully tuned row with the best mean score on dev among the rows that
share its freed part of the comparable key and learned from as much: differences are never taken
across texts, encoders or amounts of training text without being asked for.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from featbert.analysis.curves import lead_lines
from featbert.analysis.rows import (
    BASELINE,
    Row,
    Statistic,
    base_name,
    best_by_dev,
    build_rows,
    grouped,
    left_out,
    row_key,
    row_order,
    same_task,
    shared,
    side_by_side,
    why_unlearned,
)
from featbert.errors import InputError, MissingError, nearest
from featbert.runs.grouping import (
    EVALUATED,
    check_comparable,
    comparable_key,
    freed_keys,
    group_comparable,
)
from featbert.runs.run import Run
from featbert.tasks.base import Task
from featbert.text import counted, in_percent, listed, natural

if TYPE_CHECKING:
    import pandas

    from featbert.analysis.resampling import Interval, PairedTest
    from featbert.experiments.published import PublishedTable

# A p-value below it is clear.
CLEAR = 0.05


@dataclass(frozen=True)
class Breakdown:
    """The task's measure of rows by bucket of a facet (`meaning`: in words), on one split.

    `gold` are gold items by bucket, in the order of buckets; where each seed learned from a part of
    its own, the mean over the first row's seeds, rounded. A bucket in which some run has none is
    left out.
    """

    facet: str
    meaning: str
    split: str
    gold: Mapping[str, int]
    rows: Mapping[str, Mapping[str, Statistic]]


@dataclass(frozen=True)
class BudgetCurve:
    """What a row's random search reaches with k = 1..n of its n finished trials.

    Attributes:
        trials: k.
        operations, seconds: that k trials cost, with extraction once.
        dev: expected best score, in [0, 1]; `low` and `high` are its bootstrap band.
        test: expected test score of the trial that dev chooses; None without test scores.
        left_out: trials that were pruned or failed, which n does not count.
    """

    row: str
    trials: tuple[int, ...]
    operations: tuple[float, ...]
    seconds: tuple[float, ...]
    dev: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    test: tuple[float, ...] | None
    left_out: int


@dataclass(frozen=True)
class BudgetSpan:
    """Budgets from `start` to `end` (None: all above): the row ahead, None where not clear."""

    start: float
    end: float | None
    ahead: str | None


@dataclass(frozen=True)
class BudgetLead:
    """A row on features and a tuned row in one currency: "operations", "trials" or "seconds"."""

    row: str
    against: str
    currency: str
    spans: tuple[BudgetSpan, ...]


@dataclass(frozen=True)
class Difference:
    """A row against its baseline on one split, or against the row that leads.

    Attributes:
        seeds: that both have; what follows is of their runs only.
        units: what was resampled: "documents", or what the task has: "sentences", "examples".
        mean: difference of the mean scores.
        over_seeds: the same with its t interval, None for fewer than three seeds.
        pooled: the test of the counts summed over seeds.
        adjusted: the pooled p-value, adjusted for the pairs that were tested on the split.
        uncounted: a results file has the test but no counts, so nobody can compute it again.
    """

    row: str
    baseline: str
    split: str
    seeds: tuple[int, ...]
    units: str
    mean: float
    over_seeds: Interval | None
    pooled: PairedTest
    adjusted: float
    uncounted: bool = False

    @property
    def sign(self) -> int:
        """1 where text and seeds both say that the row is ahead, -1 behind, else 0."""
        if self.over_seeds is None or not (self.holds_on_text and self.holds_over_seeds):
            return 0
        return 1 if self.over_seeds.low > 0 else -1

    @property
    def holds_on_text(self) -> bool:
        """Whether the text says that the two differ."""
        return self.adjusted < CLEAR

    @property
    def holds_over_seeds(self) -> bool | None:
        """Whether the seeds say so; None where there are too few."""
        seeds = self.over_seeds
        return None if seeds is None else not seeds.low <= 0 <= seeds.high


@dataclass(frozen=True)
class PublishedFigures:
    """A published table next to a comparison: a line for each published row, by name of column.

    For each split a line has the `_published` score and its `_published_sd`, `_here_mean` and
    `_here_sd` of the comparison's `row`, and the `_difference` where the two are comparable; None
    for what was not published or not reproduced.
    """

    table: PublishedTable
    splits: tuple[str, ...]
    lines: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class Comparison:
    """Comparable runs side by side.

    Attributes:
        corpus, model, context, scorer: names; several, joined by commas, where they vary.
        sizes: (examples, words) by evaluated split; a split whose text varies is absent.
        floors: what a system without skill gets (`Task.floor`), by corpus and split.
        key: parts of the comparable key that all rows share.
        notes: what a reader should know, one line each: runs left out, unequal seeds.
        published, differences, ...: further analyses (`with_significance`, ...); those of costs and
            scorers are columns of the frame by name, by row.
    """

    rows: tuple[Row, ...]
    task: Task
    splits: tuple[str, ...]
    corpus: str
    model: str
    context: str
    scorer: str
    sizes: Mapping[str, tuple[int, int]]
    key: Mapping[str, str]
    varied: tuple[str, ...]
    notes: tuple[str, ...]
    floors: Mapping[tuple[str, str], float]
    published: tuple[PublishedFigures, ...] = ()
    differences: tuple[Difference, ...] = ()
    leads: tuple[Difference, ...] = ()
    breakdowns: tuple[Breakdown, ...] = ()
    costs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    scorers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    budgets: tuple[BudgetCurve, ...] = ()
    budget_leads: tuple[BudgetLead, ...] = ()

    @property
    def encoding(self) -> str:
        """Encoder and context, and casing where it is not the text's own."""
        casing = self.key.get("casing", "original")
        parts = [self.model, f"context: {self.context}", f"casing: {casing}"]
        return " · ".join(parts[:2] if casing == "original" else parts)

    @property
    def title(self) -> str:
        return f"{self.corpus} · {self.encoding}"

    def __repr__(self) -> str:
        runs = sum(len(row.runs) for row in self.rows)
        size = f"{counted(len(self.rows), 'row')} of {counted(runs, 'run')}"
        return f"<Comparison: {self.title} · {size}>"

    def frame(self, per: Literal["row", "run", "score"] = "row") -> pandas.DataFrame:
        """The comparison as a pandas table, see `featbert.analysis.frame`."""
        from featbert.analysis.frame import comparison_frame

        return comparison_frame(self, per=per)


class Comparisons(list[Comparison]):
    """Comparisons in a list that notebooks show as tables."""


def compare(runs: Iterable[Run], *, against: str | None = None) -> Comparisons:
    """A comparison for each group of comparable runs, such as those of `find_runs(directory)`.

    `against` names the baseline, in place of the best fully tuned row: a row's label, as tables
    show it, or a run of the row. MissingError where there is no such row.
    """
    groups = [(runs, freed_keys(runs[0].record.vary)) for runs in group_comparable(once(runs))]
    return _compared(groups, against)


def compare_runs(
    runs: Iterable[Run], *, vary: Iterable[str] = (), against: str | None = None
) -> Comparison:
    """One comparison of runs that were named one by one; `against` as in `compare`.

    They may differ in `vary` (of `VARYABLE`) besides what their own experiments declare; InputError
    names the other keys in which they do.
    """
    runs = once(runs)
    if not runs:
        raise InputError("no finished run to compare")
    return _compared([(runs, check_comparable(runs, vary=vary))], against)[0]


def compare_tasks(
    runs: Iterable[Run], *, vary: Iterable[str] = (), against: str | None = None
) -> Comparisons:
    """A comparison for each task of runs that belong together; see `compare_runs`."""
    by_task = grouped((run.record.task, run) for run in once(runs)).values()
    if not by_task:
        raise InputError("no finished run to compare")
    return _compared([(group, check_comparable(group, vary=vary)) for group in by_task], against)


def _compared(
    groups: Sequence[tuple[Sequence[Run], frozenset[str]]], against: str | None
) -> Comparisons:
    found = Comparisons(_comparison(runs, freed, against) for runs, freed in groups)
    rows = [row for comparison in found for row in comparison.rows]
    if against is not None and not rows_called(against, rows):
        labels = {row.label: None for row in rows}
        raise MissingError(
            f"no row or run {against!r} is compared{nearest(against, labels)}; rows: "
            f"{', '.join(labels)}"
        )
    return found


def rows_called(name: str, rows: Iterable[Row]) -> list[Row]:
    """Rows with this label, or a run of this name; else those whose label begins with it."""
    rows = [*rows]
    called = [r for r in rows if name in (r.label, r.name, *(run.name for run in r.runs))]
    return called or [row for row in rows if name == base_name(row.tuning, row.layers)]


def _comparison(runs: Sequence[Run], freed: frozenset[str], against: str | None) -> Comparison:
    members = list(grouped((row_key(run, freed), run) for run in runs).values())
    rows = build_rows(members, freed)
    by_layer = any((row.layers or "").startswith("layer:") for row in rows)
    rows.sort(key=lambda row: row_order(row, by_layer))
    named = [] if against is None else rows_called(against, rows)
    rows = [_with_difference(row, rows, named) for row in rows]
    scores = {s: run.record.scores[s] for run in runs for s in run.record.scores}
    splits = tuple(split for split in EVALUATED if split in scores)
    signatures = [run.record.signature for run in runs]
    key = shared([comparable_key(run.record) for run in runs])
    return Comparison(
        rows=tuple(rows),
        task=rows[0].task,
        splits=splits,
        corpus=_names(s.corpus for s in signatures),
        model=_names(s.model for s in signatures),
        context=_names(s.context for s in signatures),
        scorer=_names(s.scorer for s in signatures),
        sizes={s: (scores[s].examples, scores[s].words) for s in splits if f"{s}.text" in key},
        key=key,
        varied=tuple(rows[0].varied),
        notes=tuple(_notes(rows, runs)),
        floors={
            (run.record.signature.corpus, split): floor
            for split in splits
            for run in runs
            if (scored := run.record.scores.get(split)) and (floor := scored.floor) is not None
        },
    )


def once(runs: Iterable[Run]) -> list[Run]:
    """Each folder once, by name."""
    by_folder = {run.folder.absolute(): run for run in runs}
    return sorted(by_folder.values(), key=lambda run: natural(run.name))


def _names(names: Iterable[str]) -> str:
    """Each name once, the most frequent first."""
    return ", ".join(name for name, _ in Counter(names).most_common())


def _with_difference(row: Row, rows: Sequence[Row], named: Sequence[Row]) -> Row:
    # Encoder and context may differ from those of a named baseline; texts and scorer may not.
    reached = [o for o in named if all(o.data(s) == row.data(s) for s in EVALUATED)]
    tuned = [o for o in rows if o.tuning == BASELINE and same_task(o, row)]
    alike = [o for o in reached if same_task(o, row)]
    base = best_by_dev(alike or reached or tuned)
    if base is None:
        return row
    if base is row:
        return dataclasses.replace(row, baseline=base, is_baseline=True)
    difference = {s: row.mean(s) - base.mean(s) for s in row.splits if s in base.splits}
    return dataclasses.replace(row, baseline=base, difference=difference)


def _notes(rows: Sequence[Row], runs: Sequence[Run]) -> Iterable[str]:
    yield from left_out(rows)
    unlearned: dict[str, list[str]] = {}
    for row in rows:
        for reason, seeds in grouped(
            (why_unlearned(r), str(r.record.seed)) for r in row.runs
        ).items():
            unlearned.setdefault(reason, []).append(f"{row.name}, seed {', '.join(seeds)}")
    yield from (f"{'; '.join(names)}: {reason}" for reason, names in unlearned.items() if reason)
    alone = [row.name for row in rows if row.baseline is None]
    if len(rows) > 1 and not any(row.is_baseline for row in rows):
        yield "no row is fully tuned, so there is no Δ; --against ROW names a baseline"
    elif len(rows) > 1 and alone:
        yield (
            f"no Δ for {listed(alone)}: no baseline was trained on the same text with the same "
            "encoder"
        )
    shares = {row.train_share for row in rows}
    if len(shares) == 1 and shares != {1.0}:
        unit = rows[0].task.unit
        yield f"all rows learned from {in_percent(shares.pop())} of the training {unit}s"
    readings = [run.record.reading for run in runs]
    if drawn := {float(one["dev_share"]) for one in readings if "dev_share" in one}:
        parts = " or ".join(map(in_percent, sorted(drawn)))
        yield f"dev was drawn from train: {parts} of its {rows[0].task.unit}s"
    known = [(row.cost.extraction_words, row.runs[0].record.cost.extraction_words) for row in rows]
    if any(read and whole and read < whole for read, whole in known):
        yield "costs count extraction for the part of train that a row read alone"
    if len({row.seeds for row in rows}) > 1:
        based = [(row, row.baseline) for row in rows if row.baseline is not None]
        unlike = [row.name for row, base in based if row.seeds != base.seeds]
        of = f"Δ of {listed(unlike)} is of unequal seeds" if unlike else "rows have unequal seeds"
        yield f"{of}; tests are of the seeds in common"
    places = Counter(
        f"{run.record.signature.device_name}, threads: {run.record.signature.threads}"
        for run in runs
    )
    if len(places) > 1:
        yield f"run on different hardware ({'; '.join(places)}): scores compare, times do not"
    if side_by_side(runs):
        yield "runs were trained at the same time: on one machine their times are too long"
    yield from lead_lines(rows)
