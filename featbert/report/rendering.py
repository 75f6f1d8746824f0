"""Tables as terminal text, Markdown, LaTeX, CSV and HTML; comparisons as JSON."""

from __future__ import annotations

import dataclasses
import html
import io
import json
import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from featbert.analysis.compare import Comparison
from featbert.analysis.published import PublishedMatrix
from featbert.analysis.results import PublishedFigures
from featbert.analysis.rows import Row
from featbert.analysis.transfer import TransferMatrix
from featbert.errors import InputError, nearest
from featbert.report.tables import Cell, Column, Table, tables, transfer_tables
from featbert.report.units import visible
from featbert.runs.grouping import EVALUATED

FORMATS = ("text", "markdown", "latex", "csv", "json")
# What makes a spreadsheet read a cell as a formula: the signs, also as East Asian keyboards type
# them, and white space that some take off before they look.
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r", "\n")
# pandas escapes LaTeX's own characters; of these the tables are full.
_LATEX = {"±": r"$\pm$", "Δ": r"$\Delta$", "·": r"$\cdot$", "–": "--"}


def render(
    comparisons: Sequence[Comparison],
    format: str = "text",
    *,
    notes: Sequence[str] = (),
    show: Sequence[str] = (),
    matrices: Sequence[TransferMatrix] = (),
    published: Sequence[PublishedMatrix] = (),
    width: int | None = None,
    color: bool = False,
) -> str:
    """Comparisons, then transfer matrices, in one of `FORMATS`, with a final newline.

    Args:
        notes: further lines, such as `FoundRuns.notes`; CSV has no place for them.
        show: keys of scores that people see besides the task's measure; CSV and JSON have all.
        width: of the terminal, for text: wider tables are split by columns. None: no limit.
        color: whether text may be styled.

    Raises:
        InputError: an unknown format or score.
    """
    if format not in FORMATS:
        known = ", ".join(FORMATS)
        raise InputError(f"unknown format {format!r}{nearest(format, FORMATS)}; use {known}")
    drawn = [*tables(comparisons, show=show), *transfer_tables(matrices, published)]
    if format == "json":
        return json_report(comparisons, notes=notes, matrices=matrices, published=published)
    if format == "csv":
        return "\n".join(map(as_csv, drawn))
    lines = [visible(note) for note in notes]
    if format == "text":
        parts = [as_text(table, width=width, color=color) for table in drawn]
        return "\n".join([*parts, "".join(f"{line}\n" for line in lines)]).rstrip("\n") + "\n"
    if format == "markdown":
        ending = "".join(f"- {markdown_text(line)}\n" for line in lines)
        return "\n".join([*map(as_markdown, drawn), ending]).rstrip("\n") + "\n"
    ending = "".join(f"% {line}\n" for line in lines)
    preamble = "% needs \\usepackage{booktabs} and \\usepackage[T1]{fontenc}\n"
    return "\n".join([preamble, *map(as_latex, drawn), ending])


# Terminal -----------------------------------------------------------------------------------------


def as_text(table: Table, *, width: int | None = None, color: bool = False) -> str:
    """The table for a terminal; a wider one is split by columns, its first column repeated."""
    from rich.console import Console

    out = io.StringIO()
    console = Console(
        file=out, width=width or 10_000, force_terminal=color, no_color=not color, highlight=False
    )
    columns, rows = table.select()
    for line in (table.title, table.subtitle):
        for part in _wrapped(line, width):
            console.print(part, style="bold" if line is table.title else "", markup=False)
    for chosen in _packs(columns, rows, width):
        console.print(_rich(table, columns, rows, chosen, width))
    for line in (*table.legend, *table.notes):
        for part in _wrapped(line, width):
            console.print(f" {part}", style="dim", markup=False)
    return "\n".join(line.rstrip() for line in out.getvalue().split("\n"))


def _rich(
    table: Table,
    columns: Sequence[Column],
    rows: Sequence[Sequence[Cell]],
    chosen: Sequence[int],
    width: int | None,
) -> Any:
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(box=box.HORIZONTALS, padding=(0, 1))
    for place in chosen:
        column = columns[place]
        drawn.add_column(
            Text(column.head),
            justify="right" if column.right else "left",
            width=_size(column, rows, place, width) - _AROUND,
        )
    for section, row in zip(table.sections, rows, strict=True):
        if section:
            drawn.add_section()
        drawn.add_row(*(Text(row[i].text, style="bold" if row[i].best else "") for i in chosen))
    return drawn


# Two spaces around a cell, and one between cells.
_AROUND = 3


def _size(column: Column, rows: Sequence[Sequence[Cell]], place: int, width: int | None) -> int:
    """Width of a column. Long names wrap at their words, so that half is left to numbers."""
    from rich.cells import cell_len

    texts = [column.head, *(row[place].text for row in rows)]
    size = max(map(cell_len, texts)) + _AROUND
    if width is None or column.right:
        return size
    longest = max(cell_len(word) for text in texts for word in [*text.split(), ""])
    return min(size, max(width // 2, longest + _AROUND))


def _packs(
    columns: Sequence[Column], rows: Sequence[Sequence[Cell]], width: int | None
) -> Iterator[list[int]]:
    """Places of columns that fit into the width together, each with the first column."""
    if width is None:
        yield [*range(len(columns))]
        return
    sizes = [_size(column, rows, place, width) for place, column in enumerate(columns)]
    pack, used = [0], sizes[0] + 1
    for place in range(1, len(columns)):
        if used + sizes[place] > width and len(pack) > 1:
            yield pack
            pack, used = [0], sizes[0] + 1
        pack.append(place)
        used += sizes[place]
    yield pack


def _wrapped(line: str, width: int | None) -> list[str]:
    if width is None:
        return [line] if line else []
    return textwrap.wrap(line, width - 2, break_long_words=False, break_on_hyphens=False)


# Files --------------------------------------------------------------------------------------------


def markdown_text(text: str) -> str:
    """`text` as Markdown shows it literally."""
    return "".join(f"\\{char}" if char in "\\`*_{}[]<>|#~$" else char for char in text)


def as_markdown(table: Table) -> str:
    """A heading, the table with best values bold, and its legend as a list."""
    columns, rows = table.select()

    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cells)} |"

    def text(cell: Cell) -> str:
        return f"**{markdown_text(cell.text)}**" if cell.best else markdown_text(cell.text)

    lines = [f"### {markdown_text(table.title)}", ""] if table.title else []
    lines += [markdown_text(table.subtitle), ""] if table.subtitle else []
    lines.append(line([markdown_text(column.head) for column in columns]))
    lines.append(line(["---:" if column.right else "---" for column in columns]))
    lines += [line([text(cell) for cell in row]) for row in rows]
    about = [f"- {markdown_text(one)}" for one in (*table.legend, *table.notes)]
    return "\n".join([*lines, *([""] if about else []), *about]) + "\n"


def as_latex(table: Table) -> str:
    """A `table` environment with booktabs; best values bold."""
    import pandas

    columns, rows = table.select()
    frame = pandas.DataFrame([[cell.text for cell in row] for row in rows])
    style = frame.style.hide(axis="index").format(escape="latex")
    style = style.format_index(lambda place: _latex(columns[place].head), axis="columns").apply(
        lambda _: pandas.DataFrame(
            [["font-weight: bold" if cell.best else "" for cell in row] for row in rows]
        ),
        axis=None,
    )
    text: str = style.to_latex(
        hrules=True,
        convert_css=True,
        column_format="".join("r" if column.right else "l" for column in columns),
        caption=_latex(f"{table.title}. {table.subtitle}."),
        position_float="centering",
    )
    lines = [rf"\par\smallskip {_latex(line)}" for line in (*table.legend, *table.notes)]
    text = text.replace(r"\end{tabular}", "\n".join([r"\end{tabular}", *lines]))
    for char, written in _LATEX.items():
        text = text.replace(char, written)
    return text


def _latex(text: str) -> str:
    """`text` as LaTeX sets it literally."""
    import pandas

    formatted = pandas.DataFrame([[text]]).style.hide(axis="index").hide(axis="columns")
    body = formatted.format(escape="latex").to_latex()
    return str(body).split("\n")[1].removesuffix(r" \\")


def as_csv(table: Table) -> str:
    """A line a row, unrounded: shares in [0, 1], seconds, bytes."""
    frame = table.frame.rename(columns=harmless)
    frame.insert(0, "comparison", table.number)
    text: str = frame.map(harmless).to_csv(index=False, lineterminator="\n")
    return text


def harmless(value: Any) -> Any:
    """Text such that a spreadsheet takes it for no formula: an apostrophe before it."""
    if isinstance(value, str) and value.lstrip(" ").startswith(_FORMULA):
        return f"'{visible(value)}"
    return visible(value) if isinstance(value, str) else value


def as_html(table: Table) -> str:
    """A fragment without scripts, colours and style sheet, as notebooks show it."""
    columns, rows = table.select()

    def cell(tag: str, column: Column, text: str, best: bool = False) -> str:
        side = "right;white-space:nowrap" if column.right else "left"
        inner = f"<b>{html.escape(text)}</b>" if best else html.escape(text)
        return f'<{tag} style="text-align:{side}">{inner}</{tag}>'

    head = "".join(cell("th", column, column.head) for column in columns)
    body = ""
    for row in rows:
        pairs = zip(columns, row, strict=True)
        body += f"<tr>{''.join(cell('td', c, one.text, one.best) for c, one in pairs)}</tr>\n"
    about = "".join(f"<li>{html.escape(line)}</li>" for line in (*table.legend, *table.notes))
    named = f"<b>{html.escape(table.title)}</b><br>{html.escape(table.subtitle)}"
    return (
        f'<div style="overflow-x:auto"><table style="color:inherit"><caption>{named}</caption>'
        f"<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"
        f"{f'<ul>{about}</ul>' if about else ''}</div>\n"
    )


# JSON ---------------------------------------------------------------------------------------------


def json_report(
    comparisons: Sequence[Comparison],
    *,
    notes: Sequence[str] = (),
    matrices: Sequence[TransferMatrix] = (),
    published: Sequence[PublishedMatrix] = (),
) -> str:
    """One object; every number unrounded, scores in [0, 1], and the runs it is from; ASCII.

    `comparisons[]`, `rows[]`, `differences[]` (each row against its baseline), `costs[]`,
    `scorers[]`, `breakdowns[]`, `published[]`, `transfer[]`, `published_transfer[]`, `notes[]`. The
    `group` of a row, difference, ... is the `number` of its comparison. A row has its scores by
    split and key, each with `mean`, `sd`, `n`, `values`; a split that was not scored is null.
    `values` are in the order of `seeds` and `runs`. A number that is not finite is null.
    """
    grouped = [*enumerate(comparisons, 1)]
    report: dict[str, Any] = {
        "comparisons": [_comparison(one, number) for number, one in grouped],
        "rows": [_row(row, number) for number, one in grouped for row in one.rows],
    }
    for name in ("differences", "costs", "scorers", "breakdowns"):
        report[name] = [
            {"group": number, **dataclasses.asdict(found)}
            for number, one in grouped
            for found in getattr(one, name)
        ]
    report["published"] = [
        _published(found, number) for number, one in grouped for found in one.published
    ]
    report["transfer"] = [_matrix(matrix, number) for number, matrix in enumerate(matrices, 1)]
    report["published_transfer"] = [dataclasses.asdict(one) for one in published]
    report["notes"] = list(notes)
    return json.dumps(_finite(report), indent=1, allow_nan=False) + "\n"


def _without(one: Any, *names: str) -> dict[str, Any]:
    """Fields of a dataclass, without some."""
    fields = [field.name for field in dataclasses.fields(one) if field.name not in names]
    return {name: getattr(one, name) for name in fields}


def _comparison(comparison: Comparison, number: int) -> dict[str, Any]:
    sizes = {
        split: {"examples": examples, "words": words}
        for split, (examples, words) in comparison.sizes.items()
    }
    names = ("corpus", "model", "context", "scorer", "splits", "key", "varied", "notes")
    fields = {name: getattr(comparison, name) for name in names}
    measure = comparison.task.measure.key
    return {"number": number, "task": comparison.task.name, "measure": measure, **fields} | {
        "sizes": sizes
    }


def _row(row: Row, number: int) -> dict[str, Any]:
    scores = {
        split: {
            key: dataclasses.asdict(score)
            for key in row.task.columns
            if (score := row.score(split, key)) is not None
        }
        or None
        for split in EVALUATED
    }
    return {
        "group": number,
        **_without(row, "task", "runs", "left_out", "splits", "cost"),
        "seeds": row.seeds,
        "runs": [run.name for run in row.runs],
        "left_out": [run.name for run in row.left_out],
        **scores,
        "cost": dataclasses.asdict(row.cost),
    }


def _published(found: PublishedFigures, number: int) -> dict[str, Any]:
    return {
        "group": number,
        "table": found.table.id,
        "title": found.table.title,
        "source": found.table.source,
        "verified": found.table.verified,
        "lines": [
            {
                "label": line.label,
                "published": line.published.model_dump(exclude_none=True),
                "row": line.row.label if line.row else None,
                **{split: dataclasses.asdict(one) for split, one in line.figures.items()},
            }
            for line in found.lines
        ],
    }


def _matrix(matrix: TransferMatrix, number: int) -> dict[str, Any]:
    return {
        "number": number,
        **_without(matrix, "task", "rows", "columns"),
        "columns": [dataclasses.asdict(data) for data in matrix.columns],
        "rows": [
            {
                "trained_on": row.label,
                "runs": [run.name for run in row.trained.runs],
                "seeds": row.trained.seeds,
                "average": row.average,
                "average_sd": row.average_sd,
                "cells": {
                    label: None if cell is None else dataclasses.asdict(cell)
                    for label, cell in zip(matrix.evaluated_on, row.cells, strict=True)
                },
            }
            for row in matrix.rows
        ],
    }


def _finite(value: Any) -> Any:
    """`value` in the types of JSON, with null for numbers that JSON does not know."""
    if isinstance(value, Mapping):
        return {str(name): _finite(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
