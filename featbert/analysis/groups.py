"""Rows of comparable runs, with a baseline.

The baseline of a row is the fully tuned row with the best mean score on dev among the rows that
share its freed part of the comparable key and learned from as much text. Without `against`,
differences are never taken across texts, encoders or amounts of training text.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Sequence

from featbert.analysis.comparison import (
    BASELINE,
    Comparison,
    Row,
    best_by_dev,
    grouped,
    same_task,
    shared,
)
from featbert.analysis.cost import pareto_fronts
from featbert.analysis.curves import learning_lines
from featbert.analysis.folds import fold_means
from featbert.analysis.labels import base_name, row_order
from featbert.analysis.notes import comparison_notes
from featbert.analysis.rows import Members, build_rows, row_key
from featbert.data.corpus import EVALUATED
from featbert.inference.speed import read_speed
from featbert.runs.grouping import comparable_key
from featbert.runs.run import Run
from featbert.text import natural


def once(runs: Iterable[Run]) -> list[Run]:
    """Each folder once, by name."""
    by_folder = {run.folder.absolute(): run for run in runs}
    return sorted(by_folder.values(), key=lambda run: natural(run.name))


def compare_group(
    runs: Sequence[Run], freed: frozenset[str], against: str | None = None
) -> tuple[Comparison, Members]:
    """A comparison of runs with what their records say, and the runs of each row by its name.

    `freed` are parts of the comparable key. `against` names the baseline, see `rows_called`.
    """
    groups = list(grouped((row_key(run, freed), run) for run in runs).values())
    pairs = build_rows(groups, freed)
    by_layer = any((row.layers or "").startswith("layer:") for row, _ in pairs)
    pairs.sort(key=lambda pair: row_order(pair[0], by_layer))
    rows, members = [row for row, _ in pairs], {row.name: row_runs for row, row_runs in pairs}
    baselines = [] if against is None else rows_called(against, rows)
    rows = [_with_baseline(row, rows, baselines) for row in rows]
    scores = {split: run.record.scores[split] for run in runs for split in run.record.scores}
    splits = tuple(split for split in EVALUATED if split in scores)
    signatures = [run.record.signature for run in runs]
    key = shared([comparable_key(run.record) for run in runs])
    shown = [run for row in rows for run in members[row.name]]
    comparison = Comparison(
        rows=tuple(rows),
        task_name=rows[0].task_name,
        splits=splits,
        corpus=_names(s.corpus for s in signatures),
        model=_names(s.model for s in signatures),
        context=_names(s.context for s in signatures),
        scorer=_names(s.scorer for s in signatures),
        sizes={s: (scores[s].examples, scores[s].words) for s in splits if f"{s}.text" in key},
        key=key,
        varied=tuple(rows[0].varied),
        machines=_machines(shown),
        speed_machines=_speed_machines(shown),
        notes=tuple(comparison_notes(rows, members, runs)),
    )
    lines = learning_lines(rows)
    comparison = dataclasses.replace(
        comparison,
        learning={name: tuple(row.name for row in line) for name, line in lines.items()},
        fronts=tuple(pareto_fronts(comparison)),
        folds=tuple(fold_means(comparison)),
    )
    return comparison, members


def rows_called(name: str, rows: Iterable[Row]) -> list[Row]:
    """Rows of this label or with a run of this name, else rows with a label that begins with it."""
    rows = [*rows]
    exact = [r for r in rows if name in (r.label, r.name, *(run.name for run in r.runs))]
    return exact or [row for row in rows if name == base_name(row.tuning, row.layers)]


def _names(names: Iterable[str]) -> str:
    """Each name once, the most frequent first."""
    return ", ".join(name for name, _ in Counter(names).most_common())


def _with_baseline(row: Row, rows: Sequence[Row], named: Sequence[Row]) -> Row:
    """The row with its baseline: one of those that are `named`, or a fully tuned one."""
    # A named baseline may have another encoder or context, but no other text or scorer.
    reachable = [o for o in named if all(o.data(s) == row.data(s) for s in EVALUATED)]
    tuned = [o for o in rows if o.tuning == BASELINE and same_task(o, row)]
    alike = [o for o in reachable if same_task(o, row)]
    base = best_by_dev(alike or reachable or tuned)
    if base is None:
        return row
    if base is row:
        return dataclasses.replace(row, baseline=base.name)
    difference = {s: row.mean(s) - base.mean(s) for s in row.splits if s in base.splits}
    return dataclasses.replace(row, baseline=base.name, difference=difference)


def _machines(runs: Sequence[Run]) -> tuple[str, ...]:
    """Machines that trained the runs or extracted their features."""
    names: dict[str, None] = {}
    for signature in (run.record.signature for run in runs):
        names[f"{signature.device_name}, threads: {signature.threads}"] = None
        if signature.extraction_device not in (None, signature.device_name):
            names[f"{signature.extraction_device} (extraction)"] = None
    return tuple(names)


def _speed_machines(runs: Sequence[Run]) -> tuple[str, ...]:
    """Machines that timed labelling."""
    speeds = [speed for run in runs if (speed := read_speed(run)) is not None]
    return tuple(dict.fromkeys(speed.place for speed in speeds))
