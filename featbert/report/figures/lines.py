"""Lines of a score over something: means, with seeds as dots and a band of one sd."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation

from featbert.analysis.rows import Statistic
from featbert.report.figures import style
from featbert.report.figures.values import line_looks

_HEIGHT = 2.35  # inches


@dataclass(frozen=True)
class Line:
    """A line's name, its look, and its points from left to right."""

    name: str
    look: style.Look
    points: tuple[tuple[float, Statistic], ...]


def lines_of(points: Iterable[tuple[str, str, float, Statistic]]) -> list[Line]:
    """Lines of points that each have their line's name, its way to tune, and a place."""
    by_name: dict[str, list[tuple[float, Statistic]]] = {}
    tunings: dict[str, str] = {}
    for name, tuning, place, found in points:
        tunings.setdefault(name, tuning)
        by_name.setdefault(name, []).append((place, found))
    return [
        Line(name, look, tuple(sorted(own, key=lambda point: point[0])))
        for (name, own), look in zip(by_name.items(), line_looks(tunings.values()), strict=True)
    ]


def line_figure(
    lines: Sequence[Line], label: str, width: float | None, *, levels: Sequence[float] = ()
) -> tuple[Figure, Axes]:
    """Lines through the means, seeds as dots, a band of one standard deviation; in percent.

    Args:
        label: of the score.
        levels: scores in [0, 1] that the axes must show too.
    """
    figure = style.new_figure(width or style.COLUMN_WIDTH, _HEIGHT)
    axes = figure.subplots()
    shown = list(levels)
    for line in lines:
        places = [place for place, _ in line.points]
        means = [found.mean for _, found in line.points]
        # A point of one seed has no spread: the band has a gap there, not a width of nothing.
        spreads = [math.nan if found.sd is None else found.sd for _, found in line.points]
        low = [100 * (mean - sd) for mean, sd in zip(means, spreads, strict=True)]
        high = [100 * (mean + sd) for mean, sd in zip(means, spreads, strict=True)]
        color, marker = line.look
        axes.fill_between(places, low, high, color=color, alpha=0.18, linewidth=0)
        axes.plot(
            places,
            [100 * mean for mean in means],
            color=color,
            marker=marker,
            markersize=3.6,
            linewidth=1.3,
        )
        dots = [(p, value) for p, found in line.points if found.n > 1 for value in found.values]
        xs, ys = [x for x, _ in dots], [100 * y for _, y in dots]
        beside = ScaledTranslation(4 / 72, 0, axes.figure.dpi_scale_trans)
        place = axes.transData + beside
        axes.scatter(xs, ys, s=6, color=color, alpha=0.6, linewidth=0, transform=place, zorder=3)
        shown += [*means, *(y / 100 for y in (*ys, *low, *high) if not math.isnan(y))]
    axes.set(ylim=style.percent_limits(shown), ylabel=f"{label} (%)")
    axes.grid(axis="y")
    return figure, axes


def line_keys(lines: Sequence[Line]) -> list[Line2D]:
    """A legend of several lines."""
    if len(lines) < 2:
        return []
    names = [style.wrapped(line.name, style.COLUMN_WIDTH - 0.4) for line in lines]
    return [
        style.key(name, line.look, linestyle="-", linewidth=1.3)
        for name, line in zip(names, lines, strict=True)
    ]


def spread_note(lines: Sequence[Line]) -> str:
    """What dots and bands are."""
    many = any(found.n > 1 for line in lines for _, found in line.points)
    return "dots: seeds, band: mean ± 1 sd" if many else "one seed"


def layer_ticks(axes: Axes, layers: Sequence[int]) -> None:
    """Numbers of layers, twelve at most; 0 is the embeddings."""
    step = math.ceil(len(layers) / 13)
    kept = layers[::step]
    axes.set_xticks(kept, ["emb." if layer == 0 else str(layer) for layer in kept])
