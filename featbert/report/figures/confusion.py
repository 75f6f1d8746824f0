"""The confusion matrix of the row that is best on the first split.

Each line is in percent of its gold answers, summed over seeds. "none" is an answer that only gold
or only the row has.
"""

from collections import Counter

import numpy as np
from matplotlib.figure import Figure

from featbert.analysis.comparison import Comparison
from featbert.report.figures.heat import CELL, Marks, draw_cells
from featbert.report.figures.registry import figure
from featbert.report.figures.style import COLUMN_WIDTH, FULL_WIDTH, header, new_figure
from featbert.report.figures.values import about
from featbert.units import visible

_NONE = "none"


@figure(
    caption="In percent of the gold answers of each line; the diagonal is correct.",
    section="where",
    needs="predictions of a row",
)
def confusion(comparison: Comparison, split: str, width: float | None) -> Figure | None:
    """Drawn if the best row has predictions of two classes or more."""
    confusions = [part for part in comparison.confusions if part.split == split]
    if not confusions:
        return None
    row = comparison.row(confusions[0].row)
    pairs = Counter({(gold, predicted): n for gold, predicted, n in confusions[0].counts})
    classes = {name for pair in pairs for name in pair}
    names = sorted(classes, key=lambda name: (name == _NONE, name))
    if len(names) < 2:
        return None
    counts = np.array([[pairs[line, name] for name in names] for line in names])
    gold = counts.sum(axis=1)
    cells = counts / np.where(gold > 0, gold, np.nan)[:, None]
    width = width or (COLUMN_WIDTH if len(names) <= 5 else FULL_WIDTH)
    fig = new_figure(width, CELL * len(names) + 0.9)
    axes = fig.subplots()
    shown = [visible(name) for name in names]
    lines = [f"{name} ({n:,})" for name, n in zip(shown, gold, strict=True)]
    draw_cells(axes, cells, (0, 100), shown, lines, Marks(np.eye(len(names))))
    axes.tick_params(axis="x", labelrotation=90 * (len(names) > 8))
    axes.set(xlabel=f"predicted on {split}", ylabel="gold")
    seeds = f"summed over {len(row.runs)} seeds" if len(row.runs) > 1 else "one seed"
    return header(fig, f"Confusions of {row.label} on {split}", about(comparison, seeds))
