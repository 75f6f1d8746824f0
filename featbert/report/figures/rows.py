"""Axes with a line a row: names at the left, marks of a score along one axis."""

import itertools
from collections.abc import Iterable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from featbert.report.figures import style

_SHARE = 0.42  # of the width, for names at most
_TALL = 4.5  # inches of axes whose numbers are above them too


def row_plot(
    names: Sequence[str],
    groups: Sequence[str],
    shown: Iterable[float],
    *,
    label: str,
    width: float | None,
) -> tuple[Figure, Axes, list[tuple[float, float]]]:
    """A figure without marks, whose y is in inches, and the middle and height of each row.

    A line parts rows of different groups; `shown` are the scores in [0, 1] that will be drawn.
    Without a width it has one column of a page where names are short, else both.
    """
    width = width or (style.COLUMN_WIDTH if max(map(len, names)) <= 18 else style.FULL_WIDTH)
    texts = [style.wrapped(name, _SHARE * width) for name in names]
    heights = [max(0.2, 0.08 + 0.125 * (text.count("\n") + 1)) for text in texts]
    edges = [0.0, *itertools.accumulate(heights)]
    places = [(edge + height / 2, height) for edge, height in zip(edges, heights, strict=False)]
    figure = style.new_figure(width, edges[-1] + 0.45)
    axes = figure.subplots()
    axes.set(xlim=style.percent_limits(shown), ylim=(edges[-1], 0), xlabel=label)
    axes.set_yticks([middle for middle, _ in places], texts, linespacing=1.15)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labeltop=edges[-1] > _TALL, top=edges[-1] > _TALL)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    # Leads the eye from a name to its marks.
    axes.grid(axis="y", linestyle=(0, (1, 2)))
    axes.locator_params(axis="x", nbins=max(2, int((1 - _SHARE) * width / 0.3)), steps=style.ROUND)
    for edge, (group, below) in zip(edges[1:], itertools.pairwise(groups), strict=False):
        if group != below:
            axes.axhline(edge, color=style.FAINT, linewidth=0.5)
    return figure, axes, places
