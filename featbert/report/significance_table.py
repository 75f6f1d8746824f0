"""What the differences of rows to their baseline look like as a table, for every format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from featbert.analysis.seeds import FEWEST
from featbert.report import units
from featbert.report.cells import Block, Cell, Column, Table, plain_cell, text_cell
from featbert.text import counted

if TYPE_CHECKING:
    from featbert.analysis.compare import Comparison
    from featbert.analysis.significance import Difference

CLEAR = 0.05
_BLOCKS: dict[str, Block] = {"dev": "dev", "test": "test"}


def significance_table(comparison: Comparison, before: str, number: int) -> Table:
    """A row for each row with a baseline, its tests on dev and on test.

    Args:
        before: what stands before the title, such as "1 of 2 · ".
        number: of the comparison.
    """
    found = {(d.row, d.split): d for d in comparison.differences}
    labels = list(dict.fromkeys(d.row for d in comparison.differences))
    baselines = list(dict.fromkeys(d.baseline for d in comparison.differences))
    splits = [s for s in comparison.splits if any((row, s) in found for row in labels)]
    drawn: list[tuple[Column, list[Cell]]] = [
        (Column("row", ("row",), "name", right=False), [text_cell(row) for row in labels])
    ]
    if len(baselines) > 1:
        of = {d.row: d.baseline for d in comparison.differences}
        column = Column("against", ("baseline",), "name", right=False)
        drawn.append((column, [text_cell(of[row]) for row in labels]))
    for split in splits:
        drawn += _columns(split, [found.get((row, split)) for row in labels])
    against = f" to {baselines[0]}" if len(baselines) == 1 else " to the baseline"
    approach = {row.name: row.tuning for row in comparison.rows}
    return Table(
        title=units.visible(f"{before}Differences{against}"),
        subtitle=units.visible(comparison.corpus),
        columns=tuple(column for column, _ in drawn),
        rows=tuple(zip(*(cells for _, cells in drawn), strict=True)),
        sections=tuple(
            i > 0 and approach[labels[i - 1]] != approach[row] for i, row in enumerate(labels)
        ),
        legend=tuple(_legend(comparison.differences)),
        notes=tuple(_notes(comparison.differences)),
        blocks=("name", *(_BLOCKS[split] for split in splits)),
        number=number,
    )


def p_value(p: float) -> str:
    """No more digits than resampling knows."""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _columns(
    split: str, differences: Sequence[Difference | None]
) -> Iterator[tuple[Column, list[Cell]]]:
    for head, fields, cell_of in _CELLS:
        column = Column(head.format(split), tuple(f"{split} {f}" for f in fields), _BLOCKS[split])
        nothing = Cell(units.NONE, ("",) * len(fields))
        cells = [None if difference is None else cell_of(difference) for difference in differences]
        yield column, [cell or nothing for cell in cells]


def _difference(difference: Difference) -> Cell:
    return plain_cell(units.points(difference.pooled.difference))


def _over_text(difference: Difference) -> Cell:
    return _interval(difference.pooled.low, difference.pooled.high)


def _over_seeds(difference: Difference) -> Cell | None:
    found = difference.over_seeds
    return None if found is None else _interval(found.low, found.high)


def _p(difference: Difference) -> Cell:
    return Cell(p_value(difference.pooled.p_value), (f"{difference.pooled.p_value:.4f}",))


def _adjusted(difference: Difference) -> Cell:
    text = p_value(difference.adjusted)
    return Cell(text, (f"{difference.adjusted:.4f}",), best=difference.adjusted < CLEAR)


def _interval(low: float, high: float) -> Cell:
    ends = units.points(low), units.points(high)
    return Cell(f"{ends[0]} to {ends[1]}", ends)


_CELLS: tuple[tuple[str, tuple[str, ...], Callable[[Difference], Cell | None]], ...] = (
    ("Δ {}", ("pooled F1 difference (points)",), _difference),
    ("over text", ("low over text (points)", "high over text (points)"), _over_text),
    ("over seeds", ("low over seeds (points)", "high over seeds (points)"), _over_seeds),
    ("p", ("p",), _p),
    ("p (Holm)", ("p adjusted by Holm",), _adjusted),
)


def _legend(differences: Sequence[Difference]) -> Iterator[str]:
    one = differences[0].pooled
    level = f"{100 * one.level:.0f}%"
    many = any(len(d.seeds) > 1 for d in differences)
    pooled = ", entities of all common seeds counted together" if many else ""
    yield f"Δ: micro entity F1 less that of the baseline, in points{pooled}"
    counts = dict.fromkeys(f"{d.pooled.units:,} {d.units} of {d.split}" for d in differences)
    yield f"over text: {level} bootstrap interval of Δ over {', '.join(counts)}"
    if any(d.over_seeds for d in differences):
        yield f"over seeds: {level} t interval of the mean difference of runs with equal seeds"
    how = "every way to swap counted" if one.exact else f"{one.resamples:,} resamples"
    yield f"p: two-sided, approximate randomisation, {how}; Holm: adjusted for the rows of a split"


def _notes(differences: Sequence[Difference]) -> Iterator[str]:
    few = [d for d in differences if d.over_seeds is None]
    if few:
        seeds = max(len(d.seeds) for d in few)
        yield (
            f"note: {counted(seeds, 'seed says', 'seeds say')} nothing about further seeds; "
            f"an interval over seeds needs {FEWEST}"
        )
