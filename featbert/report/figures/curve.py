"""F1 over layers: how many are frozen, and which single one is read."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from featbert.analysis.curves import FreezingCurve, FreezingPoint, LayerCurve
from featbert.errors import InputError
from featbert.report.figures import style
from featbert.report.figures.lines import LEFT, RIGHT, draw_lines, label_height, line_axes, lines_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LEADER = 0.16  # inches from the end of a level line to its label
_LABEL, _LEAST = 1.3, 0.6  # what a label beside the axes may take before it is wrapped
_STEP = 0.3  # what "none" or "emb." takes beneath them


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
    lines = lines_of(
        [(p.series or "fine-tuning", steps.index(_frozen(p)), p.f1[split]) for p in points], width
    )
    whole = {_frozen(point) for point in points if point.whole}
    levels = [(level.label, level.f1[split].mean) for level in curve.features if split in level.f1]
    with style.styled():
        # Labels beside the axes leave the numbers beneath them room to keep apart.
        spare = width - LEFT - _LEADER - RIGHT - _STEP * len(steps)
        room = max(min(_LABEL, spare), _LEAST)
        labels = [style.wrapped(label, room, style.SMALL) for label, _ in levels]
        title = f"{split.capitalize()} F1 by how much of the encoder is frozen"
        figure, axes = line_axes(
            title,
            curve.title,
            lines,
            width=width,
            beside=_beside(labels),
            least=len(labels) * label_height(labels),
        )
        draw_lines(axes, lines, levels=[mean for _, mean in levels])
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
    lines = lines_of([(p.series, p.layer, p.f1[split]) for p in points], width)
    with style.styled():
        title = f"{split.capitalize()} F1 by single layer of frozen features"
        figure, axes = line_axes(title, curve.title, lines, width=width)
        draw_lines(axes, lines)
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


def _frozen(point: FreezingPoint) -> int:
    """Sort key: nothing, the embeddings, then by layer."""
    return -1 if point.freeze_to is None else point.freeze_to


def _step_name(step: int, whole: set[int]) -> str:
    return "all" if step in whole else {-1: "none", 0: "emb."}.get(step, str(step))


def _beside(labels: Sequence[str]) -> float:
    """Inches to the right of the axes, with room for wrapped labels."""
    if not labels:
        return RIGHT
    widest = style.widest([line for label in labels for line in label.split("\n")], style.SMALL)
    return _LEADER + widest + RIGHT


def _levels(axes: Axes, levels: Sequence[float], labels: Sequence[str]) -> None:
    """Level lines with their labels beside the axes, moved apart where they would overlap."""
    from matplotlib.lines import Line2D

    bottom, top = axes.get_ylim()
    figure = axes.get_figure(root=True)
    assert figure is not None
    across, high = axes.get_position().size * figure.get_size_inches()
    places = [high * (100 * level - bottom) / (top - bottom) for level in levels]
    gap = label_height(labels)
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
