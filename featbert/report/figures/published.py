"""Published figures beside reproduced ones, a line a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from featbert.analysis.reproduction import ReproducedRow, Reproduction
from featbert.errors import InputError
from featbert.report.figures import style
from featbert.report.figures.keys import Key
from featbert.report.figures.rows import RowPlot, new_row_plot, parted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What must be the same for figures to be expected to agree, of the lines of `protocol`.
_DECIDING = ("model", "corpus", "context")
_UPPER = -0.045  # inches that the published figure is moved off its row's middle
_APPROACH = "full"  # of published rows that do not say


def published_dots(
    reproduction: Reproduction, *, split: str = "test", width: float = style.COLUMN_WIDTH
) -> Figure:
    """The published figure above, the mean of our runs beneath, each ± 1 sd where it is known.

    The subtitle says what differs in model, corpus and context: figures of other models or corpora
    are not expected to agree.

    Args:
        split: "dev" or "test". Rows with a figure on neither side are left out.
        width: inches.

    Raises:
        InputError: no row has a published or a reproduced figure on `split`.
    """
    rows = [row for row in reproduction.rows if _shares(row, split)]
    if not rows:
        raise InputError(
            f"a published or reproduced figure on {split} expected to draw, "
            f"{reproduction.table.id} has none"
        )
    shares = [share for row in rows for share in _shares(row, split)]
    with style.styled():
        plot = new_row_plot(
            f"Published and reproduced {split} F1: {reproduction.table.title}",
            " · ".join(_told(reproduction, rows, split)),
            [row.label for row in rows],
            shown=[min(max(share, 0.0), 1.0) for share in shares],
            label=f"{split} entity F1 (%)",
            keys=_keys(rows, split),
            parted=parted([_approach(row) for row in rows]),
            width=width,
        )
        for place, row in enumerate(rows):
            _draw(plot, place, row, split)
    return plot.figure


def _approach(row: ReproducedRow) -> str:
    return row.published.tuning or _APPROACH


def _shares(row: ReproducedRow, split: str) -> list[float]:
    """Every place on the axis that a row takes."""
    figure = row.figures.get(split)
    if figure is None:
        return []
    found = []
    if figure.published is not None:
        sd = figure.published_sd or 0.0
        found += [figure.published - sd, figure.published + sd]
    if figure.reproduced is not None:
        sd = figure.reproduced.sd or 0.0
        found += [figure.reproduced.mean - sd, figure.reproduced.mean + sd]
    return found


def _told(reproduction: Reproduction, rows: list[ReproducedRow], split: str) -> list[str]:
    table = reproduction.table
    parts = [table.source] if table.source else []
    parts.append(f"figures from: {table.verified}")
    parts += [line for line in reproduction.protocol if line.partition(":")[0] in _DECIDING]
    here = [row.figures[split].reproduced for row in rows]
    if any(f1 is not None and f1.sd is not None for f1 in here):
        parts.append("line: ± 1 sd")
    return parts


def _keys(rows: list[ReproducedRow], split: str) -> list[Key]:
    keys = [Key("published", style.INK, marker="D", markersize=4.2, hollow=True)]
    there = {_approach(row) for row in rows if row.figures[split].reproduced is not None}
    keys += [
        Key(f"{style.APPROACH_NAMES[approach]}, reproduced", color, marker=marker)
        for approach, (color, marker) in style.APPROACHES.items()
        if approach in there
    ]
    return keys


def _draw(plot: RowPlot, place: int, row: ReproducedRow, split: str) -> None:
    axes, figure = plot.axes, row.figures[split]
    middle = plot.middle(place)
    both = figure.published is not None and figure.reproduced is not None
    if figure.published is not None:
        y = middle + _UPPER if both else middle
        mean, sd = 100 * figure.published, 100 * (figure.published_sd or 0.0)
        if sd:
            axes.hlines(y, mean - sd, mean + sd, color=style.INK, linewidth=0.9, zorder=3)
        axes.scatter(
            [mean], [y], s=17, marker="D", color="white", edgecolor=style.INK, linewidth=1, zorder=4
        )
    if figure.reproduced is not None:
        y = middle - _UPPER if both else middle
        color, marker = style.APPROACHES[_approach(row)]
        mean, sd = 100 * figure.reproduced.mean, 100 * (figure.reproduced.sd or 0.0)
        if sd:
            axes.hlines(y, mean - sd, mean + sd, color=color, alpha=0.35, linewidth=3.0, zorder=3)
        axes.scatter(
            [mean],
            [y],
            s=20,
            marker=marker,
            color=color,
            edgecolor="white",
            linewidth=0.4,
            zorder=4,
        )
