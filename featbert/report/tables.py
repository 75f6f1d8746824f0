"""Every table of the program: a frame of values, and columns that say how people read them.

Text, Markdown, LaTeX, CSV and HTML are views of the same `Table` (`featbert.report.rendering`), so
they cannot disagree. pandas is imported when a table is made.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from featbert.analysis.breakdown import scorer_notes
from featbert.analysis.compare import Comparison
from featbert.analysis.cost import machines_of
from featbert.analysis.published import PublishedMatrix
from featbert.analysis.results import Breakdown, PublishedFigures
from featbert.analysis.rows import Row, Statistic, base_name, best_of
from featbert.analysis.transfer import TransferMatrix
from featbert.errors import InputError, nearest
from featbert.report import units
from featbert.report.units import NONE, percent, points, visible
from featbert.runs.experiment_record import SearchRecord
from featbert.runs.run import FoundRuns, Run
from featbert.runs.unfinished import unfinished_run
from featbert.tasks.base import Task
from featbert.text import counted, in_percent, unusual

if TYPE_CHECKING:
    import pandas

# A column with its values; pairs where it shows two numbers.
Drawn = tuple["Column", Sequence[Any]]
AVERAGE = "average of zero-shot"
# A p-value below it is marked.
CLEAR = 0.05


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        name: of the frame's column, with the unit in it; CSV has it.
        head: what people read above it; "" for a column that only CSV has.
        show: a value as text.
        right: whether it is of numbers.
        second: the frame's column with a second number, such as a standard deviation.
        joint: what is between the two.
        best: places of the rows whose value is marked.
        instead: texts of cells without a value, by the place of the row.
    """

    name: str
    head: str = ""
    show: Callable[[Any], str] = str
    right: bool = True
    second: str = ""
    joint: str = " ± "
    best: frozenset[int] = frozenset()
    instead: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Cell:
    """A value as people read it, and whether it is marked."""

    text: str
    best: bool = False


@dataclass(frozen=True)
class Table:
    """A table for every format.

    Attributes:
        frame: unrounded values, a line a row; columns that `columns` names.
        sections: whether a rule is drawn before each row.
        legend: what the columns mean, one line each.
        number: of the comparison, from 1.
    """

    title: str
    subtitle: str
    frame: pandas.DataFrame
    columns: tuple[Column, ...]
    sections: tuple[bool, ...]
    legend: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    number: int = 1

    def select(self) -> tuple[list[Column], list[list[Cell]]]:
        """The columns for people, and their cells by row."""
        columns = [column for column in self.columns if column.head]
        plain = self.frame.astype(object).where(self.frame.notna(), None)
        values = {name: plain[name].tolist() for name in plain}
        rows = [
            [self._cell(column, values, place) for column in columns]
            for place in range(len(self.frame))
        ]
        return columns, rows

    def _cell(self, column: Column, values: Mapping[str, list[Any]], place: int) -> Cell:
        value = values[column.name][place]
        text = column.instead.get(place, NONE) if value is None else column.show(value)
        if column.second and (second := values[column.second][place]) is not None:
            text = f"{text}{column.joint}{column.show(second)}"
        return Cell(visible(text), place in column.best)


def make_table(
    title: str,
    columns: Sequence[Drawn],
    *,
    subtitle: str = "",
    sections: Sequence[bool] = (),
    legend: Sequence[str] = (),
    notes: Sequence[str] = (),
    number: int = 1,
) -> Table:
    """A table of columns with their values; pairs make two columns of the frame."""
    import pandas

    data: dict[str, list[Any]] = {}
    for column, values in columns:
        if column.second:
            pairs = [(None, None) if value is None else value for value in values]
            data[column.name] = [first for first, _ in pairs]
            data[column.second] = [second for _, second in pairs]
        else:
            data[column.name] = list(values)
    frame = pandas.DataFrame(data, dtype=object)
    return Table(
        title=visible(title),
        subtitle=visible(subtitle),
        frame=frame,
        columns=tuple(column for column, _ in columns),
        sections=tuple(sections) or (False,) * len(frame),
        legend=tuple(map(visible, legend)),
        notes=tuple(f"note: {visible(note)}" for note in notes),
        number=number,
    )


def score_column(name: str, head: str, best: frozenset[int] = frozenset()) -> Column:
    """A column of scores in percent with their standard deviation over seeds."""
    return Column(name, head, percent, second=f"{name}_sd", best=best)


def _pair(score: Statistic | None) -> tuple[float | None, float | None]:
    return (None, None) if score is None else (score.mean, score.sd)


def _names(
    name: str, values: Sequence[Any], head: str | None = None
) -> tuple[Column, Sequence[Any]]:
    return Column(name, name if head is None else head, right=False), values


def _sections(rows: Sequence[Row]) -> tuple[bool, ...]:
    return tuple(i > 0 and rows[i - 1].tuning != row.tuning for i, row in enumerate(rows))


# A comparison -------------------------------------------------------------------------------------


def comparison_tables(
    comparison: Comparison, before: str = "", number: int = 1, *, show: Sequence[str] = ()
) -> dict[str, list[Table]]:
    """The tables of one comparison by their subject; `scores` has one, others may have none.

    Args:
        before: what comes before titles, such as "1 of 2 · ".
        number: of the comparison.
        show: keys of scores that people see besides the task's measure.
    """
    check_show(show, comparison.task)
    how = (before, number)
    return {
        "scores": [scores_table(comparison, *how, show)],
        "trust": [significance_table(comparison, *how)] if comparison.differences else [],
        "scorers": [scorers_table(comparison, *how)] if comparison.scorers else [],
        "cost": [cost_table(comparison, *how)] if comparison.costs else [],
        "where": [breakdown_table(comparison, one, *how) for one in comparison.breakdowns],
        "published": [published_table(one, *how) for one in comparison.published],
    }


def tables(comparisons: Sequence[Comparison], *, show: Sequence[str] = ()) -> list[Table]:
    """All tables of several comparisons, one comparison after the other."""
    found: list[Table] = []
    for number, comparison in enumerate(comparisons, 1):
        before = f"{number} of {len(comparisons)} · " if len(comparisons) > 1 else ""
        for part in comparison_tables(comparison, before, number, show=show).values():
            found += part
    return found


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


def scores_table(
    comparison: Comparison, before: str = "", number: int = 1, show: Sequence[str] = ()
) -> Table:
    """Scores, differences to the baseline, and costs: people see a part of the whole frame."""
    rows, task = comparison.rows, comparison.task
    columns = [Column("label", "row", right=False)]
    columns += [Column(name, name, right=False) for name in comparison.varied]
    columns.append(Column("seeds", "seeds"))
    for key in dict.fromkeys([task.measure.key, *show]):
        for split in comparison.splits:
            best = frozenset(best_of(rows, split, key))
            head = f"{split} {task.columns[key]}"
            name = f"{split}_{key}"
            columns.append(Column(f"{name}_mean", head, percent, second=f"{name}_sd", best=best))
        if key == task.measure.key:
            for split in comparison.splits:
                name = f"{split}_{key}_difference"
                bases = [i for i, row in enumerate(rows) if row.is_baseline and split in row.splits]
                instead = dict.fromkeys(bases, "baseline")
                columns.append(Column(name, f"Δ {split}", points, instead=instead))
    columns += [Column(name, head, shown) for name, head, shown in _COSTS]
    sizes = [
        f"{split} {examples:,} sentences, {words:,} words"
        for split, (examples, words) in comparison.sizes.items()
    ]
    return Table(
        title=visible(f"{before}{comparison.title}"),
        subtitle=visible(" · ".join([*sizes, f"scorer: {comparison.scorer}"])),
        frame=comparison.frame(),
        columns=tuple(columns),
        sections=_sections(rows),
        legend=tuple(map(visible, _legend(comparison, show))),
        notes=tuple(f"note: {visible(note)}" for note in comparison.notes),
        number=number,
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
        which = "its baseline, which learned and was scored on the same text" if several else ""
        yield f"Δ: mean less that of {which or 'the baseline'}, in points"
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


def _interval(name: str, head: str) -> Column:
    return Column(f"{name}_low", head, points, second=f"{name}_high", joint=" to ")


def significance_table(comparison: Comparison, before: str = "", number: int = 1) -> Table:
    """Each row against its baseline: difference, intervals and p-values by split."""
    found = {(d.row, d.split): d for d in comparison.differences}
    rows = [
        row for row in comparison.rows if any((row.name, s) in found for s in comparison.splits)
    ]
    baselines = list(dict.fromkeys(d.baseline for d in comparison.differences))
    columns = [_names("row", [row.name for row in rows])]
    if len(baselines) > 1:
        against = {d.row: d.baseline for d in comparison.differences}
        columns.append(_names("baseline", [against[row.name] for row in rows], "against"))
    for split in comparison.splits:
        here = [found.get((row.name, split)) for row in rows]
        if not any(here):
            continue
        clear = frozenset(i for i, d in enumerate(here) if d is not None and d.adjusted < CLEAR)
        parts: list[tuple[Column, Callable[[Any], Any]]] = [
            (Column(f"{split}_difference", f"Δ {split}", points), lambda d: d.pooled.difference),
            (
                _interval(f"{split}_over_text", "over text"),
                lambda d: (d.pooled.low, d.pooled.high),
            ),
            (
                _interval(f"{split}_over_seeds", "over seeds"),
                lambda d: None if d.over_seeds is None else (d.over_seeds.low, d.over_seeds.high),
            ),
            (Column(f"{split}_p", "p", p_value), lambda d: d.pooled.p_value),
            (
                Column(f"{split}_p_adjusted", "p (Holm)", p_value, best=clear),
                lambda d: d.adjusted,
            ),
        ]
        columns += [(column, [d and of(d) for d in here]) for column, of in parts]
    base = [f"baseline: {baselines[0]}"] if len(baselines) == 1 else []
    return make_table(
        f"{before}Differences of {comparison.task.measure.name} to the baseline",
        columns,
        subtitle=" · ".join([comparison.corpus, *base]),
        sections=_sections(rows),
        legend=[*_trust_legend(comparison)],
        notes=[*_trust_notes(comparison)],
        number=number,
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


def _trust_notes(comparison: Comparison) -> Iterator[str]:
    from featbert.analysis.resampling import FEWEST

    few = [len(d.seeds) for d in comparison.differences if d.over_seeds is None]
    if few:
        says = counted(max(few), "seed says", "seeds say")
        yield f"{says} nothing about further seeds; an interval over seeds needs {FEWEST}"


def scorers_table(comparison: Comparison, before: str = "", number: int = 1) -> Table:
    """Every row's score, and its difference to the baseline, by each scorer."""
    found = {(s.row, s.split): s for s in comparison.scorers}
    rows, names = comparison.rows, comparison.task.scorers
    columns = [_names("row", [row.name for row in rows])]
    for split in comparison.splits:
        here = [found.get((row.name, split)) for row in rows]
        for key, name in names.items():
            best = frozenset(i for i, s in enumerate(here) if s and s.figures[key].best)
            column = score_column(f"{split}_{key}", f"{split} {name}", best)
            columns.append((column, [_pair(s.figures[key].score if s else None) for s in here]))
            column = Column(f"{split}_{key}_difference", "Δ", points)
            columns.append((column, [s and s.figures[key].difference for s in here]))
        words = {True: "same", False: "differs", None: None}
        agree = [None if s is None else words[s.agree] for s in here]
        columns.append((Column(f"{split}_winner", "winner"), agree))
    return make_table(
        f"{before}Scores by scorer",
        columns,
        subtitle=f"{comparison.corpus} · {comparison.scorer}",
        sections=_sections(rows),
        legend=[
            "in percent; Δ: mean less that of the baseline by the same scorer, in points",
            "winner: whether the scorers agree in who is ahead, by however little",
        ],
        notes=scorer_notes(comparison),
        number=number,
    )


def cost_table(comparison: Comparison, before: str = "", number: int = 1) -> Table:
    """Seconds and operations of every row, and from which run on features are cheaper."""
    rows = comparison.costs
    columns = [_names("row", [row.row for row in rows])]
    for name, head, show in (
        ("seconds", "time", units.duration),
        ("flops", "operations", units.operations),
    ):
        prices = [getattr(row, name) for row in rows]
        once = Column(f"{name}_once", f"{head} once", show)
        columns.append((once, [price.once or None for price in prices]))
        columns.append((Column(f"{name}_run", "a run", show), [price.run for price in prices]))
        cheaper = [
            None if row.against is None else price.cheaper_from or "never"
            for row, price in zip(rows, prices, strict=True)
        ]
        columns.append((Column(f"{name}_cheaper_from", "cheaper from", _from_run), cheaper))
    return make_table(
        f"{before}Cost",
        columns,
        subtitle=" · ".join([comparison.corpus, *machines_of(comparison)]),
        sections=_sections(comparison.rows),
        legend=[
            "once: extraction, for all runs on its vectors; a run: training, with dev scored",
            "cheaper from: the number of runs from which features, extraction included, cost less "
            "than as many tuned runs; it hardly depends on the size of the text",
            "operations: estimated from shapes, a multiply-add counts as two",
        ],
        number=number,
    )


def _from_run(value: int | str) -> str:
    return value if isinstance(value, str) else f"run {value:,}"


def breakdown_table(
    comparison: Comparison, breakdown: Breakdown, before: str = "", number: int = 1
) -> Table:
    """A column for each bucket of a facet; the best of each is marked."""
    labels, measure = list(breakdown.rows), comparison.task.measure
    columns = [_names("row", labels)]
    for bucket in breakdown.gold:
        found = [breakdown.rows[label][bucket] for label in labels]
        highest = max(one.mean for one in found)
        best = frozenset(i for i, s in enumerate(found) if s.mean == highest and len(found) > 1)
        name = f"{breakdown.split}_{measure.key}_{breakdown.facet}_{bucket}"
        columns.append((score_column(name, visible(bucket), best), [_pair(s) for s in found]))
    sizes = ", ".join(f"{name} {n:,}" for name, n in breakdown.gold.items())
    return make_table(
        f"{before}{breakdown.split} {measure.name} by {breakdown.meaning}",
        columns,
        subtitle=f"{comparison.corpus} · in the gold data: {sizes}",
        legend=["in percent; a prediction counts where it belongs itself"],
        number=number,
    )


def published_table(found: PublishedFigures, before: str = "", number: int = 1) -> Table:
    """Published figures, and those of the comparison's rows next to them."""
    table = found.table
    columns = [
        _names("published", [line.label for line in found.lines]),
        _names("row", [line.row.name if line.row else None for line in found.lines]),
    ]
    for split in found.splits:
        figures = [line.figures[split] for line in found.lines]
        columns += [
            (
                score_column(f"{split}_published", f"{split} published"),
                [(f.published, f.published_sd) for f in figures],
            ),
            (
                score_column(f"{split}_here", f"{split} here"),
                [_pair(f.reproduced) for f in figures],
            ),
        ]
        if any(f.difference is not None for f in figures):
            column = Column(f"{split}_difference", "Δ", points)
            columns.append((column, [f.difference for f in figures]))
    return make_table(
        f"{before}Published: {table.title}",
        columns,
        subtitle=f"{table.source or table.id} · {table.corpus} · verified: {table.verified}",
        legend=["in percent; a difference only where corpus and encoder are the published ones"],
        notes=[note for note in (table.protocol, table.note) if note],
        number=number,
    )


# Transfer -----------------------------------------------------------------------------------------


def transfer_tables(
    matrices: Sequence[TransferMatrix], published: Sequence[PublishedMatrix] = ()
) -> list[Table]:
    """A table for each matrix, then each published one, with the first matrix's order."""
    several = len(matrices) > 1
    return [
        *(
            _transfer_table(matrix, f"{n} of {len(matrices)} · " if several else "", n)
            for n, matrix in enumerate(matrices, 1)
        ),
        *(_published_matrix(one, matrices) for one in published),
    ]


def _transfer_table(matrix: TransferMatrix, before: str, number: int) -> Table:
    columns = [
        _names("trained_on", matrix.trained_on, "trained on"),
        (Column("seeds", "seeds"), [len(row.trained.runs) for row in matrix.rows]),
    ]
    for place, data in enumerate(matrix.columns):
        cells = [row.cells[place] for row in matrix.rows]
        pairs = [_pair(cell.score if cell else None) for cell in cells]
        columns.append((score_column(data.label, visible(data.label)), pairs))
    averages = [(row.average, row.average_sd) for row in matrix.rows]
    columns.append((score_column(AVERAGE, AVERAGE), averages))
    sizes = "; ".join(
        f"{d.label}: {d.corpus}, {d.sentences:,} sentences, {d.words:,} words"
        for d in matrix.columns
    )
    return make_table(
        f"{before}{matrix.label} · {matrix.encoding}",
        columns,
        subtitle=f"transfer to the {matrix.split} split of each language · scorer: {matrix.scorer}",
        legend=[
            f"{matrix.task.measure.name} in percent; columns, evaluated on: {sizes}",
            f"{AVERAGE}: mean of a row's cells on other data than it was trained on",
        ],
        notes=matrix.notes,
        number=number,
    )


def _published_matrix(one: PublishedMatrix, matrices: Sequence[TransferMatrix]) -> Table:
    order = [*(matrices[0].evaluated_on if matrices else ()), *one.evaluated_on]
    languages = [name for name in dict.fromkeys(order) if name in one.evaluated_on]
    columns = [_names("trained_on", one.trained_on, "trained on")]
    for language in languages:
        scores = [row.scores.get(language) for row in one.rows]
        digits = max(row.digits for row in one.rows)
        show = dataclasses.replace(Column(language, visible(language)), show=_shown(digits))
        columns.append((show, scores))
    return make_table(
        f"published · {one.title}",
        columns,
        subtitle=f"{one.source} · {one.corpus} · verified: {one.verified}",
        legend=["in percent, as published"],
        notes=[one.note] if one.note else [],
    )


def _shown(digits: int) -> Callable[[float], str]:
    return lambda share: percent(share, digits)


# Runs ---------------------------------------------------------------------------------------------


def _what(tuning: str, layers: str | None, settings: Mapping[str, Any]) -> str:
    """A run without its seed: its name, and how much of train it learned from."""
    share = settings.get("train_share", 1)
    name = base_name(tuning, layers)
    return name if share == 1 else f"{name}, {in_percent(share)} of train"


def runs_table(found: FoundRuns) -> Table:
    """A row for each run, by name: finished, unfinished or damaged."""
    splits = list(dict.fromkeys(split for run in found for split in run.record.scores)) or ["dev"]
    lines: list[dict[str, Any]] = []
    for run in found:
        r = run.record
        lines.append(
            {
                "run": run.name,
                "state": "finished",
                "what": _what(r.tuning, r.layers, r.settings),
                "seed": r.seed,
                **{split: r.score(split) for split in splits},
                "training": r.cost.training_seconds,
            }
        )
    for folder in found.unfinished:
        one = unfinished_run(folder)
        what = None if one.tuning is None else _what(one.tuning, one.layers, {})
        state = f"epoch {one.epochs_done} of {NONE if one.epochs is None else one.epochs}"
        line = {"run": folder.name, "state": state, "what": what, "seed": one.seed}
        lines.append(line | {"dev": one.dev_score, "training": one.seconds})
    lines += [{"run": p.folder.name, "state": "damaged"} for p in found.problems]
    lines.sort(key=lambda line: str(line["run"]))
    tasks = {run.task.measure.name for run in found}
    columns = [
        *(Column(name, name, right=False) for name in ("run", "state", "what")),
        Column("seed", "seed"),
        *(Column(split, split, percent) for split in splits),
        Column("training", "training", units.duration),
    ]
    return make_table(
        "",
        [(column, [line.get(column.name) for line in lines]) for column in columns],
        legend=[f"{', '.join(tasks) or 'scores'} in percent; of an unfinished run the best so far"],
        notes=[f"{p.folder.name}: {p.reason}" for p in found.problems],
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
    task, lines = run.task, []
    for split, found in run.record.scores.items():
        lines.append({"scores": f"{split} all", **found.values})
        lines += [{"scores": f"{split} {name}", **one} for name, one in found.by_class.items()]
    counts = [name for name in ("gold", "predicted") if any(name in line for line in lines)]
    columns = [
        *(Column(key, name, percent) for key, name in task.columns.items()),
        *(Column(name, name, lambda n: f"{n:,.0f}") for name in counts),
    ]
    return make_table(
        f"Scores of {task.title} in percent",
        [
            _names("scores", [line["scores"] for line in lines]),
            *((column, [line.get(column.name) for line in lines]) for column in columns),
        ],
        sections=[str(line["scores"]).endswith(" all") and i > 0 for i, line in enumerate(lines)],
    )


def epochs_table(run: Run) -> Table:
    """Loss, dev score and time of each epoch; the one whose weights were kept is marked."""
    history, best = run.record.history, run.record.best_epoch
    marked = frozenset(i for i, epoch in enumerate(history) if epoch.epoch == best)
    numbers = [f"{e.epoch} best" if e.epoch == best else str(e.epoch) for e in history]
    return make_table(
        "",
        [
            (Column("epoch", "epoch"), numbers),
            (Column("loss", "train loss", "{:.4f}".format), [e.train_loss for e in history]),
            (Column("dev", "dev", percent, best=marked), [e.dev_score for e in history]),
            (Column("seconds", "time", units.duration), [e.seconds for e in history]),
        ],
    )


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


def notebook_html(comparisons: Sequence[Comparison]) -> str:
    """All tables of comparisons as notebooks show them."""
    from featbert.report.rendering import as_html

    if not comparisons:
        return "<p>no finished runs to compare</p>\n"
    return "".join(map(as_html, tables(comparisons)))


def run_html(run: Run) -> str:
    """A run's scores, facts and epochs as notebooks show them."""
    from featbert.report.rendering import as_html

    names, values = zip(*run_facts(run), strict=True)
    facts = make_table(run.name, [_names("", names, " "), _names("value", values, " ")])
    return "".join(map(as_html, (run_scores_table(run), facts, epochs_table(run))))


def found_html(found: FoundRuns) -> str:
    """Every run with state, scores and time as notebooks show them."""
    from featbert.report.rendering import as_html

    return as_html(runs_table(found))
