"""What rows cost, once and by the run, as a table for every format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from featbert.report import units
from featbert.report.cells import Block, Cell, Column, Table, text_cell

if TYPE_CHECKING:
    from featbert.analysis.compare import Comparison
    from featbert.analysis.cost import CostRow, Price

NEVER = "never"


def cost_table(comparison: Comparison, before: str, number: int) -> Table:
    """A row for each row of the comparison: seconds, operations, and where features break even.

    Args:
        before: what stands before the title, such as "1 of 2 · ".
        number: of the comparison.
    """
    rows = comparison.costs
    drawn: list[tuple[Column, list[Cell]]] = [
        (Column("row", ("row",), "name", right=False), [text_cell(r.row) for r in rows])
    ]
    drawn += _columns(rows, "time", "s", "quality", lambda r: r.seconds, units.duration)
    drawn += _columns(rows, "operations", "FLOPs", "cost", lambda r: r.flops, units.operations)
    approaches = [row.tuning for row in comparison.rows]
    return Table(
        title=units.visible(f"{before}Cost"),
        subtitle=units.visible(" · ".join([comparison.corpus, *_machines(comparison)])),
        columns=tuple(column for column, _ in drawn),
        rows=tuple(zip(*(cells for _, cells in drawn), strict=True)),
        sections=tuple(i > 0 and approaches[i - 1] != a for i, a in enumerate(approaches)),
        legend=tuple(_legend(rows)),
        notes=(),
        blocks=("name", "quality", "cost"),
        number=number,
    )


def _columns(
    rows: Sequence[CostRow],
    name: str,
    unit: str,
    block: Block,
    price_of: Callable[[CostRow], Price],
    show: Callable[[float | None], str],
) -> Iterator[tuple[Column, list[Cell]]]:
    prices = [price_of(row) for row in rows]
    once = [Cell(show(p.once or None), (f"{p.once:.6g}",)) for p in prices]
    yield Column("once", (f"{name} once ({unit})",), block), once
    run = [Cell(show(p.run), (f"{p.run:.6g}",)) for p in prices]
    yield Column("a run", (f"{name} of a run ({unit})",), block), run
    head = f"cheaper from ({name})"
    cells = [_cheaper(row, p) for row, p in zip(rows, prices, strict=True)]
    yield Column(head, (f"cheaper from run, by {name}",), block), cells


def _cheaper(row: CostRow, price: Price) -> Cell:
    if row.against is None:
        return Cell(units.NONE, ("",))
    if price.cheaper_from is None:
        return Cell(NEVER, (NEVER,))
    return Cell(f"run {price.cheaper_from:,}", (str(price.cheaper_from),))


def _machines(comparison: Comparison) -> list[str]:
    """Where the runs were trained, since seconds are of a machine."""
    signatures = [run.record.signature for row in comparison.rows for run in row.runs]
    names = dict.fromkeys(f"{s.device_name}, threads: {s.threads}" for s in signatures)
    return list(names)


def _legend(rows: Sequence[CostRow]) -> Iterator[str]:
    once = "once: extraction, for all runs on its vectors; "
    extracted = any(row.seconds.once for row in rows)
    yield f"{once if extracted else ''}a run: training, with dev scored"
    if any(row.against is not None for row in rows):
        yield (
            "cheaper from: the number of runs from which features, extraction included, cost less "
            "than as many fine-tuned runs; it hardly depends on the size of the text, with which "
            "all of these grow"
        )
    yield "operations: estimated from shapes, a multiply-add counts as two"
