"""The confusion matrix of the row that is best on the first split.

Each line is in percent of its gold answers, summed over seeds. "none" is an answer that only gold
or only the row has. Of many classes it shows those with the most confusions, and one column for
predictions of all others.
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
# Classes with room for their numbers.
_MOST = 20


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
    if len(classes) < 2:
        return None
    wrong = Counter[str]()
    for (line, name), n in pairs.items():
        wrong.update({line: n, name: n} if line != name else {})
    confused = sorted(classes, key=lambda name: (-wrong[name], name))[:_MOST]
    names = sorted(confused, key=lambda name: (name == _NONE, name))
    other_classes = sorted(classes - {*names})
    counts = np.array([[pairs[line, name] for name in names] for line in names])
    if other_classes:
        other_counts = [sum(pairs[line, name] for name in other_classes) for line in names]
        counts = np.column_stack([counts, other_counts])
    gold = counts.sum(axis=1)
    cells = counts / np.where(gold > 0, gold, np.nan)[:, None]
    width = width or (COLUMN_WIDTH if len(names) <= 5 else FULL_WIDTH)
    fig = new_figure(width, CELL * len(names) + 0.9)
    axes = fig.subplots()
    shown = [visible(name) for name in names]
    lines = [f"{name} ({n:,})" for name, n in zip(shown, gold, strict=True)]
    columns = [*shown, f"{len(other_classes)} others"] if other_classes else shown
    draw_cells(axes, cells, (0, 100), columns, lines, Marks(np.eye(*cells.shape)))
    axes.tick_params(axis="x", labelrotation=90 * (len(names) > 8))
    axes.set(xlabel=f"predicted on {split}", ylabel="gold")
    seeds = f"summed over {len(row.runs)} seeds" if len(row.runs) > 1 else "one seed"
    seeds += f"; the {len(names)} most confused classes" if other_classes else ""
    return header(fig, f"Confusions of {row.label} on {split}", about(comparison, seeds))
