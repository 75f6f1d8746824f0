"""Scores by facet: heat maps of rows by buckets."""

import math

import numpy as np
from matplotlib.figure import Figure

from featbert.analysis.comparison import Breakdown, Comparison
from featbert.report.figures import style
from featbert.report.figures.heat import CELL, Marks, draw_cells, scale_of
from featbert.report.figures.registry import figure
from featbert.report.figures.values import about, score_name
from featbert.units import visible

_NARROWEST = 0.5  # inches of a cell
_UPRIGHT = 9  # characters of a head that has no room across its cell
_SHARE = 0.36  # of the width, for names of rows
_FEW = 20  # in gold: one more that is right is five points or more


@figure(
    caption="Scores by group; all figures of one facet share one colour scale.",
    section="where",
    needs="predictions of its rows; see the notes of the comparison",
)
def types(comparison: Comparison, split: str, width: float | None) -> dict[str, Figure]:
    """A figure for each facet and text. Figures of one facet share a colour scale."""
    parts = comparison.breakdowns
    by_name: dict[str, Figure] = {}
    shown = [part for part in parts if part.split == split and part.gold and part.rows]
    for breakdown in shown:
        base = "" if breakdown.facet == "type" else breakdown.facet
        number = 1 + [part for part in shown if part.facet == breakdown.facet].index(breakdown)
        name = base if number == 1 else f"{base}-{number}".strip("-")
        alike = [part for part in parts if part.facet == breakdown.facet]
        means = [
            score.mean for part in alike for row in part.rows.values() for score in row.values()
        ]
        by_name[name] = _draw(comparison, breakdown, scale_of([means]), width)
    return by_name


def _draw(
    comparison: Comparison, breakdown: Breakdown, scale: tuple[float, float], width: float | None
) -> Figure:
    buckets, rows = list(breakdown.gold), list(breakdown.rows)
    width = width or (style.COLUMN_WIDTH if len(buckets) <= 4 else style.FULL_WIDTH)
    names = [style.wrapped(name, _SHARE * width) for name in rows]
    column = 0.06 * max(len(line) for name in names for line in name.split("\n")) + 0.3
    blocks = math.ceil(len(buckets) / max(1, int((width - column) / _NARROWEST)))
    columns = math.ceil(len(buckets) / blocks)
    cells = np.array([[breakdown.rows[row][b].mean for b in buckets] for row in rows])
    few = np.array([breakdown.gold[b] < _FEW for b in buckets])
    best = (cells == cells.max(axis=0)) & (cells > cells.min(axis=0))
    height = max(CELL, 0.08 + 0.125 * max(name.count("\n") + 1 for name in names))
    upright = max(len(word) for b in buckets for word in b.split()) > _UPRIGHT
    head = 0.055 * max(map(len, buckets)) + 0.2 if upright else 0.45
    fig = style.new_figure(width, blocks * (len(rows) * height + head))
    for n, axes in enumerate(fig.subplots(blocks, 1, squeeze=False).flat):
        part = slice(n * columns, (n + 1) * columns)
        heads = [
            f"{visible(b) if upright else style.wrapped(b, 0.7)}\n{breakdown.gold[b]:,}"
            for b in buckets[part]
        ]
        marks = Marks(bold=best[:, part], pale=few[part])
        draw_cells(axes, cells[:, part], scale, heads, names, marks)
        axes.set_xlim(0, columns)
        axes.tick_params(axis="x", top=False, labeltop=True, bottom=False, labelbottom=False)
        axes.tick_params(axis="x", labelrotation=90 * upright)
    seeds = max(score.n for row in breakdown.rows.values() for score in row.values())
    title = f"{score_name(comparison, breakdown.split)} by {breakdown.meaning}"
    note = about(
        comparison,
        "mean over seeds" if seeds > 1 else "one seed",
        "in percent; below each name: number in gold",
        "bold: best of the column" if len(rows) > 1 else "",
        f"pale: fewer than {_FEW} in gold" if few.any() else "",
    )
    return style.header(fig, title, note)
