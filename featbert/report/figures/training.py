"""Training epoch by epoch: dev F1 above, training loss beneath, a panel a row."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from featbert.analysis.training_curves import RowCurves, SeedCurve, TrainingCurves
from featbert.errors import InputError
from featbert.report.figures import style, ticks
from featbert.report.figures.keys import Key, draw_keys, keys_height

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LEFT, _RIGHT = 0.55, 0.12  # inches, of the axes in their panel
_F1, _LOSS, _APART = 0.85, 0.5, 0.1  # heights of both axes, and between them
_BELOW = 0.4  # for epochs and what they are
_NARROWEST = 1.7  # panel
_LINES = 3  # of a name, before panels are made wider
_GAP = 0.08
_LINE = 1.0


@dataclass(frozen=True)
class _Scales:
    """Limits that all panels share, so that they compare: F1 in percent, and loss above 0."""

    f1: tuple[float, float]
    loss: tuple[float, float]


def training_curve(curves: TrainingCurves, *, width: float = style.COLUMN_WIDTH) -> Figure:
    """A line a seed, a dot at the epoch whose weights were kept; loss on a logarithmic axis.

    All panels have the same scales. A loss that is no number above 0 leaves a gap.

    Args:
        curves: what `training_curves` gives; rows without an epoch are passed over.
        width: inches.

    Raises:
        InputError: no row has an epoch.
    """
    rows = [row for row in curves.rows if any(seed.epochs for seed in row.seeds)]
    if not rows:
        raise InputError("a run with a training history expected to draw, found none")
    per_line = _per_line([row.name for row in rows], width)
    panel = width / per_line
    lines = [rows[i : i + per_line] for i in range(0, len(rows), per_line)]
    keys = _keys(rows)
    with style.styled():
        inner = panel - _LEFT - _RIGHT
        heads = [[style.wrapped(r.name, inner, style.TEXT) for r in line] for line in lines]
        aboves = [max(map(_head_height, line)) for line in heads]
        tall = _F1 + _APART + _LOSS + _BELOW
        room = keys_height(keys, width) + sum(above + tall for above in aboves)
        room += _GAP * (len(lines) - 1)
        title, subtitle = _titles(curves, rows)
        frame = style.new_frame(title, subtitle, width=width, room=room)
        draw_keys(frame, keys, frame.top)
        scales = _scales(rows)
        y = frame.top - keys_height(keys, width)
        for line, texts, above in zip(lines, heads, aboves, strict=True):
            for i, (row, head) in enumerate(zip(line, texts, strict=True)):
                x, upper = i * panel + _LEFT, y - above - _F1
                axes = frame.axes(x, upper, inner, _F1)
                axes.set_title(head, loc="left", pad=5, size=style.TEXT)
                _f1(axes, row, scales, inner, first=i == 0)
                beneath = frame.axes(x, upper - _APART - _LOSS, inner, _LOSS)
                _loss(beneath, row, scales, inner, first=i == 0)
            y -= above + tall + _GAP
    return frame.figure


def _per_line(names: Sequence[str], width: float) -> int:
    """Panels beside each other: as many as leave names on few lines, half as many at least."""
    most = max(1, min(len(names), int(width / _NARROWEST)))
    for count in range(most, most // 2, -1):
        inner = width / count - _LEFT - _RIGHT
        if all(style.wrapped(n, inner, style.TEXT).count("\n") < _LINES for n in names):
            return count
    return max(1, most // 2)


def _head_height(head: str) -> float:
    return style.line_height(style.TEXT) * (head.count("\n") + 1) + 0.08


def _scales(rows: Sequence[RowCurves]) -> _Scales:
    seeds = [seed for row in rows for seed in row.seeds]
    f1 = [value for seed in seeds for value in seed.dev_f1 if value is not None]
    losses = [loss for seed in seeds for loss in seed.loss if _drawable(loss)]
    return _Scales(
        style.percent_limits(f1 or [0.0, 1.0]),
        ticks.around(losses or [0.1, 1.0], ticks.plain, room=1.25),
    )


def _drawable(loss: float) -> bool:
    return math.isfinite(loss) and loss > 0


def _f1(axes: Axes, row: RowCurves, scales: _Scales, inches: float, *, first: bool) -> None:
    color, marker = style.APPROACHES[row.tuning]
    _epochs(axes, row, (inches, "dev F1 (%)" if first else ""))
    axes.set_ylim(scales.f1)
    style.number_ticks(axes.yaxis, *scales.f1, most=int(_F1 / 0.2))
    axes.tick_params(labelbottom=False)
    for seed in row.seeds:
        ys = [math.nan if value is None else 100 * value for value in seed.dev_f1]
        _curve(axes, seed.epochs, ys, color)
        best = [(x, y) for x, y in zip(seed.epochs, ys, strict=True) if x == seed.best_epoch]
        axes.scatter(
            [x for x, _ in best],
            [y for _, y in best],
            s=16,
            color=color,
            marker=marker,
            edgecolor="white",
            linewidth=0.4,
            zorder=4,
        )
    if all(value is None for seed in row.seeds for value in seed.dev_f1):
        axes.text(
            0.04,
            0.5,
            "no dev score",
            transform=axes.transAxes,
            va="center",
            size=style.SMALL,
            color=style.FAINT,
        )
    axes.get_yticklabels()


def _loss(axes: Axes, row: RowCurves, scales: _Scales, inches: float, *, first: bool) -> None:
    color, _ = style.APPROACHES[row.tuning]
    axes.set_yscale("log")
    _epochs(axes, row, (inches, "loss" if first else ""))
    axes.set_ylim(scales.loss)
    axes.minorticks_off()
    shown = ticks.fitting(ticks.plain(*scales.loss), scales.loss, _LOSS, upright=True)
    axes.set_yticks([tick[0] for tick in shown], [tick[1] for tick in shown])
    for seed in row.seeds:
        ys = [loss if _drawable(loss) else math.nan for loss in seed.loss]
        _curve(axes, seed.epochs, ys, color)
    axes.set_xlabel("epoch")
    axes.get_xticklabels()
    axes.get_yticklabels()


def _last(seeds: Iterable[SeedCurve]) -> int:
    return max((epoch for seed in seeds for epoch in seed.epochs), default=1)


def _epoch_ticks(last: int, most: int) -> list[int]:
    """Whole epochs: all of them, or every second, fifth, tenth, ... up to the last."""
    steps = (digit * 10**power for power in itertools.count() for digit in (1, 2, 5))
    step = next(step for step in steps if last / step <= most)
    return list(range(step, last + 1, step))


def _epochs(axes: Axes, row: RowCurves, place: tuple[float, str]) -> None:
    """What both axes of a panel share; their labels stand in one line.

    Args:
        place: width of the axes in inches, and the label of the y axis.
    """
    inches, label = place
    last = _last(row.seeds)
    room = 0.06 * max(last - 1, 1)
    axes.set_xlim(1 - room, last + room)
    shown = _epoch_ticks(last, max(1, int(inches / 0.25)))
    axes.set_xticks(shown, [str(epoch) for epoch in shown])
    axes.set_ylabel(label)
    axes.yaxis.set_label_coords(-0.4 / inches, 0.5)
    axes.grid(axis="y")
    axes.set_axisbelow(True)


def _curve(axes: Axes, xs: Sequence[int], ys: Sequence[float], color: str) -> None:
    # A line of one epoch would not show.
    alone = "." if sum(not math.isnan(y) for y in ys) == 1 else "None"
    axes.plot(xs, ys, color=color, linewidth=_LINE, alpha=0.75, marker=alone, markersize=4)


def _titles(curves: TrainingCurves, rows: Sequence[RowCurves]) -> tuple[str, str]:
    several = any(len(row.seeds) > 1 for row in rows)
    parts = [curves.title, "lines: seeds" if several else "one seed"]
    parts += ["mark: the epoch whose weights were kept", "loss: of training, logarithmic"]
    return "Training by epoch", " · ".join(parts)


def _keys(rows: Sequence[RowCurves]) -> list[Key]:
    return [
        Key(style.APPROACH_NAMES[approach], color, marker=marker, line="-", width=_LINE)
        for approach, (color, marker) in style.APPROACHES.items()
        if any(row.tuning == approach for row in rows)
    ]
