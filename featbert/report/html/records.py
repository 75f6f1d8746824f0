"""Configuration and signature of runs, as names and values: what all share, and what each has."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from featbert.report import units
from featbert.report.run_facts import parts

if TYPE_CHECKING:
    from featbert.analysis.compare import Comparison
    from featbert.runs.record import RunRecord


@dataclass(frozen=True)
class RunFacts:
    """A run: its name, one line about it, and the facts that not all runs share."""

    name: str
    line: str
    facts: Mapping[str, str]


def shared_facts(comparison: Comparison) -> tuple[dict[str, str], list[RunFacts]]:
    """Facts that all runs of a comparison share, and each run with the others."""
    runs = [(row.name, run) for row in comparison.rows for run in row.runs]
    facts = [dict(_facts(run.record)) for _, run in runs]
    shared = {
        name: value
        for name, value in facts[0].items()
        if all(other.get(name) == value for other in facts)
    }
    if len(runs) == 1:
        shared = {}
    return shared, [
        RunFacts(
            units.visible(run.name),
            units.visible(f"{row}, seed {run.record.seed}: {_scores(run.record)}"),
            {name: value for name, value in own.items() if name not in shared},
        )
        for (row, run), own in zip(runs, facts, strict=True)
    ]


def _scores(record: RunRecord) -> str:
    scores = [f"{s} F1 {units.percent(found.values['f1'])}" for s, found in record.scores.items()]
    return ", ".join([*scores, f"best epoch {record.best_epoch}"])


def _facts(record: RunRecord) -> Iterator[tuple[str, str]]:
    """Names with dots, in the record's order; what the page shows as curves is left out."""
    data = dataclasses.asdict(record)
    for name in ("name", "scores", "history", "labels"):
        data.pop(name, None)
    for name, value in parts(data):
        yield units.visible(name), units.visible(_told(value))


def _told(value: Any) -> str:
    if value is None:
        return units.NONE
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(_told, value)) or units.NONE
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)
