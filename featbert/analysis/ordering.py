"""In which order rows and runs are shown."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from featbert.encoders.layers import NAMES
from featbert.text import natural

if TYPE_CHECKING:
    from featbert.analysis.rows import Row


def place_of_row(row: Row, *, by_layer: bool) -> tuple[object, ...]:
    """Where a row stands: features before fine-tuning, known combinations before others.

    Where rows are of single layers by number, all single layers stand first, in their order.
    """
    name = row.layers or ""
    indices = row.runs[0].record.layer_indices or []
    single = by_layer and len(indices) == 1
    order = indices[0] if single else NAMES.index(name) if name in NAMES else len(NAMES)
    varied = [natural(value) for value in row.varied.values()]
    # Nothing frozen comes before what is.
    told = "none" not in row.differing.values()
    first = (not single, order, natural(name), varied, told, row.train_share)
    settings = [by_value(value) for value in row.differing.values()]
    return (row.tuning == "full", *first, settings, natural(row.label))


def by_value(text: str) -> tuple[float, list[tuple[int, str]]]:
    """Sort key of a setting as it is told: numbers by what they are, before all else."""
    try:
        number = float(text)
    except ValueError:
        number = math.inf
    return (math.inf if math.isnan(number) else number, natural(text))
