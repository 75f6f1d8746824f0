"""Comparisons as one CSV table, a line a row, for spreadsheets.

Numbers are those of the other tables without their units, which the headings name: F1 in percent
with two decimals, seconds, bytes. Unrounded numbers are in the JSON report.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from featbert.comparison.compare import Comparison
from featbert.report.table import tables


def csv_report(comparisons: Sequence[Comparison]) -> str:
    """A heading line, then the rows of all comparisons, their comparison's number first.

    There is no place for notes in it; the caller shows them elsewhere. Without comparisons the
    text is empty.
    """
    drawn = tables(comparisons)
    if not drawn:
        return ""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["comparison", *(f for column in drawn[0].columns for f in column.fields)])
    for number, table in enumerate(drawn, 1):
        for row in table.rows:
            writer.writerow([number, *(harmless(value) for cell in row for value in cell.data)])
    return out.getvalue()


def harmless(value: str) -> str:
    """`value` such that a spreadsheet takes no text for a formula: an apostrophe before it."""
    if value[:1] not in ("=", "+", "-", "@"):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value
