"""Quality against cost, with the Pareto front of means."""

import bisect
import itertools
import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from featbert.analysis.comparison import Comparison, ParetoFront, Row, grouped
from featbert.analysis.cost import CURRENCIES
from featbert.report.figures import style
from featbert.report.figures.placement import place_labels
from featbert.report.figures.registry import figure
from featbert.report.figures.values import about, bars, score_name, tuning_keys, tuning_look
from featbert.units import SHOWN

FRONT_CAPTION = (
    "Up and to the left is better. The line joins the highest means by cost on the shown split. "
    "Rows with overlapping bars may change places on it."
)
Places = list[tuple[float, float]]
_NARROWEST, _HEIGHT = 3.3, 2.6  # inches of a panel
_TICK = 55  # pixels
_ROOM = 280  # characters of names in a panel
# Numbers of an axis of time, with their names.
_SECONDS = {
    number * length: f"{number:g} {unit}"
    for unit, length, numbers in (
        ("s", 1, (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30)),
        ("min", 60, (1, 2, 5, 10, 20, 30)),
        ("h", 3600, (1, 2, 5, 10, 24, 48, 120, 240, 480)),
    )
    for number in numbers
}


@figure(
    caption=FRONT_CAPTION,
    section="cost",
    needs="two rows with a score and a known cost, of which one learned",
    splits="last",
)
def pareto(comparison: Comparison, split: str, width: float | None) -> dict[str, Figure]:
    """A figure for each cost, with a panel for each text that rows were scored on.

    The figure of operations has no name of its own.
    """
    by_currency = grouped((front.currency, front) for front in drawable_fronts(comparison, split))
    return {
        "" if name == "operations" else name: _figure(comparison, fronts, split, width)
        for name, fronts in by_currency.items()
    }


def drawable_fronts(comparison: Comparison, split: str) -> list[ParetoFront]:
    """The fronts of a split that have two rows or more."""
    return [front for front in comparison.fronts if front.split == split and len(front.points) > 1]


def _figure(
    comparison: Comparison, fronts: Sequence[ParetoFront], split: str, width: float | None
) -> Figure:
    longest = max(len(point.name) for front in fronts for point in front.points)
    short = len(fronts) == 1 and longest <= 18
    width = width or (style.COLUMN_WIDTH if short else style.FULL_WIDTH)
    title = f"{score_name(comparison, split)} against {CURRENCIES[fronts[0].currency].title}"
    shown = [(comparison, front, front.label) for front in fronts]
    return draw_fronts(shown, (width, _NARROWEST, _HEIGHT), title, about(comparison))


def draw_fronts(
    fronts: Sequence[tuple[Comparison, ParetoFront, str]],
    size: tuple[float, float, float],
    title: str,
    note: str,
) -> Figure:
    """A panel with its title for each front. Each mark has its name if there is any room.

    `size` has the width of the figure, the least width of a panel, and its height, in inches.
    """
    fig, panes = style.panels(len(fronts), *size)
    marks = []
    for axes, (comparison, front, text) in zip(panes, fronts, strict=True):
        axes.set(ylabel=f"{score_name(comparison, front.split)} (%)")
        axes.set_title(style.wrapped(text, size[1]))
        marks.append(_draw(axes, comparison, front))
    fig.draw_without_rendering()  # so that the axes have their places
    unwritten, crowded = list[str](), False
    for axes, (comparison, front, _), (_, *places) in zip(panes, fronts, marks, strict=True):
        named_rows = _rows_named(comparison, front)
        names = [point.name if point.row in named_rows else "" for point in front.points]
        crowded |= "" in names
        first = [point.on_front for point in front.points]
        unwritten += place_labels(axes, names, first, *places)
    rows = [row for comparison, front, _ in fronts for row in _rows(comparison, front)]
    keys = tuning_keys(row.tuning for row in rows)
    keys.append(style.key("highest mean by cost", linestyle="-", linewidth=0.9))
    idle = {
        "a trial of a search": any(row.is_trial for row in rows),
        "did not learn": any(not row.competes and not row.is_trial for row in rows),
    }
    if any(idle.values()):
        label = "hollow: " + " or ".join(name for name, shown in idle.items() if shown)
        keys.append(style.key(label, marker="o", fillstyle="none"))
    unknown = dict.fromkeys(name for _, front, _ in fronts for name in front.left_out)
    # "over seeds, and text if predictions exist" includes "over seeds".
    meanings = [meaning for meaning, *_ in marks]
    longest = [m for m in meanings if not any(meaning.startswith(f"{m},") for meaning in meanings)]
    intervals = " or ".join(dict.fromkeys(filter(None, longest)))
    remarks = (
        note,
        "mean over seeds" if any(len(row.runs) > 1 for row in rows) else "one seed",
        f"bar: {intervals}" if intervals else "",
        fronts[0][1].machine,
        f"cost unknown: {', '.join(unknown)}" if unknown else "",
        f"without room for a name: {', '.join(dict.fromkeys(unwritten))}" if unwritten else "",
        "named: best rows of a side, and rows on the line" if crowded else "",
    )
    return style.header(fig, title, " · ".join(filter(None, remarks)), keys)


def _rows(comparison: Comparison, front: ParetoFront) -> list[Row]:
    return [comparison.row(point.row) for point in front.points]


def _rows_named(comparison: Comparison, front: ParetoFront) -> set[str]:
    """Rows with a name in the figure. Without room for all: the front, and best rows of a side."""
    if sum(len(point.name) for point in front.points) <= _ROOM:
        return {point.row for point in front.points}
    of_answer = {
        row for c in comparison.contests for row in (c.leader, c.features, c.tuned, c.cheapest)
    }
    return {point.row for point in front.points if point.on_front or point.row in of_answer}


def _draw(axes: Axes, comparison: Comparison, front: ParetoFront) -> tuple[str, Places, Places]:
    """Draws a front without names. Returns what its bars mean, its points, and corners of its line.

    Points are (cost, mean score in percent). The line has the highest mean by cost.
    """
    currency = CURRENCIES[front.currency]
    timed, show = currency.unit == "seconds", SHOWN[currency.unit]
    costs = [point.cost for point in front.points]
    steps = [*_SECONDS] if timed else style.DIGITS
    begin = max((i for i, step in enumerate(steps) if step <= 0.95 * min(costs)), default=0)
    ticks = steps[begin : bisect.bisect_left(steps, 1.05 * max(costs)) + 1]
    room = (max(costs) / min(costs)) ** 0.12  # for names
    limits = min(0.97 * ticks[0], min(costs) / room), max(1.03 * ticks[-1], max(costs) * room)
    axes.set(xscale="log", xlim=limits)
    axes.minorticks_off()
    shown = ticks[:: math.ceil(len(ticks) * _TICK / axes.get_window_extent().width)]
    names = [_SECONDS[tick] if timed else show(tick).replace(".0 ", " ") for tick in shown]
    axes.set_xticks(shown, names)
    axes.set_xlabel(currency.title)
    axes.grid()
    rows = _rows(comparison, front)
    ends, meaning = bars(rows, front.split)
    means = [row.mean(front.split) for row in rows]
    lowest = comparison.task.measure.lowest
    shown_scores = [*means, *itertools.chain(*ends.values())]
    axes.set_ylim(*style.percent_limits(shown_scores, lowest))
    places = [(point.cost, 100 * mean) for point, mean in zip(front.points, means, strict=True)]
    start, *later_places = sorted(itertools.compress(places, [p.on_front for p in front.points]))
    corners = [start]
    for cost, value in later_places:
        corners += [(cost, corners[-1][1]), (cost, value)]
    corners.append((limits[1], corners[-1][1]))
    axes.plot(*zip(*corners, strict=True), color=style.FAINT, linewidth=0.9, zorder=2)
    axes.locator_params(axis="y", nbins=8, steps=style.ROUND)
    for point, row, mean in zip(front.points, rows, means, strict=True):
        color, marker = tuning_look(row.tuning)
        if row.name in ends:
            low, high = (100 * min(max(end, lowest), 1.0) for end in ends[row.name])
            axes.vlines(point.cost, low, high, color=color, alpha=0.6, linewidth=1)
        fill = color if row.competes else "white"
        axes.scatter(
            [point.cost], [100 * mean], s=25, color=fill, edgecolor=color, marker=marker,
            linewidth=0.8, zorder=4,
        )  # fmt: skip
    return meaning, places, corners
