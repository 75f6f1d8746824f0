"""What a comparison looks like as a table: columns, cells, title and notes, for every format.

Text, Markdown, LaTeX and CSV are drawn from this description alone, so they cannot disagree.
A cell holds its text and, for CSV, the same number without unit. Columns stand in blocks:
`name` (what the row is), `quality`, `cost`, and `detail`, which is for CSV alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from featbert.comparison.compare import Comparison
from featbert.comparison.rows import Row, SplitSummary, Statistic
from featbert.report import units

Block = Literal["name", "quality", "cost", "detail"]


@dataclass(frozen=True)
class Cell:
    """One cell.

    Attributes:
        text: as people read it, control characters made visible.
        data: one value for each of its column's fields: plain numbers or text, "" for none.
        best: whether it is the best of its column on its data.
    """

    text: str
    data: tuple[str, ...]
    best: bool = False


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        head: its heading.
        fields: headings of its CSV columns, with units.
        block: which block it stands in.
        right: whether it is aligned to the right.
    """

    head: str
    fields: tuple[str, ...]
    block: Block
    right: bool = True


@dataclass(frozen=True)
class Table:
    """A comparison as a table.

    Attributes:
        title: corpus, model and context.
        subtitle: sizes and scorer.
        columns: all columns, those of block `detail` included.
        rows: cells by row, aligned with `columns`.
        sections: for each row whether a rule parts it from the row above.
        legend: what the columns mean, a line each.
        notes: what is particular about these runs, a line each.
    """

    title: str
    subtitle: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    sections: tuple[bool, ...]
    legend: tuple[str, ...]
    notes: tuple[str, ...]

    def select(self, *blocks: Block) -> tuple[list[Column], list[list[Cell]]]:
        """Columns and cells of some blocks, without columns in which no row has anything."""
        kept = [
            i
            for i, column in enumerate(self.columns)
            if column.block in blocks and any(row[i].text != units.NONE for row in self.rows)
        ]
        return [self.columns[i] for i in kept], [[row[i] for i in kept] for row in self.rows]


def tables(comparisons: Sequence[Comparison]) -> list[Table]:
    """A table for each comparison; all have the same columns of blocks other than `name`."""
    return [
        _table(comparison, f"{number} of {len(comparisons)} · " if len(comparisons) > 1 else "")
        for number, comparison in enumerate(comparisons, 1)
    ]


def _table(comparison: Comparison, number: str) -> Table:
    rows = comparison.rows
    drawn = [*_name_columns(comparison), *_quality_columns(rows), *_cost_columns(rows)]
    drawn += _detail_columns(rows)
    return Table(
        title=units.visible(
            f"{number}{comparison.corpus} · {comparison.model} · context: {comparison.context}"
        ),
        subtitle=units.visible(_subtitle(comparison)),
        columns=tuple(column for column, _ in drawn),
        rows=tuple(zip(*(cells for _, cells in drawn), strict=True)),
        sections=tuple(
            i > 0 and rows[i - 1].approach != row.approach for i, row in enumerate(rows)
        ),
        legend=tuple(_legend(comparison)),
        notes=tuple(f"note: {units.visible(note)}" for note in comparison.notes),
    )


def _name_columns(comparison: Comparison) -> Iterator[tuple[Column, list[Cell]]]:
    rows = comparison.rows
    yield Column("approach", ("row",), "name", right=False), [_text(row.label) for row in rows]
    for name in ("model", "corpus", "context", "scorer"):
        # Where it is the same in all rows the title says it, and only CSV repeats it.
        block: Block = "name" if name in comparison.varied else "detail"
        everywhere = getattr(comparison, name)
        cells = [_text(row.varied.get(name, everywhere)) for row in rows]
        yield Column(name, (name,), block, right=False), cells


def _quality_columns(rows: Sequence[Row]) -> Iterator[tuple[Column, list[Cell]]]:
    yield Column("seeds", ("seeds",), "quality"), [_plain(str(len(row.runs))) for row in rows]
    for split in ("dev", "test"):
        best = _best(rows, split)
        yield (
            _share_column(split, "F1", "quality"),
            [_share(row, split, lambda s: s.f1, best=i in best) for i, row in enumerate(rows)],
        )
    for split in ("dev", "test"):
        column = Column(f"Δ {split}", (f"{split} F1 difference (points)",), "quality")
        yield column, [_difference(row, split) for row in rows]


def _cost_columns(rows: Sequence[Row]) -> Iterator[tuple[Column, list[Cell]]]:
    for column, number_of, show in _COSTS:
        yield column, [_cost_cell(number_of(row), show) for row in rows]


def _detail_columns(rows: Sequence[Row]) -> Iterator[tuple[Column, list[Cell]]]:
    for split in ("dev", "test"):
        for name, figure in _DETAILS:
            column = _share_column(split, name, "detail")
            yield column, [_share(row, split, figure) for row in rows]


_COSTS: tuple[tuple[Column, Callable[[Row], float | None], Callable[[float | None], str]], ...] = (
    (
        Column("trained", ("trained parameters",), "cost"),
        lambda row: row.cost.trained_parameters,
        units.parameters,
    ),
    (
        Column("training", ("training (s)",), "cost"),
        lambda row: row.cost.training_seconds.mean,
        units.duration,
    ),
    (
        Column("extraction", ("extraction, once (s)",), "cost"),
        lambda row: row.cost.extraction_seconds,
        units.duration,
    ),
    (
        Column("words/s", ("text to tags (words/s)",), "cost"),
        lambda row: row.cost.text_words_per_second,
        units.rate,
    ),
    (Column("store", ("store (bytes)",), "cost"), lambda row: row.cost.store_bytes, units.size),
    (
        Column("memory", ("peak memory (bytes)",), "cost"),
        lambda row: row.cost.peak_memory_bytes,
        units.size,
    ),
)

_DETAILS: tuple[tuple[str, Callable[[SplitSummary], Statistic]], ...] = (
    ("precision", lambda s: s.precision),
    ("recall", lambda s: s.recall),
    ("strict F1", lambda s: s.strict_f1),
    ("word F1", lambda s: s.word_f1),
    ("word accuracy", lambda s: s.word_accuracy),
)


def _text(text: str) -> Cell:
    shown = units.visible(text)
    return Cell(shown, (shown,))


def _plain(text: str) -> Cell:
    return Cell(text, (text,))


def _share_column(split: str, name: str, block: Block) -> Column:
    return Column(f"{split} {name}", (f"{split} {name} (%)", f"{split} {name} sd (%)"), block)


def _share(
    row: Row, split: str, figure: Callable[[SplitSummary], Statistic], *, best: bool = False
) -> Cell:
    """`63.12 ± 0.45`, or `63.12` for one seed."""
    if split not in row.splits:
        return Cell(units.NONE, ("", ""))
    statistic = figure(row.splits[split])
    mean = units.percent(statistic.mean)
    if statistic.sd is None:
        return Cell(mean, (mean, ""), best)
    sd = units.percent(statistic.sd)
    return Cell(f"{mean} ± {sd}", (mean, sd), best)


def _difference(row: Row, split: str) -> Cell:
    if row.is_baseline and split in row.splits:
        return Cell("baseline", ("",))
    if row.difference is None or split not in row.difference:
        return Cell(units.NONE, ("",))
    return _plain(units.points(row.difference[split]))


def _cost_cell(number: float | None, show: Callable[[float | None], str]) -> Cell:
    data = "" if number is None else f"{number:.1f}" if isinstance(number, float) else str(number)
    return Cell(show(number), (data,))


def _best(rows: Sequence[Row], split: str) -> set[int]:
    """Places of the rows with the best mean F1 among those scored on the same data.

    A row that stands alone is not the best of anything.
    """
    rivals: dict[tuple[str, ...], dict[int, float]] = {}
    for place, row in enumerate(rows):
        if split in row.splits:
            data = tuple(
                value
                for part, value in row.cell.items()
                if part not in ("encoder_weights", "context")
            )
            rivals.setdefault(data, {})[place] = row.splits[split].f1.mean
    return {
        place
        for means in rivals.values()
        for place, mean in means.items()
        if len(means) > 1 and mean == max(means.values())
    }


def _subtitle(comparison: Comparison) -> str:
    sizes = [
        f"{split} {sentences:,} sentences, {words:,} words"
        for split, (sentences, words) in comparison.sizes.items()
    ]
    return " · ".join([*sizes, f"scorer: {comparison.scorer}"])


def _legend(comparison: Comparison) -> list[str]:
    """What the columns mean, of those that show."""
    rows = comparison.rows
    many = any(len(row.runs) > 1 for row in rows)
    spread = "; mean ± sample standard deviation over seeds" if many else ", of one seed"
    legend = [f"F1: micro entity F1 in percent{spread}"]
    if any(row.difference is not None for row in rows):
        legend.append("Δ: mean F1 less that of the baseline, in points")
    legend.append("trained: parameters that training changed; training: mean wall time of a seed")
    if any(row.cost.extraction_seconds is not None for row in rows):
        legend.append("extraction, store: wall time and disk, paid once for all rows and seeds")
    legend.append(
        "words/s: words tagged a second from text, extraction included; "
        "memory: peak, the highest of the seeds"
    )
    return legend
