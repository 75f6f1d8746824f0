"""One door to all formats of transfer matrices."""

from __future__ import annotations

from collections.abc import Sequence

from featbert.analysis.transfer import TransferMatrix
from featbert.analysis.transfer_published import PublishedMatrix
from featbert.errors import InputError, nearest
from featbert.report.cells import Table
from featbert.report.rendering import FORMATS
from featbert.report.transfer_table import transfer_tables
from featbert.report.units import visible

_NOTHING = "no transfer to show: no run was evaluated on other data than its own"


def render_transfer(
    matrices: Sequence[TransferMatrix],
    format: str = "text",
    *,
    published: Sequence[PublishedMatrix] = (),
    width: int | None = None,
    color: bool = False,
    notes: Sequence[str] = (),
) -> str:
    """Transfer matrices in one of `FORMATS`, with a final newline.

    Args:
        published: published matrices to stand beside them, as tables of their own.
        width: of the terminal, for text; a wider table wraps, and nothing is cut.
        color: whether text may be styled.
        notes: further lines, such as `FoundRuns.notes`; CSV has no place for them.

    Raises:
        InputError: an unknown format.
    """
    if format == "json":
        from featbert.report.transfer_export import transfer_json

        return transfer_json(matrices, published, notes=notes)
    if format == "csv":
        from featbert.report.transfer_export import transfer_csv

        return transfer_csv(matrices, published)
    tables = transfer_tables(matrices, published)
    lines = [*([] if matrices else [_NOTHING]), *map(visible, notes)]
    if format == "text":
        return _text(tables, lines, width, color)
    if format == "markdown":
        return _markdown(tables, lines)
    if format == "latex":
        return _latex(tables, lines)
    raise InputError(
        f"format {', '.join(FORMATS)} expected, found {format!r}{nearest(format, FORMATS)}"
    )


def _text(tables: Sequence[Table], lines: Sequence[str], width: int | None, color: bool) -> str:
    # rich takes 50 ms to import, which the formats for machines need not wait for.
    from rich.cells import cell_len

    from featbert.report import text

    widths = [max(text.natural(t), cell_len(t.title), cell_len(t.subtitle)) for t in tables]
    wide = max(widths, default=text.UNBOUNDED)
    console = text.make_console(wide if width is None else max(width, text.MIN_WIDTH), color)
    for i, table in enumerate(tables):
        if i:
            console.print()
        text.draw(console, table)
    if tables and lines:
        console.print()
    text.print_notes(console, lines, "yellow")
    return "\n".join(line.rstrip(" ") for line in text.output(console).split("\n"))


def _markdown(tables: Sequence[Table], lines: Sequence[str]) -> str:
    from featbert.report import markdown

    parts = [markdown.part(table) for table in tables]
    if lines:
        parts.append("".join(f"- {markdown.escape(line)}\n" for line in lines))
    return "\n".join(parts)


def _latex(tables: Sequence[Table], lines: Sequence[str]) -> str:
    from featbert.report import latex

    parts = [
        "% Preamble: \\usepackage{booktabs} \\usepackage[T1]{fontenc} \\usepackage{textcomp}\n"
    ]
    parts += [latex.part(table) for table in tables]
    parts.append("".join(f"% {line}\n" for line in lines))
    return "\n".join(part for part in parts if part)
