"""Report: comparisons and transfer matrices as text, Markdown, LaTeX, CSV and JSON; figures.

Functions return, none prints; `featbert.report.figures` draws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from featbert.lazy import attach

if TYPE_CHECKING:
    from featbert.report.csv_table import csv_report
    from featbert.report.json_table import json_report
    from featbert.report.latex import latex_report
    from featbert.report.markdown import markdown_report
    from featbert.report.rendering import FORMATS, render
    from featbert.report.table import SHOWABLE
    from featbert.report.text import text_report
    from featbert.report.transfer_rendering import render_transfer

__all__ = [
    "FORMATS",
    "SHOWABLE",
    "csv_report",
    "json_report",
    "latex_report",
    "markdown_report",
    "render",
    "render_transfer",
    "text_report",
]
__getattr__, __dir__ = attach(
    __name__,
    {
        "FORMATS": "featbert.report.rendering",
        "SHOWABLE": "featbert.report.table",
        "csv_report": "featbert.report.csv_table",
        "json_report": "featbert.report.json_table",
        "latex_report": "featbert.report.latex",
        "markdown_report": "featbert.report.markdown",
        "render": "featbert.report.rendering",
        "render_transfer": "featbert.report.transfer_rendering",
        "text_report": "featbert.report.text",
    },
)
