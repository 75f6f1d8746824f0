"""F1 by what an entity or its sentence is like: a heat map of rows by buckets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from featbert.analysis.breakdowns import Breakdown
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
    from matplotlib.figure import Figure

_LEFT, _GAP = 0.08, 0.08  # of the names, and from them to the cells
_SHARE = 0.36  # of the width, for names at most
_BETWEEN = 0.07  # from one name's last line to the next one's first
_LEAST_BAR = 0.9  # inches of the colour scale
_LINES = 3  # that a column's head takes before it is set upright
_HEAD = 1.2  # inches that an upright head takes before it is wrapped
_ASIDE = 0.1  # from cells to the colour scale
_APART = 0.16  # between blocks of columns
_COUNT = "n = "


@dataclass(frozen=True)
class _Heads:
    """Heads of the columns: wrapped texts, whether they are upright, and how high they are."""

    texts: tuple[str, ...]
    upright: bool
    height: float


def type_heatmap(
    breakdown: Breakdown, *, about: str = "", width: float = style.COLUMN_WIDTH
) -> Figure:
    """Mean F1 in percent of each row in each bucket; heads count gold entities.

    The best of each bucket is bold. Buckets that do not fit beside each other are continued
    beneath, in blocks of like width.

    Args:
        breakdown: by any facet.
        about: what the rows are of, such as corpus and encoder.
        width: inches at most.

    Raises:
        InputError: no bucket, or no row.
    """
    buckets = list(breakdown.gold)
    names = list(breakdown.rows)
    if not buckets or not names:
        raise InputError(
            f"scores by {breakdown.meaning} on {breakdown.split} expected to draw, found none"
        )
    means = {b: [breakdown.rows[name][b].mean for name in names] for b in buckets}
    with style.styled():
        room = width * _SHARE - _LEFT - _GAP
        texts = [style.wrapped(name, room, style.SMALL) for name in names]
        column = style.widest([line for t in texts for line in t.split("\n")], style.SMALL)
        line = style.line_height(style.SMALL)
        heights = [max(CELL_HEIGHT, line * (t.count("\n") + 1) + _BETWEEN) for t in texts]
        left = _LEFT + column + _GAP
        cell, blocks = _blocks(buckets, width - left - _ASIDE - BAR_ROOM)
        heads = [_heads(breakdown, block, cell) for block in blocks]
        total = sum(h.height + sum(heights) for h in heads) + _APART * (len(heads) - 1) + 0.08
        total = max(total, _LEAST_BAR + 0.16)
        beside = left + cell * max(map(len, blocks)) + _ASIDE
        title, subtitle = _titles(breakdown, about, heads)
        frame = style.new_frame(title, subtitle, width=width, needed=beside + BAR_ROOM, room=total)
        scale = Scale.around([mean for column_means in means.values() for mean in column_means])
        y = frame.top
        for block, head in zip(blocks, heads, strict=True):
            bottom = y - head.height - sum(heights)
            size = (cell * len(block), sum(heights))
            columns = [means[bucket] for bucket in block]
            _block(frame, (left, bottom), size, columns, scale, heights, head)
            for text, middle in zip(texts, _middles(heights), strict=True):
                place = (_LEFT, y - head.height - middle)
                frame.text(*place, text, va="center", size=style.SMALL, linespacing=1.15)
            y = bottom - _APART
        # Beside one row it begins beside the heads.
        tall = min(max(sum(heights), _LEAST_BAR), 2.2)
        top = max(frame.top - heads[0].height, tall + 0.1)
        color_bar(frame.axes(beside, top - tall, 0.1, tall), scale, tall)
    return frame.figure


def _blocks(buckets: Sequence[str], available: float) -> tuple[float, list[Sequence[str]]]:
    """Width of a cell, and buckets in blocks that fit beside the names."""
    least = style.text_width(NUMBER, style.TEXT) * BOLD + 0.04
    most = max(1, int(available / least))
    count = math.ceil(len(buckets) / most)
    each = math.ceil(len(buckets) / count)
    cell = max(least, min(available / each, WIDEST_CELL))
    return cell, [buckets[i : i + each] for i in range(0, len(buckets), each)]


def _heads(breakdown: Breakdown, block: Sequence[str], cell: float) -> _Heads:
    counts = [f"{_COUNT}{breakdown.gold[bucket]:,}" for bucket in block]
    if style.widest(counts, style.SMALL) > cell - 0.04:
        counts = [count.removeprefix(_COUNT) for count in counts]
    line = style.line_height(style.SMALL)
    words = [word for bucket in block for word in visible(bucket).split(" ")]
    if style.widest([*words, *counts], style.SMALL) <= cell - 0.04:
        names = [style.wrapped(bucket, cell - 0.04, style.SMALL) for bucket in block]
        lines = max(name.count("\n") + 1 for name in names)
        if lines <= _LINES:
            texts = [f"{name}\n{count}" for name, count in zip(names, counts, strict=True)]
            return _Heads(tuple(texts), False, line * (lines + 1) + 0.06)
    # Upright, a head has as many lines as are as high as a cell is wide, one of them the count.
    room, most = _HEAD, max(1, int(cell / line) - 1)
    names = [style.wrapped(bucket, room, style.SMALL) for bucket in block]
    while max(name.count("\n") + 1 for name in names) > most:
        room *= 1.25
        names = [style.wrapped(bucket, room, style.SMALL) for bucket in block]
    texts = [f"{name}\n{count}" for name, count in zip(names, counts, strict=True)]
    longest = style.widest([part for text in texts for part in text.split("\n")], style.SMALL)
    return _Heads(tuple(texts), True, longest + 0.1)


def _middles(heights: Sequence[float]) -> list[float]:
    """Inches from the upper edge to the middle of each row."""
    return [sum(heights[:i]) + height / 2 for i, height in enumerate(heights)]


def _block(
    frame: style.Frame,
    corner: tuple[float, float],
    size: tuple[float, float],
    columns: Sequence[Sequence[float]],
    scale: Scale,
    heights: Sequence[float],
    heads: _Heads,
) -> None:
    """The cells of one block of columns, with their heads."""
    axes = frame.axes(*corner, *size)
    axes.set(xlim=(0, len(columns)), ylim=(size[1], 0))
    axes.set_axis_off()
    for j, column in enumerate(columns):
        best = max(column)
        for i, (mean, middle) in enumerate(zip(column, _middles(heights), strict=True)):
            upper = middle - heights[i] / 2
            bold = mean == best > min(column)
            draw_cell(axes, (j, upper), (1, heights[i]), mean, scale, bold=bold)
        x = corner[0] + size[0] * (j + 0.5) / len(columns)
        frame.text(
            x,
            corner[1] + size[1] + 0.04,
            heads.texts[j],
            ha="center",
            va="bottom",
            rotation=90 if heads.upright else 0,
            multialignment="left" if heads.upright else "center",
            linespacing=1.15,
            size=style.SMALL,
        )


def _titles(breakdown: Breakdown, about: str, heads: Sequence[_Heads]) -> tuple[str, str]:
    title = f"{breakdown.split.capitalize()} F1 by {breakdown.meaning}"
    seeds = max(f1.n for row in breakdown.rows.values() for f1 in row.values())
    counts = "n" if all(_COUNT in head.texts[0] for head in heads) else "beneath a name"
    parts = [about] if about else []
    parts.append("mean over seeds" if seeds > 1 else "one seed")
    parts.append(f"{counts}: gold entities")
    if len(breakdown.rows) > 1:
        parts.append("bold: the best of a column")
    return title, " · ".join(parts)
