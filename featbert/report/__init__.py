"""Report: comparisons as text, Markdown, LaTeX, CSV and JSON. Functions return, none prints."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from featbert.report.csv_table import csv_report
    from featbert.report.json_table import json_report
    from featbert.report.latex import latex_report
    from featbert.report.markdown import markdown_report
    from featbert.report.rendering import FORMATS, render
    from featbert.report.text import text_report

__all__ = [
    "FORMATS",
    "csv_report",
    "json_report",
    "latex_report",
    "markdown_report",
    "render",
    "text_report",
]

_HOMES = {
    "FORMATS": "rendering",
    "csv_report": "csv_table",
    "json_report": "json_table",
    "latex_report": "latex",
    "markdown_report": "markdown",
    "render": "rendering",
    "text_report": "text",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
