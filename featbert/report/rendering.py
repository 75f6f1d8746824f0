"""One door to all formats."""

from __future__ import annotations

from collections.abc import Sequence

from featbert.analysis.compare import Comparison
from featbert.errors import InputError, nearest
from featbert.report.table import check_show

FORMATS = ("text", "markdown", "latex", "csv", "json")


def render(
    comparisons: Sequence[Comparison],
    format: str = "text",
    *,
    width: int | None = None,
    color: bool = False,
    notes: Sequence[str] = (),
    show: Sequence[str] = (),
) -> str:
    """Comparisons in one of `FORMATS`, with a final newline.

    Args:
        width: of the terminal, for text; see `text_report`.
        color: whether text may be styled.
        notes: further lines, such as `FoundRuns.notes`; CSV has no place for them.
        show: scores that stand beside entity F1 in the tables for people, of `SHOWABLE`:
            "word_f1", "strict_f1", "word_accuracy", "precision", "recall". CSV and JSON have
            all of them anyway.

    Raises:
        InputError: an unknown format or score.
    """
    check_show(show)
    if format == "text":
        # rich takes 50 ms to import, which the formats for machines need not wait for.
        from featbert.report.text import text_report

        return text_report(comparisons, width=width, color=color, notes=notes, show=show)
    if format == "markdown":
        from featbert.report.markdown import markdown_report

        return markdown_report(comparisons, notes=notes, show=show)
    if format == "latex":
        from featbert.report.latex import latex_report

        return latex_report(comparisons, notes=notes, show=show)
    if format == "csv":
        from featbert.report.csv_table import csv_report

        return csv_report(comparisons)
    if format == "json":
        from featbert.report.json_table import json_report

        return json_report(comparisons, notes=notes)
    raise InputError(
        f"format {', '.join(FORMATS)} expected, found {format!r}{nearest(format, FORMATS)}"
    )
