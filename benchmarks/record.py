"""What a benchmark found, as JSON for the record and as text for people.

A record has the command, the machine, what was measured on, a row of figures for each contestant,
and ratios over rounds. A list of numbers is one number a round; text shows its median and range.
"""

from __future__ import annotations

import dataclasses
import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Spread:
    """Numbers by round, with their median and range."""

    median: float
    low: float
    high: float
    each: tuple[float, ...]

    def __str__(self) -> str:
        return f"{figure(self.median)} ({figure(self.low)} to {figure(self.high)})"


def spread(values: Sequence[float]) -> Spread:
    """Median and range of at least one number."""
    return Spread(statistics.median(values), min(values), max(values), tuple(values))


@dataclass(frozen=True)
class Record:
    """One benchmark on one machine.

    Attributes:
        benchmark: name of its module.
        command: as it was given, without places of files.
        machine: see `benchmarks.machine.facts`.
        about: what was measured on: text, encoder, settings.
        measured: figures by contestant; a list holds one number a round.
        ratios: by name, larger is better for featbert.
        notes: what a reader must know to judge the numbers.
    """

    benchmark: str
    command: str
    machine: Row
    about: Row
    measured: Mapping[str, Row]
    ratios: Mapping[str, Spread] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def as_json(record: Record) -> str:
    """The record as JSON text with a final newline."""
    return json.dumps(dataclasses.asdict(record), indent=1, ensure_ascii=False) + "\n"


def as_text(record: Record) -> str:
    """The record as text: command, machine, a table, ratios, notes."""
    lines = [record.command, _told(record.machine), _told(record.about), ""]
    lines += _table(record.measured)
    if record.ratios:
        lines.append("")
        width = max(map(len, record.ratios))
        lines += [f"{name:<{width}}  {ratio}" for name, ratio in record.ratios.items()]
    lines += [f"note: {note}" for note in record.notes]
    return "\n".join(lines)


def figure(value: float) -> str:
    """A number with no more digits than mean something."""
    if isinstance(value, int) or 1000 <= abs(value) < 1e6:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _table(rows: Mapping[str, Row]) -> list[str]:
    """One line for each contestant, a column for each figure that any of them has."""
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    cells = [["", *(name.replace("_", " ") for name in names)]]
    cells += [[who, *(_cell(row.get(name)) for name in names)] for who, row in rows.items()]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(
            f"{cell:<{w}}" if i == 0 else f"{cell:>{w}}"
            for i, (cell, w) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    ]


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, Spread):
        return str(value)
    if isinstance(value, list | tuple):
        return str(spread(value)) if len(value) > 1 else _cell(value[0]) if value else "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return figure(value) if isinstance(value, int | float) else str(value)


def _told(facts: Row) -> str:
    """`name value, name value`, tables within in brackets."""
    return ", ".join(
        f"{name.replace('_', ' ')} "
        + (f"({_told(value)})" if isinstance(value, Mapping) else _cell(value))
        for name, value in facts.items()
        if value is not None
    )
