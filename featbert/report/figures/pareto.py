"""Quality against cost, with the Pareto front."""

import bisect
import itertools
import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from featbert.analysis.comparison import Comparison, ParetoFront, Row, Statistic
from featbert.analysis.cost import CURRENCIES
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
        fronts = [front for front in drawable_fronts(comparison, split) if front.currency == name]
        if fronts:
            by_name["" if name == "operations" else name] = _figure(
                comparison, fronts, split, width
            )
    return by_name


def drawable_fronts(comparison: Comparison, split: str) -> list[ParetoFront]:
    """The fronts of a split that have two rows or more, of which one learned."""
    fronts = (front for front in comparison.fronts if front.split == split)
    return [f for f in fronts if len(f.points) > 1 and any(p.on_front for p in f.points)]


def _figure(
    comparison: Comparison, fronts: Sequence[ParetoFront], split: str, width: float | None
) -> Figure:
    longest = max(len(point.name) for front in fronts for point in front.points)
    short = len(fronts) == 1 and longest <= 18
    width = width or (style.COLUMN_WIDTH if short else style.FULL_WIDTH)
    fig, panes = style.panels(len(fronts), width, _NARROWEST, _HEIGHT)
    for axes, front in zip(panes, fronts, strict=True):
        axes.set_ylabel(f"{score_name(comparison, split)} (%)")
        if front.label:
            axes.set_title(style.wrapped(front.label, _NARROWEST))
    title = f"{score_name(comparison, split)} against {CURRENCIES[fronts[0].currency].title}"
    return draw_fronts(fig, panes, [(comparison, f) for f in fronts], title, about(comparison))


def draw_fronts(
    drawn: Figure,
    panes: Sequence[Axes],
    fronts: Sequence[tuple[Comparison, ParetoFront]],
    title: str,
    note: str,
) -> Figure:
    """A comparison's front in each of the panes.

    Rows on a front have their name. Paler ones have theirs if there is room.
    """
    for axes, shown in zip(panes, fronts, strict=True):
        _draw(axes, *shown)
    drawn.draw_without_rendering()  # so that the axes have their places
    labelled = [_label(axes, *shown) for axes, shown in zip(panes, fronts, strict=True)]
    points = [point for _, front in fronts for point in front.points]
    rows = [(row, front) for comparison, front in fronts for row in _rows(comparison, front)]
    keys = tuning_keys(row.tuning for row, _ in rows)
    keys.append(style.key("Pareto front", linestyle="-", linewidth=0.9))
    width = 0.8 * drawn.get_figwidth()
    numbered = itertools.chain(*labelled)
    keys += [style.key(style.wrapped(f"{number}  {name}", width)) for number, name in numbered]
    several = any(_score(row, front).sd is not None for row, front in rows)
    unknown = dict.fromkeys(name for _, front in fronts for name in front.left_out)
    remarks = (
        note,
        "mean over seeds, line: ± 1 sd" if several else "one seed",
        "" if all(point.on_front for point in points) else "pale: another is cheaper and better",
        fronts[0][1].machine,
        f"cost unknown: {', '.join(unknown)}" if unknown else "",
    )
    return style.header(drawn, title, " · ".join(filter(None, remarks)), keys)


def _rows(comparison: Comparison, front: ParetoFront) -> list[Row]:
    return [comparison.row(point.row) for point in front.points]


def _score(row: Row, front: ParetoFront) -> Statistic:
    return row.scores[front.split][row.task.measure.key]


def _draw(axes: Axes, comparison: Comparison, front: ParetoFront) -> None:
    currency = CURRENCIES[front.currency]
    timed, show = currency.unit == "seconds", SHOWN[currency.unit]
    costs = [point.cost for point in front.points]
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
    axes.set_xlabel(currency.title)
    axes.grid()
    rows = _rows(comparison, front)
    scores = [_score(row, front) for row in rows]
    ends = [(score.mean - (score.sd or 0.0), score.mean + (score.sd or 0.0)) for score in scores]
    lowest = comparison.task.measure.lowest
    axes.set_ylim(*style.percent_limits(itertools.chain(*ends), lowest))
    corners = _steps(comparison, front, axes.get_xlim()[1])
    axes.plot(*zip(*corners, strict=True), color=style.FAINT, linewidth=0.9, zorder=2)
    axes.locator_params(axis="y", nbins=8, steps=style.ROUND)
    for point, row, score, (low, high) in zip(front.points, rows, scores, ends, strict=True):
        color, marker = tuning_look(row.tuning)
        alpha = 1.0 if point.on_front else _PALE
        axes.vlines(point.cost, 100 * low, 100 * high, color=color, alpha=0.6 * alpha, linewidth=1)
        place = [point.cost], [100 * score.mean]
        axes.scatter(*place, s=25, color=color, marker=marker, alpha=alpha, linewidth=0, zorder=4)


def _places(comparison: Comparison, front: ParetoFront) -> list[tuple[float, float]]:
    """(cost, mean score in percent) of each point."""
    rows = zip(front.points, _rows(comparison, front), strict=True)
    return [(point.cost, 100 * _score(row, front).mean) for point, row in rows]


def _steps(comparison: Comparison, front: ParetoFront, end: float) -> list[tuple[float, float]]:
    """Corners of the line along the front: best score by cost, up to the cost `end`."""
    pairs = zip(front.points, _places(comparison, front), strict=True)
    best = sorted(place for point, place in pairs if point.on_front)
    corners = [best[0]]
    for cost, value in best[1:]:
        corners += [(cost, corners[-1][1]), (cost, value)]
    return [*corners, (end, corners[-1][1])]


def _label(axes: Axes, comparison: Comparison, front: ParetoFront) -> list[tuple[int, str]]:
    """Names marks if that hides nothing.

    Returns number in the comparison and name of those on the front that got numbers.
    """
    pixels = axes.figure.dpi / 72
    places = _places(comparison, front)
    numbers = {row.name: number for number, row in enumerate(comparison.rows, 1)}
    marks = axes.transData.transform(places)
    boxes = [Bbox([mark, mark]).padded(_MARK * pixels) for mark in marks]
    steps = axes.transData.transform(_steps(comparison, front, axes.get_xlim()[1]))
    boxes += [Bbox(ends).padded(1) for ends in itertools.pairwise(steps)]
    bars = [
        collection.get_window_extent()
        for collection in axes.collections
        if isinstance(collection, LineCollection)
    ]
    inside = axes.get_window_extent()
    numbered = []
    pairs = zip(front.points, places, strict=True)
    for point, place in sorted(pairs, key=lambda pair: not pair[0].on_front):
        number = numbers[point.row]
        names = dict.fromkeys([visible(point.name), style.wrapped(point.name, _NAME)])
        for text in (*names, *[str(number)] * point.on_front):
            note = axes.annotate(
                text,
                place,
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
            if hidden and text != str(number):
                note.remove()
                continue
            if note.arrow_patch and reach == _AROUND[0][0]:
                note.arrow_patch.set_visible(False)  # next to a mark there is no room for a line
            boxes.append(target)
            numbered += [(number, point.name)] * (text not in names)
            break
    return numbered


def _time(seconds: float) -> str:
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:g} {unit}"
    return f"{seconds:g} s"
