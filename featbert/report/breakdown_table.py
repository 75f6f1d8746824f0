"""Scores by what an entity or its sentence is like, as a table for every format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from featbert.report import units
from featbert.report.cells import Block, Cell, Column, Table, share_cell, text_cell

if TYPE_CHECKING:
    from featbert.analysis.breakdowns import Breakdown

_BLOCKS: dict[str, Block] = {"dev": "dev", "test": "test"}


def breakdown_table(breakdown: Breakdown, before: str, corpus: str, number: int) -> Table:
    """A row for each row of the comparison, a column for each bucket; the best of each is marked.

    Args:
        before: what stands before the title, such as "1 of 2 · ".
        number: of the comparison.
    """
    labels = list(breakdown.rows)
    block, split = _BLOCKS[breakdown.split], breakdown.split
    columns = [Column("row", ("row",), "name", right=False)]
    cells: list[list[Cell]] = [[text_cell(label) for label in labels]]
    for bucket in breakdown.gold:
        found = [breakdown.rows[label][bucket] for label in labels]
        best = max(one.mean for one in found)
        head = units.visible(bucket)
        name = f"{split} F1 by {breakdown.facet} {head}"
        columns.append(Column(head, (f"{name} (%)", f"{name} sd (%)"), block))
        cells.append([share_cell(f, best=len(found) > 1 and f.mean == best) for f in found])
    entities = ", ".join(f"{units.visible(name)} {n:,}" for name, n in breakdown.gold.items())
    return Table(
        title=f"{before}{split} F1 by {breakdown.meaning}",
        subtitle=f"{units.visible(corpus)} · gold entities: {entities}",
        columns=tuple(columns),
        rows=tuple(zip(*cells, strict=True)),
        sections=(False,) * len(labels),
        legend=("micro entity F1 in percent; a predicted entity counts where it belongs itself",),
        notes=(),
        blocks=("name", block),
        number=number,
    )
