"""Which layer holds what: single layers and learned mixes by task."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from matplotlib.figure import Figure

from featbert.analysis.comparison import Comparison, grouped
from featbert.analysis.labels import part_of, reading_key
from featbert.report.figures import style
from featbert.report.figures.heat import CELL, draw_cells, name_cells
from featbert.report.figures.registry import figure
from featbert.units import visible

_FEWEST = 3  # single layers
_PANELS = {"scores": "score (%)", "weights": "weight in the mix (%)"}


@dataclass
class _Line:
    """One way to read the layers of one corpus: scores and mix weights by layer."""

    name: str
    scores: dict[int, float] = field(default_factory=dict)
    weights: dict[int, float] = field(default_factory=dict)


@figure(
    caption="Colours compare the layers within a row; the highest score or weight is framed.",
    section="tasks",
    of="comparisons",
    needs="single layers of two tasks or corpora; train with --layers 1-6",
    splits="none",
)
def tasks(comparisons: Sequence[Comparison], split: str, width: float | None) -> Figure | None:
    """Scores of single layers, and weights of learned mixes. Colours are of one row each."""
    lines = [
        line
        for comparison in comparisons
        for line in _lines(comparison)
        if len(line.scores) >= _FEWEST
    ]
    if len(lines) < 2:
        return None
    deepest = max(layer for line in lines for layer in (*line.scores, *line.weights))
    columns = ["emb.", *map(str, range(1, deepest + 1))]
    mixed = any(line.weights for line in lines)
    width = width or style.FULL_WIDTH
    height = CELL * len(lines) + 0.4
    fig, panes = style.panels(1 + mixed, width, width / 2 - 0.1, height)
    for axes, (kind, title) in zip(panes, _PANELS.items(), strict=False):
        values = [getattr(line, kind) for line in lines]
        cells = np.array(
            [[by_layer.get(n, np.nan) for n in range(deepest + 1)] for by_layer in values]
        )
        finite = np.ma.masked_invalid(cells)  # a row may lack a mix
        low, high = (
            np.ma.filled(ends, np.nan) for ends in (finite.min(axis=1), finite.max(axis=1))
        )
        shades = (cells - low[:, None]) / np.maximum(high - low, 1e-9)[:, None]
        best = cells == high[:, None]
        draw_cells(axes, cells, (0, 1), framed=best.tolist(), bold=best, shades=shades)
        names = [visible(line.name) if kind == "scores" else "" for line in lines]
        name_cells(axes, columns, names, upright=False)
        axes.set_title(title)
        axes.set_xlabel("layer")
    encoders = ", ".join(dict.fromkeys(comparison.model for comparison in comparisons))
    note = f"{encoders} · means over seeds; framed: highest of the row"
    return style.header(fig, "Layers by task, on frozen features", note)


def _lines(comparison: Comparison) -> Iterator[_Line]:
    """One for each corpus and head of a comparison's rows on features."""
    rows = [row for row in comparison.rows if row.frozen and row.splits]
    bodies = {row.settings.get("body") for row in rows if len(row.layer_indices or ()) == 1}
    for members in grouped((reading_key(row), row) for row in rows).values():
        first = members[0]
        parts = [first.corpus, first.task.name, first.settings.get("sentence_pooling")]
        if len(bodies) > 1:
            parts.append(part_of(first.settings, "body"))
        line = _Line(" · ".join(filter(None, parts)))
        for row in members:
            layers = row.layer_indices or ()
            if len(layers) == 1:
                line.scores[layers[0]] = row.mean(row.splits[-1])
            elif row.mix and len(layers) > len(line.weights):
                means = (weight.mean for weight in row.mix.weights)
                line.weights = dict(zip(row.mix.layers, means, strict=True))
        yield line
