"""Where everything of a Pareto plot goes: worked out in inches, nothing is drawn."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from featbert.analysis.pareto import ParetoFront, ParetoPoint
from featbert.report.figures import style, ticks
from featbert.report.figures.placing import Box, box_around, place_labels
from featbert.report.units import visible

LEFT, RIGHT = 0.52, 0.28  # of the axes in their panel
NAMES = 0.15  # from the panel's edges to the names beneath the axes
TICKS = 0.24  # for numbers beneath the axes
INDENT = 0.24  # of the names beneath: their numbers
NEAR = 0.07  # from a point to its name, at least
_REACH = 0.2  # at most, while labels are names
_HEIGHT, _BY_POINT = 2.1, 0.05  # of the axes, in inches; more where points are many
MARK = 0.045  # half a marker
_LONGEST = 0.4  # of the axes' width that a line of a name takes
_BETWEEN = 0.16  # columns of names


@dataclass(frozen=True)
class Panel:
    """A front laid out, in inches from the axes' lower left corner.

    Attributes:
        limits: of cost, and of F1 in percent.
        size: of the axes.
        labels: text and box of each point's label, in the order of points; None where no place
            is free, which takes more labels than the axes have room for.
        names: lines of names beneath, by column, where labels are numbers; () otherwise.
    """

    front: ParetoFront
    limits: tuple[tuple[float, float], tuple[float, float]]
    size: tuple[float, float]
    labels: tuple[tuple[str, Box | None], ...]
    head: str
    axis: str
    names: tuple[tuple[tuple[ParetoPoint, str], ...], ...]

    @property
    def above(self) -> float:
        lines = self.head.count("\n") + 1 if self.head else 0
        return style.line_height(style.TEXT) * lines + 0.06

    @property
    def below(self) -> float:
        """Room beneath the axes: numbers, what they mean, names."""
        lines = max((_lines(column) for column in self.names), default=0)
        axis = style.line_height(style.TEXT) * (self.axis.count("\n") + 1)
        return TICKS + axis + style.line_height(style.SMALL) * lines + 0.08

    def place(self, point: ParetoPoint, f1: float | None = None) -> tuple[float, float]:
        """Where a point stands, or its cost with another F1 in [0, 1]."""
        (low, high), (bottom, top) = self.limits
        across = (math.log(point.cost) - math.log(low)) / (math.log(high) - math.log(low))
        up = (100 * (point.f1.mean if f1 is None else f1) - bottom) / (top - bottom)
        return across * self.size[0], up * self.size[1]


def plan(front: ParetoFront, width: float) -> Panel:
    """A front in a panel of `width` inches."""
    inner = width - LEFT - RIGHT
    make = ticks.times if front.currency == "seconds" else ticks.operations
    ends = [end for point in front.points for end in spread(point)]
    bare = Panel(
        front=front,
        limits=(
            ticks.around([point.cost for point in front.points], make),
            style.percent_limits(ends),
        ),
        size=(inner, max(_HEIGHT, _BY_POINT * len(front.points))),
        labels=(),
        head=style.wrapped(front.label, inner, style.TEXT) if front.label else "",
        axis=style.wrapped(_cost_label(front), inner, style.TEXT),
        names=(),
    )
    texts = [style.wrapped(p.name, _LONGEST * inner, style.SMALL) for p in front.points]
    labels = _labels(bare, texts, _REACH)
    if all(box is not None for _, box in labels):
        return dataclasses.replace(bare, labels=tuple(labels))
    numbers = _labels(bare, [str(p.number) for p in front.points], math.hypot(*bare.size))
    names = _columns(front.points, width - 2 * NAMES)
    return dataclasses.replace(bare, labels=tuple(numbers), names=names)


def spread(point: ParetoPoint) -> tuple[float, float]:
    """Mean ± 1 sd, within [0, 1]."""
    sd = point.f1.sd or 0.0
    return max(point.f1.mean - sd, 0.0), min(point.f1.mean + sd, 1.0)


def _labels(panel: Panel, texts: Sequence[str], reach: float) -> list[tuple[str, Box | None]]:
    """Each text with its place, the front's placed first."""
    points = panel.front.points
    order = sorted(range(len(points)), key=lambda i: (not points[i].on_front, points[i].cost))
    level = style.line_height(style.SMALL)
    sizes = [
        (style.widest(text.split("\n"), style.SMALL) + 0.02, level * (text.count("\n") + 1))
        for text in texts
    ]
    found = place_labels(
        [panel.place(points[i]) for i in order],
        [sizes[i] for i in order],
        room=panel.size,
        taken=_taken(panel),
        near=NEAR,
        reach=reach,
    )
    boxes = dict(zip(order, found, strict=True))
    return [(text, boxes[i]) for i, text in enumerate(texts)]


def _taken(panel: Panel) -> list[Box]:
    """Markers, their spreads, and the line of the front."""
    boxes = [box_around(panel.place(point), MARK) for point in panel.front.points]
    for point in panel.front.points:
        (x, low), (_, high) = (panel.place(point, end) for end in spread(point))
        boxes.append((x - 0.02, low, x + 0.02, high))
    corners = [panel.place(point) for point in steps(panel.front)]
    for (x, y), (after, _) in zip(corners, [*corners[1:], (panel.size[0], 0.0)], strict=True):
        boxes.append((x, y - 0.02, after, y + 0.02))
    for (_, y), (x, above) in itertools.pairwise(corners):
        boxes.append((x - 0.02, y, x + 0.02, above))
    return boxes


def steps(front: ParetoFront) -> list[ParetoPoint]:
    """The points of the front, the cheapest first."""
    return sorted((p for p in front.points if p.on_front), key=lambda p: (p.cost, p.f1.mean))


def _columns(
    points: Sequence[ParetoPoint], width: float
) -> tuple[tuple[tuple[ParetoPoint, str], ...], ...]:
    """Names wrapped, in as many columns of like height as they fit into."""
    longest = style.widest([visible(point.name) for point in points], style.SMALL)
    count = max(1, min(len(points), int(width / (longest + INDENT + _BETWEEN))))
    column = width / count - INDENT - _BETWEEN
    entries = [(p, style.wrapped(p.name, column, style.SMALL)) for p in points]
    each = math.ceil(len(entries) / count)
    return tuple(tuple(entries[i : i + each]) for i in range(0, len(entries), each))


def _lines(column: Sequence[tuple[ParetoPoint, str]]) -> int:
    return sum(text.count("\n") + 1 for _, text in column)


def _cost_label(front: ParetoFront) -> str:
    what = "time" if front.currency == "seconds" else "operations"
    if any(point.tuning == "none" for point in front.points):
        if front.runs > 1:
            return f"training {what} of a run where {front.runs:,} share one extraction"
        return f"{what} of one run, extraction included"
    return f"training {what} of one run"
