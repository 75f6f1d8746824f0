"""Quality against cost, with the front of the rows that are worth their price."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from featbert.analysis.pareto import ParetoFront, ParetoPoint
from featbert.errors import InputError
from featbert.report.figures import style, ticks
from featbert.report.figures.keys import Key, draw_keys, keys_height
from featbert.report.figures.pareto_layout import (
    INDENT,
    LEFT,
    MARK,
    NAMES,
    NEAR,
    RIGHT,
    TICKS,
    Panel,
    plan,
    spread,
    steps,
)
from featbert.report.figures.placing import Box, nearest_on

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NARROWEST = 3.3  # panel
_GAP = 0.14  # between panels
_PALE = 0.38


def pareto_plot(*fronts: ParetoFront, width: float = style.COLUMN_WIDTH) -> Figure:
    """One panel a front: mean F1 by cost on a logarithmic axis, rows off the front paler.

    Rows are called by their names where these fit beside their points, else by their numbers in
    the comparison, with the names beneath.

    Args:
        fronts: what `pareto_points` gives; those without a point are passed over.
        width: inches.

    Raises:
        InputError: no row with a score and a cost.
    """
    drawn = [front for front in fronts if front.points]
    if not drawn:
        raise InputError("a row with a score and a known cost expected to draw, found none")
    per_line = max(1, min(len(drawn), int(width / _NARROWEST)))
    with style.styled():
        panels = [plan(front, width / per_line) for front in drawn]
        lines = [panels[i : i + per_line] for i in range(0, len(panels), per_line)]
        keys = _keys(drawn)
        room = sum(_line_height(line) for line in lines) + _GAP * (len(lines) - 1)
        title, subtitle = _titles(drawn)
        room += keys_height(keys, width)
        frame = style.new_frame(title, subtitle, width=width, room=room)
        draw_keys(frame, keys, frame.top)
        y = frame.top - keys_height(keys, width)
        for line in lines:
            above = max(panel.above for panel in line)
            for i, panel in enumerate(line):
                corner = (i * width / per_line + LEFT, y - above - panel.size[1])
                _draw(frame, frame.axes(*corner, *panel.size), panel)
                _names(frame, panel, corner)
            y -= _line_height(line) + _GAP
    return frame.figure


def _line_height(line: Sequence[Panel]) -> float:
    above = max(panel.above for panel in line)
    return above + max(panel.size[1] + panel.below for panel in line)


def _draw(frame: style.Frame, axes: Axes, panel: Panel) -> None:
    front = panel.front
    limits, (bottom, top) = panel.limits
    axes.set_xscale("log")
    axes.set(xlim=limits, ylim=(bottom, top))
    make = ticks.times if front.currency == "seconds" else ticks.operations
    shown = ticks.fitting(make(*limits), limits, panel.size[0])
    axes.minorticks_off()
    axes.set_xticks([tick[0] for tick in shown], [tick[1] for tick in shown])
    style.number_ticks(axes.yaxis, bottom, top, most=int(panel.size[1] / 0.3))
    axes.grid()
    axes.set_axisbelow(True)
    axes.set_xlabel(panel.axis)
    axes.set_ylabel(f"{front.split} entity F1 (%)")
    if panel.head:
        axes.set_title(panel.head, loc="left", pad=4, size=style.TEXT)
    on_front = steps(front)
    xs, ys = [p.cost for p in on_front], [100 * p.f1.mean for p in on_front]
    axes.plot(
        [*xs, limits[1]],
        [*ys, ys[-1]],
        color=style.FAINT,
        linewidth=0.9,
        drawstyle="steps-post",
        zorder=2,
    )
    for point, (text, box) in zip(front.points, panel.labels, strict=True):
        _mark(axes, point)
        if box is not None:
            _label(axes, panel, point, text, box)
    axes.get_xticklabels()
    axes.get_yticklabels()


def _mark(axes: Axes, point: ParetoPoint) -> None:
    color, marker = style.APPROACHES[point.tuning]
    alpha = 1.0 if point.on_front else _PALE
    if point.f1.sd is not None:
        low, high = (100 * end for end in spread(point))
        axes.vlines(point.cost, low, high, color=color, alpha=0.6 * alpha, linewidth=1.0, zorder=2)
    axes.plot(
        [point.cost],
        [100 * point.f1.mean],
        color=color,
        marker=marker,
        markersize=5.0,
        markeredgewidth=0,
        alpha=alpha,
        linestyle="None",
        zorder=4,
    )


def _label(axes: Axes, panel: Panel, point: ParetoPoint, text: str, box: Box) -> None:
    """A label in its box, and a line to its point where another might be nearer."""
    from matplotlib.lines import Line2D

    across, up = panel.size
    place = panel.place(point)
    end = nearest_on(box, place)
    others = [panel.place(other) for other in panel.front.points if other is not point]
    nearest = min((math.dist(other, nearest_on(box, other)) for other in others), default=9.0)
    away = math.dist(place, end)
    if away > min(1.5 * NEAR, nearest):
        # From the marker's edge, which may let through what is beneath it.
        begin = [a + (b - a) * min(MARK / away, 1.0) for a, b in zip(place, end, strict=True)]
        leader = Line2D(
            [begin[0] / across, end[0] / across],
            [begin[1] / up, end[1] / up],
            color=style.FAINT,
            linewidth=0.5,
            alpha=0.7,
            transform=axes.transAxes,
            zorder=1.5,
        )
        axes.add_line(leader)
    left = box[0] >= place[0] - 0.01
    right = box[2] <= place[0] + 0.01
    side = "left" if left else "right" if right else "center"
    x = {"left": box[0], "right": box[2], "center": (box[0] + box[2]) / 2}[side]
    axes.text(
        x / across,
        (box[1] + box[3]) / 2 / up,
        text,
        transform=axes.transAxes,
        ha=side,
        va="center",
        linespacing=1.15,
        size=style.SMALL,
        color=style.INK if point.on_front else style.FAINT,
        zorder=5,
    )


def _names(frame: style.Frame, panel: Panel, corner: tuple[float, float]) -> None:
    """Numbers and names beneath a panel."""
    level = style.line_height(style.SMALL)
    axis = style.line_height(style.TEXT) * (panel.axis.count("\n") + 1)
    left = corner[0] - LEFT + NAMES
    width = panel.size[0] + LEFT + RIGHT - 2 * NAMES
    for n, column in enumerate(panel.names):
        x = left + n * width / len(panel.names)
        y = corner[1] - TICKS - axis - 0.06
        for point, text in column:
            color = style.INK if point.on_front else style.FAINT
            words = {"va": "top", "size": style.SMALL, "color": color, "linespacing": 1.15}
            frame.text(x + INDENT - 0.07, y, str(point.number), ha="right", **words)
            frame.text(x + INDENT, y, text, **words)
            y -= level * (text.count("\n") + 1)


def _titles(fronts: Sequence[ParetoFront]) -> tuple[str, str]:
    first = fronts[0]
    parts = [first.title]
    several = any(p.f1.sd is not None for front in fronts for p in front.points)
    parts.append("mean over seeds, line: ± 1 sd" if several else "one seed")
    parts.append(first.machine or "operations are estimated from shapes")
    unknown = [name for front in fronts for name in front.left_out]
    if unknown:
        parts.append(f"cost unknown: {', '.join(unknown)}")
    return f"{first.split.capitalize()} F1 against the cost of training", " · ".join(parts)


def _keys(fronts: Sequence[ParetoFront]) -> list[Key]:
    there = {point.tuning for front in fronts for point in front.points}
    keys = [
        Key(style.APPROACH_NAMES[approach], color, marker=marker)
        for approach, (color, marker) in style.APPROACHES.items()
        if approach in there
    ]
    dominated = any(not point.on_front for front in fronts for point in front.points)
    told = "Pareto front; paler: another row is cheaper and better"
    keys.append(Key(told if dominated else "Pareto front", style.FAINT, line="-", width=0.9))
    return keys
