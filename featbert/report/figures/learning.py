"""The score over the training sentences that rows learned from."""

import math
from collections.abc import Mapping

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from featbert.analysis.comparison import Comparison
from featbert.report.figures.lines import line_figure
from featbert.report.figures.registry import figure
from featbert.report.figures.style import COLUMN_WIDTH
from featbert.text import in_percent

_ROOM = 0.42  # inches that a tick's label takes


@figure(
    caption="At each share all rows learn from the same part of train.",
    section="learning",
    needs="rows of different shares of train; train with --train-share 0.1, 0.3, ...",
)
def learning(comparison: Comparison, split: str, width: float | None) -> Figure | None:
    """A line for each way of training, on a logarithmic axis of sentences over seeds."""
    every = [
        (line, comparison.row(name))
        for line, names in comparison.learning.items()
        for name in names
    ]
    scored = [(line, row, score) for line, row in every if (score := row.score(split))]
    if not scored or len({row.train_share for _, row in every}) < 2:
        return None
    sizes = [(row.train_share, row.train_sentences.mean) for _, row, _ in scored]
    points = [(line, row.tuning, row.train_sentences.mean, score) for line, row, score in scored]
    unit = f"{comparison.task.unit}s"
    fig, axes = line_figure(comparison, split, points, f"by training {unit}", width)
    axes.set_xscale("log")
    axes.minorticks_off()
    axes.set_xlabel(f"{unit} trained on")
    places = dict(sizes)
    if all(0.9 < size / places[share] < 1.1 for share, size in sizes):
        shares = _shown(places, (width or COLUMN_WIDTH) - 0.7)
        labels = [f"{places[share]:,.0f}\n{in_percent(share)}" for share in shares]
        axes.set_xticks([places[share] for share in shares], labels)
        axes.set_xlabel(f"{unit} trained on (share of train)")
    else:  # shares of several texts
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter("{x:,.0f}")
    return fig


def _shown(places: Mapping[float, float], inches: float) -> list[float]:
    """The largest, the smallest, and what there is room for."""
    order = sorted(places, reverse=True)
    decades = math.log10(places[order[0]] / places[order[-1]]) or 1.0
    ticks: list[float] = []
    for share in [order[0], order[-1], *order[1:-1]]:
        near = (abs(math.log10(places[share] / places[tick])) for tick in ticks)
        if all(apart / decades * inches > _ROOM for apart in near):
            ticks.append(share)
    return ticks
