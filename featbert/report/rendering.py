"""Tables as terminal text, Markdown and LaTeX. Comparisons as CSV and JSON."""

import dataclasses
import io
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import methodcaller
from typing import Any, Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from featbert.analysis.comparison import Comparison, Comparisons
from featbert.analysis.document import to_json
from featbert.analysis.frame import comparison_lines
from featbert.errors import check_known
from featbert.report.table import ONLY_WIDE, Cell, Column, Table
from featbert.report.tables import overview_tables, tables, transfer_tables
from featbert.units import visible

FORMATS = ("text", "markdown", "latex", "csv", "json")
# Columns of a terminal around a cell and between cells.
_AROUND = 2
# What makes a spreadsheet read a cell as a formula: the signs, also as East Asian keyboards type
# them, and white space that some take off before they look.
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r", "\n")
# Characters that LaTeX would interpret, escaped.
_LATEX = str.maketrans(
    {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {char: f"\\{char}" for char in "&%$#_{}"}
    | {"±": r"$\pm$", "Δ": r"$\Delta$", "·": r"$\cdot$", "–": "--"}
)


@dataclass(frozen=True)
class Detail:
    """How much of tables a terminal shows. Other formats have everything.

    Attributes:
        explain: the meaning of columns, too.
        wide: all columns. A table that does not fit is split.
        columns: heads of columns to show besides the names of rows, in tables that have them.
    """

    explain: bool = False
    wide: bool = False
    columns: Sequence[str] = ()


EVERYTHING = Detail(explain=True, wide=True)


def render(
    comparisons: Comparison | Sequence[Comparison],
    format: str = "text",
    *,
    width: int | None = None,
    detail: Detail = Detail(),
) -> str:
    """One comparison or several in one of `FORMATS`, with a final newline: what their view shows.

    JSON has all that they hold. CSV, a line for each row of the comparisons, has no place for
    notes, transfer matrices and published tables.

    Args:
        width: of a terminal, for text in bold and colours: wider tables are split by columns. None:
            plain text of any width.
    """
    check_known("format", [format], FORMATS)
    comparisons = Comparisons.of(comparisons)
    if format == "json":
        return to_json(comparisons)
    shown = comparisons.viewed()
    if format == "csv":
        return _csv(
            {"comparison": number, **line}
            for number, comparison in enumerate(shown, 1)
            for line in comparison_lines(comparison)
        )
    parts = [
        *tables(shown),
        *transfer_tables(shown.matrices, shown.published),
        *overview_tables(shown),
    ]
    return in_format(parts, format, shown.notes, width=width, detail=detail)


def in_format(
    drawn: Sequence[Table],
    format: str,
    notes: Sequence[str] = (),
    *,
    width: int | None = None,
    detail: Detail = EVERYTHING,
) -> str:
    """Tables and further lines in one of `FORMATS` but JSON. See `render`."""
    if format == "csv":
        return _csv(
            {"table": number, **{c.name: line.get(c.name) for c in table.columns}}
            for number, table in enumerate(drawn, 1)
            for line in table.lines
        )
    lines = [visible(note) for note in notes]
    if format == "text":
        heads = {column.head: column for table in drawn for column in table.columns}
        check_known("column", detail.columns, heads)
        views = [_view(table, width, detail) for table in drawn]
        parts = [as_text(view, width) for view in views]
        lines += textwrap.wrap(_more(drawn, views, detail), width or 10_000, break_on_hyphens=False)
    elif format == "markdown":
        parts = [*map(as_markdown, drawn)]
        lines = [f"- {markdown_text(line)}" for line in lines]
    else:
        preamble = "% needs \\usepackage{booktabs} and \\usepackage[T1]{fontenc}\n"
        parts = [preamble, *map(as_latex, drawn)]
        lines = [f"% {line}" for line in lines]
    return "\n".join([*parts, *lines]).rstrip("\n") + "\n"


def as_text(table: Table, width: int | None = None) -> str:
    """The table for a terminal. A wider one is split by columns.

    Repeated are the first columns that tell the rows apart, if they have room, else the first.
    """
    out = io.StringIO()
    console = Console(
        file=out, width=width or 10_000, force_terminal=width is not None, highlight=False
    )
    for text, style in ((table.title, "bold"), (table.subtitle, "dim")):
        if text:
            console.print(Text(text, style))
    for line in ["", *table.answer, ""] if table.answer else []:
        console.print(Text(line))
    rows = table.rows()
    columns = zip(table.columns, *rows, strict=True)
    sizes = [_sizes(column, cells, width) for column, *cells in columns]
    narrow, joined = [least for _, least in sizes], [column.joined for column in table.columns]
    apart = (n for n in range(1, len(narrow)) if len({row[:n] for row in rows}) == len(rows))
    first = next(apart, 1)
    first = first if width and sum(narrow[:first]) <= width // 2 else 1
    for chosen in _packs(narrow, joined, width, first):
        rich_table = RichTable(box=box.HORIZONTALS, padding=(0, 1, 0, 0))
        spare = max(0, (width or 0) - 1 - sum(narrow[i] for i in chosen))
        for place in chosen:
            column, (size, least) = table.columns[place], sizes[place]
            justify: Literal["left", "right"] = "right" if column.right else "left"
            wider = min(spare, size - least)
            spare -= wider
            rich_table.add_column(Text(column.head), justify=justify, width=least + wider - _AROUND)
        for section, row in zip(table.sections, rows, strict=True):
            if section:
                rich_table.add_section()
            rich_table.add_row(*(Text(row[i].text, "bold" if row[i].best else "") for i in chosen))
        console.print(rich_table)
    for line in table.remarks:
        console.print(Padding(Text(line, "dim"), (0, 1)))
    return "\n".join(line.rstrip() for line in out.getvalue().split("\n"))


def _view(table: Table, width: int | None, detail: Detail) -> Table:
    """The table with the columns that have room, unless all are asked for."""
    columns = [*table.columns]
    chosen = [c for c in columns if c.head in detail.columns]
    if chosen:
        columns = [c for c in columns if c in chosen or not c.right]
    elif not detail.wide:
        columns = [column for column in columns if column.detail < ONLY_WIDE]
        sizes = [_sizes(column, column.cells(table.lines), width)[1] for column in columns]
        while width and 1 + sum(sizes) > width and (level := max(c.detail for c in columns)):
            sizes = [size for c, size in zip(columns, sizes, strict=True) if c.detail < level]
            columns = [column for column in columns if column.detail < level]
    return dataclasses.replace(
        table, columns=columns, legend=table.legend if detail.explain else []
    )


def _more(tables: Sequence[Table], views: Sequence[Table], detail: Detail) -> str:
    """How to see the rest of tables, in a line, if views leave something out."""
    hints = []
    if not detail.explain and any(table.legend for table in tables):
        hints.append("--explain: meaning of the columns")
    left_out = dict.fromkeys(
        column.head
        for table, view in zip(tables, views, strict=True)
        for column in table.columns
        if column not in view.columns
    )
    if left_out and not detail.columns:
        hints.append(f"--wide: also {', '.join(left_out)}")
    return " · ".join(hints)


def _sizes(column: Column, cells: Sequence[Cell], width: int | None) -> tuple[int, int]:
    """Width of a column, and its least width: names and heads wrap at words, numbers do not."""
    texts = [column.head, *(cell.text for cell in cells)]
    size = max(map(cell_len, texts)) + _AROUND
    if width is None:
        return size, size
    whole = texts[1:] if column.right else []
    words = column.head if column.right else " ".join(texts)
    least = max(map(cell_len, ["", *words.split(), *whole])) + _AROUND
    if column.right:
        return size, least
    return min(size, max(width // 2, least)), min(size, max(width // 4, least))


def _packs(
    sizes: Sequence[int], joined: Sequence[bool], width: int | None, first: int
) -> Iterator[list[int]]:
    """Places of columns that fit into the width together, each time with the `first` ones.

    Those that are `joined` stay with the column before them, as far as there is room.
    """
    pack, n = [*range(first)], len(sizes)
    for place in range(first, n):
        end = next((i for i in range(place + 1, n) if not joined[i]), n)
        used = 1 + sum(sizes[i] for i in pack)
        need = sizes[place] if joined[place] else sum(sizes[place:end])
        if width is not None and used + need > width and len(pack) > first:
            yield pack
            pack = [*range(first)]
        pack.append(place)
    yield pack


def markdown_text(text: str) -> str:
    """`text` as Markdown shows it literally."""
    return "".join(f"\\{char}" if char in "\\`*_{}[]<>|#~$&" else char for char in text)


def _joined_cells(
    table: Table, escape: Callable[[str], str], bold: str, joint: str
) -> Iterator[str]:
    """The heads and each row as one text."""
    for cells in ((Cell(column.head) for column in table.columns), *table.rows()):
        texts = ((escape(cell.text), cell.best) for cell in cells)
        yield joint.join(bold.format(text) if best else text for text, best in texts)


def as_markdown(table: Table) -> str:
    """A heading, the table with best values bold, and its legend as a list."""
    head, *rows = _joined_cells(table, markdown_text, "**{}**", " | ")
    rule = " | ".join("---:" if column.right else "---" for column in table.columns)
    lines = [f"### {markdown_text(table.title)}", ""] if table.title else []
    lines += [markdown_text(table.subtitle), ""] if table.subtitle else []
    lines += [*(f"- {markdown_text(line)}" for line in table.answer), ""] if table.answer else []
    lines += [f"| {line} |" for line in (head, rule, *rows)]
    about = [f"- {markdown_text(remark)}" for remark in table.remarks]
    return "\n".join([*lines, *([""] if about else []), *about]) + "\n"


def as_latex(table: Table) -> str:
    """A `table` environment with booktabs. Best values bold."""
    escape = methodcaller("translate", _LATEX)
    head, *rows = (rf"{row} \\" for row in _joined_cells(table, escape, r"\textbf{{{}}}", " & "))
    caption = ". ".join(filter(None, (table.title, table.subtitle)))
    places = "".join("r" if column.right else "l" for column in table.columns)
    lines = [
        *(r"\begin{table}", r"\centering"),
        *([rf"\caption{{{escape(caption)}.}}"] if caption else []),
        *(rf"\begin{{tabular}}{{{places}}}", r"\toprule", head, r"\midrule"),
        *(*rows, r"\bottomrule", r"\end{tabular}"),
        *(rf"\par\smallskip {escape(line)}" for line in (*table.answer, *table.remarks)),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _csv(lines: Iterable[Mapping[str, Any]]) -> str:
    """Unrounded: shares in [0, 1], seconds, bytes. A missing value is an empty field."""
    import pandas

    rows = [{harmless(name): harmless(value) for name, value in line.items()} for line in lines]
    return str(pandas.DataFrame(rows).to_csv(index=False, lineterminator="\n"))


def harmless(value: Any) -> Any:
    """Text such that a spreadsheet takes it for no formula: an apostrophe before it."""
    if not isinstance(value, str):
        return value
    return "'" * value.lstrip(" ").startswith(_FORMULA) + visible(value)
