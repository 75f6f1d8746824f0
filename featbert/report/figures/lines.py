"""Lines of F1 over something: means with seeds as dots and a band of one standard deviation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from featbert.analysis.rows import Statistic
from featbert.report.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Inches around the axes.
LEFT, BOTTOM, RIGHT = 0.52, 0.42, 0.1
_HEIGHT = 1.9  # of the axes, where nothing needs more
_KEY = 0.42  # what a legend's line takes before its text
_ASIDE = 0.14  # of the way to the next place: seeds beside the marker of their mean


@dataclass(frozen=True)
class Line:
    """A line: its name, its colour and marker by number, and its points from left to right."""

    name: str
    look: int
    places: tuple[float, ...]
    statistics: tuple[Statistic, ...]


def lines_of(points: Iterable[tuple[str, float, Statistic]], width: float) -> list[Line]:
    """Points, each with its line's name and its place, as lines with names that fit a legend."""
    by_name: dict[str, list[tuple[float, Statistic]]] = {}
    for name, place, statistic in points:
        by_name.setdefault(name, []).append((place, statistic))
    return [
        Line(
            style.wrapped(name, width - LEFT - _KEY - RIGHT, style.SMALL),
            look,
            tuple(place for place, _ in own),
            tuple(statistic for _, statistic in own),
        )
        for look, (name, own) in enumerate(by_name.items())
    ]


def label_height(labels: Sequence[str]) -> float:
    """Inches of the highest of several labels."""
    lines = max((label.count("\n") + 1 for label in labels), default=0)
    return lines * style.line_height(style.SMALL)


def line_axes(
    title: str,
    about: str,
    lines: Sequence[Line],
    *,
    width: float,
    beside: float = RIGHT,
    least: float = 0.0,
    below: float = BOTTOM,
) -> tuple[Figure, Axes]:
    """Axes beneath a title and room for the legend, where there are several lines.

    Args:
        beside, below: inches to the right of the axes and beneath them.
        least: inches that the axes are high at least.
    """
    names = sum(line.name.count("\n") + 1 for line in lines) if len(lines) > 1 else 0
    legend = names * style.line_height(style.SMALL) + 0.05
    height = max(_HEIGHT, least)
    many = any(statistic.sd is not None for line in lines for statistic in line.statistics)
    frame = style.new_frame(
        title,
        f"{about} · {'dots: seeds, band: mean ± 1 sd' if many else 'one seed'}",
        width=width,
        room=legend + height + below,
    )
    axes = frame.axes(LEFT, below, width - LEFT - beside, height)
    axes.grid(axis="y")
    axes.set_axisbelow(True)
    return frame.figure, axes


def draw_lines(
    axes: Axes,
    lines: Sequence[Line],
    *,
    levels: Sequence[float] = (),
    aside: Callable[[float], float] = lambda place: place + _ASIDE,
) -> None:
    """Lines through the means, seeds as dots, a band of one standard deviation; in percent.

    Args:
        levels: F1 in [0, 1] that the axes must show too.
        aside: where the seeds of a place stand.
    """
    shown = list(levels)
    for line in lines:
        color = style.COLORS[line.look % len(style.COLORS)]
        marker = style.MARKERS[line.look % len(style.MARKERS)]
        means = [statistic.mean for statistic in line.statistics]
        # A point of one seed has no spread: the band has a gap there, not a width of nothing.
        spreads = [math.nan if s.sd is None else s.sd for s in line.statistics]
        low = [mean - sd for mean, sd in zip(means, spreads, strict=True)]
        high = [mean + sd for mean, sd in zip(means, spreads, strict=True)]
        axes.fill_between(
            line.places, _percent(low), _percent(high), color=color, alpha=0.18, linewidth=0
        )
        axes.plot(
            line.places,
            _percent(means),
            color=color,
            marker=marker,
            markersize=3.6,
            linewidth=1.3,
            label=line.name,
        )
        dots = [
            (aside(place), value)
            for place, statistic in zip(line.places, line.statistics, strict=True)
            if statistic.n > 1
            for value in statistic.values
        ]
        xs, ys = [x for x, _ in dots], [y for _, y in dots]
        axes.scatter(xs, _percent(ys), s=6, color=color, alpha=0.6, linewidth=0, zorder=3)
        shown += [*means, *ys, *(y for y in (*low, *high) if not math.isnan(y))]
    axes.set_ylim(*style.percent_limits(shown))
    if len(lines) > 1:
        axes.legend(
            loc="lower left",
            bbox_to_anchor=(0, 1),
            borderaxespad=0.2,
            borderpad=0,
            labelspacing=0.2,
            handlelength=2.2,
            handletextpad=0.6,
        )


def _percent(shares: Sequence[float]) -> list[float]:
    return [100 * share for share in shares]
