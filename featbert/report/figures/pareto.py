"""Quality against cost, with the front of the rows that are worth their price."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib.transforms import Affine2D, Bbox

from featbert.analysis.cost import ParetoFront, pareto_fronts
from featbert.report.figures.registry import figure
from featbert.report.figures.style import (
    COLUMN_WIDTH,
    FAINT,
    FULL_WIDTH,
    INK,
    SMALL,
    between,
    header,
    key,
    panels,
    percent_limits,
    round_numbers,
    wrapped,
)
from featbert.report.figures.values import about, score_name, tuning_keys, tuning_look
from featbert.report.units import operations, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from featbert.analysis.compare import Comparison

_NARROWEST, _HEIGHT = 3.3, 2.6  # inches of a panel
_PALE = 0.38
_SECONDS = (
    *(digit * 10.0**power for power in (-3, -2, -1) for digit in (1, 2, 5)),
    *(1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800),
    *(3600 * hours for hours in (1, 2, 5, 10, 24, 48, 120, 240, 480)),
)
_OPERATIONS = tuple(digit * 10.0**power for power in range(31) for digit in (1, 2, 5))
_MARK = 3.5  # points: half a mark
# Places of a label about its mark: a distance in points, and a direction; sides first.
_AROUND = [
    (reach, math.cos(math.tau * turn / 12), math.sin(math.tau * turn / 12))
    for reach in (5.0, 10.0, 16.0)
    for turn in (0, 6, 3, 9, 1, 11, 5, 7, 2, 10, 4, 8)
]


@figure(
    "pareto",
    caption="Up and to the left is better.",
    section="cost",
    needs="two rows with a score and a known cost",
    splits="last",
)
def pareto(comparison: Comparison, split: str, width: float | None) -> Figure | None:
    """A panel for each text that rows were scored on; rows off its front are paler."""
    fronts = [f for f in pareto_fronts(comparison, split) if len(f.points) > 1]
    if not fronts:
        return None
    points = [point for front in fronts for point in front.points]
    longest = max(len(point.name) for point in points)
    short = len(fronts) == 1 and longest <= 18
    width = width or (COLUMN_WIDTH if short else FULL_WIDTH)
    drawn, panes = panels(len(fronts), width, _NARROWEST, _HEIGHT)
    for axes, front in zip(panes, fronts, strict=True):
        _draw(axes, front)
        axes.set_ylabel(f"{score_name(comparison, split)} (%)")
    keys = tuning_keys(point.tuning for point in points)
    paler = "" if all(point.on_front for point in points) else "; paler: another is cheaper, better"
    keys.append(key(f"Pareto front{paler}", linestyle="-", linewidth=0.9))
    several = any(point.score.sd is not None for point in points)
    unknown = [name for front in fronts for name in front.left_out]
    note = about(
        comparison,
        "mean over seeds, line: ± 1 sd" if several else "one seed",
        fronts[0].machine or "operations are estimated from shapes",
        f"cost unknown: {', '.join(unknown)}" if unknown else "",
    )
    _label(drawn, list(zip(panes, fronts, strict=True)))
    return header(drawn, f"{score_name(comparison, split)} against cost", note, keys)


def _draw(axes: Axes, front: ParetoFront) -> None:
    """Marks, and the front as steps."""
    timed = front.currency == "seconds"
    costs = [point.cost for point in front.points]
    ticks = between(min(costs), max(costs), _SECONDS if timed else _OPERATIONS)
    axes.set(xscale="log", xlim=(0.97 * ticks[0], 1.03 * ticks[-1]))
    axes.minorticks_off()
    shown = ticks[:: math.ceil(len(ticks) / 7)]
    axes.set_xticks(shown, [_time(tick) if timed else operations(tick) for tick in shown])
    axes.set_xlabel(f"{'time' if timed else 'operations'} of one run, extraction included")
    if front.label:
        axes.set_title(wrapped(front.label, _NARROWEST))
    axes.grid()
    ends = [
        (p.score.mean - (p.score.sd or 0), p.score.mean + (p.score.sd or 0)) for p in front.points
    ]
    axes.set_ylim(*percent_limits(end for both in ends for end in both))
    steps = _steps(front, axes.get_xlim()[1])
    axes.plot(*zip(*steps, strict=True), color=FAINT, linewidth=0.9, zorder=2)
    round_numbers(axes, "y", 8)
    for point, (low, high) in zip(front.points, ends, strict=True):
        color, marker = tuning_look(point.tuning)
        alpha = 1.0 if point.on_front else _PALE
        axes.vlines(point.cost, 100 * low, 100 * high, color=color, alpha=0.6 * alpha, linewidth=1)
        place = [point.cost], [100 * point.score.mean]
        axes.scatter(*place, s=25, color=color, marker=marker, alpha=alpha, linewidth=0, zorder=4)


def _steps(front: ParetoFront, end: float) -> list[tuple[float, float]]:
    """Corners of the line along the front: what a cost buys at best, up to the cost `end`."""
    best = sorted((p.cost, 100 * p.score.mean) for p in front.points if p.on_front)
    corners = [best[0]]
    for cost, value in best[1:]:
        corners += [(cost, corners[-1][1]), (cost, value)]
    return [*corners, (end, corners[-1][1])]


def _label(drawn: Figure, panels: Sequence[tuple[Axes, ParetoFront]]) -> None:
    """Names at the points; where one has no free place, numbers, with the names below."""
    drawn.draw_without_rendering()  # so that the axes have their places
    named = [_places(axes, front, [p.name for p in front.points]) for axes, front in panels]
    if all(free for _, free in named):
        for (axes, front), (places, _) in zip(panels, named, strict=True):
            _annotate(axes, front, [visible(p.name) for p in front.points], places)
        return
    points = [point for _, front in panels for point in front.points]
    names = [wrapped(f"{p.number}  {p.name}", 0.8 * drawn.get_figwidth()) for p in points]
    columns = max(
        1,
        int(
            drawn.get_figwidth()
            / (0.06 * max(len(line) for name in names for line in name.split("\n")) + 0.15)
        ),
    )
    height = 0.14 * math.ceil(sum(name.count("\n") + 1 for name in names) / columns) + 0.2
    drawn.set_size_inches(drawn.get_figwidth(), drawn.get_figheight() + height)
    drawn.legend(
        handles=[key(name, marker="None") for name in names],
        loc="outside lower left",
        ncols=columns,
        handlelength=0,
        labelspacing=0.2,
    )
    drawn.draw_without_rendering()
    for axes, front in panels:
        numbers = [str(point.number) for point in front.points]
        _annotate(axes, front, numbers, _places(axes, front, numbers)[0])


def _places(
    axes: Axes, front: ParetoFront, texts: Sequence[str]
) -> tuple[list[tuple[float, float, bool]], bool]:
    """The middle of each text in points from its mark, and whether it is far; if all are free."""
    to_points = axes.transData + Affine2D().scale(72 / axes.figure.dpi)
    edges = axes.get_window_extent().transformed(Affine2D().scale(72 / axes.figure.dpi))
    marks = to_points.transform([(p.cost, 100 * p.score.mean) for p in front.points])
    steps = to_points.transform(_steps(front, axes.get_xlim()[1]))
    line = [Bbox([start, end]).padded(1) for start, end in itertools.pairwise(steps)]
    taken = [Bbox([mark, mark]).padded(_MARK) for mark in marks]
    free, places = True, []
    for (x, y), text in zip(marks, texts, strict=True):
        half, up = 0.28 * SMALL * len(text), 0.6 * SMALL
        found = []
        for reach, across, along in _AROUND:
            dx, dy = across * (reach + half), along * (reach + up)
            box = Bbox.from_bounds(x + dx - half, y + dy - up, 2 * half, 2 * up)
            outside = not (edges.containsx(box.x0) and edges.containsx(box.x1))
            outside = outside or not (edges.containsy(box.y0) and edges.containsy(box.y1))
            hidden = box.count_overlaps(taken) + outside
            found.append(
                (
                    hidden + 0.5 * box.count_overlaps(line),
                    hidden,
                    (dx, dy, reach > _AROUND[0][0]),
                    box,
                )
            )
        _, hidden, place, box = min(found, key=lambda one: one[0])
        free = free and not hidden
        places.append(place)
        taken.append(box)
    return places, free


def _annotate(
    axes: Axes,
    front: ParetoFront,
    texts: Sequence[str],
    places: Sequence[tuple[float, float, bool]],
) -> None:
    for point, text, (x, y, far) in zip(front.points, texts, places, strict=True):
        axes.annotate(
            text,
            (point.cost, 100 * point.score.mean),
            (x, y),
            textcoords="offset points",
            ha="center",
            va="center",
            size=SMALL,
            color=INK if point.on_front else FAINT,
            arrowprops={"arrowstyle": "-", "color": FAINT, "linewidth": 0.5} if far else None,
            zorder=5,
        )


def _time(seconds: float) -> str:
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:g} {unit}"
    return f"{seconds:g} s"
