"""Quality against cost, with the Pareto front."""

import bisect
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from featbert.analysis.comparison import Comparison, ParetoPoint, Row
from featbert.analysis.cost import CURRENCIES, Currency
from featbert.report.figures import style
from featbert.report.figures.registry import figure
from featbert.report.figures.values import about, score_name, tuning_keys, tuning_look
from featbert.units import SHOWN, visible

_NARROWEST, _HEIGHT = 3.3, 2.6  # inches of a panel
_NAME = 1.2  # of a name that is wrapped
_TICK = 55  # pixels
_PALE = 0.5
_SECONDS = (
    *(digit * 10.0**power for power in (-3, -2, -1) for digit in (1, 2, 5)),
    *(1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800),
    *(3600 * hours for hours in (1, 2, 5, 10, 24, 48, 120, 240, 480)),
)
_MARK = 3.5  # points: half a mark
# Places of a label about its mark: a distance in points, and a direction. Sides first.
_SIDES = [(1, 0), (-1, 0), (0, 1), (0, -1)]
_CORNERS = [(x, y) for y in (1, -1) for x in (1, -1, 0.7, -0.7)]
_AROUND = [(reach, *place) for reach in (5.0, 9.0, 14.0) for place in (*_SIDES, *_CORNERS)]


@figure(
    caption="Up and to the left is better.",
    section="cost",
    needs="two rows with a score and a known cost",
    splits="last",
)
def pareto(comparison: Comparison, split: str, width: float | None) -> dict[str, Figure]:
    """A figure for each cost, with a panel for each text that rows were scored on.

    The figure of operations has no name of its own.
    """
    by_name = {}
    for name in CURRENCIES:
        fronts = [front for front in drawable_fronts(comparison, split) if front.name == name]
        if fronts:
            by_name["" if name == "operations" else name] = _figure(
                comparison, fronts, split, width
            )
    return by_name


@dataclass(frozen=True)
class Mark:
    """A row on the axes: its number in the comparison, and mean and spread of its score."""

    number: int
    name: str
    tuning: str
    mean: float
    sd: float | None
    cost: float
    on_front: bool


@dataclass(frozen=True)
class Front:
    """The marks of one text and cost. `lowest` is the measure's least possible score."""

    name: str
    label: str
    machine: str
    marks: list[Mark]
    left_out: tuple[str, ...]
    lowest: float

    @property
    def currency(self) -> Currency:
        return CURRENCIES[self.name]


def drawable_fronts(comparison: Comparison, split: str) -> list[Front]:
    """The fronts of a split that have two rows or more."""
    numbers = {row.name: number for number, row in enumerate(comparison.rows, 1)}
    return [
        Front(
            front.currency,
            front.label,
            front.machine,
            [_mark(comparison.row(p.row), p, split, numbers[p.row]) for p in front.points],
            front.left_out,
            comparison.task.measure.lowest,
        )
        for front in comparison.fronts
        if front.split == split and len(front.points) > 1
    ]


def _mark(row: Row, point: ParetoPoint, split: str, number: int) -> Mark:
    score = row.scores[split][row.task.measure.key]
    return Mark(number, point.name, row.tuning, score.mean, score.sd, point.cost, point.on_front)


def _figure(
    comparison: Comparison, fronts: Sequence[Front], split: str, width: float | None
) -> Figure:
    longest = max(len(mark.name) for front in fronts for mark in front.marks)
    short = len(fronts) == 1 and longest <= 18
    width = width or (style.COLUMN_WIDTH if short else style.FULL_WIDTH)
    fig, panes = style.panels(len(fronts), width, _NARROWEST, _HEIGHT)
    for axes, front in zip(panes, fronts, strict=True):
        axes.set_ylabel(f"{score_name(comparison, split)} (%)")
        if front.label:
            axes.set_title(style.wrapped(front.label, _NARROWEST))
    title = f"{score_name(comparison, split)} against {fronts[0].currency.title}"
    return draw_fronts(fig, panes, fronts, title, about(comparison))


def draw_fronts(
    drawn: Figure, panes: Sequence[Axes], fronts: Sequence[Front], title: str, note: str
) -> Figure:
    """A front in each of the panes.

    Rows on a front have their name. Paler ones have theirs if there is room.
    """
    for axes, front in zip(panes, fronts, strict=True):
        _draw(axes, front)
    drawn.draw_without_rendering()  # so that the axes have their places
    labelled = [_label(axes, front) for axes, front in zip(panes, fronts, strict=True)]
    marks = [mark for front in fronts for mark in front.marks]
    keys = tuning_keys(mark.tuning for mark in marks)
    keys.append(style.key("Pareto front", linestyle="-", linewidth=0.9))
    numbered = itertools.chain(*labelled)
    width = 0.8 * drawn.get_figwidth()
    keys += [style.key(style.wrapped(f"{p.number}  {p.name}", width)) for p in numbered]
    several = any(mark.sd is not None for mark in marks)
    unknown = dict.fromkeys(name for front in fronts for name in front.left_out)
    remarks = (
        note,
        "mean over seeds, line: ± 1 sd" if several else "one seed",
        "" if all(mark.on_front for mark in marks) else "pale: another is cheaper and better",
        fronts[0].machine,
        f"cost unknown: {', '.join(unknown)}" if unknown else "",
    )
    return style.header(drawn, title, " · ".join(filter(None, remarks)), keys)


def _draw(axes: Axes, front: Front) -> None:
    timed, show = front.currency.unit == "seconds", SHOWN[front.currency.unit]
    costs = [point.cost for point in front.marks]
    steps = _SECONDS if timed else style.DIGITS
    first = max((i for i, step in enumerate(steps) if step <= 0.95 * min(costs)), default=0)
    last = bisect.bisect_left(steps, 1.05 * max(costs))
    ticks = steps[first : last + 1]
    room = (max(costs) / min(costs)) ** 0.12  # for names
    low, high = min(0.97 * ticks[0], min(costs) / room), max(1.03 * ticks[-1], max(costs) * room)
    axes.set(xscale="log", xlim=(low, high))
    axes.minorticks_off()
    shown = ticks[:: math.ceil(len(ticks) * _TICK / axes.get_window_extent().width)]
    names = [_time(tick) if timed else show(tick).replace(".0 ", " ") for tick in shown]
    axes.set_xticks(shown, names)
    axes.set_xlabel(front.currency.title)
    axes.grid()
    spreads = [(point.mean, point.sd or 0.0) for point in front.marks]
    ends = [(mean - sd, mean + sd) for mean, sd in spreads]
    axes.set_ylim(*style.percent_limits(itertools.chain(*ends), front.lowest))
    corners = _steps(front, axes.get_xlim()[1])
    axes.plot(*zip(*corners, strict=True), color=style.FAINT, linewidth=0.9, zorder=2)
    axes.locator_params(axis="y", nbins=8, steps=style.ROUND)
    for point, (low, high) in zip(front.marks, ends, strict=True):
        color, marker = tuning_look(point.tuning)
        alpha = 1.0 if point.on_front else _PALE
        axes.vlines(point.cost, 100 * low, 100 * high, color=color, alpha=0.6 * alpha, linewidth=1)
        place = [point.cost], [100 * point.mean]
        axes.scatter(*place, s=25, color=color, marker=marker, alpha=alpha, linewidth=0, zorder=4)


def _steps(front: Front, end: float) -> list[tuple[float, float]]:
    """Corners of the line along the front: best score by cost, up to the cost `end`."""
    best = sorted((p.cost, 100 * p.mean) for p in front.marks if p.on_front)
    corners = [best[0]]
    for cost, value in best[1:]:
        corners += [(cost, corners[-1][1]), (cost, value)]
    return [*corners, (end, corners[-1][1])]


def _label(axes: Axes, front: Front) -> list[Mark]:
    """Names marks if that hides nothing, and returns those on the front that got numbers."""
    pixels = axes.figure.dpi / 72
    places = [(point.cost, 100 * point.mean) for point in front.marks]
    marks = axes.transData.transform(places)
    boxes = [Bbox([mark, mark]).padded(_MARK * pixels) for mark in marks]
    steps = axes.transData.transform(_steps(front, axes.get_xlim()[1]))
    boxes += [Bbox(ends).padded(1) for ends in itertools.pairwise(steps)]
    bars = [
        collection.get_window_extent()
        for collection in axes.collections
        if isinstance(collection, LineCollection)
    ]
    inside = axes.get_window_extent()
    numbered = []
    for point in sorted(front.marks, key=lambda point: not point.on_front):
        names = dict.fromkeys([visible(point.name), style.wrapped(point.name, _NAME)])
        for text in (*names, *[str(point.number)] * point.on_front):
            note = axes.annotate(
                text,
                (point.cost, 100 * point.mean),
                (0, 0),
                textcoords="offset points",
                ha="center",
                va="center",
                size=style.SMALL,
                color=style.INK if point.on_front else style.FAINT,
                arrowprops={
                    "arrowstyle": "-",
                    "color": style.FAINT,
                    "linewidth": 0.5,
                    "shrinkB": 3,
                },
                zorder=5,
            )
            box = note.get_window_extent().padded(1)
            candidates = []
            for reach, across, along in _AROUND if point.on_front else _AROUND[: len(_AROUND) // 3]:
                x = across * (reach + box.width / pixels / 2)
                y = along * (reach + box.height / pixels / 2)
                target = box.translated(x * pixels, y * pixels)
                outside = not (inside.contains(*target.min) and inside.contains(*target.max))
                apart = np.maximum(np.maximum(target.min - marks, marks - target.max), 0)
                nearer = np.hypot(*apart.T) < pixels * reach  # to another mark than its own
                hidden = target.count_overlaps(boxes) + outside + nearer.sum()
                candidates.append((hidden, target.count_overlaps(bars), reach, (x, y), target))
            best = min(candidates, key=lambda candidate: candidate[:3])
            hidden, _, reach, note.xyann, target = best
            if hidden and text != str(point.number):
                note.remove()
                continue
            if note.arrow_patch and reach == _AROUND[0][0]:
                note.arrow_patch.set_visible(False)  # next to a mark there is no room for a line
            boxes.append(target)
            numbered += [point] * (text not in names)
            break
    return numbered


def _time(seconds: float) -> str:
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:g} {unit}"
    return f"{seconds:g} s"
