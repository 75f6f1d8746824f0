"""Dev score and training loss by epoch, one panel per row."""

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator

from featbert.analysis.comparison import Comparison, Row
from featbert.report.figures import style
from featbert.report.figures.registry import figure
from featbert.report.figures.values import about, score_name, tuning_keys, tuning_look

_NARROWEST = 1.35  # inches of a panel
_SCORE, _LOSS, _TEXT = 0.85, 0.55, 0.45


@figure(
    caption="Where the dev score still rises at the end, more epochs may help.",
    section="training",
    needs="a run of several epochs",
    splits="none",
)
def training(comparison: Comparison, split: str, width: float | None) -> Figure | None:
    """A line a seed, a mark at the epoch with the kept weights. All panels have one scale."""
    rows = [row for row in comparison.rows if any(run.losses for run in row.runs)]
    if all(len(run.losses) < 2 for row in rows for run in row.runs):
        return None
    width = width or (style.COLUMN_WIDTH if len(rows) <= 2 else style.FULL_WIDTH)
    lines = math.ceil(len(rows) / max(1, int(width / _NARROWEST)))
    columns = math.ceil(len(rows) / lines)
    heads = [style.wrapped(row.name, width / columns - 0.3) for row in rows]
    above = 0.14 * max(head.count("\n") + 1 for head in heads)
    fig = style.new_figure(width, lines * (_SCORE + _LOSS + _TEXT + above))
    grid = fig.subplots(2 * lines, columns, squeeze=False, height_ratios=[_SCORE, _LOSS] * lines)
    score, loss = grid[0, 0], grid[1, 0]
    for n, (row, head) in enumerate(zip(rows, heads, strict=True)):
        line, column = divmod(n, columns)
        upper, lower = grid[2 * line : 2 * line + 2, column]
        if n:
            upper.sharey(score)
            lower.sharey(loss)
        _curves(upper, row, loss=False)
        _curves(lower, row, loss=True)
        upper.set_title(head)
        upper.tick_params(labelbottom=False, labelleft=column == 0)
        lower.tick_params(labelleft=column == 0)
        lower.set(xlabel="epoch")
        if column == 0:
            upper.set_ylabel(style.wrapped(f"{score_name(comparison, 'dev')} (%)", _SCORE))
            lower.set_ylabel("loss")
    for unused in grid.flat:
        unused.set_axis_on() if unused.lines else unused.set_axis_off()
    score.yaxis.set_major_locator(MaxNLocator(4))
    loss.set_yscale("log")
    low, high = loss.get_ylim()
    loss.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 12 * low else (1,)))
    loss.yaxis.set_major_formatter("{x:g}")
    loss.minorticks_off()
    several = any(len(row.runs) > 1 for row in rows)
    note = about(
        comparison,
        "lines: seeds" if several else "one seed",
        "mark: the epoch of the saved weights",
        "loss: of training, logarithmic",
    )
    return style.header(fig, "Training by epoch", note, tuning_keys(row.tuning for row in rows))


def _curves(axes: Axes, row: Row, *, loss: bool) -> None:
    """Losses, or dev scores in percent with a mark at the kept weights. Missing values are gaps."""
    color, marker = tuning_look(row.tuning)
    last, is_scored = 1, False
    for run in row.runs:
        epochs = range(1, len(run.losses) + 1)
        ys = np.array(run.losses, float) if loss else 100 * np.array(run.dev_scores, float)
        if loss:  # a logarithmic axis cannot show others
            ys[~np.isfinite(ys) | (ys <= 0)] = np.nan
        last, is_scored = max([last, *epochs]), is_scored or not np.isnan(ys).all()
        best = None if loss else run.best_epoch
        # A line of one point does not show.
        marked = [i for i, epoch in enumerate(epochs) if epoch == best or len(epochs) == 1]
        axes.plot(
            epochs,
            ys,
            color=color,
            linewidth=1,
            alpha=0.75,
            marker="." if loss else marker,
            markersize=4,
            markeredgecolor="white",
            markeredgewidth=0.4,
            markevery=marked,
        )
    if not loss and not is_scored:
        axes.annotate("no dev score", (0.04, 0.5), xycoords="axes fraction", color=style.FAINT)
    axes.grid(axis="y")
    axes.margins(y=0.06)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True, steps=style.ROUND, min_n_ticks=1))
    room = 0.06 * max(last - 1, 1)
    axes.set_xlim(1 - room, last + room)
