"""A comparison as a pandas table: the source of every table in every format.

Unrounded, scores in [0, 1]; what a cost is counted in ends its name: seconds, bytes, flops. Columns
and their types are the same for every comparison of a task (but for settings, which only those that
differ have), so that tables of several can be put under one another.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from featbert.analysis.compare import Comparison
from featbert.analysis.rows import Row, baseline_of
from featbert.runs.grouping import EVALUATED, VARIED
from featbert.runs.record import Cost
from featbert.runs.run import Run

if TYPE_CHECKING:
    import pandas

# Whole numbers that not every row has: pandas would make floats of them.
_WHOLE = [field.name for field in dataclasses.fields(Cost) if str(field.type).startswith("int")]
_KINDS: Mapping[str, str] = {
    **dict.fromkeys(("label", "tuning", "layers", *VARIED, "baseline", "run"), "string"),
    **dict.fromkeys(("split", "score"), "string"),
    **dict.fromkeys((*_WHOLE, "seeds", "seed", "best_epoch"), "Int64"),
    "is_baseline": "bool",
}


def comparison_frame(
    comparison: Comparison, *, per: Literal["row", "run", "score"] = "row"
) -> pandas.DataFrame:
    """A comparison's names, scores, differences to the baseline, and costs.

    Settings in which rows differ are columns called `setting_...`.

    Args:
        per: "row": a line a row, with means (`_mean`) and sample standard deviations (`_sd`) over
            seeds. "run": a line a run, with its `seed` and name (`run`); a difference is then to
            the baseline's run with the same seed. "score": tidy, a line for each run, split and
            score, with its `value`.
    """
    import pandas

    rows = comparison.rows
    known = {name for row in rows for name in row.settings}
    differing = dict.fromkeys(name for row in rows for name in row.differing)
    settings = [name for name in differing if name in known]
    lines = []
    for row in rows:
        named = _names(row) | {f"setting_{n}": row.settings.get(n) for n in settings}
        if per == "row":
            lines.append(named | _of_row(row))
        elif per == "run":
            lines += [named | _of_run(run, row, rows) for run in row.runs]
        else:
            lines += [
                named
                | {"seed": run.record.seed, "run": run.name}
                | {"split": split, "score": key, "value": value}
                for run in row.runs
                for split, scores in run.record.scores.items()
                for key, value in scores.values.items()
            ]
    frame = pandas.DataFrame(lines)
    free = [name for name in frame if str(name).startswith("setting_")]
    return frame.astype({n: _KINDS.get(n, "float64") for n in frame if n not in free})


def _names(row: Row) -> dict[str, Any]:
    signature = vars(row.runs[0].record.signature)
    of_row = {"corpus": row.corpus, "model": row.model, "context": row.context, **row.varied}
    return {
        "label": row.label,
        "tuning": row.tuning,
        "layers": row.layers,
        **{name: of_row.get(name, signature[name]) for name in VARIED},
        "baseline": row.baseline,
        "is_baseline": row.is_baseline,
    }


def _of_row(row: Row) -> dict[str, Any]:
    line: dict[str, Any] = {"seeds": len(row.runs)}
    for split in EVALUATED:
        for key in row.task.columns:
            score = row.score(split, key)
            line[f"{split}_{key}_mean"] = score and score.mean
            line[f"{split}_{key}_sd"] = score and score.sd
        line[f"{split}_{row.task.measure.key}_difference"] = (row.difference or {}).get(split)
    costs = {f.name: getattr(row.cost, f.name) for f in dataclasses.fields(row.cost)}
    training = costs.pop("training_seconds")
    times = {"training_seconds_mean": training.mean, "training_seconds_sd": training.sd}
    return line | times | costs


def _of_run(run: Run, row: Row, rows: Sequence[Row]) -> dict[str, Any]:
    record = run.record
    line: dict[str, Any] = {"seed": record.seed, "run": run.name}
    for split in EVALUATED:
        line |= {f"{split}_{key}": record.score(split, key) for key in row.task.columns}
        base = baseline_of(row, rows, split)
        same = [r for r in base.runs if r.record.seed == record.seed] if base else []
        own, other = record.score(split), same[0].record.score(split) if same else None
        difference = None if own is None or other is None else own - other
        line[f"{split}_{row.task.measure.key}_difference"] = difference
    return {**line, "best_epoch": record.best_epoch, **vars(record.cost)}
