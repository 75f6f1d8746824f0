"""Heat maps: a score in percent in each cell, on one colour scale."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from featbert.report.figures.style import EMPTY, FAINT, INK, TEXT

CELL = 0.27  # inches of height
_PALE = 0.35
Cells = Sequence[Sequence[float | None]] | np.ndarray
# One hue from light to dark. At its lightest it still differs from paper.
_BLUES = matplotlib.colormaps["Blues"](np.linspace(0.08, 1, 256))
_COLORS = ListedColormap(_BLUES).with_extremes(bad=EMPTY)


class Marks(NamedTuple):
    """Which cells (rows, columns) are framed, have bold numbers, or pale colours."""

    framed: ArrayLike = False
    bold: ArrayLike = False
    pale: ArrayLike = False


def scale_of(cells: Cells) -> tuple[float, float]:
    """The colour scale of scores in [0, 1]: whole tens of percent."""
    tens = 10 * np.array([score for row in cells for score in row if score is not None])
    low = 10 * math.floor(tens.min())
    return low, max(10 * math.ceil(tens.max()), low + 10)


def draw_cells(
    axes: Axes,
    cells: Cells,
    scale: tuple[float, float],
    columns: Sequence[str],
    rows: Sequence[str],
    marks: Marks,
    *,
    shades: np.ndarray | None = None,
) -> None:
    """Cells with their numbers in percent, row 0 above, and names. `–` on grey for None.

    `shades` (rows, columns), on `scale`, replace the numbers'.
    """
    low, high = scale
    percent = 100 * np.array(cells, dtype=float)  # None becomes NaN
    shades = percent if shades is None else shades
    framed, bold, weak = (np.broadcast_to(part, percent.shape) for part in marks)
    axes.pcolormesh(
        shades, cmap=_COLORS, vmin=low, vmax=high, edgecolors="white", linewidth=1, antialiased=True
    ).set_alpha(np.where(weak, _PALE, 1.0).tolist())
    axes.invert_yaxis()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    for (i, j), score in np.ndenumerate(percent):
        empty = math.isnan(score)
        dark = shades[i, j] > low + 0.55 * (high - low) and not weak[i, j]
        if framed[i, j]:
            border = Rectangle((j, i), 1, 1, fill=False, edgecolor=INK, linewidth=1.1, zorder=3)
            axes.add_patch(border)
        axes.annotate(
            "–" if empty else f"{score:.1f}",
            (j + 0.5, i + 0.52),
            ha="center",
            va="center",
            size=TEXT,
            weight="bold" if bold[i, j] else "normal",
            color="white" if dark else FAINT if empty else INK,
        )
    axes.set_xticks(np.arange(len(columns)) + 0.5, columns)
    axes.set_yticks(np.arange(len(rows)) + 0.5, rows)
