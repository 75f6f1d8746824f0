"""Small pieces of text that commands print."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from featbert.text import called

if TYPE_CHECKING:
    from featbert.runs.run import Run


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


def harmless_to_terminals(text: str) -> str:
    """`text` whose control characters, all but tab and line feed, are shown and not sent.

    Unlike `printable` it leaves format characters alone, which belong to words of some scripts.
    """
    return re.sub("[\x00-\x08\x0b-\x1f\x7f-\x9f]", lambda m: f"\\x{ord(m[0]):02x}", text)


def json_lines(data: Any) -> str:
    """Plain data as JSON for a terminal or a file: what cannot be printed is escaped.

    JSON itself escapes control characters below U+0020 alone.
    """
    text = json.dumps(data, indent=1, ensure_ascii=False, default=str)
    return "\n".join(
        "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in line)
        for line in text.split("\n")
    )


def shortened(text: str, width: int = 60) -> str:
    """`text` cut at `width` characters, with a mark where it was cut."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


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
    scores = "  ".join(f"{split} {100 * s.values['f1']:.2f}" for split, s in r.scores.items())
    took = "finished before" if was_there else duration(r.cost.training_seconds)
    line = f"{what}{told}  seed {r.seed}  {scores}  best epoch {r.best_epoch}  {took}  {run.folder}"
    return printable(line)
