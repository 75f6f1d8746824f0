"""Small pieces of text that commands print."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from featbert.wording import called

if TYPE_CHECKING:
    from featbert.comparison import Run


def count(n: int) -> str:
    """1234567 -> 1,234,567"""
    return f"{n:,}"


def share(n: int, of_all: float) -> str:
    """12, 0.034 -> 12 (3.4%)"""
    return f"{n:,} ({100 * of_all:.1f}%)"


def printable(text: str) -> str:
    """One line without terminal control characters: they are shown, not sent."""
    line = " ".join(text.split("\n"))
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in line)


def printable_lines(text: str) -> str:
    """The same for several lines."""
    return "\n".join(printable(line) for line in text.split("\n"))


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
        table.add_row(Text(name), *(Text(cell) for cell in cells))
    console = Console(file=io.StringIO(), width=10_000, color_system=None)
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().split("\n")
    return "\n".join(line.rstrip() for line in lines)


def run_line(run: Run, *, was_there: bool, told: str = "") -> str:
    """One finished run: what it is, its F1 in percent, its time, its folder.

    Args:
        told: what tells it from others of its name.
    """
    from featbert.report.units import duration

    r = run.record
    what = called(r.layers, r.settings)
    scores = "  ".join(f"{split} {100 * s.entity.f1:.2f}" for split, s in r.scores.items())
    took = "finished before" if was_there else duration(r.cost.training_seconds)
    return f"{what}{told}  seed {r.seed}  {scores}  best epoch {r.best_epoch}  {took}  {run.folder}"
