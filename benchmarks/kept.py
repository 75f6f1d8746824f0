"""Records that are kept with the project, so that every number in its texts can be traced."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from featbert.comparison import record_to_json
from featbert.comparison.record import read_record


def record_text(folder: Path) -> str:
    """A run's record as it is kept: without the folder that the corpus was read from."""
    record = read_record(folder)
    signature = dataclasses.replace(record.signature, source=record.signature.corpus)
    return record_to_json(dataclasses.replace(record, signature=signature))


def markdown_tables(report: str) -> list[list[str]]:
    """The lines of each table in a Markdown report."""
    tables: list[list[str]] = [[]]
    for line in report.split("\n"):
        if line[:1] == "|":
            tables[-1].append(line)
        elif tables[-1]:
            tables.append([])
    return [table for table in tables if table]


def with_columns(table: Sequence[str], columns: Sequence[str]) -> list[str]:
    """A table's lines with those of `columns` that it has, in this order.

    Times and memory are another machine's on another machine: texts leave such columns out.
    """
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    places = [cells[0].index(column) for column in columns if column in cells[0]]
    return ["| " + " | ".join(row[place] for place in places) + " |" for row in cells]
