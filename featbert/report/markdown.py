"""Comparisons as Markdown tables (GitHub's dialect)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from featbert.analysis.compare import Comparison
from featbert.report.cells import Cell, Table
from featbert.report.table import tables
from featbert.report.units import visible


def markdown_report(
    comparisons: Sequence[Comparison], *, notes: Sequence[str] = (), show: Sequence[str] = ()
) -> str:
    """A heading, a table and a list of notes for each comparison; best values in bold.

    Args:
        notes: further lines at the end.
        show: scores beside entity F1, as `tables` takes them.
    """
    parts = [part(table) for table in tables(comparisons, show=show)]
    if not comparisons:
        parts.append("No finished runs to compare.\n")
    if notes:
        parts.append("".join(f"- {escape(visible(note))}\n" for note in notes))
    return "\n".join(parts)


def escape(text: str) -> str:
    """`text` as plain text in a cell: no column ends in it, nothing in it is markup.

    An underscore between letters or digits is no markup, so `concat_last4` stays readable.
    """
    text = re.sub(r"([\\`*\[\]<>|~&#])", r"\\\1", text)
    return re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\\_", text)


def part(table: Table) -> str:
    columns, rows = table.select()
    lines = [f"### {escape(table.title)}", "", escape(table.subtitle), ""]
    lines.append(_line([escape(column.head) for column in columns]))
    lines.append(_line(["---:" if column.right else ":---" for column in columns]))
    lines += [_line([_cell(cell) for cell in row]) for row in rows]
    lines += ["", *(f"- {escape(note)}" for note in (*table.legend, *table.notes))]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(cell: Cell) -> str:
    return f"**{escape(cell.text)}**" if cell.best else escape(cell.text)
