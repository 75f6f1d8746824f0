"""A comparison as pandas frames, of which its tables in every format are views.

Unrounded, scores in [0, 1]; the unit of a cost ends its name. Columns of comparisons of one task
are the same (except settings), so that frames of several can be put under one another.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from featbert.analysis.compare import Comparison
from featbert.analysis.rows import Row, Statistic
from featbert.runs.grouping import EVALUATED, VARIED
from featbert.runs.record import Cost
from featbert.runs.run import Run

if TYPE_CHECKING:
    import pandas

# Whole numbers that not every row has: pandas would make floats of them.
_WHOLE = [field.name for field in dataclasses.fields(Cost) if str(field.type).startswith("Count")]
_NAMES = ("row", "label", "tuning", "layers", *VARIED, "baseline", "baseline_row", "tuned_row")
_KINDS: Mapping[str, str] = {
    # Arrow's strings refuse names of files that are no UTF-8.
    **dict.fromkeys((*_NAMES, "run", "split", "score"), "string[python]"),
    **dict.fromkeys((f"{split}_winner" for split in EVALUATED), "string[python]"),
    **dict.fromkeys((*_WHOLE, "seeds", "seed", "best_epoch"), "Int64"),
    "is_baseline": "bool",
}


def comparison_frame(
    comparison: Comparison, *, per: Literal["row", "run", "score"] = "row"
) -> pandas.DataFrame:
    """A comparison's scores, differences to the baseline, costs and names.

    Settings in which rows differ are columns called `setting_...`.

    Args:
        per: "row": a line a row, with means (`_mean`) and sample standard deviations (`_sd`) over
            seeds, and further analyses (all columns: `docs/how-to/notebooks.md`). "run": a line a
            run, with its `seed` and name (`run`); a difference is then to the baseline's run with
            the same seed. "score": a line for each run, split and score, with its `value`.
    """
    rows = comparison.rows
    known = {name for row in rows for name in row.settings}
    differing = dict.fromkeys(name for row in rows for name in row.differing)
    settings = [name for name in differing if name in known]
    analysed: dict[str, dict[str, Any]] = defaultdict(dict)
    for name, found in _analysed(comparison):
        analysed[name] |= found
    lines = []
    for row in rows:
        named = _names(row) | {f"setting_{n}": row.settings.get(n) for n in settings}
        first = {"row": row.name, "label": row.label}
        if per == "row":
            lines.append(first | _of_row(row) | analysed[row.name] | named)
        elif per == "run":
            lines += [first | _of_run(run, row) | named for run in row.runs]
        else:
            lines += [
                first
                | {"seed": run.record.seed, "run": run.name}
                | {"split": split, "score": key, "value": value}
                | named
                for run in row.runs
                for split, scores in run.record.scores.items()
                for key, value in scores.values.items()
            ]
    frame = frame_of(lines)
    free = [name for name in frame if str(name).startswith("setting_")]
    frame[free] = frame[free].infer_objects()
    return frame.astype({n: _KINDS.get(n, "float64") for n in frame if n not in free})


def frame_of(lines: Iterable[Mapping[str, Any]], columns: Sequence[str] = ()) -> pandas.DataFrame:
    """Lines by name, with values as they are; `columns` also where there is no line."""
    import pandas

    return pandas.DataFrame([*lines], columns=columns or None, dtype=object)


def statistic(name: str, found: Statistic | None) -> dict[str, float | None]:
    """Mean and standard deviation as two columns."""
    mean, sd = (None, None) if found is None else (found.mean, found.sd)
    return {f"{name}_mean": mean, f"{name}_sd": sd}


def _names(row: Row) -> dict[str, Any]:
    signature = vars(row.runs[0].record.signature)
    of_row = {"corpus": row.corpus, "model": row.model, "context": row.context, **row.varied}
    return {
        "tuning": row.tuning,
        "layers": row.layers,
        **{name: of_row.get(name, signature[name]) for name in VARIED},
        "baseline": row.baseline and row.baseline.label,
        "is_baseline": row.is_baseline,
    }


def _of_row(row: Row) -> dict[str, Any]:
    line: dict[str, Any] = {"seeds": len(row.runs)}
    for split in EVALUATED:
        for key in row.task.columns:
            line |= statistic(f"{split}_{key}", row.score(split, key))
        line[f"{split}_{row.task.measure.key}_difference"] = (row.difference or {}).get(split)
    costs = {f.name: getattr(row.cost, f.name) for f in dataclasses.fields(row.cost)}
    return line | statistic("training_seconds", costs.pop("training_seconds")) | costs


def _analysed(comparison: Comparison) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Names of rows, and what further analyses say of them."""
    for d in comparison.differences:
        intervals = {"text": d.pooled, "seeds": d.over_seeds}
        yield d.row, {"baseline_row": d.baseline, f"{d.split}_difference": d.mean}
        for over, found in intervals.items():
            name = f"{d.split}_over_{over}"
            ends = (None, None) if found is None else (found.low, found.high)
            yield d.row, {f"{name}_low": ends[0], f"{name}_high": ends[1]}
        yield d.row, {f"{d.split}_p": d.pooled.p_value, f"{d.split}_p_adjusted": d.adjusted}
    yield from (*comparison.costs.items(), *comparison.scorers.items())
    for breakdown in comparison.breakdowns:
        of = f"{breakdown.split}_{comparison.task.measure.key}_{breakdown.facet}"
        for name, buckets in breakdown.rows.items():
            for bucket, score in buckets.items():
                yield name, statistic(f"{of}_{bucket}", score)


def _of_run(run: Run, row: Row) -> dict[str, Any]:
    record = run.record
    line: dict[str, Any] = {"seed": record.seed, "run": run.name}
    for split in EVALUATED:
        line |= {f"{split}_{key}": record.score(split, key) for key in row.task.columns}
        base = row.rival(split)
        same = [r for r in base.runs if r.record.seed == record.seed] if base else []
        own, other = record.score(split), same[0].record.score(split) if same else None
        difference = None if own is None or other is None else own - other
        line[f"{split}_{row.task.measure.key}_difference"] = difference
    return {**line, "best_epoch": record.best_epoch, **vars(record.cost)}
