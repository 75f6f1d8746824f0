"""A comparison as a pandas table: a line a row, or a line a run.

Unrounded, F1 in [0, 1]; what a cost is counted in ends its name: seconds, bytes, flops. Columns
and their types are the same for every comparison (but for settings, which only those that differ
have), so that tables of several can be put under one another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from featbert.analysis.baselines import baseline_of
from featbert.analysis.rows import Row, SplitSummary
from featbert.errors import MissingError
from featbert.runs.grouping import EVALUATED
from featbert.runs.run import Run

if TYPE_CHECKING:
    import pandas

    from featbert.analysis.compare import Comparison

_SCORES = ("f1", "precision", "recall", "strict_f1", "word_f1", "word_accuracy")
_TEXT = ("label", "tuning", "layers", "corpus", "model", "context", "casing", "scorer")
# Whole numbers that not every row has: pandas would make floats of them.
_WHOLE = (
    "extraction_words",
    "store_bytes",
    "trained_parameters",
    "total_parameters",
    "peak_memory_bytes",
    "run_bytes",
    "prediction_words",
)
_KINDS: Mapping[str, str] = {
    **dict.fromkeys((*_TEXT, "baseline", "run"), "string"),
    **dict.fromkeys((*_WHOLE, "seeds", "seed", "best_epoch"), "Int64"),
    "is_baseline": "bool",
}


def comparison_frame(comparison: Comparison, *, by_seed: bool = False) -> pandas.DataFrame:
    """See `Comparison.to_pandas`."""
    try:
        import pandas
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "pandas":
            raise
        raise MissingError(
            "pandas expected for a comparison as a DataFrame, it is not installed; "
            "install it with: pip install 'featbert[pandas]'"
        ) from None
    rows = comparison.rows
    settings = [n for n in dict.fromkeys(n for r in rows for n in r.differing) if _is_set(n, rows)]
    lines = []
    for row in rows:
        named = {**_names(row), **{f"setting_{n}": row.settings.get(n) for n in settings}}
        if by_seed:
            lines += [{**named, **_of_run(run, row, rows)} for run in row.runs]
        else:
            lines.append({**named, **_of_row(row)})
    frame = pandas.DataFrame(lines)
    kinds = {
        name: _KINDS.get(name, "float64") for name in frame if not str(name).startswith("setting_")
    }
    return frame.astype(kinds)


def _is_set(name: str, rows: Sequence[Row]) -> bool:
    """Whether a name that tells rows apart is a setting's; others are conditions."""
    return any(name in row.settings for row in rows)


def _names(row: Row) -> dict[str, Any]:
    signature = row.runs[0].record.signature
    shared = {
        "corpus": row.corpus,
        "model": row.model,
        "context": row.context,
        "casing": signature.casing,
        "scorer": signature.scorer,
    }
    return {
        "label": row.label,
        "tuning": row.tuning,
        "layers": row.layers,
        **{name: row.varied.get(name, value) for name, value in shared.items()},
        "baseline": row.baseline,
        "is_baseline": row.is_baseline,
    }


def _of_row(row: Row) -> dict[str, Any]:
    line: dict[str, Any] = {"seeds": len(row.runs)}
    for split in EVALUATED:
        summary = row.splits.get(split)
        for name in _SCORES:
            line |= _statistic(f"{split}_{name}", summary, name)
        line[f"{split}_f1_difference"] = (row.difference or {}).get(split)
    cost = row.cost
    return line | {
        "trained_parameters": cost.trained_parameters,
        "total_parameters": cost.total_parameters,
        "training_seconds_mean": cost.training_seconds.mean,
        "training_seconds_sd": cost.training_seconds.sd,
        "extraction_seconds": cost.extraction_seconds,
        "extraction_words": cost.extraction_words,
        "prediction_words_per_second": cost.prediction_words_per_second,
        "text_words_per_second": cost.text_words_per_second,
        "store_bytes": cost.store_bytes,
        "run_bytes": cost.run_bytes,
        "peak_memory_bytes": cost.peak_memory_bytes,
        "extraction_flops": cost.extraction_flops,
        "training_flops": cost.training_flops,
        "prediction_flops": cost.prediction_flops,
    }


def _statistic(head: str, summary: SplitSummary | None, name: str) -> dict[str, float | None]:
    statistic = None if summary is None else getattr(summary, name)
    return {
        f"{head}_mean": None if statistic is None else statistic.mean,
        f"{head}_sd": None if statistic is None else statistic.sd,
    }


def _of_run(run: Run, row: Row, rows: Sequence[Row]) -> dict[str, Any]:
    record, cost = run.record, run.record.cost
    line: dict[str, Any] = {"seed": record.seed, "run": run.name}
    for split in EVALUATED:
        f1 = _f1(run, split)
        scores = record.scores.get(split)
        line |= dict.fromkeys(f"{split}_{name}" for name in _SCORES)
        if scores is not None:
            line |= {
                f"{split}_f1": f1,
                f"{split}_precision": scores.values["precision"],
                f"{split}_recall": scores.values["recall"],
                f"{split}_strict_f1": scores.values["strict_f1"],
                f"{split}_word_f1": scores.values["word_f1"],
                f"{split}_word_accuracy": scores.values["word_accuracy"],
            }
        base = baseline_of(row, rows, split)
        same = [r for r in base.runs if r.record.seed == record.seed] if base else []
        other = _f1(same[0], split) if same else None
        line[f"{split}_f1_difference"] = None if f1 is None or other is None else f1 - other
    return line | {
        "best_epoch": record.best_epoch,
        "trained_parameters": cost.trained_parameters,
        "total_parameters": cost.total_parameters,
        "training_seconds": cost.training_seconds,
        "extraction_seconds": cost.extraction_seconds,
        "extraction_words": cost.extraction_words,
        "prediction_seconds": cost.prediction_seconds,
        "prediction_words": cost.prediction_words,
        "store_bytes": cost.store_bytes,
        "run_bytes": cost.run_bytes,
        "peak_memory_bytes": cost.peak_memory_bytes,
        "extraction_flops": cost.extraction_flops,
        "training_flops": cost.training_flops,
        "prediction_flops": cost.prediction_flops,
    }


def _f1(run: Run, split: str) -> float | None:
    scores = run.record.scores.get(split)
    return None if scores is None else scores.values["f1"]
