"""Transfer matrices as heat maps, side by side on one colour scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from featbert.analysis.transfer import TransferMatrix
from featbert.errors import InputError
from featbert.report.figures import style
from featbert.report.figures.cells import (
    BAR_ROOM,
    BOLD,
    CELL_HEIGHT,
    NUMBER,
    WIDEST_CELL,
    Scale,
    color_bar,
    draw_cell,
)
from featbert.report.units import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_GAP = 0.2
_AXIS = 0.18  # for the label of an axis


class Grid(Protocol):
    """What a heat map shows: a reproduced or a published matrix."""

    @property
    def label(self) -> str:
        """What it is called above its panel."""

    @property
    def split(self) -> str:
        """Which split of the corpora it is on."""

    @property
    def trained_on(self) -> tuple[str, ...]:
        """Labels of the rows."""

    @property
    def evaluated_on(self) -> tuple[str, ...]:
        """Labels of the columns."""

    @property
    def means(self) -> tuple[tuple[float | None, ...], ...]:
        """(rows, columns) F1 in [0, 1]."""

    @property
    def own(self) -> tuple[tuple[bool, ...], ...]:
        """(rows, columns) whether a cell's data is what its row was trained on."""


def transfer_heatmap(*grids: Grid, width: float = style.FULL_WIDTH) -> Figure:
    """One panel a matrix, F1 in percent in each cell; a frame marks a row's own language.

    Args:
        grids: transfer matrices, reproduced (`TransferMatrix`) or published (`PublishedMatrix`).
        width: inches at most, unless the numbers would not fit into the cells.

    Raises:
        InputError: no matrix, or none with a number in it.
    """
    shown = [mean for grid in grids for means in grid.means for mean in means if mean is not None]
    if not shown:
        raise InputError("a transfer matrix with a score in it expected to draw, found none")
    with style.styled():
        return _draw(grids, width, Scale.around(shown))


@dataclass(frozen=True)
class _Plan:
    """Where panels go, in inches. Cells are of one size in all panels, so that they compare.

    Attributes:
        lines: places of the panels, line by line.
        lefts: room for each panel's row labels.
        titles: of each panel, wrapped.
        above, cells: room for titles, and for cells with the labels beneath, of each line.
        upright: whether a panel's column labels are set upright, being wider than a cell.
    """

    lines: tuple[tuple[int, ...], ...]
    lefts: tuple[float, ...]
    cell: float
    titles: tuple[str, ...]
    above: tuple[float, ...]
    cells: tuple[float, ...]
    upright: tuple[bool, ...]


def _draw(grids: Sequence[Grid], width: float, scale: Scale) -> Figure:
    plan = _plan(grids, width - _AXIS - BAR_ROOM)
    heights = [above + cells for above, cells in zip(plan.above, plan.cells, strict=True)]
    used = _AXIS + max(sum(_panel_width(plan, grids, i) for i in line) for line in plan.lines)
    room = sum(heights) + _GAP * (len(heights) - 1) + _AXIS
    title, subtitle = _titles(grids)
    frame = style.new_frame(title, subtitle, width=width, needed=used + BAR_ROOM, room=room)
    y = frame.top
    for line, above, height in zip(plan.lines, plan.above, heights, strict=True):
        x = _AXIS
        for i in line:
            rows, columns = len(grids[i].trained_on), len(grids[i].evaluated_on)
            size = (plan.cell * columns, CELL_HEIGHT * rows)
            axes = frame.axes(x + plan.lefts[i], y - above - size[1], *size)
            _panel(axes, grids[i], scale, plan.titles[i], upright=plan.upright[i])
            x += _panel_width(plan, grids, i)
        y -= height + _GAP
    middle = (_AXIS + plan.lefts[0] + used - _GAP) / 2
    frame.text(middle, 0.05, _evaluated_on(grids), ha="center", size=style.TEXT)
    top, bottom = frame.top - plan.above[0], _AXIS + style.line_height(style.SMALL) + 0.08
    frame.text(0.05, (top + bottom) / 2, "trained on", rotation=90, va="center", size=style.TEXT)
    # Beside a matrix of one row it may reach down to where the axis is labelled.
    tall = min(max(top - bottom, 0.75), 2.2, top - 0.1)
    color_bar(frame.axes(used, top - tall, 0.1, tall), scale, tall)
    return frame.figure


def _plan(grids: Sequence[Grid], available: float) -> _Plan:
    lefts = tuple(style.widest(_visible(g.trained_on), style.SMALL) + 0.12 for g in grids)
    columns = [len(grid.evaluated_on) for grid in grids]
    cell = style.text_width(NUMBER, style.TEXT) + 0.06
    lines: list[list[int]] = [[]]
    used = 0.0
    for i, left in enumerate(lefts):
        needed = left + cell * columns[i] + _GAP
        if lines[-1] and used + needed > available:
            lines.append([])
            used = 0.0
        lines[-1].append(i)
        used += needed
    # The largest cells with which no line has to be broken anew.
    spare = [
        (available - sum(lefts[i] + _GAP for i in line)) / sum(columns[i] for i in line)
        for line in lines
    ]
    cell = max(cell, min(*spare, WIDEST_CELL))
    titles = tuple(
        style.wrapped(grid.label, max(cell * n, 0.9), style.TEXT * BOLD)
        for grid, n in zip(grids, columns, strict=True)
    )
    longest = [style.widest(_visible(grid.evaluated_on), style.SMALL) for grid in grids]
    upright = tuple(label > cell - 0.04 for label in longest)
    level = style.line_height(style.SMALL)
    reach = [
        len(grid.trained_on) * CELL_HEIGHT + (label if turned else level) + 0.08
        for grid, label, turned in zip(grids, longest, upright, strict=True)
    ]
    return _Plan(
        lines=tuple(map(tuple, lines)),
        lefts=lefts,
        cell=cell,
        titles=titles,
        above=tuple(
            style.line_height(style.TEXT) * max(titles[i].count("\n") + 1 for i in line) + 0.08
            for line in lines
        ),
        cells=tuple(max(reach[i] for i in line) for line in lines),
        upright=upright,
    )


def _panel_width(plan: _Plan, grids: Sequence[Grid], i: int) -> float:
    return plan.lefts[i] + plan.cell * len(grids[i].evaluated_on) + _GAP


def _panel(axes: Axes, grid: Grid, scale: Scale, title: str, *, upright: bool) -> None:
    rows, columns = len(grid.trained_on), len(grid.evaluated_on)
    axes.set(xlim=(0, columns), ylim=(rows, 0))
    axes.set_title(title, loc="left", pad=4, size=style.TEXT, weight="bold")
    for i, (means, own) in enumerate(zip(grid.means, grid.own, strict=True)):
        for j, (mean, is_own) in enumerate(zip(means, own, strict=True)):
            draw_cell(axes, (j, i), (1, 1), mean, scale, framed=is_own)
    axes.set_xticks([j + 0.5 for j in range(columns)], _visible(grid.evaluated_on))
    axes.set_yticks([i + 0.5 for i in range(rows)], _visible(grid.trained_on))
    axes.tick_params(length=0)
    for label in axes.get_xticklabels():
        label.set_rotation(90 if upright else 0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    style.settle(axes)


def _titles(grids: Sequence[Grid]) -> tuple[str, str]:
    matrices = [grid for grid in grids if isinstance(grid, TransferMatrix)]
    about = dict.fromkeys(m.encoding for m in matrices)
    told = [*about, "framed: the language trained on"]
    return "Entity F1 by language trained on and evaluated on", " · ".join(told)


def _evaluated_on(grids: Sequence[Grid]) -> str:
    return f"evaluated on ({', '.join(dict.fromkeys(grid.split for grid in grids))})"


def _visible(labels: Sequence[str]) -> list[str]:
    return [visible(label) for label in labels]
