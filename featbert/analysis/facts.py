"""Records of runs as a page shows them."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from featbert.analysis.comparison import Comparison
from featbert.analysis.rows import Members
from featbert.experiments.file import flattened
from featbert.runs.record import RunRecord
from featbert.units import NONE, visible

# Shown as curves and tables.
_WITHOUT = ("name", "scores", "history", "targets")


def with_facts(comparison: Comparison, members: Members) -> Comparison:
    """The comparison with the facts of every run."""
    records = {run.name: run.record for runs in members.values() for run in runs}
    rows = tuple(
        dataclasses.replace(
            row,
            runs=tuple(
                dataclasses.replace(run, facts=_facts(records[run.name])) for run in row.runs
            ),
        )
        for row in comparison.rows
    )
    return dataclasses.replace(comparison, rows=rows)


def _facts(record: RunRecord) -> dict[str, str]:
    """By names with dots, in the record's order."""
    data = {n: value for n, value in dataclasses.asdict(record).items() if n not in _WITHOUT}
    return {visible(name): visible(_shown(value)) for name, value in flattened(data)}


def _shown(value: Any) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(_shown, value)) or NONE
    if isinstance(value, float):
        return f"{value:.6g}"
    return NONE if value is None else str(value)
