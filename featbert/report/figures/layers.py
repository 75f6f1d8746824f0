"""The score of models that read one hidden state each, by that state."""

from matplotlib.figure import Figure

from featbert.analysis.comparison import Comparison, Row
from featbert.analysis.labels import line_names
from featbert.report.figures.lines import layer_ticks, line_figure
from featbert.report.figures.registry import figure


@figure(
    caption="One model for each hidden state of the frozen encoder.",
    section="layers",
    needs="three single layers next to each other with one head and the same settings",
    settings={"features.layers": "1-6"},
)
def layers(comparison: Comparison, split: str, width: float | None) -> Figure | None:
    """Needs three neighbouring layers, since a line across gaps would mislead."""
    rows = [r for r in comparison.rows if len(r.layer_indices or ()) == 1 and r.score(split)]
    names = line_names(rows, (), "features")
    places = {(name, _layer(row)) for name, row in zip(names, rows, strict=True)}
    if not any({(name, n + 1), (name, n + 2)} <= places for name, n in places):
        return None
    # `last` and `layer:12` may be the same state: the row with more seeds counts.
    best: dict[tuple[str, int], Row] = {}
    for name, row in zip(names, rows, strict=True):
        earlier = best.get((name, _layer(row)))
        if earlier is None or len(row.runs) > len(earlier.runs):
            best[name, _layer(row)] = row
    points = [
        (name, row.tuning, layer, score)
        for (name, layer), row in best.items()
        if (score := row.score(split))
    ]
    fig, axes = line_figure(comparison, split, points, "by single layer of frozen features", width)
    deepest = max(row.encoder_layers for row in rows)
    layer_ticks(axes, range(deepest + 1))
    axes.set(xlim=(-0.5, deepest + 0.5), xlabel="layer (emb.: the embeddings)")
    return fig


def _layer(row: Row) -> int:
    return (row.layer_indices or (0,))[0]
