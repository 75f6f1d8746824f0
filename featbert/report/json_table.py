"""Comparisons as JSON: every number unrounded, F1 in [0, 1], and the runs it is from."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from featbert.analysis.compare import Comparison
from featbert.analysis.rows import Row
from featbert.runs.grouping import EVALUATED

if TYPE_CHECKING:
    from featbert.analysis.reproduction import Figure, ReproducedRow, Reproduction


def json_report(comparisons: Sequence[Comparison], *, notes: Sequence[str] = ()) -> str:
    """One object with `comparisons[]`, `rows[]`, `reproductions[]` and `notes[]`; ASCII, with a
    final newline.

    `differences[]` are each row against its baseline, `costs[]` what rows cost, `scorers[]` F1 of
    rows by several scorers, `breakdowns[]` F1 of rows by what an entity is like, as `Difference`,
    `CostRow`, `ScorerRow` and `Breakdown` of `featbert.comparison` have them.

    The `group` of a row, a difference, a breakdown or a reproduction is the `number` of its
    comparison.

    A row's `dev` and `test` hold `f1`, `precision`, `recall`, `strict_f1`, `word_f1`,
    `word_accuracy`, each with `mean`, `sd`, `n`, `values`; they are null where the split was not
    evaluated, as one in `trained_on` never is. `values` are in the order of `seeds` and `runs`. A
    number that is not finite is null.

    A reproduction is a published table with a row for each published one. Its `dev` and `test`
    hold `published`, `published_sd`, `reproduced` and `difference`, the reproduced mean less the
    published figure, all in [0, 1]; `reproduced_by` is the label of the comparison row, null for
    none.
    """
    report = {
        "comparisons": [_comparison(c, number) for number, c in enumerate(comparisons, 1)],
        "rows": [_row(row, number) for number, c in enumerate(comparisons, 1) for row in c.rows],
        "reproductions": [
            _reproduction(reproduction, number)
            for number, c in enumerate(comparisons, 1)
            for reproduction in c.reproductions
        ],
        **{
            name: _grouped(comparisons, name)
            for name in ("differences", "costs", "scorers", "breakdowns")
        },
        "notes": list(notes),
    }
    return json.dumps(finite(report), indent=1, allow_nan=False) + "\n"


def _grouped(comparisons: Sequence[Comparison], name: str) -> list[dict[str, Any]]:
    """What every comparison holds under a name, field by field, with the comparison's number."""
    return [
        {"group": number, **dataclasses.asdict(one)}
        for number, comparison in enumerate(comparisons, 1)
        for one in getattr(comparison, name)
    ]


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
        "tuning": row.tuning,
        "layers": row.layers,
        "layer_indices": row.layer_indices,
        "model": row.model,
        "corpus": row.corpus,
        "context": row.context,
        "varied": row.varied,
        "differing": row.differing,
        "settings": row.settings,
        "trained_on": row.trained_on,
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


def _reproduction(reproduction: Reproduction, number: int) -> dict[str, Any]:
    table = reproduction.table
    return {
        "group": number,
        "table": table.id,
        "title": table.title,
        "source": table.source,
        "verified": table.verified,
        "rows": [_reproduced(row) for row in reproduction.rows],
        "not_published": reproduction.unpublished,
        "protocol": reproduction.protocol,
        "notes": reproduction.notes,
    }


def _reproduced(row: ReproducedRow) -> dict[str, Any]:
    figures = {"dev", "test", "sd", "finetune", "features"}
    return {
        "label": row.label,
        "published": row.published.model_dump(exclude_none=True, exclude=figures),
        "reproduced_by": row.row.label if row.row else None,
        "runs": [run.name for run in row.row.runs] if row.row else [],
        **{
            split: _figure(row.figures[split]) if split in row.figures else None
            for split in EVALUATED
        },
    }


def _figure(figure: Figure) -> dict[str, Any]:
    return {
        "published": figure.published,
        "published_sd": figure.published_sd,
        "reproduced": dataclasses.asdict(figure.reproduced) if figure.reproduced else None,
        "difference": figure.difference,
    }


def finite(value: Any) -> Any:
    """`value` in the types of JSON, with null for numbers that JSON does not know."""
    if isinstance(value, Mapping):
        return {str(name): finite(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
