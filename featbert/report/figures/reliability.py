"""Reliability diagrams: how often answers are right, by the probability that the model gives."""

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from featbert.analysis.comparison import Comparison, Row
from featbert.report.figures import style
from featbert.report.figures.registry import figure
from featbert.report.figures.values import about, tuning_keys, tuning_look
from featbert.units import percent

_SIDE = 1.6  # inches of a panel


@figure(
    caption="Points below the dashed line: the probabilities are too high.",
    section="where",
    needs="runs that kept their probabilities",
)
def reliability(comparison: Comparison, split: str, width: float | None) -> Figure | None:
    """A panel for each row. A point is a bin of answers, and its area grows with their number."""
    rows = [row for row in comparison.rows if split in row.reliability]
    if not rows:
        return None
    width = width or (style.COLUMN_WIDTH if len(rows) <= 2 else style.FULL_WIDTH)
    names = [style.wrapped(row.name, _SIDE) for row in rows]
    title = 0.13 * (2 + max(name.count("\n") for name in names))  # inches
    fig, panels = style.panels(len(rows), width, _SIDE, _SIDE + title)
    for axes, row, name in zip(panels, rows, names, strict=True):
        _draw(axes, row, split)
        axes.set_title(f"{name}\nECE {percent(row.reliability[split].error)}", linespacing=1.15)
    fig.supxlabel("probability of the answer (%)", size=style.TEXT)
    fig.supylabel("right answers (%)", size=style.TEXT)
    seeds = "all seeds together" if any(len(row.runs) > 1 for row in rows) else "one seed"
    keys = tuning_keys(row.tuning for row in rows)
    keys.append(style.key("calibrated", **style.REFERENCE))
    return style.header(fig, f"Reliability on {split}", about(comparison, seeds), keys)


def _draw(axes: Axes, row: Row, split: str) -> None:
    bins, (color, marker) = row.reliability[split], tuning_look(row.tuning)
    items = np.array(bins.items)
    filled = items > 0
    confidence = 100 * np.array(bins.confidence)[filled] / items[filled]
    accuracy = 100 * np.array(bins.right)[filled] / items[filled]
    axes.plot([0, 100], [0, 100], zorder=1, **style.REFERENCE)
    axes.plot(confidence, accuracy, color=color, linewidth=1.0, zorder=2)
    areas = 6 + 60 * np.sqrt(items[filled] / math.fsum(items))
    axes.scatter(
        confidence, accuracy, areas, color=color, marker=marker, edgecolor="white", linewidth=0.4,
        zorder=3,
    )  # fmt: skip
    axes.set(xlim=(-4, 104), ylim=(-4, 104), xticks=(0, 50, 100), yticks=(0, 50, 100))
    axes.set_aspect("equal")
    axes.grid()
