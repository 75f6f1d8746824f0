"""F1 over the training sentences that rows learned from."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from featbert.analysis.learning import LearningCurve, LearningPoint
from featbert.errors import InputError
from featbert.report.figures import style, ticks
from featbert.report.figures.lines import BOTTOM, LEFT, RIGHT, draw_lines, line_axes, lines_of
from featbert.text import in_percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ASIDE = 1.035  # times its place: seeds beside the marker of their mean
_SECOND_LINE = 0.12  # inches that shares take beneath their counts
# Of the palette; features and fine-tuning have theirs in every figure.
_FEATURES, _TUNED = 0, 1


def learning_curve(
    curve: LearningCurve, *, split: str = "dev", width: float = style.COLUMN_WIDTH
) -> Figure:
    """F1 by training sentences on a logarithmic axis, a line for each way of training.

    A point stands at the mean over seeds of the sentences that its runs learned from.

    Args:
        curve: what `learning_curves` gives.
        split: "dev" or "test".
        width: inches.

    Raises:
        InputError: no row was scored on `split`.
    """
    points = [point for point in curve.points if split in point.f1]
    if not points:
        raise InputError(f"a row scored on {split} expected to draw, found none")
    lines = lines_of([(p.series, p.sentences.mean, p.f1[split]) for p in points], width)
    approaches = list({p.series: p.tuning for p in points}.values())
    lines = [
        dataclasses.replace(line, look=look)
        for line, look in zip(lines, _looks(approaches), strict=True)
    ]
    places = [point.sentences.mean for point in points]
    low, high = ticks.around(places, ticks.plain, room=1.12)
    shown, of_share = _ticks(points, (low, high), width - LEFT - RIGHT)
    with style.styled():
        title = f"{split.capitalize()} F1 by training sentences"
        below = BOTTOM + (_SECOND_LINE if of_share else 0)
        figure, axes = line_axes(title, curve.title, lines, width=width, below=below)
        axes.set_xscale("log")
        draw_lines(axes, lines, aside=lambda place: _ASIDE * place)
        axes.minorticks_off()
        axes.set_xticks([place for place, _ in shown], [label for _, label in shown])
        axes.set_xlim(low, high)
        axes.set_xlabel(f"sentences trained on{' (share of train)' if of_share else ''}")
        axes.set_ylabel(f"{split} entity F1 (%)")
        style.settle(axes)
    return figure


def _looks(approaches: Sequence[str]) -> list[int]:
    """Colours of lines by number: the first of each approach has the approach's own."""
    firsts = {"none": _FEATURES, "full": _TUNED}
    others = iter(range(2, 2 + len(approaches)))
    return [firsts.pop(approach) if approach in firsts else next(others) for approach in approaches]


def _ticks(
    points: Sequence[LearningPoint], limits: tuple[float, float], inches: float
) -> tuple[list[tuple[float, str]], bool]:
    """Places and labels, and whether they tell shares: where each share is as many sentences."""
    by_share: dict[float, list[float]] = {}
    for point in points:
        by_share.setdefault(point.share, []).append(point.sentences.mean)
    if any(max(means) > 1.1 * min(means) for means in by_share.values()):
        fitting = ticks.fitting(ticks.plain(*limits), limits, inches)
        return [(place, f"{place:,.0f}") for place, _, _ in fitting], False
    # All of train is told before what is between, and the smallest share next.
    order = sorted(by_share, reverse=True)
    ranks = {share: rank for rank, share in enumerate([order[0], order[-1], *order[1:-1]])}
    labels = {}
    candidates = []
    for share, means in by_share.items():
        place = statistics.fmean(means)
        lines = (f"{place:,.0f}", in_percent(share))
        labels[place] = "\n".join(lines)
        widest = max(lines, key=lambda line: style.text_width(line, style.SMALL))
        candidates.append((place, widest, ranks[share]))
    fitting = ticks.fitting(candidates, limits, inches)
    return [(place, labels[place]) for place, _, _ in fitting], True
