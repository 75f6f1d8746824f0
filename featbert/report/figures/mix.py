"""Learned scalar-mix weights by layer."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from featbert.analysis.comparison import Comparison, MixStatistic
from featbert.report.figures import style
from featbert.report.figures.lines import layer_ticks
from featbert.report.figures.registry import figure
from featbert.report.figures.values import about

_NARROWEST = 3.2  # inches of a panel
_HEIGHT = 1.75


@figure(
    caption="Weight of each layer in the learned mix; training starts with equal weights.",
    section="layers",
    needs="a learned mix of layers",
    settings={"features.layers": "weighted_last4"},
    splits="none",
)
def mix(comparison: Comparison, split: str, width: float | None) -> Figure | None:
    """One panel a mix: mean weight of each layer as a bar, seeds as dots, ± 1 sd as a line."""
    mixes = [(row, row.mix) for row in comparison.rows if row.mix is not None]
    if not mixes:
        return None
    width = width or (style.COLUMN_WIDTH if len(mixes) == 1 else style.FULL_WIDTH)
    fig, panes = style.panels(len(mixes), width, _NARROWEST, _HEIGHT)
    for axes, (row, weights) in zip(panes, mixes, strict=True):
        _panel(axes, weights)
        scale = weights.scale
        spread = "" if scale.sd is None else f" ± {scale.sd:.2f}"
        title = f"{row.name} · scale {scale.mean:.2f}{spread}"
        axes.set_title(style.wrapped(title, _NARROWEST - 0.5))
    several = any(weights.scale.n > 1 for _, weights in mixes)
    seeds = "dots: seeds, line: ± 1 sd" if several else ""
    note = about(comparison, seeds, "dashed: equal weights")
    return style.header(fig, "Learned weights of the scalar mix by layer", note)


def _panel(axes: Axes, mix: MixStatistic) -> None:
    layers, weights, color = list(mix.layers), mix.weights, style.COLORS[0]
    axes.bar(layers, [weight.mean for weight in weights], width=0.72, color=color, alpha=0.45)
    for layer, weight in zip(layers, weights, strict=True):
        if weight.sd is not None:
            ends = weight.mean - weight.sd, weight.mean + weight.sd
            axes.vlines(layer, *ends, color=style.INK, linewidth=0.9, zorder=3)
            axes.scatter([layer + 0.16] * weight.n, weight.values, s=7, color=color, lw=0, zorder=3)
    axes.axhline(1 / len(layers), zorder=1, **style.REFERENCE)
    axes.set(xlabel="layer", ylabel="weight", xlim=(layers[0] - 0.6, layers[-1] + 0.6))
    layer_ticks(axes, layers)
