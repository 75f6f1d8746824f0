"""Small pieces of text that commands print."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from featbert.text import in_percent, printable

if TYPE_CHECKING:
    from featbert.runs.run import Run


def grid(
    header: Sequence[str],
    rows: Sequence[tuple[str, Sequence[str]]],
    *,
    justify: Literal["left", "right"] = "right",
) -> str:
    """Rows of a name and aligned cells under a header, as plain text."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="")
    for at, name in enumerate(header):
        table.add_column(Text(name), justify=justify if at else "left", no_wrap=True)
    for name, cells in rows:
        table.add_row(*(Text(printable(cell, keep="\n")) for cell in (name, *cells)))
    console = Console(file=io.StringIO(), width=10_000, color_system=None)
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().split("\n")
    return "\n".join(line.rstrip() for line in lines)


def run_line(run: Run, *, was_there: bool) -> str:
    """One finished run: its row and seed, scores in percent, time, folder."""
    from featbert.encoders.tunings import get_tuning
    from featbert.report.units import duration
    from featbert.tasks.base import get_task

    r = run.record
    key = get_task(r.task).measure.key
    what = r.layers or get_tuning(r.tuning).title
    if (share := r.settings.get("train_share", 1)) != 1:
        what += f"  {in_percent(share)} of train"
    scores = "  ".join(f"{split} {100 * s.values[key]:.2f}" for split, s in r.scores.items())
    took = "finished before" if was_there else duration(r.cost.training_seconds)
    line = f"{what}  seed {r.seed}  {scores}  best epoch {r.best_epoch}  {took}  {run.folder}"
    return printable(line)
