"""Comparisons as tables for a terminal."""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich.box import Box
from rich.cells import cell_len
from rich.console import Console
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from featbert.analysis.compare import Comparison
from featbert.report.cells import TRAINED_ON, Block, Cell, Table
from featbert.report.table import tables
from featbert.report.units import visible

UNBOUNDED = 100_000
MIN_WIDTH = 20
# Rules above and below, under the heading and between approaches; no vertical lines.
_RULES = Box(" ── \n    \n ── \n    \n ── \n ── \n    \n ── \n")


def text_report(
    comparisons: Sequence[Comparison],
    *,
    width: int | None = None,
    color: bool = False,
    notes: Sequence[str] = (),
    show: Sequence[str] = (),
) -> str:
    """A titled table for each comparison, its notes beneath, and `notes` at the end.

    Args:
        width: columns of the terminal. A table that is wider is parted, quality and cost, or
            figures of dev and test, one below the other; what is still too wide wraps, and
            nothing is cut. Without it, lines are as long as they need to be.
        color: whether to style the text with ANSI codes: titles, and the best values in bold.
        notes: further lines, such as `FoundRuns.notes`.
        show: scores beside entity F1, as `tables` takes them.
    """
    if not comparisons:
        return "".join(
            f"{line}\n" for line in ["no finished runs to compare", *map(visible, notes)]
        )
    drawn = tables(comparisons, show=show)
    wide = max(max(natural(t), cell_len(t.title), cell_len(t.subtitle)) for t in drawn)
    console = make_console(wide if width is None else max(width, MIN_WIDTH), color)
    for i, table in enumerate(drawn):
        if i:
            console.print()
        draw(console, table)
    if notes:
        console.print()
        print_notes(console, [visible(note) for note in notes], "yellow")
    lines = output(console).split("\n")
    return "\n".join(line.rstrip(" ") for line in lines)


def draw(console: Console, table: Table) -> None:
    console.print(Text(table.title, style="bold"))
    console.print(Text(table.subtitle, style="dim"))
    for i, blocks in enumerate(_parts(table, console.width)):
        if i:
            console.print()
        console.print(_grid(table, *blocks))
    print_notes(console, table.legend, "dim")
    print_notes(console, table.notes, "yellow")


def _parts(table: Table, width: int) -> list[tuple[Block, ...]]:
    """The table's blocks in parts that stand below each other, as few as fit without wrapping."""
    name, *others = table.blocks
    parts: list[tuple[Block, ...]] = []
    for block in others:
        if not any(column.block == block for column in table.select(block)[0]):
            continue
        if parts and natural(table, *parts[-1], block) <= width:
            parts[-1] = (*parts[-1], block)
        else:
            parts.append((name, block))
    return parts


def print_notes(console: Console, notes: Sequence[str], style: str) -> None:
    for note in notes:
        console.print(Padding(Text(note, style=style, overflow="fold"), (0, 0, 0, 1)))


def _grid(table: Table, *blocks: Block) -> RichTable:
    grid = RichTable(
        box=_RULES, padding=(0, 1), collapse_padding=True, pad_edge=False, header_style=""
    )
    columns, rows = table.select(*blocks)
    for column in columns:
        grid.add_column(
            Text(column.head, style="bold"),
            justify="right" if column.right else "left",
            overflow="fold",
        )
    by_column = [_aligned(cells) for cells in zip(*rows, strict=True)]
    for starts_section, cells in zip(table.sections, zip(*by_column, strict=True), strict=True):
        if starts_section:
            grid.add_section()
        grid.add_row(*cells)
    return grid


def _aligned(cells: Sequence[Cell]) -> list[Text]:
    """The cells' texts, padded so that `63.12 ± 0.45`, `9.80 ± 10.20` and `63.12` line up."""
    parts = [cell.text.partition(" ± ") for cell in cells]
    tail = max(len(sd) for _, _, sd in parts)
    texts = []
    for cell, (mean, mark, sd) in zip(cells, parts, strict=True):
        if mark or not tail or mean == TRAINED_ON:
            padded = f"{mean}{mark}{sd.rjust(tail) if mark else ''}"
        else:
            padded = mean + " " * (tail + 3)
        texts.append(Text(padded, style="bold" if cell.best else ""))
    return texts


def natural(table: Table, *blocks: Block) -> int:
    """Columns that these blocks, by default the undivided table, take without wrapping."""
    console = make_console(UNBOUNDED, False)
    grid = _grid(table, *blocks)
    return Measurement.get(console, console.options, grid).maximum


def make_console(width: int, color: bool) -> Console:
    """A console on a string; nothing about it depends on the environment."""
    return Console(
        file=io.StringIO(),
        width=width,
        height=100,
        color_system="standard" if color else None,
        force_terminal=color,
        force_jupyter=False,
        force_interactive=False,
        no_color=not color,
        legacy_windows=False,
    )


def output(console: Console) -> str:
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()
