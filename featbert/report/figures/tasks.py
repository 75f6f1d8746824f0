"""Which layer holds what: single layers and learned mixes by task."""

from collections.abc import Iterator, Sequence

import numpy as np
from matplotlib.figure import Figure

from featbert.analysis.comparison import Comparison, Row, grouped
from featbert.analysis.labels import canonical, part_of, reading_key
from featbert.report.figures import style
from featbert.report.figures.heat import CELL, Marks, draw_cells
from featbert.report.figures.registry import figure
from featbert.units import visible

_FEWEST = 3  # single layers
# Layers of the deepest encoder for which two panels have room side by side.
_MOST_BESIDE = 8
_PANELS = {"scores": "score (%)", "weights": "weight in the mix (%)"}


@figure(
    caption="Colours compare the layers within a row; the highest score or weight is framed.",
    section="tasks",
    of="comparisons",
    needs="single layers of two tasks or corpora",
    settings={"features.layers": "1-6"},
    splits="none",
)
def tasks(comparisons: Sequence[Comparison], split: str, width: float | None) -> Figure | None:
    """Scores of single layers, and weights of learned mixes. Colours are of one row each."""
    every = (line for comparison in comparisons for line in _lines(comparison))
    lines = [(name, panels) for name, panels in every if len(panels["scores"]) >= _FEWEST]
    if len(lines) < 2:
        return None
    deepest = max(
        layer for _, panels in lines for by_layer in panels.values() for layer in by_layer
    )
    columns = ["emb.", *map(str, range(1, deepest + 1))]
    mixed = any(panels["weights"] for _, panels in lines)
    width = width or style.FULL_WIDTH
    height = CELL * len(lines) + 0.4
    beside = deepest <= _MOST_BESIDE
    fig, panes = style.panels(1 + mixed, width, width / 2 - 0.1 if beside else width, height)
    for axes, (kind, title) in zip(panes, _PANELS.items(), strict=False):
        by_layers = [panels[kind] for _, panels in lines]
        cells = np.array([[by.get(n, np.nan) for n in range(deepest + 1)] for by in by_layers])
        finite = np.ma.masked_invalid(cells)  # a row may lack a mix
        low = finite.min(axis=1, keepdims=True).filled(np.nan)
        high = finite.max(axis=1, keepdims=True).filled(np.nan)
        shades = (cells - low) / np.maximum(high - low, 1e-9)
        best = cells == high
        shown = kind == "scores" or not beside
        names = [visible(name) if shown else "" for name, _ in lines]
        draw_cells(axes, cells, (0, 1), columns, names, Marks(best, best), shades=shades)
        axes.set_title(title)
        axes.set_xlabel("layer")
    encoders = ", ".join(dict.fromkeys(comparison.model for comparison in comparisons))
    splits = " or ".join(dict.fromkeys(comparison.splits[-1] for comparison in comparisons))
    note = (
        f"{encoders} · means over seeds, scores on {splits} · "
        "framed: highest of the row · colours: from the lowest to the highest of each row"
    )
    return style.header(fig, "Layers by task, on frozen features", note)


def _lines(comparison: Comparison) -> Iterator[tuple[str, dict[str, dict[int, float]]]]:
    """A name for each corpus, encoder and head on features: scores and mix weights by layer."""
    rows = [(row, row.layer_indices or ()) for row in comparison.rows if row.frozen and row.splits]
    singles = [(row, layers[0]) for row, layers in rows if len(layers) == 1]
    mixes = [(row, row.mix) for row, layers in rows if row.mix and len(layers) > 1]
    bodies = {row.settings.get("body") for row, _ in singles}
    encoders = {row.model for row, _ in singles}
    for members in grouped((reading_key(row), (row, layer)) for row, layer in singles).values():
        first = members[0][0]
        parts = [first.corpus_name, first.task.name, first.settings.get("sentence_pooling")]
        if len(bodies) > 1:
            parts.append(part_of(first.settings, "body"))
        if len(encoders) > 1:
            parts.append(first.model)
        scores = {layer: row.mean(row.splits[-1]) for row, layer in members}
        # A solver has no mix. Then another head of the same vectors shows one.
        alike = [
            (reading_key(row) == reading_key(first), len(mix.layers), mix)
            for row, mix in mixes
            if _vectors(row) == _vectors(first)
        ]
        best = max(alike, key=lambda found: found[:2], default=None)
        weights = {}
        if best is not None:
            mix = best[-1]
            weights = dict(zip(mix.layers, (w.mean for w in mix.weights), strict=True))
        yield " · ".join(filter(None, parts)), {"scores": scores, "weights": weights}


def _vectors(row: Row) -> str:
    """Key of the text, encoder and pooling of a row."""
    names = ("sentence_pooling", "train_share", "shots")
    return canonical([dict(row.cell), [row.settings.get(name) for name in names]])
