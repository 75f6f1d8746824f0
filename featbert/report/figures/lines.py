"""Lines of a score over something: means, with seeds as dots and a band of one sd."""

import functools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import ScaledTranslation

from featbert.analysis.comparison import Comparison, Statistic, grouped
from featbert.report.figures import style
from featbert.report.figures.values import about, floors, line_looks, score_name

_HEIGHT = 2.35  # inches


def line_figure(
    comparison: Comparison,
    split: str,
    points: Iterable[tuple[str, str, float, Statistic]],
    by: str,
    width: float | None,
    *,
    levels: Sequence[tuple[str, float]] = (),
) -> tuple[Figure, Axes]:
    """Lines through the means, seeds as dots, a band of one standard deviation. In percent.

    `points` are (name of a line, tuning, place, score). `levels` are names and scores of frozen
    features: dashed lines across the figure. `by` ends the title.
    """
    lines = grouped((name, (tuning, place, score)) for name, tuning, place, score in points)
    tunings = [line[0][0] for line in lines.values()]
    looks = line_looks([*tunings, *["none"] * len(levels)])
    figure = style.new_figure(width or style.COLUMN_WIDTH, _HEIGHT)
    axes = figure.subplots()
    shown, keys = [mean for _, mean in levels], []
    short = functools.partial(style.wrapped, width=style.COLUMN_WIDTH - 0.4)
    for (name, line), look in zip(lines.items(), looks, strict=False):
        places = sorted(((place, score) for _, place, score in line), key=lambda pair: pair[0])
        shown += _draw(axes, look, places)
        keys.append(style.key(short(name), look, linestyle="-", linewidth=1.3))
    for (name, mean), look in zip(levels, looks[len(lines) :], strict=True):
        dashed: dict[str, Any] = {"color": look.color, "linestyle": style.DASHED, "linewidth": 0.9}
        axes.axhline(100 * mean, zorder=1, **dashed)
        keys.append(style.key(short(name), **dashed))
    for floor in (lowest := floors(comparison, split)):
        axes.axhline(100 * floor, zorder=1, **style.FLOOR)
    if lowest:
        keys.append(style.key(comparison.task.floor, **style.FLOOR))
    label = score_name(comparison, split)
    limits = style.percent_limits([*shown, *lowest], comparison.task.measure.lowest)
    axes.set(ylim=limits, ylabel=f"{label} (%)")
    axes.grid(axis="y")
    many = any(score.n > 1 for line in lines.values() for _, _, score in line)
    spread = "dots: seeds, band: mean ± 1 sd" if many else "one seed"
    note = about(comparison, spread, "dashed: frozen features" if levels else "")
    return style.header(figure, f"{label} {by}", note, keys if len(keys) > 1 else ()), axes


def _draw(axes: Axes, look: style.Look, points: Sequence[tuple[float, Statistic]]) -> list[float]:
    """Draws one line. Returns the scores in [0, 1] that the axes must show."""
    places = [place for place, _ in points]
    means = np.array([score.mean for _, score in points])
    # A point of one seed has no spread: the band has a gap there, not a width of nothing.
    spreads = np.array([math.nan if score.sd is None else score.sd for _, score in points])
    low, high = means - spreads, means + spreads
    color, marker = look
    axes.fill_between(places, 100 * low, 100 * high, color=color, alpha=0.18, linewidth=0)
    axes.plot(places, 100 * means, color=color, marker=marker, markersize=3.6, linewidth=1.3)
    seeds = [(p, value) for p, score in points if score.n > 1 for value in score.values]
    right = axes.transData + ScaledTranslation(4 / 72, 0, axes.figure.dpi_scale_trans)
    xs, ys = [x for x, _ in seeds], [100 * y for _, y in seeds]
    axes.scatter(xs, ys, s=6, color=color, alpha=0.6, linewidth=0, transform=right, zorder=3)
    shown = (*means, *low, *high, *(value for _, value in seeds))
    return [value for value in shown if not math.isnan(value)]


def layer_ticks(axes: Axes, layers: Sequence[int]) -> None:
    """Numbers of layers, twelve at most. 0 is the embeddings."""
    step = math.ceil(len(layers) / 13)
    ticks = layers[::step]
    axes.set_xticks(ticks, ["emb." if layer == 0 else str(layer) for layer in ticks])
