"""Axes with a line a row: names at the left, marks of a score along one axis."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from featbert.report.figures.style import (
    FAINT,
    new_figure,
    percent_limits,
    round_numbers,
    wrapped,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SHARE = 0.42  # of the width, for names at most
_TALL = 4.5  # inches of axes whose numbers stand above them too


@dataclass(frozen=True)
class RowPlot:
    """A figure whose axes have y in inches, from above.

    Attributes:
        places: middle and height of each row.
    """

    figure: Figure
    axes: Axes
    places: tuple[tuple[float, float], ...]

    def remark(self, row: int, text: str) -> None:
        """Faint words where a row has no mark."""
        place = 0.02, self.places[row][0]
        within = "axes fraction", "data"
        self.axes.annotate(text, place, xycoords=within, va="center", color=FAINT)


def row_plot(
    names: Sequence[str],
    groups: Sequence[str],
    shown: Iterable[float],
    *,
    label: str,
    width: float,
) -> RowPlot:
    """A plot without marks.

    Args:
        names: of the rows.
        groups: a line parts rows of different groups.
        shown: every score in [0, 1] that will be drawn.
        label: of the axis.
    """
    texts = [wrapped(name, _SHARE * width) for name in names]
    heights = [max(0.2, 0.08 + 0.125 * (text.count("\n") + 1)) for text in texts]
    edges = [0.0, *itertools.accumulate(heights)]
    places = [(edge + height / 2, height) for edge, height in zip(edges, heights, strict=False)]
    figure = new_figure(width, edges[-1] + 0.45)
    axes = figure.subplots()
    axes.set(xlim=percent_limits(shown), ylim=(edges[-1], 0), xlabel=label)
    axes.set_yticks([middle for middle, _ in places], texts, linespacing=1.15)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labeltop=edges[-1] > _TALL, top=edges[-1] > _TALL)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    # Leads the eye from a name to its marks.
    axes.grid(axis="y", linestyle=(0, (1, 2)))
    round_numbers(axes, "x", int((1 - _SHARE) * width / 0.3))
    for i in range(1, len(names)):
        if groups[i] != groups[i - 1]:
            axes.axhline(edges[i], color=FAINT, linewidth=0.5)
    return RowPlot(figure, axes, tuple(places))
