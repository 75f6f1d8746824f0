"""Records that are kept with the project, so that every number in its texts can be traced."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from featbert.runs.record import read_record, to_json


def record_text(folder: Path) -> str:
    """A run's record as it is kept: without the folders that corpus and encoder were read from."""
    record = read_record(folder)
    signature = dataclasses.replace(record.signature, source=record.signature.corpus)
    found = signature.model if Path(record.model_source).is_absolute() else record.model_source
    return to_json(dataclasses.replace(record, signature=signature, model_source=found))


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
    """A table's lines with `columns` alone, in this order."""
    cells = _cells(table)
    places = [cells[0].index(column) for column in columns]
    return ["| " + " | ".join(row[place] for place in places) + " |" for row in cells]


def without_columns(table: Sequence[str], columns: Sequence[str]) -> list[str]:
    """A table's lines without those of `columns` that it has."""
    return with_columns(table, [head for head in _cells(table)[0] if head not in columns])


def _cells(table: Sequence[str]) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
