"""What each row costs, and from which run on frozen features are cheaper than fine-tuning.

Extraction is paid once, each further run costs its training alone; fine-tuning pays everything in
each run. With E for extraction, F and T for a run on features and a fine-tuned one, n runs cost
E + nF against nT, and features are cheaper from n > E / (T - F) on, if ever. All three grow
linearly with the text (`benchmarks/README.md`), so the number holds for any size of it.

So where a row learned from a part of train, extraction is counted for the words that it read: that
part, dev and test.

Told in seconds, which depend on the machine, and in operations estimated from shapes, which do not.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from featbert.analysis.rows import Row, same_task

if TYPE_CHECKING:
    from featbert.analysis.compare import Comparison
    from featbert.runs.record import RunRecord


@dataclass(frozen=True)
class Price:
    """One row in one currency.

    Attributes:
        once: extraction, 0 for fine-tuning.
        run: one run's training.
        cheaper_from: the number of runs from which the row costs less than fine-tuning as often;
            None where it never does, or where there is nothing to compare it with.
    """

    once: float
    run: float
    cheaper_from: int | None = None


@dataclass(frozen=True)
class CostRow:
    """A row's cost beside that of fine-tuning on the same text with the same encoder.

    Attributes:
        row: its name.
        against: name of the fine-tuned row, None for fine-tuning and where there is none.
        seconds, flops: see `Price`.
    """

    row: str
    against: str | None
    seconds: Price
    flops: Price


def with_costs(comparison: Comparison) -> Comparison:
    """The comparison with every row's cost, in the order of rows."""
    rows = comparison.rows
    found = tuple(_cost_row(row, _tuned(row, rows)) for row in rows)
    notes = comparison.notes
    if any(_read(row) < 1 for row in rows):
        notes = (*notes, "costs count extraction for the sentences that a row read, not for all")
    return dataclasses.replace(comparison, costs=found, notes=notes)


def cheaper_from(once: float, run: float, other: float) -> int | None:
    """The fewest runs n with once + n * run < n * other; None if there are none."""
    if run >= other:
        return None
    return math.floor(once / (other - run)) + 1


def _cost_row(row: Row, tuned: Row | None) -> CostRow:
    seconds, flops = _prices(row)
    if tuned is None:
        return CostRow(row.name, None, Price(*seconds), Price(*flops))
    other_seconds, other_flops = _prices(tuned)
    return CostRow(
        row.name,
        tuned.name,
        Price(*seconds, cheaper_from(*seconds, other_seconds[1])),
        Price(*flops, cheaper_from(*flops, other_flops[1])),
    )


def _prices(row: Row) -> tuple[tuple[float, float], tuple[float, float]]:
    """(once, a run) in seconds and in operations."""
    cost, read = row.cost, _read(row)
    return (
        (read * (cost.extraction_seconds or 0.0), cost.training_seconds.mean),
        (read * (cost.extraction_flops or 0.0), cost.training_flops),
    )


def _read(row: Row) -> float:
    """Part of the words in its store that a row read, the mean of its runs; 1 without a store."""
    return statistics.fmean(_read_of(run.record) for run in row.runs)


def _read_of(record: RunRecord) -> float:
    words, splits = record.cost.extraction_words, record.signature.splits
    if not words or record.train_words is None:
        return 1.0
    learned = sum(splits[name].words for name in record.trained_on if name in splits)
    return 1 - (learned - record.train_words) / words


def _tuned(row: Row, rows: Sequence[Row]) -> Row | None:
    """The fine-tuned row that features are set against: their baseline, or the best one."""
    if row.tuning == "full":
        return None
    alike = [o for o in rows if o.tuning == "full" and same_task(o, row)]
    return next((o for o in alike if o.label == row.baseline), alike[0] if alike else None)
