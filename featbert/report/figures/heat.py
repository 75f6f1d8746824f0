"""Heat maps: a score in percent in each cell, on one colour scale."""

import math
from collections.abc import Sequence

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.patches import Rectangle

from featbert.report.figures.style import EMPTY, FAINT, INK, TEXT

CELL = 0.27  # inches of height
_PALE = 0.35
Cells = Sequence[Sequence[float | None]] | np.ndarray
# One hue from light to dark. At its lightest it still differs from paper.
_BLUES = matplotlib.colormaps["Blues"](np.linspace(0.08, 1, 256))
_COLORS = ListedColormap(_BLUES).with_extremes(bad=EMPTY)


def scale_of(cells: Cells) -> tuple[float, float]:
    """The colour scale of scores in [0, 1]: whole tens of percent."""
    tens = 10 * np.array([score for row in cells for score in row if score is not None])
    low = 10 * math.floor(tens.min())
    return low, max(10 * math.ceil(tens.max()), low + 10)


def draw_cells(
    axes: Axes,
    cells: Cells,
    scale: tuple[float, float],
    *,
    framed: Sequence[Sequence[bool]] | None = None,
    bold: np.ndarray | None = None,
    shades: np.ndarray | None = None,
    pale: np.ndarray | bool = False,
) -> None:
    """Cells with their numbers in percent, row 0 above. `–` on grey for None.

    `framed`, `bold` and `shades` are (rows, columns). `shades`, on `scale`, replace the numbers'.
    `pale` columns have pale colours.
    """
    low, high = scale
    percent = 100 * np.array(cells, dtype=float)  # None becomes NaN
    shades = percent if shades is None else shades
    weak = np.broadcast_to(pale, percent.shape)
    axes.pcolormesh(
        shades, cmap=_COLORS, vmin=low, vmax=high, edgecolors="white", linewidth=1, antialiased=True
    ).set_alpha(np.where(weak, _PALE, 1.0).tolist())
    axes.invert_yaxis()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    for (i, j), score in np.ndenumerate(percent):
        empty = math.isnan(score)
        dark = shades[i, j] > low + 0.55 * (high - low) and not weak[i, j]
        if framed is not None and framed[i][j]:
            border = Rectangle((j, i), 1, 1, fill=False, edgecolor=INK, linewidth=1.1, zorder=3)
            axes.add_patch(border)
        axes.annotate(
            "–" if empty else f"{score:.1f}",
            (j + 0.5, i + 0.52),
            ha="center",
            va="center",
            size=TEXT,
            weight="bold" if bold is not None and bold[i, j] else "normal",
            color="white" if dark else FAINT if empty else INK,
        )


def name_cells(axes: Axes, columns: Sequence[str], rows: Sequence[str], *, upright: bool) -> None:
    """Names in the middle of columns and rows."""
    rotation = 90 if upright else 0
    axes.set_xticks([j + 0.5 for j in range(len(columns))], columns, rotation=rotation)
    axes.set_yticks([i + 0.5 for i in range(len(rows))], rows)
