"""What a grid search on dev chose, in a line."""

from __future__ import annotations

from featbert.report.units import percent
from featbert.runs.experiment_record import SearchRecord
from featbert.text import counted


def search_line(search: SearchRecord) -> str:
    """What was chosen and among how many; or how many were tried so far."""
    what = search.layers or "fine-tuning"
    if search.arm:
        what += f" ({search.arm})"
    configurations = counted(len(search.tried), "configuration")
    if search.chosen is None:
        done = sum(one.dev_f1 is not None for one in search.tried)
        return f"{what}: {done} of {configurations} tried so far"
    chosen = search.tried[search.chosen]
    settings = ", ".join(f"{name}={value}" for name, value in chosen.settings.items())
    return f"{what}: {settings} chosen on dev (F1 {percent(chosen.dev_f1)}) among {configurations}"
