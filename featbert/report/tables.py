"""Every table of the program: columns of values, and how people read them.

Text, Markdown, LaTeX, CSV and HTML are views of the same `Table`, so they cannot disagree.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from featbert.analysis.breakdown import scorer_notes
from featbert.analysis.compare import Comparison
from featbert.analysis.cost import machines_of
from featbert.analysis.published import PublishedMatrix
from featbert.analysis.resampling import FEWEST
from featbert.analysis.results import Breakdown, PublishedFigures
from featbert.analysis.rows import Row, Statistic, base_name, best_of
from featbert.analysis.transfer import TransferMatrix
from featbert.errors import InputError, nearest
from featbert.report import units
from featbert.report.units import NONE, percent, points, visible
from featbert.runs.experiment_record import SearchRecord
from featbert.runs.run import FoundRuns, Run, unfinished_run
from featbert.tasks.base import Task
from featbert.text import counted, in_percent, unusual

if TYPE_CHECKING:
    import pandas

AVERAGE = "average of zero-shot"
# A p-value below it is marked.
CLEAR = 0.05


@dataclass(frozen=True)
class Cell:
    """A value as people read it, and whether it is marked."""

    text: str
    best: bool = False


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        head: what people read above it.
        values: unrounded, a row each; with `second` pairs, such as a mean and its spread.
        show: a value as text.
        name: in CSV, with the unit in it; the head by default.
        second: name of the second number in CSV.
        joint: what is between the two.
        best: places of the rows whose value is marked.
        missing: texts of rows without a value.
    """

    head: str
    values: Sequence[Any]
    show: Callable[[Any], str] = str
    name: str = ""
    second: str = ""
    joint: str = " ± "
    best: Collection[int] = ()
    right: bool = True
    missing: Mapping[int, str] = field(default_factory=dict)

    def cells(self) -> list[Cell]:
        """The values as people read them."""
        return [self._cell(place, value) for place, value in enumerate(self.values)]

    def _cell(self, place: int, value: Any) -> Cell:
        first, second = value or (None, None) if self.second else (value, None)
        text = self.missing.get(place, NONE) if first is None else self.show(first)
        if second is not None:
            text = f"{text}{self.joint}{self.show(second)}"
        return Cell(visible(text), place in self.best)

    def numbers(self) -> dict[str, list[Any]]:
        """The values by their names in CSV."""
        name = self.name or self.head
        if not self.second:
            return {name: [*self.values]}
        pairs = [value or (None, None) for value in self.values]
        return {name: [one for one, _ in pairs], self.second: [one for _, one in pairs]}


@dataclass
class Table:
    """A table for every format; its texts are made safe to show.

    Attributes:
        sections: whether a rule is drawn before each row.
        legend: what the columns mean, one line each.
        number: of the comparison, from 1.
        frame: what CSV has in place of the columns.
    """

    title: str
    columns: list[Column]
    subtitle: str = ""
    sections: Sequence[bool] = ()
    legend: Sequence[str] = ()
    notes: Sequence[str] = ()
    number: int = 1
    frame: pandas.DataFrame | None = None

    def __post_init__(self) -> None:
        self.title, self.subtitle = visible(self.title), visible(self.subtitle)
        self.sections = self.sections or [False] * len(self.columns[0].values)
        self.legend = [*map(visible, self.legend)]
        self.notes = [f"note: {visible(note)}" for note in self.notes]

    def rows(self) -> list[tuple[Cell, ...]]:
        """Cells by row."""
        return [*zip(*(column.cells() for column in self.columns), strict=True)]


def _names(head: str, values: Sequence[Any], name: str = "") -> Column:
    return Column(head, values, name=name, right=False)


def _scores(
    head: str, scores: Sequence[Statistic | None], name: str, best: Collection[int] = ()
) -> Column:
    """Scores in percent with their standard deviation over seeds."""
    pairs = [score and (score.mean, score.sd) for score in scores]
    return Column(head, pairs, percent, name, f"{name}_sd", best=best)


def _sections(rows: Sequence[Row]) -> list[bool]:
    return [i > 0 and rows[i - 1].tuning != row.tuning for i, row in enumerate(rows)]


# A comparison -------------------------------------------------------------------------------------


def comparison_tables(
    comparison: Comparison, *, show: Sequence[str] = ()
) -> dict[str, list[Table]]:
    """The tables of one comparison by their subject; `scores` has one, others may have none.

    Args:
        show: keys of scores that people see besides the task's measure.
    """
    check_show(show, comparison.task)
    return {
        "scores": [scores_table(comparison, show)],
        "trust": [significance_table(comparison)] if comparison.differences else [],
        "scorers": [scorers_table(comparison)] if comparison.scorers else [],
        "cost": [cost_table(comparison)] if comparison.costs else [],
        "where": [breakdown_table(comparison, one) for one in comparison.breakdowns],
        "published": [published_table(one) for one in comparison.published],
    }


def tables(comparisons: Sequence[Comparison], *, show: Sequence[str] = ()) -> list[Table]:
    """All tables of several comparisons, one comparison after the other."""
    parts = [comparison_tables(one, show=show).values() for one in comparisons]
    return _numbered([[*itertools.chain(*part)] for part in parts])


def _numbered(groups: Sequence[Sequence[Table]]) -> list[Table]:
    for number, group in enumerate(groups, 1):
        for table in group:
            table.number = number
            if len(groups) > 1:
                table.title = f"{number} of {len(groups)} · {table.title}"
    return [*itertools.chain(*groups)]


def check_show(show: Sequence[str], task: Task) -> None:
    """Raises InputError for keys that are no scores of the task."""
    for key in show:
        if key not in task.columns:
            known = ", ".join(task.columns)
            raise InputError(f"unknown score {key!r}{nearest(key, task.columns)}; use {known}")


_COSTS: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("trained_parameters", "trained", units.parameters),
    ("training_seconds_mean", "training", units.duration),
    ("extraction_seconds", "extraction", units.duration),
    ("text_words_per_second", "words/s", units.rate),
    ("store_bytes", "store", units.size),
    ("peak_memory_bytes", "memory", units.size),
)


def scores_table(comparison: Comparison, show: Sequence[str] = ()) -> Table:
    """Scores, differences to the baseline, and costs: people see a part of the whole frame."""
    rows, task, frame = comparison.rows, comparison.task, comparison.frame()
    costs = frame.astype(object).where(frame.notna(), None)
    columns = [
        _names("row", [row.label for row in rows]),
        *(_names(name, [*costs[name]]) for name in comparison.varied),
        Column("seeds", [*costs["seeds"]]),
    ]
    for key in dict.fromkeys([task.measure.key, *show]):
        for split in comparison.splits:
            found = [row.score(split, key) for row in rows]
            best = best_of(rows, split, key)
            columns.append(_scores(f"{split} {task.columns[key]}", found, f"{split}_{key}", best))
        for split in comparison.splits if key == task.measure.key else ():
            less = [(row.difference or {}).get(split) for row in rows]
            bases = [i for i, row in enumerate(rows) if row.is_baseline and split in row.splits]
            missing = dict.fromkeys(bases, "baseline")
            columns.append(Column(f"Δ {split}", less, points, missing=missing))
    columns += [Column(head, [*costs[name]], shown) for name, head, shown in _COSTS]
    sizes = [
        f"{split} {examples:,} sentences, {words:,} words"
        for split, (examples, words) in comparison.sizes.items()
    ]
    return Table(
        comparison.title,
        columns,
        " · ".join([*sizes, f"scorer: {comparison.scorer}"]),
        _sections(rows),
        [*_legend(comparison, show)],
        comparison.notes,
        frame=frame,
    )


def _legend(comparison: Comparison, show: Sequence[str]) -> Iterator[str]:
    rows, task = comparison.rows, comparison.task
    many = any(len(row.runs) > 1 for row in rows)
    spread = "; mean ± sample standard deviation over seeds" if many else ", of one seed"
    keys = dict.fromkeys([task.measure.key, *show])
    yield f"{', '.join(task.columns[key] for key in keys)}: in percent{spread}"
    if any(split in row.trained_on for row in rows for split in comparison.splits):
        yield f"{NONE}: not scored; runs that learned from a split have no score of it"
    if any(row.difference is not None for row in rows):
        several = sum(row.is_baseline for row in rows) > 1
        its = "its baseline, which learned and was scored on the same text"
        yield f"Δ: mean less that of {its if several else 'the baseline'}, in points"
    yield "trained: parameters that training changed; training: mean wall time of a seed"
    if any(row.cost.extraction_seconds is not None for row in rows):
        yield "extraction, store: wall time and disk, paid once for all rows and seeds"
    yield (
        "words/s: words tagged a second from text, extraction included; "
        "memory: peak, the highest of the seeds"
    )


def p_value(p: float) -> str:
    """`0.013`, or `<0.001`."""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _interval(head: str, found: Sequence[Any], name: str) -> Column:
    ends = [one and (one.low, one.high) for one in found]
    return Column(head, ends, points, f"{name}_low", f"{name}_high", " to ")


def significance_table(comparison: Comparison) -> Table:
    """Each row against its baseline: difference, intervals and p-values by split."""
    found = {(d.row, d.split): d for d in comparison.differences}
    against = {d.row: d.baseline for d in comparison.differences}
    baselines = {*against.values()}
    rows = [row for row in comparison.rows if row.name in against]
    columns = [_names("row", [row.name for row in rows])]
    if len(baselines) > 1:
        columns.append(_names("against", [against[row.name] for row in rows], "baseline"))
    for split in comparison.splits:
        here = [found.get((row.name, split)) for row in rows]
        if not any(here):
            continue
        pooled = [d and d.pooled for d in here]
        adjusted = [d.adjusted if d else None for d in here]
        clear = [i for i, p in enumerate(adjusted) if p is not None and p < CLEAR]
        over_seeds = [d and d.over_seeds for d in here]
        difference = [p and p.difference for p in pooled]
        columns += [
            Column(f"Δ {split}", difference, points, f"{split}_difference"),
            _interval("over text", pooled, f"{split}_over_text"),
            _interval("over seeds", over_seeds, f"{split}_over_seeds"),
            Column("p", [p and p.p_value for p in pooled], p_value, f"{split}_p"),
            Column("p (Holm)", adjusted, p_value, f"{split}_p_adjusted", best=clear),
        ]
    base = [f"baseline: {name}" for name in baselines] if len(baselines) == 1 else []
    few = max((len(d.seeds) for d in comparison.differences if d.over_seeds is None), default=0)
    says = counted(few, "seed says", "seeds say")
    note = f"{says} nothing about further seeds; an interval over seeds needs {FEWEST}"
    return Table(
        f"Differences of {comparison.task.measure.name} to the baseline",
        columns,
        " · ".join([comparison.corpus, *base]),
        _sections(rows),
        [*_trust_legend(comparison)],
        [note] if few else [],
    )


def _trust_legend(comparison: Comparison) -> Iterator[str]:
    differences = comparison.differences
    one = differences[0].pooled
    level = f"{100 * one.level:.0f}%"
    pooled = any(len(d.seeds) > 1 for d in differences)
    yield "Δ: in points" + (", counts of all common seeds added up" if pooled else "")
    counts = dict.fromkeys(f"{d.pooled.units:,} {d.units} of {d.split}" for d in differences)
    yield f"over text: {level} bootstrap interval of Δ over {', '.join(counts)}"
    if any(d.over_seeds for d in differences):
        yield f"over seeds: {level} t interval of the mean difference of runs with equal seeds"
    how = "every way to swap counted" if one.exact else f"{one.resamples:,} resamples"
    yield f"p: two-sided, approximate randomisation, {how}; Holm: adjusted for the rows of a split"


def scorers_table(comparison: Comparison) -> Table:
    """Every row's score, and its difference to the baseline, by each scorer."""
    found = {(s.row, s.split): s for s in comparison.scorers}
    rows = comparison.rows
    columns = [_names("row", [row.name for row in rows])]
    for split in comparison.splits:
        here = [found.get((row.name, split)) for row in rows]
        for key, name in comparison.task.scorers.items():
            figures = [s.figures[key] if s else None for s in here]
            best = [i for i, one in enumerate(figures) if one and one.best]
            scores = [one.score if one else None for one in figures]
            columns.append(_scores(f"{split} {name}", scores, f"{split}_{key}", best))
            differences = [one and one.difference for one in figures]
            columns.append(Column("Δ", differences, points, f"{split}_{key}_difference"))
        words = {True: "same", False: "differs", None: None}
        columns.append(
            Column("winner", [s and words[s.agree] for s in here], name=f"{split}_winner")
        )
    return Table(
        "Scores by scorer",
        columns,
        f"{comparison.corpus} · {comparison.scorer}",
        _sections(rows),
        [
            "in percent; Δ: mean less that of the baseline by the same scorer, in points",
            "winner: whether the scorers agree in who is ahead, by however little",
        ],
        scorer_notes(comparison),
    )


def cost_table(comparison: Comparison) -> Table:
    """Seconds and operations of every row, and from which run on features are cheaper."""
    rows = comparison.costs
    columns = [_names("row", [row.row for row in rows])]
    for name, head, show in (
        ("seconds", "time", units.duration),
        ("flops", "operations", units.operations),
    ):
        prices = [getattr(row, name) for row in rows]
        cheaper = [
            row.against and (price.cheaper_from or "never")
            for row, price in zip(rows, prices, strict=True)
        ]
        columns += [
            Column(f"{head} once", [price.once or None for price in prices], show, f"{name}_once"),
            Column("a run", [price.run for price in prices], show, f"{name}_run"),
            Column("cheaper from", cheaper, _from_run, f"{name}_cheaper_from"),
        ]
    return Table(
        "Cost",
        columns,
        " · ".join([comparison.corpus, *machines_of(comparison)]),
        _sections(comparison.rows),
        [
            "once: extraction, for all runs on its vectors; a run: training, with dev scored",
            "cheaper from: the number of runs from which features, extraction included, cost less "
            "than as many tuned runs; it hardly depends on the size of the text",
            "operations: estimated from shapes, a multiply-add counts as two",
        ],
    )


def _from_run(value: int | str) -> str:
    return value if isinstance(value, str) else f"run {value:,}"


def breakdown_table(comparison: Comparison, breakdown: Breakdown) -> Table:
    """A column for each bucket of a facet; the best of each is marked."""
    measure = comparison.task.measure
    columns = [_names("row", [*breakdown.rows])]
    for bucket in breakdown.gold:
        found = [row[bucket] for row in breakdown.rows.values()]
        highest = max(one.mean for one in found)
        best = [i for i, one in enumerate(found) if one.mean == highest and len(found) > 1]
        name = f"{breakdown.split}_{measure.key}_{breakdown.facet}_{bucket}"
        columns.append(_scores(visible(bucket), found, name, best))
    sizes = ", ".join(f"{name} {n:,}" for name, n in breakdown.gold.items())
    return Table(
        f"{breakdown.split} {measure.name} by {breakdown.meaning}",
        columns,
        f"{comparison.corpus} · in the gold data: {sizes}",
        legend=["in percent; a prediction counts where it belongs itself"],
    )


def published_table(found: PublishedFigures) -> Table:
    """Published figures, and those of the comparison's rows next to them."""
    table = found.table
    columns = [
        _names("published", [line.label for line in found.lines]),
        _names("row", [line.row and line.row.name for line in found.lines]),
    ]
    for split in found.splits:
        figures = [line.figures[split] for line in found.lines]
        pairs = [(one.published, one.published_sd) for one in figures]
        name = f"{split}_published"
        columns += [
            Column(f"{split} published", pairs, percent, name, f"{name}_sd"),
            _scores(f"{split} here", [one.reproduced for one in figures], f"{split}_here"),
        ]
        differences = [one.difference for one in figures]
        if any(one is not None for one in differences):
            columns.append(Column("Δ", differences, points, f"{split}_difference"))
    return Table(
        f"Published: {table.title}",
        columns,
        f"{table.source or table.id} · {table.corpus} · verified: {table.verified}",
        legend=["in percent; a difference only where corpus and encoder are the published ones"],
        notes=[note for note in (table.protocol, table.note) if note],
    )


# Transfer -----------------------------------------------------------------------------------------


def transfer_tables(
    matrices: Sequence[TransferMatrix], published: Sequence[PublishedMatrix] = ()
) -> list[Table]:
    """A table for each matrix, then each published one, with the first matrix's order."""
    order = matrices[0].evaluated_on if matrices else ()
    return [
        *_numbered([[_transfer_table(matrix)] for matrix in matrices]),
        *(_published_matrix(one, order) for one in published),
    ]


def _transfer_table(matrix: TransferMatrix) -> Table:
    columns = [
        _names("trained on", matrix.trained_on, "trained_on"),
        Column("seeds", [len(row.trained.runs) for row in matrix.rows]),
    ]
    for place, data in enumerate(matrix.columns):
        cells = [row.cells[place] for row in matrix.rows]
        found = [cell.score if cell else None for cell in cells]
        columns.append(_scores(visible(data.label), found, data.label))
    averages = [(row.average, row.average_sd) for row in matrix.rows]
    columns.append(Column(AVERAGE, averages, percent, second=f"{AVERAGE}_sd"))
    sizes = "; ".join(
        f"{d.label}: {d.corpus}, {d.sentences:,} sentences, {d.words:,} words"
        for d in matrix.columns
    )
    return Table(
        f"{matrix.label} · {matrix.encoding}",
        columns,
        f"transfer to the {matrix.split} split of each language · scorer: {matrix.scorer}",
        legend=[
            f"{matrix.task.measure.name} in percent; columns, evaluated on: {sizes}",
            f"{AVERAGE}: mean of a row's cells on other data than it was trained on",
        ],
        notes=matrix.notes,
    )


def _published_matrix(one: PublishedMatrix, order: Sequence[str]) -> Table:
    languages = [name for name in order if name in one.evaluated_on]
    show = functools.partial(percent, digits=max(row.digits for row in one.rows))
    columns = [_names("trained on", one.trained_on, "trained_on")]
    for language in dict.fromkeys([*languages, *one.evaluated_on]):
        scores = [row.scores.get(language) for row in one.rows]
        columns.append(Column(visible(language), scores, show, language))
    return Table(
        f"published · {one.title}",
        columns,
        f"{one.source} · {one.corpus} · verified: {one.verified}",
        legend=["in percent, as published"],
        notes=[one.note] if one.note else [],
    )


# Runs ---------------------------------------------------------------------------------------------


def _what(tuning: str, layers: str | None, settings: Mapping[str, Any]) -> str:
    """A run without its seed: its name, and how much of train it learned from."""
    share = settings.get("train_share", 1)
    name = base_name(tuning, layers)
    return name if share == 1 else f"{name}, {in_percent(share)} of train"


def runs_table(found: FoundRuns) -> Table:
    """A row for each run, by name: finished, unfinished or damaged."""
    splits = list(dict.fromkeys(split for run in found for split in run.record.scores)) or ["dev"]
    lines: dict[str, dict[str, Any]] = {}
    for run in found:
        r = run.record
        lines[run.name] = {
            "state": "finished",
            "what": _what(r.tuning, r.layers, r.settings),
            "seed": r.seed,
            "training": r.cost.training_seconds,
            **{split: r.score(split) for split in splits},
        }
    for folder in found.unfinished:
        one = unfinished_run(folder)
        lines[folder.name] = {
            "state": f"epoch {one.epochs_done} of {NONE if one.epochs is None else one.epochs}",
            "what": None if one.tuning is None else _what(one.tuning, one.layers, {}),
            "seed": one.seed,
            "training": one.seconds,
            "dev": one.dev_score,
        }
    lines |= {problem.folder.name: {"state": "damaged"} for problem in found.problems}
    names = sorted(lines)
    shown: dict[str, Callable[[Any], str]] = {"state": str, "what": str, "seed": str}
    shown |= {**dict.fromkeys(splits, percent), "training": units.duration}
    columns = [_names("run", names)]
    for name, show in shown.items():
        values = [lines[run].get(name) for run in names]
        columns.append(Column(name, values, show, right=name not in ("state", "what")))
    tasks = ", ".join({run.task.measure.name for run in found})
    return Table(
        "",
        columns,
        legend=[f"{tasks or 'scores'} in percent; of an unfinished run the best so far"],
        notes=[f"{problem.folder.name}: {problem.reason}" for problem in found.problems],
    )


def run_facts(run: Run) -> list[tuple[str, str]]:
    """Names and values: what was trained on what, with what, and what it cost."""
    r, s, c = run.record, run.record.signature, run.record.cost
    facts = [
        ("what", _what(r.tuning, r.layers, r.settings)),
        ("task", run.task.title),
        ("corpus", f"{s.corpus} ({s.source}), trained on {' and '.join(r.trained_on)}"),
        ("encoder", f"{s.model}, weights {s.encoder_weights[:12]}, {s.pooling} wordpiece"),
        ("context", f"{s.context}, casing {s.casing}, labels {s.tag_scheme}"),
        ("seed", str(r.seed)),
        ("settings", ", ".join(f"{k}={v}" for k, v in r.settings.items() if v is not None)),
        ("precision", f"encoder {s.encoder_precision}, training {s.training_precision}"),
        ("scorer", s.scorer),
        ("machine", f"{s.device_name}, {counted(s.threads, 'thread')}"),
        ("started", r.started),
        (
            "training",
            f"{units.duration(c.training_seconds)}, peak memory {units.size(c.peak_memory_bytes)}",
        ),
        ("parameters", f"{units.parameters(c.trained_parameters)} trained"),
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
    return [(name, visible(value)) for name, value in facts]


def run_scores_table(run: Run) -> Table:
    """Each split's scores: all of them, then by class."""
    task = run.task
    lines: dict[str, Mapping[str, float]] = {}
    for split, found in run.record.scores.items():
        lines[f"{split} all"] = found.values
        lines |= {f"{split} {name}": one for name, one in found.by_class.items()}
    counts = [name for name in ("gold", "predicted") if any(name in one for one in lines.values())]
    heads = {key: (name, percent) for key, name in task.columns.items()}
    heads |= {name: (name, "{:,.0f}".format) for name in counts}
    return Table(
        f"Scores of {task.title} in percent",
        [
            _names("scores", [*lines]),
            *(
                Column(head, [one.get(key) for one in lines.values()], show)
                for key, (head, show) in heads.items()
            ),
        ],
        sections=[name.endswith(" all") and i > 0 for i, name in enumerate(lines)],
    )


def epochs_table(run: Run) -> Table:
    """Loss, dev score and time of each epoch; the one whose weights were kept is marked."""
    history, best = run.record.history, run.record.best_epoch
    marked = [i for i, epoch in enumerate(history) if epoch.epoch == best]
    numbers = [f"{e.epoch} best" if e.epoch == best else str(e.epoch) for e in history]
    columns = [
        Column("epoch", numbers),
        Column("train loss", [e.train_loss for e in history], "{:.4f}".format),
        Column("dev", [e.dev_score for e in history], percent, best=marked),
        Column("time", [e.seconds for e in history], units.duration),
    ]
    return Table("", columns)


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
    settings = ", ".join(f"{name}={value}" for name, value in chosen.settings.items())
    return f"{what}: {settings} chosen on dev ({percent(chosen.dev)}) among {configurations}"
