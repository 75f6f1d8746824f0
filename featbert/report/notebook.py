"""Comparisons and runs as a notebook shows them: HTML fragments, made from the same tables.

No scripts, no colours and no style sheet: a fragment takes what the notebook has, light or dark,
and stays readable where a viewer strips its styles. All text is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from featbert.report.cells import Cell, Column, Table
from featbert.report.run_facts import epochs_table, run_facts, scores_table, signature_facts
from featbert.report.runs_table import runs_table
from featbert.report.table import tables
from featbert.report.units import visible

if TYPE_CHECKING:
    from featbert.analysis.compare import Comparison
    from featbert.runs.run import FoundRuns, Run

# Seen on light and on dark ground.
_RULE = "border-top:1px solid rgba(128,128,128,0.6)"
_TABLE = '<table style="color:inherit">'
_LEFT, _RIGHT = "text-align:left", "text-align:right;white-space:nowrap"


def comparison_html(comparison: Comparison) -> str:
    """All tables of a comparison: its scores, then whatever `with_...` has added."""
    return comparisons_html([comparison])


def comparisons_html(comparisons: Sequence[Comparison]) -> str:
    """The same for several, numbered."""
    if not comparisons:
        return _block("<p>no finished runs to compare</p>")
    return _block("".join(map(_table, tables(comparisons))))


def run_html(run: Run) -> str:
    """A run's name, scores and facts; its epochs and signature folded."""
    return _block(
        f"<p><b>{_text(run.name)}</b></p>"
        + (_grid(scores_table(run)) if run.record.scores else "")
        + _facts(run_facts(run))
        + _folded("epochs", _grid(epochs_table(run)))
        + _folded("signature", _facts(signature_facts(run)))
    )


def found_html(found: FoundRuns) -> str:
    """Every run with state, scores and time."""
    table = runs_table(found)
    return _block(_table(table) if table.rows else "<p>no runs</p>")


def _block(inner: str) -> str:
    return f'<div style="overflow-x:auto">{inner}</div>\n'


def _table(table: Table) -> str:
    """The grid beneath its title, its notes beneath it, and what the columns mean, folded."""
    below = _list(table.notes)
    if table.legend:
        below += _folded("what the columns mean", _list(table.legend))
    return f"{_grid(table)}{below}"


def _grid(table: Table) -> str:
    columns, rows = table.select()
    about = f"<br>{_text(table.subtitle)}" if table.subtitle else ""
    named = f'<caption style="{_LEFT}"><b>{_text(table.title)}</b>{about}</caption>\n'
    return (
        f"{_TABLE}{named if table.title else ''}"
        f"<thead><tr>{''.join(map(_head, columns))}</tr></thead>\n<tbody>"
        + "".join(
            _row(columns, row, rule=section)
            for row, section in zip(rows, table.sections, strict=True)
        )
        + "</tbody></table>\n"
    )


def _head(column: Column) -> str:
    return f'<th scope="col" style="{_side(column)}">{_text(column.head)}</th>'


def _row(columns: Sequence[Column], row: Sequence[Cell], *, rule: bool) -> str:
    rest = f";{_RULE}" if rule else ""
    cells = []
    for i, (column, cell) in enumerate(zip(columns, row, strict=True)):
        tag = 'th scope="row"' if i == 0 else "td"
        text = f"<b>{_text(cell.text)}</b>" if cell.best else _text(cell.text)
        cells.append(f'<{tag} style="{_side(column)}{rest}">{text}</{tag[:2]}>')
    return f"<tr>{''.join(cells)}</tr>\n"


def _side(column: Column) -> str:
    return _RIGHT if column.right else _LEFT


def _facts(facts: Iterable[tuple[str, str]]) -> str:
    rows = "".join(
        f'<tr><th scope="row" style="{_LEFT}">{_text(name)}</th>'
        f'<td style="{_LEFT}">{_text(value)}</td></tr>\n'
        for name, value in facts
    )
    return f"{_TABLE}<tbody>{rows}</tbody></table>\n"


def _list(lines: Sequence[str]) -> str:
    items = "".join(f"<li>{_text(line)}</li>" for line in lines)
    return f"<ul>{items}</ul>\n" if items else ""


def _folded(summary: str, inner: str) -> str:
    return f"<details><summary>{_text(summary)}</summary>{inner}</details>\n"


def _text(text: str) -> str:
    return escape(visible(text))
