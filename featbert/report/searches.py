"""What a grid search on dev chose, in a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from featbert.report.units import percent
from featbert.text import counted

if TYPE_CHECKING:
    from featbert.runs.experiment_record import SearchRecord


def search_line(search: SearchRecord) -> str:
    """What was chosen and among how many; or how many were tried so far."""
    what = search.layers or "fine-tuning"
    if search.configuration:
        what += f" ({search.configuration})"
    configurations = counted(len(search.tried), "configuration")
    if search.chosen is None:
        done = sum(one.dev is not None for one in search.tried)
        return f"{what}: {done} of {configurations} tried so far"
    chosen = search.tried[search.chosen]
    settings = ", ".join(f"{name}={value}" for name, value in chosen.settings.items())
    return f"{what}: {settings} chosen on dev (F1 {percent(chosen.dev)}) among {configurations}"
