"""What a published table beside its reproduction looks like, for every format.

Published figures have as many digits as their table has in print, and so have the differences.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from featbert.report import units
from featbert.report.cells import (
    Block,
    Cell,
    Column,
    Table,
    no_share_cell,
    plain_cell,
    share_cell,
    text_cell,
)

if TYPE_CHECKING:
    from featbert.analysis.reproduction import Figure, ReproducedRow, Reproduction

_BLOCKS: dict[str, Block] = {"dev": "dev", "test": "test"}


def published_table(reproduction: Reproduction, counted: str, number: int) -> Table:
    """The table of a reproduction, a row for each published row and what is set beside it.

    Args:
        counted: what stands before "Published:" in the title, such as "1 of 2 · ".
        number: of the comparison that it belongs to.
    """
    table = reproduction.table
    rows = reproduction.rows
    drawn = list(_name_columns(reproduction))
    for split in reproduction.splits:
        drawn += _figure_columns(rows, split, _digits(reproduction))
    approaches = [row.published.tuning for row in rows]
    source = [table.source] if table.source else []
    return Table(
        title=units.visible(f"{counted}Published: {table.title}"),
        subtitle=units.visible(" · ".join([*source, f"figures from: {table.verified}"])),
        columns=tuple(column for column, _ in drawn),
        rows=tuple(zip(*(cells for _, cells in drawn), strict=True)),
        sections=tuple(i > 0 and approaches[i - 1] != a for i, a in enumerate(approaches)),
        legend=tuple(map(units.visible, _legend(reproduction))),
        notes=tuple(f"note: {units.visible(note)}" for note in reproduction.notes),
        blocks=("name", *(_BLOCKS[split] for split in reproduction.splits)),
        number=number,
    )


def _name_columns(reproduction: Reproduction) -> Iterator[tuple[Column, list[Cell]]]:
    rows = reproduction.rows
    yield Column("row", ("row",), "name", right=False), [text_cell(row.label) for row in rows]
    # For CSV, where the rows of all tables stand in one.
    of = [text_cell(reproduction.table.id) for _ in rows]
    yield Column("published in", ("published in",), "detail", right=False), of
    beside = [text_cell(row.row.label if row.row else "") for row in rows]
    yield Column("reproduced by", ("reproduced by",), "detail", right=False), beside
    seeds = [plain_cell(str(len(row.row.runs)) if row.row else units.NONE) for row in rows]
    yield Column("seeds", ("seeds",), "detail"), seeds


def _figure_columns(
    rows: Sequence[ReproducedRow], split: str, digits: int
) -> Iterator[tuple[Column, list[Cell]]]:
    block = _BLOCKS[split]
    figures = [row.figures[split] for row in rows]
    name = f"published {split}"
    fields = (f"{name} F1 (%)", f"{name} F1 sd (%)")
    yield Column(name, fields, block), [_published(figure, digits) for figure in figures]
    # The fields are those of a comparison's F1, since it is the same number.
    yield (
        Column(f"reproduced {split}", (f"{split} F1 (%)", f"{split} F1 sd (%)"), block),
        [
            share_cell(figure.reproduced) if figure.reproduced else no_share_cell(row.row, split)
            for row, figure in zip(rows, figures, strict=True)
        ],
    )
    yield (
        Column("difference", (f"{split} F1 less published (points)",), block),
        [plain_cell(units.points(figure.difference, digits)) for figure in figures],
    )


def _published(figure: Figure, digits: int) -> Cell:
    mean = units.percent(figure.published, digits)
    if figure.published is None:
        return Cell(mean, ("", ""))
    sd = "" if figure.published_sd is None else units.percent(figure.published_sd, digits)
    return Cell(f"{mean} ± {sd}" if sd else mean, (mean, sd))


def _digits(reproduction: Reproduction) -> int:
    """Digits after the point that tell all figures of the table apart from their neighbours."""
    table = reproduction.table
    figures = [figure for row in table.rows for figure in (row.dev, row.test, row.sd)]
    decimals = [str(f).rpartition(".")[2] for f in figures if isinstance(f, float)]
    return max(len(after) for after in decimals)


def _legend(reproduction: Reproduction) -> Iterable[str]:
    yield ("entity F1 in percent; difference: reproduced mean less the published figure, in points")
    yield from reproduction.protocol
    if reproduction.unpublished:
        yield f"not in the published table: {', '.join(reproduction.unpublished)}"
