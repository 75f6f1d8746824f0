"""Comparisons as LaTeX tables with booktabs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from featbert.analysis.compare import Comparison
from featbert.report.cells import Cell, Table
from featbert.report.table import tables
from featbert.report.units import visible

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    "[": "{[}",  # after the end of a row these two would be its options
    "*": "{*}",
    "-": r"-{}",  # two in a row would become a dash
    "±": r"$\pm$",
    "Δ": r"$\Delta$",
    "·": r"$\cdot$",
    "–": r"--",
}


def latex_report(
    comparisons: Sequence[Comparison], *, notes: Sequence[str] = (), show: Sequence[str] = ()
) -> str:
    """A `table` environment for each comparison, notes beneath the table; best values bold.

    The preamble needs `\\usepackage{booktabs}` and, for the quotation marks in names,
    `\\usepackage[T1]{fontenc}` and `\\usepackage{textcomp}`.

    Args:
        notes: further lines, as comments at the end.
        show: scores beside entity F1, as `tables` takes them.
    """
    parts = [
        "% Preamble: \\usepackage{booktabs} \\usepackage[T1]{fontenc} \\usepackage{textcomp}\n"
    ]
    parts += [part(table) for table in tables(comparisons, show=show)]
    if not comparisons:
        parts.append("% no finished runs to compare\n")
    parts.append("".join(f"% {visible(note)}\n" for note in notes))
    return "\n".join(part for part in parts if part)


def escape(text: str) -> str:
    """`text` as LaTeX sets it literally."""
    return "".join(_SPECIAL.get(char, char) for char in text)


def part(table: Table) -> str:
    columns, rows = table.select()
    lines = [
        r"\begin{table}",
        r"\centering\footnotesize\setlength{\tabcolsep}{4pt}",
        rf"\caption{{{escape(table.title)}. {escape(table.subtitle)}.}}",
        rf"\begin{{tabular}}{{@{{}}{''.join('r' if c.right else 'l' for c in columns)}@{{}}}}",
        r"\toprule",
        _line([escape(column.head) for column in columns]),
        r"\midrule",
    ]
    for section, row in zip(table.sections, rows, strict=True):
        if section:
            lines.append(r"\midrule")
        lines.append(_line([_cell(cell) for cell in row]))
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [rf"\par\smallskip {escape(note)}" for note in (*table.legend, *table.notes)]
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def _line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _cell(cell: Cell) -> str:
    """A signed number gets a true minus; everything else is text."""
    text = f"${cell.text}$" if re.fullmatch(r"[+-][\d.]+", cell.text) else escape(cell.text)
    return rf"\textbf{{{text}}}" if cell.best else text
