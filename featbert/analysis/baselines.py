"""Which row is the best of several, and which one another is set against."""

from __future__ import annotations

from collections.abc import Sequence

from featbert.analysis.rows import Row
from featbert.runs.grouping import EVALUATED


def best_by_dev(rows: Sequence[Row]) -> Row | None:
    """The row with the best mean dev F1, or test F1 where none was scored on dev."""
    for split in EVALUATED:
        scored = [row for row in rows if split in row.splits]
        if scored:
            return max(scored, key=lambda row: row.splits[split].f1.mean)
    return None


def baseline_of(row: Row, rows: Sequence[Row], split: str) -> Row | None:
    """The baseline of `row` among `rows`; None for a baseline and where `split` has no difference.

    Rows of other texts and encoders may have the baseline's label: the one that was scored on the
    same data with the same encoder counts, or else on the same text.
    """
    if row.difference is None or split not in row.difference:
        return None
    known = [o for o in rows if o.is_baseline and o.label == row.baseline]
    alike = [o for o in known if o.cell == row.cell]
    text = f"{split}.text"
    same_text = [o for o in known if o.cell.get(text) == row.cell.get(text)]
    return (alike or same_text)[0]
