"""The score over the training sentences that rows learned from."""

import math
from collections.abc import Mapping

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from featbert.analysis.comparison import Comparison
from featbert.analysis.labels import part_axis, part_tick
from featbert.report.figures.lines import line_figure
from featbert.report.figures.registry import figure
from featbert.report.figures.style import COLUMN_WIDTH

Part = tuple[float, float]
_ROOM = 0.42  # inches that a tick's label takes


@figure(
    caption="At each share all rows learn from the same part of train.",
    section="learning",
    needs="rows of different parts of train",
    settings={"train_share": 0.1, "shots": 16},
)
def learning(comparison: Comparison, split: str, width: float | None) -> Figure | None:
    """A line for each way of training, on a logarithmic axis of sentences over seeds."""
    every = [
        (line, comparison.row(name))
        for line, names in comparison.learning.items()
        for name in names
    ]
    scored = [(line, row, score) for line, row in every if (score := row.score(split))]
    if not scored or len({row.train_part for _, row in every}) < 2:
        return None
    names = {row.train_part: part_tick(row) for _, row in every}
    sizes = [(row.train_part, row.train_sentences.mean) for _, row, _ in scored]
    points = [(line, row.tuning, row.train_sentences.mean, score) for line, row, score in scored]
    unit = f"{comparison.task.unit}s"
    fig, axes = line_figure(comparison, split, points, f"by training {unit}", width)
    axes.set_xscale("log")
    axes.minorticks_off()
    axes.set_xlabel(f"{unit} trained on")
    places = dict(sizes)
    if all(0.9 < size / places[part] < 1.1 for part, size in sizes):
        parts = _shown(places, (width or COLUMN_WIDTH) - 0.7)
        labels = [f"{places[part]:,.0f}\n{names[part]}" for part in parts]
        axes.set_xticks([places[part] for part in parts], labels)
        axes.set_xlabel(f"{unit} trained on ({part_axis([row for _, row in every])})")
    else:  # shares of several texts
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter("{x:,.0f}")
    return fig


def _shown(places: Mapping[Part, float], inches: float) -> list[Part]:
    """The largest, the smallest, and what there is room for."""
    order = sorted(places, reverse=True)
    decades = math.log10(places[order[0]] / places[order[-1]]) or 1.0
    ticks: list[Part] = []
    for part in [order[0], order[-1], *order[1:-1]]:
        near = (abs(math.log10(places[part] / places[tick])) for tick in ticks)
        if all(apart / decades * inches > _ROOM for apart in near):
            ticks.append(part)
    return ticks
