"""Plots with a line a row: names at the left, marks of F1 along one axis at the right."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from featbert.report.figures import style
from featbert.report.figures.keys import Key, draw_keys, keys_height

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LEFT, _GAP, _RIGHT = 0.08, 0.1, 0.2  # inches
_SHARE = 0.42  # of the width, for names at most
_LEAST = 0.2  # height of a row
_BETWEEN = 0.09  # from one name's last line to the next one's first
_TICKS = 0.22  # for numbers beneath or above the axes
_LABEL = 0.18
_TALL = 4.5  # axes whose numbers stand above them too


@dataclass(frozen=True)
class RowPlot:
    """A figure with axes whose y is in inches, from the first row's upper edge downwards.

    Attributes:
        edges: upper and lower edge of each row.
        inches: width of the axes.
    """

    figure: Figure
    axes: Axes
    edges: tuple[tuple[float, float], ...]
    inches: float

    def middle(self, row: int) -> float:
        """Where a row's marks stand."""
        upper, lower = self.edges[row]
        return (upper + lower) / 2

    def remark(self, row: int, text: str) -> None:
        """Faint words where a row has no mark."""
        low, high = self.axes.get_xlim()
        x = low + 0.05 / self.inches * (high - low)
        words = {"va": "center", "size": style.SMALL, "color": style.FAINT}
        self.axes.text(x, self.middle(row), text, **words)  # type: ignore[arg-type]


def new_row_plot(
    title: str,
    subtitle: str,
    names: Sequence[str],
    *,
    shown: Sequence[float],
    label: str,
    keys: Sequence[Key],
    parted: Collection[int],
    width: float,
) -> RowPlot:
    """A plot without marks.

    Args:
        names: of the rows; wrapped to their column.
        shown: every F1 in [0, 1] that will be drawn.
        label: of the axis.
        parted: rows above which a line is drawn.
    """
    room = width * _SHARE - _LEFT - _GAP
    texts = [style.wrapped(name, room, style.SMALL) for name in names]
    column = style.widest([line for text in texts for line in text.split("\n")], style.SMALL)
    line = style.line_height(style.SMALL)
    heights = [max(_LEAST, line * (text.count("\n") + 1) + _BETWEEN) for text in texts]
    total = sum(heights)
    above = _TICKS if total > _TALL else 0.04
    used = keys_height(keys, width) + above + total + _TICKS + _LABEL
    frame = style.new_frame(title, subtitle, width=width, room=used)
    draw_keys(frame, keys, frame.top)
    left = _LEFT + column + _GAP
    inches = width - left - _RIGHT
    axes = frame.axes(left, _TICKS + _LABEL, inches, total)
    axes.set(xlim=style.percent_limits(shown), ylim=(total, 0))
    style.number_ticks(axes.xaxis, *axes.get_xlim(), most=max(2, int(inches / 0.38)))
    axes.tick_params(axis="x", labeltop=total > _TALL, top=total > _TALL)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.set_axisbelow(True)
    axes.set_xlabel(label)
    edges = []
    y = 0.0
    for n, (text, height) in enumerate(zip(texts, heights, strict=True)):
        edges.append((y, y + height))
        if n in parted:
            axes.axhline(y, color=style.FAINT, linewidth=0.5)
        # Leads the eye from a name to its marks.
        axes.axhline(y + height / 2, color=style.GRID, linewidth=0.5, linestyle=(0, (1, 2)))
        # Names stand on the page and not in the axes, so that they begin in one line.
        place = (_LEFT, _TICKS + _LABEL + total - y - height / 2)
        frame.text(*place, text, va="center", size=style.SMALL, linespacing=1.15)
        y += height
    axes.get_xticklabels()
    return RowPlot(frame.figure, axes, tuple(edges), inches)


def parted(approaches: Sequence[str | None]) -> list[int]:
    """Rows that begin another approach than the row above."""
    return [i for i in range(1, len(approaches)) if approaches[i] != approaches[i - 1]]
