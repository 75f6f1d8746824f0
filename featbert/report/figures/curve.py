"""F1 over layers: how many are frozen, and which single one is read."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from featbert.comparison.curves import FreezingCurve, FreezingPoint, LayerCurve
from featbert.comparison.rows import Statistic
from featbert.errors import InputError
from featbert.report.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HEIGHT = 1.9  # of the axes, in inches, where nothing needs more
_LEFT, _BOTTOM, _RIGHT = 0.52, 0.42, 0.1
_LEADER = 0.16  # from the end of a level line to its label
_LABEL, _LEAST = 1.3, 0.6  # what a label beside the axes may take before it is wrapped
_STEP = 0.3  # what "none" or "emb." takes beneath them
_ASIDE = 0.14  # of the way to the next place: seeds beside the marker of their mean
_KEY = 0.42  # what a legend's line takes before its text


@dataclass(frozen=True)
class _Series:
    """A line: its name, and its points from left to right."""

    name: str
    places: tuple[int, ...]
    statistics: tuple[Statistic, ...]


def freezing_curve(
    curve: FreezingCurve, *, split: str = "dev", width: float = style.COLUMN_WIDTH
) -> Figure:
    """F1 by how many lower layers are frozen, and frozen features as level lines beside it.

    Args:
        curve: what `freezing_points` gives.
        split: "dev" or "test".
        width: inches.

    Raises:
        InputError: no fine-tuned row was scored on `split`.
    """
    points = [point for point in curve.points if split in point.f1]
    if not points:
        raise InputError(f"a fine-tuned row scored on {split} expected to draw, found none")
    steps = sorted({_frozen(point) for point in points})
    series = _series(
        [(p.series or "fine-tuning", steps.index(_frozen(p)), p.f1[split]) for p in points], width
    )
    whole = {_frozen(point) for point in points if point.whole}
    levels = [(level.label, level.f1[split].mean) for level in curve.features if split in level.f1]
    with style.styled():
        # Labels beside the axes leave the numbers beneath them room to keep apart.
        spare = width - _LEFT - _LEADER - _RIGHT - _STEP * len(steps)
        room = max(min(_LABEL, spare), _LEAST)
        labels = [style.wrapped(label, room, style.SMALL) for label, _ in levels]
        title = f"{split.capitalize()} F1 by how much of the encoder is frozen"
        figure, axes = _axes(title, curve.title, series, width=width, labels=labels)
        _draw(axes, series, [mean for _, mean in levels])
        _levels(axes, [mean for _, mean in levels], labels)
        axes.set_xticks(range(len(steps)), [_step_name(step, whole) for step in steps])
        axes.set_xlim(-0.35, len(steps) - 0.65)
        axes.set_xlabel("frozen up to layer")
        axes.set_ylabel(f"{split} entity F1 (%)")
        style.settle(axes)
    return figure


def layer_curve(
    curve: LayerCurve, *, split: str = "dev", width: float = style.COLUMN_WIDTH
) -> Figure:
    """F1 of taggers that read one hidden state each, by that state.

    Args:
        curve: what `layer_points` gives.
        split: "dev" or "test".
        width: inches.

    Raises:
        InputError: no row that reads a single hidden state was scored on `split`.
    """
    points = [point for point in curve.points if split in point.f1]
    if not points:
        raise InputError(
            f"a features row of a single layer, scored on {split}, expected to draw, found none"
        )
    series = _series([(p.series, p.layer, p.f1[split]) for p in points], width)
    with style.styled():
        title = f"{split.capitalize()} F1 by single layer of frozen features"
        figure, axes = _axes(title, curve.title, series, width=width)
        _draw(axes, series)
        numbers = layer_ticks(curve.num_layers)
        axes.set_xticks(numbers, ["emb." if n == 0 else str(n) for n in numbers])
        axes.set_xlim(-0.5, curve.num_layers + 0.5)
        axes.set_xlabel("layer (emb.: the embeddings)")
        axes.set_ylabel(f"{split} entity F1 (%)")
        style.settle(axes)
    return figure


def layer_ticks(num_layers: int) -> list[int]:
    """Layers whose numbers are written out: all as long as they keep apart, 0 always."""
    step = next(s for s in itertools.count(1) if num_layers / s <= 12)
    return list(range(0, num_layers + 1, step))


def _series(points: Sequence[tuple[str, int, Statistic]], width: float) -> list[_Series]:
    """Points, each with its series' name and its place, as lines with names that fit a legend."""
    by_name: dict[str, list[tuple[int, Statistic]]] = {}
    for name, place, statistic in points:
        by_name.setdefault(name, []).append((place, statistic))
    return [
        _Series(
            style.wrapped(name, width - _LEFT - _KEY - _RIGHT, style.SMALL),
            tuple(place for place, _ in own),
            tuple(statistic for _, statistic in own),
        )
        for name, own in by_name.items()
    ]


def _frozen(point: FreezingPoint) -> int:
    """Sort key: nothing, the embeddings, then by layer."""
    return -1 if point.freeze_to is None else point.freeze_to


def _step_name(step: int, whole: set[int]) -> str:
    return "all" if step in whole else {-1: "none", 0: "emb."}.get(step, str(step))


def _axes(
    title: str,
    about: str,
    series: Sequence[_Series],
    *,
    width: float,
    labels: Sequence[str] = (),
) -> tuple[Figure, Axes]:
    """Axes beneath a title and room for the legend, where there are several series.

    Args:
        labels: wrapped labels that will stand to the right of the axes.
    """
    lines = sum(one.name.count("\n") + 1 for one in series) if len(series) > 1 else 0
    legend = lines * style.line_height(style.SMALL) + 0.05
    height = max(_HEIGHT, len(labels) * _label_height(labels))
    many = any(statistic.sd is not None for one in series for statistic in one.statistics)
    frame = style.new_frame(
        title,
        f"{about} · {'dots: seeds, band: mean ± 1 sd' if many else 'one seed'}",
        width=width,
        room=legend + height + _BOTTOM,
    )
    right = style.widest([line for label in labels for line in label.split("\n")], style.SMALL)
    beside = _LEADER + right + _RIGHT if labels else _RIGHT
    axes = frame.axes(_LEFT, _BOTTOM, width - _LEFT - beside, height)
    axes.grid(axis="y")
    axes.set_axisbelow(True)
    return frame.figure, axes


def _label_height(labels: Sequence[str]) -> float:
    lines = max((label.count("\n") + 1 for label in labels), default=0)
    return lines * style.line_height(style.SMALL)


def _draw(axes: Axes, series: Sequence[_Series], levels: Sequence[float] = ()) -> None:
    """Lines through the means, seeds as dots, a band of one standard deviation; in percent."""
    shown = [100 * level for level in levels]
    for i, one in enumerate(series):
        color = style.COLORS[i % len(style.COLORS)]
        marker = style.MARKERS[i % len(style.MARKERS)]
        means = [100 * statistic.mean for statistic in one.statistics]
        # A point of one seed has no spread: the band has a gap there, not a width of nothing.
        spreads = [math.nan if s.sd is None else 100 * s.sd for s in one.statistics]
        low = [mean - sd for mean, sd in zip(means, spreads, strict=True)]
        high = [mean + sd for mean, sd in zip(means, spreads, strict=True)]
        axes.fill_between(one.places, low, high, color=color, alpha=0.18, linewidth=0)
        axes.plot(
            one.places,
            means,
            color=color,
            marker=marker,
            markersize=3.6,
            linewidth=1.3,
            label=one.name,
        )
        dots = [
            (place + _ASIDE, 100 * value)
            for place, statistic in zip(one.places, one.statistics, strict=True)
            if statistic.n > 1
            for value in statistic.values
        ]
        xs, ys = [x for x, _ in dots], [y for _, y in dots]
        axes.scatter(xs, ys, s=6, color=color, alpha=0.6, linewidth=0, zorder=3)
        shown += [*means, *ys, *(y for y in (*low, *high) if not math.isnan(y))]
    room = 0.06 * (max(shown) - min(shown)) or 1.0
    axes.set_ylim(min(shown) - room, max(shown) + room)
    if len(series) > 1:
        axes.legend(
            loc="lower left",
            bbox_to_anchor=(0, 1),
            borderaxespad=0.2,
            borderpad=0,
            labelspacing=0.2,
            handlelength=2.2,
            handletextpad=0.6,
        )


def _levels(axes: Axes, levels: Sequence[float], labels: Sequence[str]) -> None:
    """Level lines with their labels beside the axes, moved apart where they would overlap."""
    from matplotlib.lines import Line2D

    bottom, top = axes.get_ylim()
    figure = axes.get_figure(root=True)
    assert figure is not None
    across, high = axes.get_position().size * figure.get_size_inches()
    places = [high * (100 * level - bottom) / (top - bottom) for level in levels]
    gap = _label_height(labels)
    for level, label, place, moved in zip(
        levels, labels, places, style.spread(places, gap, gap / 2, high - gap / 2), strict=True
    ):
        axes.axhline(100 * level, color=style.FAINT, linewidth=0.6, linestyle=(0, (5, 3)), zorder=1)
        end = 1 + (_LEADER - 0.03) / across
        leader = Line2D([1, end], [place / high, moved / high], color=style.GRID, linewidth=0.7)
        leader.set(transform=axes.transAxes, clip_on=False)
        axes.add_line(leader)
        axes.text(
            1 + _LEADER / across,
            moved / high,
            label,
            transform=axes.transAxes,
            va="center",
            size=style.SMALL,
            color=style.FAINT,
        )
