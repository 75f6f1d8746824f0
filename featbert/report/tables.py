"""The tables of comparisons, of transfer and of published figures."""

import functools
import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from featbert import units
from featbert.analysis.comparison import (
    Breakdown,
    BudgetLead,
    Comparison,
    Comparisons,
    Difference,
    PublishedFigures,
    TransferMatrix,
)
from featbert.analysis.cost import machines_of
from featbert.analysis.frame import comparison_lines, has_value, overview_lines, statistic
from featbert.analysis.interval import FEWEST, LEVEL
from featbert.analysis.published import matrix_rows
from featbert.config import TIMED_SENTENCES
from featbert.encoders.layers import NAMES as LAYER_NAMES
from featbert.encoders.tunings import tuning_title
from featbert.experiments.published import PublishedTable
from featbert.models.registry import POOLINGS
from featbert.report.table import ONLY_WIDE, Column, Table, name_column, score_column
from featbert.text import counted, listed
from featbert.units import NONE, p_value, percent, points, visible

AVERAGE = "average of zero-shot"
# Values by name, a line of a table each.
Lines = Sequence[Mapping[str, Any]]


def _sections(lines: Lines) -> list[bool]:
    """A rule between tunings, unless both have only one row."""
    tunings = [line["tuning"] for line in lines]
    rows = Counter(tunings)
    pairs = itertools.pairwise(tunings)
    return [False, *(a != b and max(rows[a], rows[b]) > 1 for a, b in pairs)]


def _any_value(lines: Lines, name: str) -> bool:
    return any(has_value(line.get(name)) for line in lines)


def comparison_tables(
    comparison: Comparison, *, show: Sequence[str] = (), stats: bool = True
) -> dict[str, list[Table]]:
    """The tables of one comparison by their subject. `scores` has one, others may have none.

    `show` has keys of scores that people see besides the task's measure. `stats`: whether
    differences have a table.
    """
    lines = comparison_lines(comparison)
    return {
        "scores": [_scores_table(comparison, lines, show), *_folds_tables(comparison)],
        "trust": _significance_tables(comparison, lines) if stats else [],
        "scorers": [_scorers_table(comparison, lines)] if comparison.scorers else [],
        "cost": [
            *([_cost_table(comparison, lines)] if comparison.prices else []),
            *([_budget_table(comparison)] if comparison.budgets else []),
        ],
        "where": [_breakdown_table(comparison, lines, part) for part in comparison.breakdowns],
        "published": [_published_table(part) for part in comparison.published],
    }


def tables(comparisons: Comparisons) -> list[Table]:
    """All tables of `viewed` comparisons, one comparison after the other."""
    view, groups = comparisons.view, []
    for comparison in comparisons:
        keys = [key for key in view.show if key in comparison.task.all_columns]
        by_subject = comparison_tables(comparison, show=keys, stats=view.stats)
        groups.append([*itertools.chain(*by_subject.values())])
    return _numbered(groups)


def overview_tables(comparisons: Sequence[Comparison]) -> list[Table]:
    """Features against fine-tuning by corpus and task, if several have both."""
    lines = overview_lines(comparisons)
    if len(lines) < 2:
        return []
    apart = [name for name in ("model", "context") if len({line[name] for line in lines}) > 1]
    chosen_on = " or ".join(dict.fromkeys(line["chosen_on"] for line in lines))
    columns = [
        *map(name_column, ("corpus", *apart)),
        Column("task", "task", right=False, detail=1),
        Column("better", "ahead", tuning_title, right=False),
        Column("p", "p_adjusted", p_value),
        Column("Δ", "difference", points),
        interval_column(),
        Column("features", "features", right=False, detail=2),
        score_column("features score", "features"),
        Column("fine-tuning", "tuned", right=False, detail=2),
        score_column("fine-tuning score", "tuned"),
    ]
    return [
        Table(
            "Features or fine-tuning",
            lines,
            [column for column in columns if _any_value(lines, column.name)],
            f"rows chosen on {chosen_on}, scores of the last split that both have",
            legend=[
                "score: the task's measure, in percent. Δ: features minus fine-tuning, in points",
                "interval: covers other seeds if both rows have three, and other text if "
                "predictions exist. better: the interval excludes 0",
            ][: 1 + _any_value(lines, "ahead")],
        )
    ]


def _numbered(groups: Sequence[Sequence[Table]]) -> list[Table]:
    for number, group in enumerate(groups, 1):
        for table in group if len(groups) > 1 else ():
            table.title = f"{number} of {len(groups)} · {table.title}"
    return [*itertools.chain(*groups)]


def _scores_table(comparison: Comparison, lines: Lines, show: Sequence[str]) -> Table:
    task = comparison.task
    columns = [
        name_column("row", "label"),
        *(name_column(name) for name in comparison.varied),
        Column("seeds", "seeds", detail=1),
    ]
    for key in dict.fromkeys([task.measure.key, *show]):
        names = {split: f"{split}_{key}" for split in comparison.splits}
        for split, name in names.items():
            ahead = comparison.best.get(split, ()) if key == task.measure.key else ()
            best = [place for place, line in enumerate(lines) if line["row"] in ahead]
            columns.append(score_column(f"{split} {task.all_columns[key]}", name, best))
        for split, name in names.items() if key == task.measure.key else ():
            detail = 2 if split == [*names][-1] else 6
            columns.append(_difference_column(split, name, lines, detail))
    columns += [
        Column("trained", "trained_parameters", units.parameters, detail=5),
        Column("operations", "operations", units.operations, detail=4),
        Column("training", "training_seconds_mean", units.duration, detail=3),
        Column("extraction", "extraction_seconds", units.duration, detail=ONLY_WIDE),
        Column("words/s", "text_words_per_second", units.rate, detail=ONLY_WIDE),
        Column("store", "store_bytes", units.size, detail=ONLY_WIDE),
        Column("memory", "peak_memory_bytes", units.size, detail=ONLY_WIDE),
    ]
    about = [
        f"{split} {examples:,} {task.unit}s, {words:,} words"
        for split, (examples, words) in comparison.sizes.items()
    ]
    several = len({corpus for _, corpus in comparison.floors}) > 1
    floors = [
        f"{percent(score)} on {f'{corpus} ' * several}{split}"
        for (split, corpus), score in comparison.floors.items()
    ]
    if floors:
        about.append(f"{task.floor} {', '.join(floors)}")
    return Table(
        comparison.title,
        lines,
        columns,
        " · ".join([*about, f"scorer: {comparison.scorer}"]),
        _sections(lines),
        [*_legend(comparison, show)],
        comparison.remarks,
        comparison.answer,
    )


def _difference_column(split: str, score: str, lines: Lines, detail: int = 0) -> Column:
    """Differences of a score from the baseline, which is named in its own line."""
    baseline_places = {
        place: "baseline"
        for place, line in enumerate(lines)
        if line["is_baseline"] and has_value(line[f"{score}_mean"])
    }
    return Column(
        f"Δ {split}", f"{score}_difference", points, missing=baseline_places, detail=detail
    )


def _folds_tables(comparison: Comparison) -> Iterator[Table]:
    keys = [*(name for name in comparison.varied if name != "corpus"), "label"]
    measure = comparison.task.measure
    names = {split: f"{split}_{measure.key}" for split in comparison.splits}
    for means in comparison.folds:
        columns = [
            *(name_column("row" if name == "label" else name, name) for name in keys),
            Column("folds", "number"),
            *(score_column(f"{split} {measure.name}", name) for split, name in names.items()),
            *(_difference_column(split, name, means.lines) for split, name in names.items()),
        ]
        about = "in percent, mean ± sample standard deviation over folds of means over seeds"
        title = f"Means over folds of {means.corpus} ({means.folds} in all)"
        yield Table(title, means.lines, columns, legend=[about])


def _legend(comparison: Comparison, show: Sequence[str]) -> Iterator[str]:
    rows, task = comparison.rows, comparison.task
    many = any(len(row.runs) > 1 for row in rows)
    spread = ", mean ± sample standard deviation over seeds" if many else ", of one seed"
    keys = dict.fromkeys([task.measure.key, *show])
    yield f"{', '.join(task.all_columns[key] for key in keys)}: in percent{spread}"
    terms = LAYER_NAMES | {name: text for name, text in POOLINGS.items() if name != "none"}
    words = dict.fromkeys(word for row in rows for word in re.findall(r"\w+", row.label))
    if named := [f"{word}: {terms[word]}" for word in words if word in terms]:
        yield f"in row names: {'; '.join(named)}"
    if any(split in row.trained_on for row in rows for split in comparison.splits):
        yield f"{NONE}: not scored, since runs that learned from a split have no score on it"
    if any(row.difference is not None for row in rows):
        scope = " with the same text and encoder" * (sum(row.is_baseline for row in rows) > 1)
        yield f"Δ: difference from the mean of the baseline{scope}, in points"
    yield (
        "trained: trained parameters. operations: one run with extraction of train and dev, "
        "estimated from shapes. training: wall time of one run without extraction"
    )
    if any(row.cost.extraction_seconds is not None for row in rows):
        yield "extraction (of train and dev), store: time and disk, once for all rows"
    yield (
        "words/s: words labelled per second, encoder included. memory: highest peak of all seeds"
    )


def interval_column(prefix: str = "") -> Column:
    """The interval of a difference in points: `[-3.1, +4.2]`."""
    low, high = f"{prefix}low", f"{prefix}high"
    return Column("interval", low, units.short_points, high, "[{}, {}]", joined=True)


def _significance_tables(comparison: Comparison, all_lines: Lines) -> list[Table]:
    lines = [line for line in all_lines if line["baseline_row"] is not None]
    if not lines:  # nothing was tested, or only other pairs of rows
        return []
    baselines = [*dict.fromkeys(line["baseline_row"] for line in lines)]
    columns = [name_column("row")]
    if len(baselines) > 1:
        columns.append(name_column("against", "baseline_row"))
    for split in dict.fromkeys(d.split for d in comparison.differences):
        p_values = [line[f"{split}_p_adjusted"] for line in lines]
        clear = [i for i, p in enumerate(p_values) if p is not None and p < 1 - LEVEL]
        columns += [
            Column(f"Δ {split}", f"{split}_difference", points),
            interval_column(f"{split}_"),
            Column("p", f"{split}_p_adjusted", p_value, best=clear, joined=True),
        ]
    about = [comparison.corpus]
    if len(baselines) == 1:
        about.append(f"baseline: {baselines[0]}")
    if not any(row.is_baseline for row in comparison.rows):
        about.append("no fully tuned row: the best row by dev is the baseline")
    title = f"Differences of {comparison.task.measure.name} from the baseline"
    of_rows = {(line["row"], line["baseline_row"]) for line in lines}
    tested = [d for d in comparison.differences if (d.row, d.baseline) in of_rows]
    legend = [*_trust_legend(tested)]
    return [Table(title, lines, columns, " · ".join(about), _sections(lines), legend)]


def _trust_legend(differences: Sequence[Difference]) -> Iterator[str]:
    yield "Δ: difference from the baseline's mean, in points"
    estimates = [difference.estimate for difference in differences]
    counts = dict.fromkeys(
        f"{d.estimate.units:,} {d.units} of {d.split}"
        for d in differences
        if d.estimate.covers_text
    )
    covered = ["other seeds"] * any(e.covers_seeds for e in estimates)
    covered += [f"other text ({', '.join(counts)})"] * bool(counts)
    yield f"interval: {LEVEL:.0%} over {' and '.join(covered)}"
    if tested_alone := dict.fromkeys(d.row for d in differences if d.alone):
        yield f"tested alone on test, since dev chose them for an answer: {listed(tested_alone)}"
    yield f"{'other' if tested_alone else 'all'} pairs of a split are tested together (Holm)"
    if counts and (seeds_only := [d.row for d in differences if not d.estimate.covers_text]):
        yield f"over other seeds only: intervals of {listed(dict.fromkeys(seeds_only))}"
    yield f"p: below {1 - LEVEL:.2g} exactly if the interval excludes 0"
    if not all(e.covers_seeds for e in estimates):
        yield f"intervals of rows with fewer than {FEWEST} seeds do not cover other seeds"


def _scorers_table(comparison: Comparison, lines: Lines) -> Table:
    columns = [name_column("row")]
    for split in comparison.splits:
        for key, name in comparison.task.scorers.items():
            columns.append(Column(f"{split} {name}", f"{split}_{key}_mean", percent))
            columns.append(Column("Δ", f"{split}_{key}_difference", points, joined=True))
        columns.append(Column("winner", f"{split}_winner", joined=True))
    return Table(
        "Scores by scorer",
        lines,
        columns,
        f"{comparison.corpus} · {comparison.scorer}",
        _sections(lines),
        [
            "in percent; Δ: difference from the baseline's mean by the same scorer, in points",
            "winner: whether all scorers agree which of the two is better, by any margin",
        ],
    )


def _cost_table(comparison: Comparison, lines: Lines) -> Table:
    columns = [
        name_column("row"),
        Column("trained", "trained_parameters", units.parameters, detail=2),
        Column("to keep", "run_bytes", units.size),
        Column("operations once", "flops_once", units.operations),
        Column("a run", "flops_run", units.operations, joined=True),
        Column("cheaper from", "flops_cheaper_from", _from_run, joined=True),
        Column("time once", "seconds_once", units.duration),
        Column("a run", "seconds_run", units.duration, joined=True),
        Column("cheaper from", "seconds_cheaper_from", _from_run, joined=True),
        Column("memory", "peak_memory_bytes", units.size, detail=1),
    ]
    legend = [
        "to keep: size of a run's own weights, without the shared encoder",
        "once: extraction of the words that a row read, for all its runs. a run: training of one "
        "seed, with dev scoring",
        "cheaper from: the number of runs from which features, with extraction, cost less in total "
        "than the same number of tuned runs",
        "operations: estimated from shapes. A multiply-add counts as two",
    ]
    if _any_value(lines, "one_by_one_seconds"):
        columns += [
            Column("one at a time", "one_by_one_seconds", units.duration),
            Column("batched", "batched_seconds", units.duration),
        ]
        machines = "; ".join(machines_of(comparison, "one_by_one"))
        legend.append(
            f"one at a time, batched: time to label {TIMED_SENTENCES:,} {comparison.task.unit}s "
            f"({machines})"
        )
    return Table(
        "Cost",
        lines,
        columns,
        " · ".join([comparison.corpus, *machines_of(comparison)]),
        _sections(lines),
        legend,
    )


def _budget_table(comparison: Comparison) -> Table:
    """A line for each row and for 1, 2, 4, ... and all of its trials."""
    names = ("trials", "operations", "seconds", "dev", "low", "high", "test")
    lines = []
    for curve in comparison.budgets:
        n = len(curve.trials)
        for k in sorted({n, *(2**power for power in range(n.bit_length()))}):
            values = {name: (getattr(curve, name) or [None] * n)[k - 1] for name in names}
            lines.append({"row": curve.row, **values})
    columns = [
        name_column("row"),
        Column("trials", "trials"),
        Column("operations", "operations", units.operations),
        Column("time", "seconds", units.duration),
        Column("best dev", "dev", percent),
        Column("band", "low", percent, "high", "{} to {}"),
        *([Column("its test", "test", percent)] if _any_value(lines, "test") else []),
    ]
    return Table(
        f"Expected best dev {comparison.task.measure.name} by budget of search",
        lines,
        columns,
        " · ".join([comparison.corpus, *machines_of(comparison)]),
        [place > 0 and line["trials"] == 1 for place, line in enumerate(lines)],
        [
            "in percent. best dev: expected best score of that number of random trials. band: its "
            "95% bootstrap interval over trials. its test: test score of the trial chosen on dev",
            "operations, time: cost of that number of average trials, and of one extraction",
            "ahead: the 99% bootstrap interval of the difference excludes 0, with at most half of "
            "a row's trials",
        ],
        [
            f"{curve.row}: {counted(curve.left_out, 'trial was', 'trials were')} pruned or failed "
            "and not counted. The curve shows the other trials, and is too high"
            for curve in comparison.budgets
            if curve.left_out
        ],
        [*map(lead_line, comparison.budget_leads)],
    )


def lead_line(lead: BudgetLead) -> str:
    """Which of two rows is ahead at which budget, in a sentence."""
    show = {**units.SHOWN, "trials": "trial {:,.0f}".format}[lead.currency]
    parts = []
    for start, end, ahead in lead.spans:
        who = f"{ahead} is ahead" if ahead else "it is not clear which is ahead"
        until = "on" if end is None else f"to {show(end)}"
        at = f"at {show(start)}" if end == start else f"from {show(start)} {until}"
        parts.append(f"{who} {at}")
    by = "time" if lead.currency == "seconds" else lead.currency
    return f"by {by}, {lead.row} against {lead.against}: {'; '.join(parts)}"


def _from_run(number: float) -> str:
    return "never" if math.isinf(number) else f"run {number:,.0f}"


def _breakdown_table(comparison: Comparison, lines: Lines, by: Breakdown) -> Table:
    measure = comparison.task.measure
    lines = [line for line in lines if line["row"] in by.rows]
    columns = [name_column("row")]
    for bucket in by.gold:
        name = f"{by.split}_{measure.key}_{by.facet}_{bucket}"
        means = [line[f"{name}_mean"] for line in lines]
        best = [i for i, mean in enumerate(means) if mean == max(means)] if len(means) > 1 else ()
        columns.append(score_column(visible(bucket), name, best))
    sizes = ", ".join(f"{name} {n:,}" for name, n in by.gold.items())
    return Table(
        f"{by.split} {measure.name} by {by.meaning}",
        lines,
        columns,
        f"{comparison.corpus} · in the gold data: {sizes}",
        legend=["; ".join(filter(None, ("in percent", comparison.task.breakdown)))],
    )


def _published_table(figures: PublishedFigures) -> Table:
    table = figures.table
    columns = [name_column("published"), name_column("row")]
    for split in figures.splits:
        name = f"{split}_published"
        columns.append(Column(f"{split} published", name, percent, f"{name}_sd"))
        columns.append(score_column(f"{split} here", f"{split}_here"))
        if _any_value(figures.lines, f"{split}_difference"):
            columns.append(Column("Δ", f"{split}_difference", points, joined=True))
    return Table(
        f"Published: {table.title}",
        figures.lines,
        columns,
        f"{table.source or table.id} · {table.corpus} · verified: {table.verified}",
        legend=["in percent. Δ only if corpus and encoder are the same as in the publication"],
        notes=[note for note in (table.protocol, table.note) if note],
    )


def transfer_tables(
    matrices: Sequence[TransferMatrix], published: Sequence[PublishedTable] = ()
) -> list[Table]:
    """A table for each matrix, then each published one, with the first matrix's order."""
    order = matrices[0].evaluated_on if matrices else ()
    return [
        *_numbered([[_transfer_table(matrix)] for matrix in matrices]),
        *(_published_matrix(table, order) for table in published),
    ]


def _transfer_table(matrix: TransferMatrix) -> Table:
    sizes = "; ".join(
        f"{d.label}: {d.corpus}, {d.sentences:,} sentences, {d.words:,} words"
        for d in matrix.columns
    )
    lines = []
    for row in matrix.rows:
        line: dict[str, Any] = {"trained_on": row.label, "seeds": len(row.seeds)}
        for data, cell in zip(matrix.columns, row.cells, strict=True):
            line |= statistic(data.label, cell.score if cell else None)
        lines.append(line | {AVERAGE: row.average, f"{AVERAGE}_sd": row.average_sd})
    return Table(
        f"{matrix.label} · {matrix.encoding}",
        lines,
        [
            name_column("trained on", "trained_on"),
            Column("seeds", "seeds"),
            *(score_column(visible(label), label) for label in matrix.evaluated_on),
            Column(AVERAGE, AVERAGE, percent, f"{AVERAGE}_sd"),
        ],
        f"transfer to the {matrix.split} split of each corpus · scorer: {matrix.scorer}",
        legend=[
            f"{matrix.task.measure.name} in percent; columns, evaluated on: {sizes}",
            f"{AVERAGE}: mean of a row's scores on data other than its own",
        ],
        notes=matrix.notes,
    )


def _published_matrix(table: PublishedTable, order: Sequence[str]) -> Table:
    percents = [row.test for row in table.rows if isinstance(row.test, dict)]
    columns = dict.fromkeys(name for by_name in percents for name in by_name)
    names = dict.fromkeys([*(name for name in order if name in columns), *columns])
    digits = max(len(str(p).partition(".")[2]) for by_name in percents for p in by_name.values())
    show = functools.partial(percent, digits=digits)
    first = "trained on" if any(row.train for row in table.rows) else "row"
    return Table(
        f"published · {table.title}",
        [{"trained_on": label, **scores} for label, scores in matrix_rows(table)],
        [
            name_column(first, "trained_on"),
            *(Column(visible(name), name, show) for name in names),
        ],
        f"{table.source or table.id} · {table.corpus} · verified: {table.verified}",
        legend=["in percent, as published"],
        notes=[table.note] if table.note else [],
    )
