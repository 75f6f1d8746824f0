"""Heat maps: a score in percent in each cell, on one colour scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from featbert.report.figures.style import EMPTY, FAINT, INK, TEXT, sequential

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CELL = 0.27  # inches of height
Cells = Sequence[Sequence[float | None]]


def scale_of(cells: Cells) -> tuple[float, float]:
    """The colour scale of scores in [0, 1]: whole tens of percent."""
    known = [100 * score for row in cells for score in row if score is not None]
    low = 10 * math.floor(min(known) / 10)
    return low, max(10 * math.ceil(max(known) / 10), low + 10)


def draw_cells(
    axes: Axes,
    cells: Cells,
    scale: tuple[float, float],
    *,
    framed: Sequence[Sequence[bool]] = (),
    bold: Sequence[Sequence[bool]] = (),
) -> None:
    """Cells with their numbers, row 0 above; `–` on grey for None.

    Args:
        framed: (rows, columns) which have a dark border.
        bold: likewise.
    """
    from matplotlib.patches import Rectangle

    low, high = scale
    axes.set(xlim=(0, len(cells[0])), ylim=(len(cells), 0))
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    for i, row in enumerate(cells):
        for j, score in enumerate(row):
            color = EMPTY if score is None else sequential()((100 * score - low) / (high - low))
            axes.add_patch(Rectangle((j, i), 1, 1, facecolor=color, edgecolor="white"))
            if framed and framed[i][j]:
                axes.add_patch(
                    Rectangle((j, i), 1, 1, fill=False, edgecolor=INK, linewidth=1.1, zorder=3)
                )
            dark = score is not None and 100 * score > low + 0.55 * (high - low)
            axes.annotate(
                "–" if score is None else f"{100 * score:.1f}",
                (j + 0.5, i + 0.52),
                ha="center",
                va="center",
                size=TEXT,
                weight="bold" if bold and bold[i][j] else "normal",
                color="white" if dark else FAINT if score is None else INK,
            )
