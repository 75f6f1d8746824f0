"""What every table is made of, whatever it shows and in whatever format it is drawn.

A cell holds its text and, for CSV, the same number without unit. Columns stand in blocks: `name`
(what the row is), `quality`, `shown` (further scores that were asked for) and `cost` of a
comparison, `dev` and `test` of published figures, and `detail`, which is for CSV alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from featbert.analysis.rows import Row, Statistic
from featbert.report import units

Block = Literal["name", "quality", "shown", "cost", "dev", "test", "detail"]

# Of a split that a row's runs learned from, which therefore has no score.
TRAINED_ON = "trained on"


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
    """What is drawn as a table.

    Attributes:
        title: what it is of: corpus, model and context, or the published table.
        subtitle: sizes and scorer, or where the figures are from.
        columns: all columns, those of block `detail` included.
        rows: cells by row, aligned with `columns`.
        sections: for each row whether a rule parts it from the row above.
        legend: what the columns mean, a line each.
        notes: what is particular about these runs, a line each.
        blocks: what is shown to people, in this order; where it is too wide for a terminal, the
            first block is repeated beside each of the others.
        number: of its comparison among all, from 1.
    """

    title: str
    subtitle: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    sections: tuple[bool, ...]
    legend: tuple[str, ...]
    notes: tuple[str, ...]
    blocks: tuple[Block, ...] = ("name", "quality", "shown", "cost")
    number: int = 1

    def select(self, *blocks: Block) -> tuple[list[Column], list[list[Cell]]]:
        """Columns and cells of some blocks, by default those that are shown to people.

        Columns in which no row has anything are left out.
        """
        wanted = blocks or self.blocks
        kept = [
            i
            for i, column in enumerate(self.columns)
            if column.block in wanted and any(row[i].text != units.NONE for row in self.rows)
        ]
        return [self.columns[i] for i in kept], [[row[i] for i in kept] for row in self.rows]


def text_cell(text: str) -> Cell:
    """A name."""
    shown = units.visible(text)
    return Cell(shown, (shown,))


def plain_cell(text: str) -> Cell:
    """A number that is shown as it is."""
    return Cell(text, (text,) if text != units.NONE else ("",))


def share_cell(statistic: Statistic, *, best: bool = False) -> Cell:
    """`63.12 ± 0.45`, or `63.12` for one seed."""
    sd = "" if statistic.sd is None else units.percent(statistic.sd)
    mean = units.percent(statistic.mean)
    return Cell(f"{mean} ± {sd}" if sd else mean, (mean, sd), best)


def no_share_cell(row: Row | None, split: str) -> Cell:
    """In place of a share that a row has not; a split that was trained on is told."""
    learned = row is not None and split in row.trained_on
    return Cell(TRAINED_ON if learned else units.NONE, ("", ""))
