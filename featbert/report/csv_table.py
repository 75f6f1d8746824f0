"""Comparisons, and published figures beside them, as one CSV table, a line a row, for spreadsheets.

Numbers are those of the other tables without their units, which the headings name: F1 in percent
with two decimals, seconds, bytes. Unrounded numbers are in the JSON report.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from featbert.analysis.compare import Comparison
from featbert.report.table import tables

# What makes a spreadsheet read a cell as a formula: the signs, also as East Asian keyboards type
# them, and white space that some take off before they look.
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r", "\n")


def csv_report(comparisons: Sequence[Comparison]) -> str:
    """A heading line, then the rows of all comparisons, their comparison's number first.

    Below a comparison's rows stand those of its published tables, told by `published in`, with
    columns of their own; what was reproduced is in the columns of a comparison's F1. There is no
    place for notes in it; the caller shows them elsewhere. Without comparisons the text is empty.
    """
    drawn = tables(comparisons)
    if not drawn:
        return ""
    fields = dict.fromkeys(f for table in drawn for column in table.columns for f in column.fields)
    out = io.StringIO()
    writer = csv.DictWriter(out, ["comparison", *fields], restval="", lineterminator="\n")
    writer.writeheader()
    for table in drawn:
        for row in table.rows:
            written = {"comparison": str(table.number)}
            for column, cell in zip(table.columns, row, strict=True):
                written |= zip(column.fields, map(harmless, cell.data), strict=True)
            writer.writerow(written)
    return out.getvalue()


def harmless(value: str) -> str:
    """`value` such that a spreadsheet takes no text for a formula: an apostrophe before it.

    Numbers with a sign stay numbers.
    """
    if not value.lstrip(" ").startswith(_FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value
