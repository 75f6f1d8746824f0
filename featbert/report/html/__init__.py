"""A comparison as one HTML file that needs nothing beside it: no network, no other file.

Imported when it is asked for: it draws figures (matplotlib) and fills a template (Jinja2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from featbert.lazy import attach

if TYPE_CHECKING:
    from featbert.report.html.page import html_report
    from featbert.report.html.writing import write_report

__all__ = ["html_report", "write_report"]
__getattr__, __dir__ = attach(
    __name__,
    {
        "html_report": "featbert.report.html.page",
        "write_report": "featbert.report.html.writing",
    },
)
