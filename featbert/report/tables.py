"""Every table of the program: a frame, and how people read its columns."""

from __future__ import annotations

import functools
import itertools
import math
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from featbert.analysis import frame as frames
from featbert.analysis.compare import (
    CLEAR,
    Breakdown,
    BudgetLead,
    Comparison,
    PublishedFigures,
)
from featbert.analysis.cost import machines_of
from featbert.analysis.overview import overview_frame
from featbert.analysis.published import matrix_rows
from featbert.analysis.rows import (
    Way,
    base_name,
    best_of,
    grouped,
    label_conditions,
    listed,
    run_title,
    setting_text,
    signature_line,
    way_labels,
)
from featbert.analysis.transfer import TransferMatrix
from featbert.data.check import check_corpus
from featbert.data.corpus import Corpus
from featbert.encoders.tunings import tuning_title
from featbert.errors import InputError, check_known
from featbert.experiments.published import PublishedTable
from featbert.inference.evaluate import EvaluationRecord, evaluations
from featbert.inference.speed import PER
from featbert.report import units
from featbert.report.summary import few_seeds, verdicts
from featbert.report.units import NONE, p_value, percent, points, visible
from featbert.runs.record import Notes, SearchRecord, read_notes
from featbert.runs.run import FoundRuns, Run, unfinished_run
from featbert.tasks.base import get_task
from featbert.text import counted, natural, unusual

if TYPE_CHECKING:
    import pandas

    from featbert.features.store import FeatureStore

AVERAGE = "average of zero-shot"
# Labels or types that a table of a corpus has; featbert check shows more.
MOST_KINDS = 12
# What is above a table of runs, or a column of it where runs differ in it.
_OF_RUNS = ("corpus", "model", "task")
# Of a class in a run's scores.
_COUNTS = ("gold", "predicted")


class Cell(NamedTuple):
    """A value as people read it, and whether it is marked."""

    text: str
    best: bool = False


@dataclass(frozen=True)
class Column:
    """A view of a frame's column, or of two, such as a mean and its spread.

    Attributes:
        name, second: of the frame's columns.
        joint: what is between the two values.
        best: places of the lines whose value is marked.
        missing: texts of lines without a value.
        joined: whether it means nothing without the column before it.
    """

    head: str
    name: str
    show: Callable[[Any], str] = str
    second: str = ""
    joint: str = " ± "
    best: Iterable[int] = ()
    right: bool = True
    missing: Mapping[int, str] = field(default_factory=dict)
    joined: bool = False

    def cells(self, frame: pandas.DataFrame) -> list[Cell]:
        """The frame's values as people read them."""
        texts = self._texts(frame, self.name)
        shown = [
            self.missing.get(i, NONE) if text is None else text for i, text in enumerate(texts)
        ]
        if self.second:
            pairs = zip(shown, self._texts(frame, self.second), strict=True)
            shown = [one if two is None else f"{one}{self.joint}{two}" for one, two in pairs]
        best = {*self.best}
        return [Cell(visible(text), place in best) for place, text in enumerate(shown)]

    def _texts(self, frame: pandas.DataFrame, name: str) -> list[str | None]:
        pairs = zip(frame[name].tolist(), frame[name].notna(), strict=True)
        return [self.show(value) if there else None for value, there in pairs]


@dataclass
class Table:
    """A table for every format; its texts are made safe to show.

    Attributes:
        sections: whether a rule is drawn before each row.
        legend: what the columns mean, one line each.
    """

    title: str
    frame: pandas.DataFrame
    columns: Sequence[Column]
    subtitle: str = ""
    sections: Sequence[bool] = ()
    legend: Sequence[str] = ()
    notes: Sequence[str] = ()

    def __post_init__(self) -> None:
        self.title, self.subtitle = visible(self.title), visible(self.subtitle)
        self.sections = self.sections or [False] * len(self.frame)
        self.legend = [*map(visible, self.legend)]
        self.notes = [f"note: {visible(note)}" for note in self.notes]

    def rows(self) -> list[tuple[Cell, ...]]:
        """Cells by row."""
        return [*zip(*(column.cells(self.frame) for column in self.columns), strict=True)]


def _names(head: str, name: str = "") -> Column:
    return Column(head, name or head, right=False)


def _scores(head: str, name: str, best: Iterable[int] = ()) -> Column:
    """Scores in percent with their standard deviation over seeds."""
    return Column(head, f"{name}_mean", percent, f"{name}_sd", best=best)


def _sections(frame: pandas.DataFrame) -> list[bool]:
    """A rule between tunings, unless both have a row alone."""
    rows = frame["tuning"].value_counts()
    pairs = itertools.pairwise(frame["tuning"])
    return [False, *(a != b and max(rows[a], rows[b]) > 1 for a, b in pairs)]


def comparison_tables(
    comparison: Comparison, *, show: Sequence[str] = ()
) -> dict[str, list[Table]]:
    """The tables of one comparison by their subject; `scores` has one, others may have none.

    `show` has keys of scores that people see besides the task's measure.
    """
    check_known("score", show, comparison.task.columns)
    frame = comparison.frame()
    # Without a baseline, the best row by dev is what the others are tested against.
    tested = replace(comparison, differences=comparison.differences or comparison.leads)
    return {
        "scores": [_scores_table(comparison, frame, show), *_folds_tables(comparison, frame)],
        "trust": [_significance_table(tested)] if tested.differences else [],
        "scorers": [_scorers_table(comparison, frame)] if comparison.scorers else [],
        "cost": [
            *([_cost_table(comparison, frame)] if comparison.costs else []),
            *([_budget_table(comparison)] if comparison.budgets else []),
        ],
        "where": [_breakdown_table(comparison, frame, one) for one in comparison.breakdowns],
        "published": [_published_table(one) for one in comparison.published],
    }


def tables(comparisons: Sequence[Comparison], *, show: Sequence[str] = ()) -> list[Table]:
    """All tables of several comparisons, one comparison after the other."""
    check_known("score", show, {k: 0 for c in comparisons for k in c.task.columns})
    own = [[key for key in show if key in one.task.columns] for one in comparisons]
    pairs = zip(comparisons, own, strict=True)
    parts = [comparison_tables(one, show=keys).values() for one, keys in pairs]
    return _numbered([[*itertools.chain(*part)] for part in parts])


def overview_tables(comparisons: Sequence[Comparison]) -> list[Table]:
    """Features against fine-tuning by corpus and task, where several have both."""
    frame = overview_frame(comparisons)
    if len(frame) < 2:
        return []
    columns = [
        _names("corpus"),
        *(_names(name) for name in ("model", "context") if frame[name].nunique() > 1),
        _names("task"),
        _names("features"),
        _scores("score", "features"),
        _names("fine-tuning", "tuned"),
        _scores("score", "tuned"),
        Column("Δ", "difference", points),
        Column("over text", "over_text_low", points, "over_text_high", " to "),
        Column("over seeds", "over_seeds_low", points, "over_seeds_high", " to "),
        Column("p (Holm)", "p_adjusted", p_value),
        Column("better", "ahead", tuning_title, right=False),
    ]
    return [
        Table(
            "Features or fine-tuning",
            frame,
            [column for column in columns if frame[column.name].notna().any()],
            "rows chosen on dev; scores of the last split that both have",
            legend=[
                "score: the task's measure, in percent; Δ: features less fine-tuning, in points",
                "over text: with the counts of equal seeds added up; better: significant over text "
                "(p) and over seeds (interval)",
            ][: 1 + frame["ahead"].notna().any()],
        )
    ]


def _numbered(groups: Sequence[Sequence[Table]]) -> list[Table]:
    for number, group in enumerate(groups, 1):
        for table in group if len(groups) > 1 else ():
            table.title = f"{number} of {len(groups)} · {table.title}"
    return [*itertools.chain(*groups)]


def _scores_table(comparison: Comparison, frame: pandas.DataFrame, show: Sequence[str]) -> Table:
    rows, task = comparison.rows, comparison.task
    columns = [
        _names("row", "label"),
        *(_names(name) for name in comparison.varied),
        Column("seeds", "seeds"),
    ]
    for key in dict.fromkeys([task.measure.key, *show]):
        names = {split: f"{split}_{key}" for split in comparison.splits}
        for split, name in names.items():
            best = best_of(rows, split, key)
            columns.append(_scores(f"{split} {task.columns[key]}", name, best))
        for split, name in names.items() if key == task.measure.key else ():
            bases = frame["is_baseline"] & frame[f"{name}_mean"].notna()
            missing = dict.fromkeys(np.flatnonzero(bases).tolist(), "baseline")
            columns.append(Column(f"Δ {split}", f"{name}_difference", points, missing=missing))
    columns += [
        Column("trained", "trained_parameters", units.parameters),
        Column("operations", "training_flops", units.operations),
        Column("training", "training_seconds_mean", units.duration),
        Column("extraction", "extraction_seconds", units.duration),
        Column("words/s", "text_words_per_second", units.rate),
        Column("store", "store_bytes", units.size),
        Column("memory", "peak_memory_bytes", units.size),
    ]
    about = [
        f"{split} {examples:,} {task.unit}s, {words:,} words"
        for split, (examples, words) in comparison.sizes.items()
    ]
    several = len({corpus for corpus, _ in comparison.floors}) > 1
    floors = [
        f"{percent(value)} on {f'{corpus} ' * several}{split}"
        for (corpus, split), value in comparison.floors.items()
    ]
    if floors:
        about.append(f"{task.floor} {', '.join(floors)}")
    return Table(
        comparison.title,
        frame,
        columns,
        " · ".join([*about, f"scorer: {comparison.scorer}"]),
        _sections(frame),
        [*_legend(comparison, show)],
        comparison.notes,
    )


def _folds_tables(comparison: Comparison, frame: pandas.DataFrame) -> Iterator[Table]:
    """Means over folds, where two or more folds of a corpus have the same rows."""
    parts = frame["corpus"].str.extract(r"^(?P<of>.+)-fold-\d+-of-(?P<folds>\d+)$")
    keys = [*(name for name in comparison.varied if name != "corpus"), "label"]
    measure, splits = comparison.task.measure, comparison.splits
    names = {split: f"{split}_{measure.key}" for split in splits}
    means = {f"{n}_mean": (f"{n}_mean", "mean") for n in names.values()}
    means |= {f"{n}_sd": (f"{n}_mean", "std") for n in names.values()}
    means |= {f"{n}_difference": (f"{n}_difference", "mean") for n in names.values()}
    means["is_baseline"] = ("is_baseline", "all")
    for (corpus, folds), found in frame.join(parts).groupby(["of", "folds"], sort=False):
        lines = found.groupby(keys, sort=False).agg(found=("label", "size"), **means).reset_index()
        if lines["found"].max() > 1:
            bases = dict.fromkeys(np.flatnonzero(lines["is_baseline"]).tolist(), "baseline")
            columns = [
                *(_names("row" if name == "label" else name, name) for name in keys),
                Column("folds", "found"),
                *(_scores(f"{split} {measure.name}", name) for split, name in names.items()),
                *(
                    Column(f"Δ {split}", f"{name}_difference", points, missing=bases)
                    for split, name in names.items()
                ),
            ]
            about = "in percent; mean ± sample standard deviation over folds of means over seeds"
            title = f"Means over the {folds} folds of {corpus}"
            yield Table(title, lines, columns, legend=[about])


def _legend(comparison: Comparison, show: Sequence[str]) -> Iterator[str]:
    rows, task = comparison.rows, comparison.task
    many = any(len(row.runs) > 1 for row in rows)
    spread = "; mean ± sample standard deviation over seeds" if many else ", of one seed"
    keys = dict.fromkeys([task.measure.key, *show])
    yield f"{', '.join(task.columns[key] for key in keys)}: in percent{spread}"
    if any(split in row.trained_on for row in rows for split in comparison.splits):
        yield f"{NONE}: not scored; runs that learned from a split have no score of it"
    if any(row.difference is not None for row in rows):
        own = " of the same text and encoder" * (sum(row.is_baseline for row in rows) > 1)
        yield f"Δ: difference from the mean of the baseline{own}, in points"
    yield (
        "trained: trained parameters; operations (estimated from shapes), training (wall time): of "
        "one seed, without extraction"
    )
    if any(row.cost.extraction_seconds is not None for row in rows):
        yield "extraction (of the words that a row read), store: time and disk, once for all rows"
    yield (
        "words/s: words labelled per second, encoder included; memory: highest peak of all seeds"
    )


def _significance_table(comparison: Comparison) -> Table:
    frame = comparison.frame()
    frame = frame[frame["baseline_row"].notna()]
    baselines = frame["baseline_row"].unique()
    columns = [_names("row")]
    if len(baselines) > 1:
        columns.append(_names("against", "baseline_row"))
    for split in dict.fromkeys(d.split for d in comparison.differences):
        clear = np.flatnonzero(frame[f"{split}_p_adjusted"] < CLEAR)
        ends = ((f"over {of}", f"{split}_over_{of}") for of in ("text", "seeds"))
        columns += [
            Column(f"Δ {split}", f"{split}_difference", points),
            *(Column(o, f"{n}_low", points, f"{n}_high", " to ", joined=True) for o, n in ends),
            Column("p", f"{split}_p", p_value, joined=True),
            Column("p (Holm)", f"{split}_p_adjusted", p_value, best=clear, joined=True),
        ]
    base = [f"baseline: {baselines[0]}"] if len(baselines) == 1 else []
    if not any(row.is_baseline for row in comparison.rows):
        base.append("no fully tuned row: the best row by dev is the baseline")
    few = max((len(d.seeds) for d in comparison.differences if d.over_seeds is None), default=0)
    return Table(
        f"Differences of {comparison.task.measure.name} from the baseline",
        frame,
        columns,
        " · ".join([comparison.corpus, *base]),
        _sections(frame),
        [*verdicts(comparison), *_trust_legend(comparison)],
        [few_seeds(few)] if few else [],
    )


def _trust_legend(comparison: Comparison) -> Iterator[str]:
    differences = comparison.differences
    tests = [difference.pooled for difference in differences]
    level = f"{100 * tests[0].level:.0f}%"
    yield "Δ: difference from the baseline's mean over the seeds in common, in points"
    counts = dict.fromkeys(f"{d.pooled.units:,} {d.units} of {d.split}" for d in differences)
    yield f"over text: {level} bootstrap interval over {', '.join(counts)}"
    if any(d.over_seeds for d in differences):
        yield f"over seeds: {level} t interval of the mean difference of runs with equal seeds"
    ways = {"every exchange counted" if t.exact else f"{t.resamples:,} resamples" for t in tests}
    how = " or, where that is less, ".join(sorted(ways))
    yield f"p: two-sided, approximate randomisation, {how}; Holm: for all pairs tested on a split"
    if any(len(d.seeds) > 1 for d in differences):
        yield "over text and p are of the counts of all common seeds added up"


def _scorers_table(comparison: Comparison, frame: pandas.DataFrame) -> Table:
    columns = [_names("row")]
    for split in comparison.splits:
        for key, name in comparison.task.scorers.items():
            best = best_of(comparison.rows, split, key)
            columns.append(Column(f"{split} {name}", f"{split}_{key}_mean", percent, best=best))
            columns.append(Column("Δ", f"{split}_{key}_difference", points, joined=True))
        columns.append(Column("winner", f"{split}_winner", joined=True))
    return Table(
        "Scores by scorer",
        frame,
        columns,
        f"{comparison.corpus} · {comparison.scorer}",
        _sections(frame),
        [
            "in percent; Δ: difference from the baseline's mean by the same scorer, in points",
            "winner: whether all scorers agree which of the two is better, by any margin",
        ],
    )


def _cost_table(comparison: Comparison, frame: pandas.DataFrame) -> Table:
    columns = [
        _names("row"),
        Column("trained", "trained_parameters", units.parameters),
        Column("to keep", "run_bytes", units.size),
        Column("operations once", "flops_once", units.operations),
        Column("a run", "flops_run", units.operations, joined=True),
        Column("cheaper from", "flops_cheaper_from", _from_run, joined=True),
        Column("time once", "seconds_once", units.duration),
        Column("a run", "seconds_run", units.duration, joined=True),
        Column("cheaper from", "seconds_cheaper_from", _from_run, joined=True),
        Column("memory", "peak_memory_bytes", units.size),
    ]
    legend = [
        "to keep: size of a run's own weights, without the shared encoder",
        "once: extraction of what a row read, for all its runs; a run: training one seed, with dev",
        "cheaper from: the number of runs from which features, with extraction, cost less in all "
        "than as many tuned runs",
        "operations: estimated from shapes; a multiply-add counts as two",
    ]
    if frame["one_by_one_seconds"].notna().any():
        columns += [
            Column("one at a time", "one_by_one_seconds", units.duration),
            Column("batched", "batched_seconds", units.duration),
        ]
        where = "; ".join(machines_of(comparison, "one_by_one"))
        legend.append(
            f"one at a time, batched: time to label {PER:,} {comparison.task.unit}s ({where})"
        )
    return Table(
        "Cost",
        frame,
        columns,
        " · ".join([comparison.corpus, *machines_of(comparison)]),
        _sections(frame),
        legend,
    )


def _budget_table(comparison: Comparison) -> Table:
    """A line for each row and for 1, 2, 4, ... and all of its trials."""
    lines, sections = [], []
    for curve in comparison.budgets:
        columns_of = {n: v for n, v in vars(curve).items() if n not in ("row", "test", "left_out")}
        columns_of["test"] = curve.test or [None] * len(curve.trials)
        n = len(curve.trials)
        for k in sorted({n, *(2**power for power in range(n.bit_length()))}):
            lines.append({"row": curve.row, **{n: v[k - 1] for n, v in columns_of.items()}})
            sections.append(k == 1 and len(lines) > 1)
    frame = frames.frame_of(lines)
    columns = [
        _names("row"),
        Column("trials", "trials"),
        Column("operations", "operations", units.operations),
        Column("time", "seconds", units.duration),
        Column("best dev", "dev", percent),
        Column("band", "low", percent, "high", " to "),
        *([Column("its test", "test", percent)] if frame["test"].notna().any() else []),
    ]
    return Table(
        f"Expected best dev {comparison.task.measure.name} by budget of search",
        frame,
        columns,
        " · ".join([comparison.corpus, *machines_of(comparison)]),
        sections,
        [
            *map(lead_line, comparison.budget_leads),
            "in percent; best dev: expected best score of that number of random trials; band: its "
            "95% bootstrap interval over trials; its test: test score of the trial chosen on dev",
            "operations, time: of that number of average trials, and extraction once",
            "ahead: the 99% bootstrap interval of the difference excludes 0, with at most half of "
            "a row's trials",
            *(
                f"{curve.row}: {counted(curve.left_out, 'trial was', 'trials were')} pruned or "
                "failed and not counted; the curve is that of the others, and too high"
                for curve in comparison.budgets
                if curve.left_out
            ),
        ],
    )


def lead_line(lead: BudgetLead) -> str:
    """Which of two rows is ahead at which budget, in a sentence."""
    show = {**units.SHOWN, "trials": "trial {:,.0f}".format}[lead.currency]
    said = []
    for span in lead.spans:
        who = f"{span.ahead} is ahead" if span.ahead else "it is not clear which is ahead"
        end = "on" if span.end is None else f"to {show(span.end)}"
        start = show(span.start)
        said.append(f"{who} at {start}" if span.end == span.start else f"{who} from {start} {end}")
    by = "time" if lead.currency == "seconds" else lead.currency
    return f"by {by}, {lead.row} against {lead.against}: {'; '.join(said)}"


def _from_run(number: float) -> str:
    return "never" if math.isinf(number) else f"run {number:,.0f}"


def _breakdown_table(comparison: Comparison, frame: pandas.DataFrame, by: Breakdown) -> Table:
    measure = comparison.task.measure
    frame = frame[frame["row"].isin([*by.rows])]
    columns = [_names("row")]
    for bucket in by.gold:
        name = f"{by.split}_{measure.key}_{by.facet}_{bucket}"
        means = frame[f"{name}_mean"]
        best = np.flatnonzero(means == means.max()) if len(means) > 1 else ()
        columns.append(_scores(visible(bucket), name, best))
    sizes = ", ".join(f"{name} {n:,}" for name, n in by.gold.items())
    return Table(
        f"{by.split} {measure.name} by {by.meaning}",
        frame,
        columns,
        f"{comparison.corpus} · in the gold data: {sizes}",
        legend=["; ".join(filter(None, ("in percent", comparison.task.breakdown)))],
    )


def _published_table(found: PublishedFigures) -> Table:
    table, frame = found.table, frames.frame_of(found.lines)
    columns = [_names("published"), _names("row")]
    for split in found.splits:
        name = f"{split}_published"
        columns.append(Column(f"{split} published", name, percent, f"{name}_sd"))
        columns.append(_scores(f"{split} here", f"{split}_here"))
        if frame[f"{split}_difference"].notna().any():
            columns.append(Column("Δ", f"{split}_difference", points, joined=True))
    return Table(
        f"Published: {table.title}",
        frame,
        columns,
        f"{table.source or table.id} · {table.corpus} · verified: {table.verified}",
        legend=["in percent; Δ only where corpus and encoder are those of the publication"],
        notes=[note for note in (table.protocol, table.note) if note],
    )


def transfer_tables(
    matrices: Sequence[TransferMatrix], published: Sequence[PublishedTable] = ()
) -> list[Table]:
    """A table for each matrix, then each published one, with the first matrix's order."""
    order = matrices[0].evaluated_on if matrices else ()
    return [
        *_numbered([[_transfer_table(matrix)] for matrix in matrices]),
        *(_published_matrix(one, order) for one in published),
    ]


def _transfer_table(matrix: TransferMatrix) -> Table:
    one = matrix.comparison
    sizes = "; ".join(
        f"{d.label}: {d.corpus}, {d.sentences:,} sentences, {d.words:,} words"
        for d in matrix.columns
    )
    lines = []
    for row in matrix.rows:
        line: dict[str, Any] = {"trained_on": row.label, "seeds": len(row.trained.runs)}
        for data, cell in zip(matrix.columns, row.cells, strict=True):
            line |= frames.statistic(data.label, cell.score if cell else None)
        lines.append(line | {AVERAGE: row.average, f"{AVERAGE}_sd": row.average_sd})
    return Table(
        f"{matrix.label} · {one.encoding}",
        frames.frame_of(lines),
        [
            _names("trained on", "trained_on"),
            Column("seeds", "seeds"),
            *(_scores(visible(label), label) for label in matrix.evaluated_on),
            Column(AVERAGE, AVERAGE, percent, f"{AVERAGE}_sd"),
        ],
        f"transfer to the {matrix.split} split of each corpus · scorer: {one.scorer}",
        legend=[
            f"{one.task.measure.name} in percent; columns, evaluated on: {sizes}",
            f"{AVERAGE}: mean of a row's scores on data other than its own",
        ],
        notes=matrix.notes,
    )


def _published_matrix(one: PublishedTable, order: Sequence[str]) -> Table:
    rows, percents = matrix_rows(one), [row.test for row in one.rows if isinstance(row.test, dict)]
    known = dict.fromkeys(name for by_name in percents for name in by_name)
    names = dict.fromkeys([*(name for name in order if name in known), *known])
    digits = max(len(str(p).partition(".")[2]) for by_name in percents for p in by_name.values())
    show = functools.partial(percent, digits=digits)
    return Table(
        f"published · {one.title}",
        frames.frame_of({"trained_on": label, **scores} for label, scores in rows),
        [
            _names("trained on" if any(row.train for row in one.rows) else "row", "trained_on"),
            *(Column(visible(name), name, show) for name in names),
        ],
        f"{one.source or one.id} · {one.corpus} · verified: {one.verified}",
        legend=["in percent, as published"],
        notes=[one.note] if one.note else [],
    )


def run_lines(
    found: FoundRuns, wanted: Mapping[str, str | None] | None = None, sort: str = "date"
) -> list[dict[str, Any]]:
    """What is known of each run whose fields have the texts of `wanted` in them.

    They are sorted by a column of `runs_table`: dates and scores fall, all else rises.
    """
    lines = [{"run": folder.name, **unfinished_run(folder)} for folder in found.unfinished]
    for line in lines:
        if signature := line.pop("signature", None):
            line["conditions"] = label_conditions(signature)
    lines += [{"run": p.name, "state": "damaged", "reason": r} for p, r in found.problems.items()]
    for run in found:
        r, s = run.record, run.record.signature
        scores = {split: r.score(split) for split in r.scores}
        line = {"run": run.name, "state": "finished", "corpus": s.corpus, "model": s.model}
        line |= {n: getattr(r, n) for n in ("task", "tuning", "layers", "seed", "started")}
        try:
            notes = read_notes(run.folder)
        except InputError as error:
            notes, line["reason"] = Notes(), str(error)
        line |= {"tags": ", ".join(notes.tags), "note": notes.note}
        line |= {"settings": r.settings, "conditions": label_conditions(vars(s))}
        lines.append({**line, "scores": scores, "training_seconds": r.cost.training_seconds})
    parts = {name: part.casefold() for name, part in (wanted or {}).items() if part}

    def fits(line: Mapping[str, Any], name: str, part: str) -> bool:
        text = str(line.get(name) or "").casefold()  # names are found by any part of them
        return text.startswith(part) or (name in ("corpus", "model", "tags") and part in text)

    lines = [line for line in lines if all(fits(line, *part) for part in parts.items())]
    named = [line for line in lines if line.get("tuning")]
    ways = [
        Way(
            tuple(line[name] for name in _OF_RUNS),
            *(line[name] for name in ("tuning", "layers", "settings", "conditions")),
        )
        for line in named
    ]
    for line, row in zip(named, way_labels(ways), strict=True):
        line["row"] = row

    def value(line: Mapping[str, Any]) -> Any:
        at = {**line, **line.get("scores", {})}.get({"date": "started"}.get(sort, sort))
        return natural(at) if isinstance(at, str) else at

    falls = sort not in ("corpus", "model", "row", "seed")
    known = [line for line in lines if value(line) is not None]
    unknown = [line for line in lines if value(line) is None]
    return unknown + sorted(known, key=value, reverse=falls)


def runs_table(lines: Sequence[Mapping[str, Any]]) -> Table:
    """The runs of `run_lines`; what is the same for all is above the table."""
    values = {n: {line[n]: None for line in lines if line.get(n)} for n in _OF_RUNS}
    splits = dict.fromkeys(s for line in lines for s in line.get("scores", ())) or ("dev",)
    measures = ", ".join(dict.fromkeys(get_task(name).measure.name for name in values["task"]))
    states = {place: line["state"] for place, line in enumerate(lines)}
    columns = [
        _names("id"),
        Column("date", "started", lambda text: text[:10], right=False, missing=states),
        *(_names(name) for name, different in values.items() if len(different) > 1),
        _names("row"),
        Column("seed", "seed", joined=True),
        *(Column(split, split, percent, joined=True) for split in splits),
        *([_names("tags")] if any(line.get("tags") for line in lines) else []),
    ]
    cells = (
        {**line, **line.get("scores", {}), "id": line["run"].rpartition("--")[2]} for line in lines
    )
    legend = [f"{measures or 'scores'} in percent"]
    if waiting := sum(state not in ("finished", "damaged") for state in states.values()):
        of_them = "still running or interrupted; scores are the best so far"
        legend.append(f"{counted(waiting, 'unfinished run')}, {of_them}")
    return Table(
        "",
        frames.frame_of(cells, [column.name for column in columns]),
        columns,
        " · ".join(next(iter(same)) for same in values.values() if len(same) == 1),
        legend=legend,
        notes=[f"{line['run']}: {line['reason']}" for line in lines if "reason" in line],
    )


def run_facts(run: Run) -> list[tuple[str, str]]:
    """Names and values: what was trained on what, with what, what it cost; the signature last."""
    r, s, c = run.record, run.record.signature, run.record.cost
    took, memory = units.duration(c.training_seconds), units.size(c.peak_memory_bytes)
    whole = units.parameters(c.total_parameters)
    packing = f", texts {s.packing}" if s.packing else ""
    scheme = f", labels {s.tag_scheme}" * (not run.task.of_texts)
    facts = [
        ("what", run_title(r.tuning, r.layers, r.settings, r.task)),
        ("task", run.task.title),
        ("corpus", f"{s.corpus} ({s.source}), trained on {' and '.join(r.trained_on)}"),
        ("encoder", f"{s.model}, weights {s.encoder_weights[:12]}, {s.pooling} wordpiece"),
        ("context", f"{s.context}, casing {s.casing}{packing}{scheme}"),
        ("seed", str(r.seed)),
        ("settings", ", ".join(f"{k}={v}" for k, v in r.settings.items() if v is not None)),
        ("precision", f"encoder {s.encoder_precision}, training {s.training_precision}"),
        ("scorer", s.scorer),
        ("machine", f"{s.device_name}, {counted(s.threads, 'thread')}"),
        ("started", r.started),
        ("training", f"{took}, {units.operations(c.training_flops)}, peak memory {memory}"),
        ("parameters", f"{units.parameters(c.trained_parameters)} trained of {whole}"),
        ("kept", units.size(c.run_bytes)),
    ]
    if c.extraction_seconds is not None:
        took = units.duration(c.extraction_seconds)
        facts.append(("extraction", f"{took}, {units.size(c.store_bytes)}"))
    if r.mix is not None:
        pairs = zip(r.mix.layers, r.mix.weights, strict=True)
        weights = ", ".join(f"{layer}: {weight:.3f}" for layer, weight in pairs)
        facts.append(("mix", f"{weights}; scale {r.mix.scale:.3f}"))
    if unusual(r.counts):
        facts.append(("unusual", unusual(r.counts)))
    notes = run.notes
    said = {"tags": ", ".join(notes.tags), "note": notes.note}
    facts += [(name, text) for name, text in said.items() if text]
    facts.append(("signature", signature_line([run])))
    return [(name, visible(value)) for name, value in facts]


def store_facts(store: FeatureStore) -> list[tuple[str, str]]:
    """Names and values: what a feature store holds, how it was computed, and its size."""
    m = store.manifest
    facts = [
        ("corpus", f"{m.corpus} ({m.source})"),
        ("encoder", f"{m.model}{', uncased' if m.uncased else ''}"),
        ("weights", m.encoder_weights[:16]),
        ("layers", f"{', '.join(map(str, m.layers))} of 0 to {m.num_layers} (0: embeddings)"),
        ("kept", f"{m.keep}: {', '.join(m.kinds)}"),
        ("vectors", f"{m.hidden_size} numbers, {m.dtype}, {m.pooling} subword, {m.context}"),
        ("computed", f"{m.precision} on {m.device_name}, {m.threads} threads, {m.created}"),
        ("took", f"{units.duration(m.seconds)}, {m.words / max(m.seconds, 1e-9):,.0f} words/s"),
        ("size", units.size(store.file_bytes)),
    ]
    if m.shards:
        facts.append(("shards", f"{len(m.shards):,}, in {store.shards[0].path.parent}"))
    for name, split in m.splits.items():
        sizes = [counted(split.sentences, "sentence"), counted(split.words, "word")]
        facts.append((name, ", ".join([*sizes, *filter(None, [unusual(split.counts)])])))
    return [(name, visible(value)) for name, value in facts]


def facts_table(title: str, facts: Sequence[tuple[str, str]]) -> Table:
    """Names and values as a table."""
    import pandas

    frame = pandas.DataFrame(facts, columns=["name", "value"])
    return Table(title, frame, [Column(" ", name, right=False) for name in frame])


def corpus_table(corpus: Corpus) -> Table:
    """A line for each split: its counts, and each of its most frequent labels or types."""
    found = check_corpus(corpus).splits
    total = sum((Counter(one.labels) for one in found.values()), Counter[str]())
    kinds = sorted(kind for kind, _ in total.most_common(MOST_KINDS))
    lines = [{"split": name, **vars(one), **one.labels} for name, one in found.items()]
    counts = {"sentences": "sentences", "words": "words", "longest": "longest_sentence"}
    columns = [_names("split"), *(Column(head, key, "{:,}".format) for head, key in counts.items())]
    columns += [Column(kind, kind, "{:,}".format) for kind in kinds]
    frame = frames.frame_of(lines, [column.name for column in columns])
    return Table(corpus.name, frame, columns, legend=[f"{corpus.targets} from {corpus.source}"])


def run_scores_table(run: Run) -> Table:
    """A line for each split, called `dev all`, and for each of its classes, with every score.

    So for other data that the run was evaluated on, which are called by their corpus.
    """
    lines: list[dict[str, Any]] = []
    splits = dict(run.record.scores)
    for one, _ in evaluations(run):
        mapped = "".join(f" {old}={new}" for old, new in one.mapping.items())
        splits[f"{one.corpus} {one.split}{mapped}"] = one.scores
    for split, found in splits.items():
        counts = {n: sum(v.get(n, 0) for v in found.by_class.values()) for n in _COUNTS}
        named = {"all": {**found.values, **(counts if found.by_class else {})}, **found.by_class}
        lines += [{"scores": f"{split} {name}", **values} for name, values in named.items()]
    frame = frames.frame_of(lines, ["scores", *run.task.columns, *_COUNTS])
    columns = [_names("scores")]
    columns += [Column(head, key, percent) for key, head in run.task.columns.items()]
    known = [name for name in _COUNTS if frame[name].notna().any()]
    columns += [Column(name, name, "{:,.0f}".format) for name in known]
    sections = [name.endswith(" all") and i > 0 for i, name in enumerate(frame["scores"])]
    return Table(f"Scores of {run.task.title} in percent", frame, columns, sections=sections)


def evaluations_tables(
    found: Iterable[tuple[Run, EvaluationRecord]], notes: Sequence[str]
) -> list[Table]:
    """A table for each task: a line for each run and data that it was evaluated on."""
    tables = []
    for pairs in grouped((run.record.task, (run.record, one)) for run, one in found).values():
        task, scores = get_task(pairs[0][0].task), pairs[0][1].scores
        keys = [key for key in task.columns if key in scores.values][:3]
        lines = [
            {
                "row": run_title(r.tuning, r.layers, r.settings, r.task),
                "seed": r.seed,
                "id": r.name.rpartition("--")[2],
                "on": f"{one.corpus} {one.split}",
                "seconds": one.prediction_seconds + (one.extraction_seconds or 0.0),
                **vars(one.scores),
                **one.scores.values,
            }
            for r, one in pairs
        ]
        columns = [_names("row"), Column("seed", "seed"), _names("id"), _names("scored on", "on")]
        columns += [Column(task.columns[key], key, percent) for key in keys]
        columns += [Column(task.floor, "floor", percent)] * (scores.floor is not None)
        columns += [
            Column(f"{task.unit}s", "examples", "{:,}".format),
            Column("words", "words", "{:,}".format),
            Column("time", "seconds", units.duration),
        ]
        tables.append(Table("", frames.frame_of(lines), columns, legend=["scores in percent"]))
    tables[-1].notes = [f"note: {visible(note)}" for note in notes]
    return tables


def epochs_table(run: Run) -> Table:
    """Loss, dev score and time of each epoch; the one whose weights were kept is marked."""
    history, best = run.record.history, run.record.best_epoch
    marked = [place for place, one in enumerate(history) if one.epoch == best]
    columns = [
        Column("epoch", "epoch", lambda epoch: f"{epoch} best" if epoch == best else str(epoch)),
        Column("train loss", "train_loss", "{:.4f}".format),
        Column("dev", "dev_score", percent, best=marked),
        Column("time", "seconds", units.duration),
    ]
    lines = [{column.name: getattr(one, column.name) for column in columns} for one in history]
    return Table("", frames.frame_of(lines, [column.name for column in columns]), columns)


def experiments_table(files: Mapping[str, Path]) -> Table:
    """Experiment files by name and what they ask."""
    read = ((name, tomllib.loads(path.read_text("utf-8"))) for name, path in files.items())
    lines = [{"name": name, "about": data.get("description", "")} for name, data in read]
    columns = [_names("name"), _names("what it compares", "about")]
    where = "featbert run NAME --dry-run shows the plan; --set data=FOLDER runs it on other text"
    return Table("", frames.frame_of(lines), columns, legend=[where])


def search_line(search: SearchRecord) -> str:
    """What a search chose and among how many; or how many were tried so far."""
    what = base_name(search.tuning, search.layers)
    if search.configuration:
        what += f" ({search.configuration})"
    configurations = counted(len(search.tried), "configuration")
    if search.chosen is None:
        done = sum(one.dev is not None for one in search.tried)
        return f"{what}: {done} of {configurations} tried so far"
    chosen = search.tried[search.chosen]
    settings = listed({name: setting_text(chosen.settings, name) for name in chosen.settings})
    return f"{what}: {settings} chosen on dev ({percent(chosen.dev)}) among {configurations}"
