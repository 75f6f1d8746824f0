"""Training epoch by epoch: the dev score above, training loss beneath, a panel a row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.ticker import LogLocator, MaxNLocator

from featbert.report.figures.registry import figure
from featbert.report.figures.style import (
    COLUMN_WIDTH,
    FAINT,
    FULL_WIDTH,
    header,
    new_figure,
    wrapped,
)
from featbert.report.figures.values import about, dev_scores, score_name, tuning_keys, tuning_look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from featbert.analysis.compare import Comparison
    from featbert.analysis.rows import Row
    from featbert.runs.run import Run

_NARROWEST = 1.35  # inches of a panel
_SCORE, _LOSS, _TEXT = 0.85, 0.55, 0.45


@figure(
    "training",
    caption="A row whose dev score still rises at the end was trained too briefly.",
    section="training",
    needs="a run of several epochs",
    splits="none",
)
def training(comparison: Comparison, split: str, width: float | None) -> Figure | None:
    """A line a seed, a mark at the epoch whose weights were kept; all panels have one scale."""
    rows = [row for row in comparison.rows if any(len(run.record.history) for run in row.runs)]
    if all(len(run.record.history) < 2 for row in rows for run in row.runs):
        return None
    width = width or (COLUMN_WIDTH if len(rows) <= 2 else FULL_WIDTH)
    lines = math.ceil(len(rows) / max(1, int(width / _NARROWEST)))
    columns = math.ceil(len(rows) / lines)
    heads = [wrapped(row.name, width / columns - 0.3) for row in rows]
    above = 0.14 * max(head.count("\n") + 1 for head in heads)
    drawn = new_figure(width, lines * (_SCORE + _LOSS + _TEXT + above))
    grid = drawn.subplots(2 * lines, columns, squeeze=False, height_ratios=[_SCORE, _LOSS] * lines)
    for axes in grid.flat:
        axes.set_axis_off()
    for n, (row, head) in enumerate(zip(rows, heads, strict=True)):
        line, column = divmod(n, columns)
        upper, lower = grid[2 * line][column], grid[2 * line + 1][column]
        _curves(upper, row, [dev_scores(row, run) for run in row.runs], mark=True)
        _curves(lower, row, [_losses(run) for run in row.runs])
        upper.set_title(head)
        upper.tick_params(labelbottom=False)
        lower.set(yscale="log", xlabel="epoch")
        if column == 0:
            upper.set_ylabel(f"{score_name(comparison, 'dev')} (%)")
            lower.set_ylabel("loss")
    _share(grid[::2], log=False)
    _share(grid[1::2], log=True)
    several = any(len(row.runs) > 1 for row in rows)
    note = about(
        comparison,
        "lines: seeds" if several else "one seed",
        "mark: the epoch whose weights were kept",
        "loss: of training, logarithmic",
    )
    return header(drawn, "Training by epoch", note, tuning_keys(row.tuning for row in rows))


def _losses(run: Run) -> list[float]:
    """By epoch; what a logarithmic axis cannot show is no number."""
    losses = [epoch.train_loss for epoch in run.record.history]
    return [loss if math.isfinite(loss) and loss > 0 else math.nan for loss in losses]


def _curves(axes: Axes, row: Row, values: Sequence[Sequence[float]], *, mark: bool = False) -> None:
    """A line a run."""
    axes.set_axis_on()
    axes.grid(axis="y")
    color, marker = tuning_look(row.tuning)
    for run, ys in zip(row.runs, values, strict=True):
        epochs = [epoch.epoch for epoch in run.record.history]
        dot = "." if len(epochs) == 1 else ""  # a line of one point does not show
        axes.plot(epochs, ys, color=color, linewidth=1, alpha=0.75, marker=dot)
        kept = [(x, y) for x, y in zip(epochs, ys, strict=True) if x == run.record.best_epoch]
        if kept and mark:
            axes.scatter(
                *kept[0],
                s=16,
                color=color,
                marker=marker,
                edgecolor="white",
                linewidth=0.4,
                zorder=4,
            )
    last = max((epoch.epoch for run in row.runs for epoch in run.record.history), default=1)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True, steps=[1, 2, 5, 10]))
    axes.set_xlim(1 - 0.06 * (last - 1 or 1), last + 0.06 * (last - 1 or 1))


def _share(panels: Any, *, log: bool) -> None:
    """One scale for all panels, with numbers at the first of each line."""
    used = [axes for axes in panels.flat if axes.axison]
    shown = [y for axes in used for line in axes.lines for y in line.get_ydata() if y == y]
    low, high = min(shown, default=1.0), max(shown, default=1.0)
    room = 0.06 * (high - low) or 0.5
    for axes in used:
        axes.set_ylim(low / 1.25 if log else low - room, high * 1.25 if log else high + room)
        axes.tick_params(labelleft=axes in panels[:, 0])
        if log:
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 12 * low else (1,)))
            axes.yaxis.set_major_formatter("{x:g}")
            axes.minorticks_off()
        else:
            axes.yaxis.set_major_locator(MaxNLocator(4))
            if all(y != y for line in axes.lines for y in line.get_ydata()):
                within = "axes fraction"
                axes.annotate("no dev score", (0.04, 0.5), xycoords=within, color=FAINT)
