"""The expected best dev score against the budget of a random search."""

import itertools
import math
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from featbert import units
from featbert.analysis.comparison import Comparison
from featbert.report.figures import style
from featbert.report.figures.registry import figure
from featbert.report.figures.values import about, line_looks

_HEIGHT = 2.35  # inches
# Figures by name, with field and axis title.
_SPENT = {
    "": ("operations", "operations of training all trials, extraction included"),
    "trials": ("trials", "trials"),
    "time": ("seconds", "time of training all trials, extraction included"),
}


@figure(
    caption="Best dev score that a random search is expected to reach; higher is better.",
    section="cost",
    needs="rows that a random search found; see [search] in experiment files",
    splits="none",
)
def budget(comparison: Comparison, split: str, width: float | None) -> dict[str, Figure]:
    """A figure for operations, trials and, on one machine, time. A line for each row."""
    return {
        name: _figure(comparison, *spent, width)
        for name, spent in _SPENT.items()
        if comparison.budgets and (name != "time" or len(comparison.machines) < 2)
    }


def _figure(comparison: Comparison, spent: str, title: str, width: float | None) -> Figure:
    fig = style.new_figure(width or style.COLUMN_WIDTH, _HEIGHT)
    axes, keys = fig.subplots(), []
    tunings = [comparison.row(curve.row).tuning for curve in comparison.budgets]
    for curve, look in zip(comparison.budgets, line_looks(tunings), strict=True):
        places = getattr(curve, spent)
        line: dict[str, Any] = {"color": look.color, "linewidth": 1.3}
        low, high, dev = ([100 * v for v in part] for part in (curve.low, curve.high, curve.dev))
        axes.fill_between(places, low, high, color=look.color, alpha=0.18, linewidth=0)
        axes.plot(places, dev, marker=look.marker, markersize=2.4, **line)
        if curve.test is not None:
            axes.plot(places, [100 * v for v in curve.test], linestyle=style.DASHED, **line)
        keys.append(style.key(style.wrapped(curve.row, style.COLUMN_WIDTH - 0.4), look))
    measure = comparison.task.measure.name
    shown = itertools.chain.from_iterable(
        (*curve.low, *curve.high, *(curve.test or ())) for curve in comparison.budgets
    )
    limits = style.percent_limits(shown, comparison.task.measure.lowest)
    axes.set(xlabel=title, ylabel=f"{measure} (%)", ylim=limits)
    first, last = axes.dataLim.intervalx
    ticks = [tick for tick in style.DIGITS if first <= tick <= last]
    if len(ticks) > 2:
        axes.set_xscale("log")
        axes.minorticks_off()
        ticks = ticks[:: math.ceil(len(ticks) / 4)]
    else:  # little more than the extraction that all trials share
        ticks = [t for t in MaxNLocator(4).tick_values(first, last) if first <= t <= last]
    axes.set_xticks(ticks, [units.SHOWN.get(spent, "{:,.0f}".format)(tick) for tick in ticks])
    axes.grid(axis="y")
    has_test = any(curve.test is not None for curve in comparison.budgets)
    note = about(
        comparison,
        "solid: best on dev, band: 95% bootstrap interval over trials",
        "dashed: the same trial on test" if has_test else "",
        *(comparison.machines if spent == "seconds" else ()),
    )
    return style.header(
        fig, f"Expected best dev {measure} by {title.partition(' ')[0]}", note, keys
    )
