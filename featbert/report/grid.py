"""Names with aligned cells, as text without lines."""

import io
from collections.abc import Iterable, Sequence
from typing import Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from featbert.text import printable


def grid(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    justify: Literal["left", "right"] = "right",
    width: int | None = None,
) -> str:
    """A header and rows, each a name and aligned cells, as text in the width of a terminal."""
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="")
    for at, name in enumerate(header):
        table.add_column(Text(name), justify=justify if at else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell, keep="\n")) for cell in row))
    out = io.StringIO()
    Console(file=out, width=width or 10_000, color_system=None).print(table)
    return "\n".join(line.rstrip() for line in out.getvalue().split("\n"))
