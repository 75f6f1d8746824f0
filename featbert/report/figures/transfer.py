"""Transfer matrices as heat maps, side by side on one colour scale."""

from matplotlib.figure import Figure

from featbert.analysis.comparison import Comparisons
from featbert.report.figures.heat import CELL, Marks, draw_cells, scale_of
from featbert.report.figures.registry import figure
from featbert.report.figures.style import FULL_WIDTH, TEXT, header, panels, wrapped
from featbert.units import visible

_WIDEST = 3.4  # inches of a panel
_CELL = 0.46  # inches of a cell's width, at least


@figure(
    caption="Rows: trained on; columns: evaluated on; framed: the corpus trained on.",
    section="transfer",
    of="comparisons",
    needs="transfer matrices of runs that were scored on another corpus",
    splits="none",
)
def transfer(comparisons: Comparisons, split: str, width: float | None) -> Figure | None:
    """A panel for each matrix with scores on other data."""
    grids = [g for g in comparisons.matrices if any(row.average is not None for row in g.rows)]
    if not grids:
        return None
    width = width or FULL_WIDTH
    beside = 0.065 * max(len(label) for g in grids for label in g.trained_on) + 0.2
    widest = beside + _CELL * max(len(g.evaluated_on) for g in grids)
    across = max(1, min(len(grids), int(width / max(widest, 1.6))))
    width = max(widest, min(width, across * _WIDEST))
    labels = [wrapped(g.label, width / across - beside, 1.1 * TEXT) for g in grids]
    upright = max(len(label) for g in grids for label in g.evaluated_on) > 8
    above = 0.14 * max(label.count("\n") + 1 for label in labels) + 0.1
    below = 0.06 * max(len(label) for g in grids for label in g.evaluated_on) if upright else 0.15
    height = CELL * max(len(g.trained_on) for g in grids) + above + below + 0.3
    fig, panes = panels(len(grids), width, width / across - 0.01, height)
    scale = scale_of([row for grid in grids for row in grid.means])
    for axes, grid, label in zip(panes, grids, labels, strict=True):
        columns, rows = ([*map(visible, n)] for n in (grid.evaluated_on, grid.trained_on))
        draw_cells(axes, grid.means, scale, columns, rows, Marks(grid.own))
        axes.tick_params(axis="x", labelrotation=90 * upright)
        axes.set_title(label, weight="bold")
    splits = ", ".join(dict.fromkeys(grid.split for grid in grids))
    fig.supxlabel(f"evaluated on ({splits})", size="medium")
    fig.supylabel("trained on", size="medium")
    encodings = " · ".join(dict.fromkeys(grid.encoding for grid in grids))
    title = f"{grids[0].task.measure.name} (%) by corpus trained on and evaluated on"
    return header(fig, title, f"{encodings} · framed: the corpus trained on")
