"""Quality against cost, with the Pareto front."""

import bisect
import itertools
import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from featbert.analysis.compare import Comparison
from featbert.analysis.cost import CURRENCIES, ParetoFront, pareto_fronts
from featbert.report.figures import style
from featbert.report.figures.registry import figure
from featbert.report.figures.values import about, score_name, tuning_keys, tuning_look
from featbert.report.units import SHOWN, visible

_NARROWEST, _HEIGHT = 3.3, 2.6  # inches of a panel
_PALE = 0.38
_SECONDS = (
    *(digit * 10.0**power for power in (-3, -2, -1) for digit in (1, 2, 5)),
    *(1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800),
    *(3600 * hours for hours in (1, 2, 5, 10, 24, 48, 120, 240, 480)),
)
_MARK = 3.5  # points: half a mark
# Places of a label about its mark: a distance in points, and a direction; sides first.
_AROUND = [
    (reach, math.cos(math.tau * turn / 12), math.sin(math.tau * turn / 12))
    for reach in (5.0, 10.0, 16.0)
    for turn in (0, 6, 3, 9, 1, 11, 5, 7, 2, 10, 4, 8)
]


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
    found = {}
    for name in CURRENCIES:
        fronts = pareto_fronts(comparison, split, name)
        fronts = [front for front in fronts if len(front.points) > 1]
        if fronts:
            found["" if name == "operations" else name] = _figure(comparison, fronts, split, width)
    return found


def _figure(
    comparison: Comparison, fronts: Sequence[ParetoFront], split: str, width: float | None
) -> Figure:
    """Rows off their front are paler."""
    points = [point for front in fronts for point in front.points]
    longest = max(len(point.name) for point in points)
    short = len(fronts) == 1 and longest <= 18
    width = width or (style.COLUMN_WIDTH if short else style.FULL_WIDTH)
    drawn, panes = style.panels(len(fronts), width, _NARROWEST, _HEIGHT)
    for axes, front in zip(panes, fronts, strict=True):
        _draw(axes, front, comparison.task.measure.lowest)
        axes.set_ylabel(f"{score_name(comparison, split)} (%)")
    keys = tuning_keys(point.tuning for point in points)
    keys.append(style.key("Pareto front", linestyle="-", linewidth=0.9))
    several = any(point.score.sd is not None for point in points)
    unknown = [name for front in fronts for name in front.left_out]
    remarks = about(
        comparison,
        "mean over seeds, line: ± 1 sd" if several else "one seed",
        "" if all(point.on_front for point in points) else "pale: another is cheaper and better",
        fronts[0].machine,
        "estimated from shapes" if fronts[0].currency.unit == "operations" else "",
        f"cost unknown: {', '.join(unknown)}" if unknown else "",
    )
    drawn.draw_without_rendering()  # so that the axes have their places
    free = [
        _label(axes, front, [visible(point.name) for point in front.points])
        for axes, front in zip(panes, fronts, strict=True)
    ]
    if not all(free):
        for note in [note for axes in panes for note in axes.texts]:
            note.remove()
        for axes, front in zip(panes, fronts, strict=True):
            _label(axes, front, [str(point.number) for point in front.points])
        names = (style.wrapped(f"{point.number}  {point.name}", 0.8 * width) for point in points)
        keys += [style.key(name) for name in names]
    title = f"{score_name(comparison, split)} against {fronts[0].currency.title}"
    return style.header(drawn, title, remarks, keys)


def _draw(axes: Axes, front: ParetoFront, lowest: float) -> None:
    timed, show = front.currency.unit == "seconds", SHOWN[front.currency.unit]
    costs = [point.cost for point in front.points]
    steps = _SECONDS if timed else style.DIGITS
    first = max((i for i, step in enumerate(steps) if step <= 0.95 * min(costs)), default=0)
    last = bisect.bisect_left(steps, 1.05 * max(costs))
    ticks = steps[first : last + 1]
    axes.set(xscale="log", xlim=(0.97 * ticks[0], 1.03 * ticks[-1]))
    axes.minorticks_off()
    shown = ticks[:: math.ceil(len(ticks) / 7)]
    axes.set_xticks(shown, [_time(tick) if timed else show(tick) for tick in shown])
    axes.set_xlabel(front.currency.title)
    if front.label:
        axes.set_title(style.wrapped(front.label, _NARROWEST))
    axes.grid()
    spreads = [(point.score.mean, point.score.sd or 0.0) for point in front.points]
    ends = [(mean - sd, mean + sd) for mean, sd in spreads]
    axes.set_ylim(*style.percent_limits(itertools.chain(*ends), lowest))
    corners = _steps(front, axes.get_xlim()[1])
    axes.plot(*zip(*corners, strict=True), color=style.FAINT, linewidth=0.9, zorder=2)
    axes.locator_params(axis="y", nbins=8, steps=style.ROUND)
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


def _label(axes: Axes, front: ParetoFront, texts: Sequence[str]) -> bool:
    """Adds texts near their marks, each at its freest place; whether they hide nothing."""
    pixels = axes.figure.dpi / 72
    places = [(point.cost, 100 * point.score.mean) for point in front.points]
    taken = [Bbox([mark, mark]).padded(_MARK * pixels) for mark in axes.transData.transform(places)]
    steps = axes.transData.transform(_steps(front, axes.get_xlim()[1]))
    taken += [Bbox(ends).padded(1) for ends in itertools.pairwise(steps)]
    inside = axes.get_window_extent()
    free = True
    for place, point, text in zip(places, front.points, texts, strict=True):
        note = axes.annotate(
            text,
            place,
            (0, 0),
            textcoords="offset points",
            ha="center",
            va="center",
            size=style.SMALL,
            color=style.INK if point.on_front else style.FAINT,
            arrowprops={"arrowstyle": "-", "color": style.FAINT, "linewidth": 0.5, "shrinkB": 3},
            zorder=5,
        )
        box = note.get_window_extent().padded(1)
        found = []
        for reach, across, along in _AROUND:
            x = across * (reach + box.width / pixels / 2)
            y = along * (reach + box.height / pixels / 2)
            there = box.translated(x * pixels, y * pixels)
            outside = not (inside.contains(*there.min) and inside.contains(*there.max))
            found.append((there.count_overlaps(taken) + outside, reach, (x, y), there))
        hidden, reach, note.xyann, there = min(found, key=lambda one: one[0])
        if note.arrow_patch and reach == _AROUND[0][0]:
            note.arrow_patch.set_visible(False)  # next to a mark there is no room for a line
        taken.append(there)
        free = free and not hidden
    return free


def _time(seconds: float) -> str:
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:g} {unit}"
    return f"{seconds:g} s"
