"""Comparisons as JSON: every number unrounded, F1 in [0, 1], and the runs it is from."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from featbert.comparison.compare import Comparison
from featbert.comparison.grouping import EVALUATED
from featbert.comparison.rows import Row


def json_report(comparisons: Sequence[Comparison], *, notes: Sequence[str] = ()) -> str:
    """One object with `comparisons[]`, `rows[]` and `notes[]`; ASCII, with a final newline.

    A row's `group` is the `number` of its comparison. `dev` and `test` hold `f1`, `precision`,
    `recall`, `strict_f1`, `word_f1`, `word_accuracy`, each with `mean`, `sd`, `n`, `values`;
    they are null where the split was not evaluated. `values` are in the order of `seeds` and
    `runs`. A number that is not finite is null.
    """
    report = {
        "comparisons": [_comparison(c, number) for number, c in enumerate(comparisons, 1)],
        "rows": [_row(row, number) for number, c in enumerate(comparisons, 1) for row in c.rows],
        "notes": list(notes),
    }
    return json.dumps(_finite(report), indent=1, allow_nan=False) + "\n"


def _comparison(comparison: Comparison, number: int) -> dict[str, Any]:
    return {
        "number": number,
        "corpus": comparison.corpus,
        "model": comparison.model,
        "context": comparison.context,
        "scorer": comparison.scorer,
        "splits": list(comparison.splits),
        "sizes": {
            split: {"sentences": sentences, "words": words}
            for split, (sentences, words) in comparison.sizes.items()
        },
        "key": comparison.key,
        "varied": list(comparison.varied),
        "notes": list(comparison.notes),
    }


def _row(row: Row, number: int) -> dict[str, Any]:
    splits = {
        split: dataclasses.asdict(row.splits[split]) if split in row.splits else None
        for split in EVALUATED
    }
    return {
        "group": number,
        "label": row.label,
        "approach": row.approach,
        "layers": row.layers,
        "layer_indices": row.layer_indices,
        "model": row.model,
        "corpus": row.corpus,
        "context": row.context,
        "varied": row.varied,
        "differing": row.differing,
        "settings": row.settings,
        "seeds": row.seeds,
        "runs": [run.name for run in row.runs],
        "left_out": [run.name for run in row.left_out],
        **splits,
        "baseline": row.baseline,
        "is_baseline": row.is_baseline,
        "difference": row.difference,
        "cost": dataclasses.asdict(row.cost),
        "signature": row.signature,
        "mixed": row.mixed,
    }


def _finite(value: Any) -> Any:
    """`value` in the types of JSON, with null for numbers that JSON does not know."""
    if isinstance(value, Mapping):
        return {str(name): _finite(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
