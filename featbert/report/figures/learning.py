"""The score over the training sentences that rows learned from."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING

from featbert.analysis.curves import LearningPoint, learning_points
from featbert.report.figures.lines import line_figure, line_keys, lines_of, spread_note
from featbert.report.figures.registry import figure
from featbert.report.figures.style import COLUMN_WIDTH, between, header
from featbert.report.figures.values import about, score_name
from featbert.text import in_percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from featbert.analysis.compare import Comparison

_ROOM = 0.42  # inches that a tick's label takes


@figure(
    "learning",
    caption="All rows learn from the same sentences; smaller shares are parts of larger ones.",
    section="learning",
    needs="rows of different shares of train; train with --train-share 0.1, 0.3, ...",
)
def learning(comparison: Comparison, split: str, width: float | None) -> Figure | None:
    """A line for each way of training, on a logarithmic axis of sentences over seeds."""
    every = learning_points(comparison.rows)
    points = [(p, score) for p in every if (score := p.row.score(split)) is not None]
    if not points or len({p.row.train_share for p in every}) < 2:
        return None
    lines = lines_of((p.series, p.row.tuning, p.sentences.mean, score) for p, score in points)
    label = score_name(comparison, split)
    drawn, axes = line_figure(lines, label, width)
    axes.set_xscale("log")
    ticks = _ticks([p for p, _ in points], (width or COLUMN_WIDTH) - 0.7)
    axes.minorticks_off()
    axes.set_xticks([place for place, _ in ticks], [label for _, label in ticks])
    of_share = " (share of train)" if "\n" in ticks[0][1] else ""
    axes.set_xlabel(f"sentences trained on{of_share}")
    title = f"{label} by training sentences"
    return header(drawn, title, about(comparison, spread_note(lines)), line_keys(lines))


def _ticks(points: Sequence[LearningPoint], inches: float) -> list[tuple[float, str]]:
    """Places and labels of shares: the largest, the smallest, and what there is room for."""
    by_share: dict[float, list[float]] = {}
    for point in points:
        by_share.setdefault(point.row.train_share, []).append(point.sentences.mean)
    if any(max(own) > 1.1 * min(own) for own in by_share.values()):  # shares of several texts
        steps = [digit * 10.0**power for power in range(9) for digit in (1, 2, 5)]
        counts = [count for own in by_share.values() for count in own]
        return [(tick, f"{tick:,.0f}") for tick in between(min(counts), max(counts), steps)]
    places = {share: statistics.fmean(own) for share, own in by_share.items()}
    order = sorted(places, reverse=True)
    decades = math.log10(max(places.values()) / min(places.values())) or 1.0
    kept: list[float] = []
    for share in [order[0], order[-1], *order[1:-1]]:
        near = (abs(math.log10(places[share] / places[one])) for one in kept)
        if all(apart / decades * inches > _ROOM for apart in near):
            kept.append(share)
    return [(places[share], f"{places[share]:,.0f}\n{in_percent(share)}") for share in kept]
