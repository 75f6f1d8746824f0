"""Learned scalar-mix weights by layer."""

import math

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from featbert.analysis.compare import Comparison
from featbert.analysis.rows import Row, Statistic
from featbert.report.figures import style
from featbert.report.figures.lines import layer_ticks
from featbert.report.figures.registry import figure
from featbert.report.figures.values import about
from featbert.runs.record import Mix

_NARROWEST = 3.2  # inches of a panel
_HEIGHT = 1.75


@figure(
    caption="Weight of each layer in the learned mix; training starts with equal weights.",
    section="layers",
    needs="a learned mix of layers; train with --layers weighted_last4 or weighted_all",
    splits="none",
)
def mix(comparison: Comparison, split: str, width: float | None) -> Figure | None:
    """One panel a mix: mean weight of each layer as a bar, seeds as dots, ± 1 sd as a line."""
    mixes = [(row, found) for row in comparison.rows if (found := _mixes(row))]
    if not mixes:
        return None
    width = width or (style.COLUMN_WIDTH if len(mixes) == 1 else style.FULL_WIDTH)
    drawn, panes = style.panels(len(mixes), width, _NARROWEST, _HEIGHT)
    for axes, (row, found) in zip(panes, mixes, strict=True):
        _panel(axes, found)
        scale = Statistic.of([one.scale for one in found])
        spread = "" if scale.sd is None else f" ± {scale.sd:.2f}"
        title = f"{row.name} · scale {scale.mean:.2f}{spread}"
        axes.set_title(style.wrapped(title, _NARROWEST - 0.5))
    seeds = "dots: seeds, line: ± 1 sd" if any(len(found) > 1 for _, found in mixes) else ""
    note = about(comparison, seeds, "dashed: equal weights")
    return style.header(drawn, "Learned weights of the scalar mix by layer", note)


def _mixes(row: Row) -> list[Mix]:
    """By seed; runs whose mix holds a number that is not finite are left out."""
    mixes = [run.record.mix for run in row.runs if run.record.mix is not None]
    return [one for one in mixes if all(map(math.isfinite, [*one.weights, one.scale]))]


def _panel(axes: Axes, mixes: list[Mix]) -> None:
    layers, color = list(mixes[0].layers), style.COLORS[0]
    weights = [Statistic.of(own) for own in zip(*(one.weights for one in mixes), strict=True)]
    axes.bar(layers, [one.mean for one in weights], width=0.72, color=color, alpha=0.45)
    for layer, one in zip(layers, weights, strict=True):
        if one.sd is not None:
            ends = one.mean - one.sd, one.mean + one.sd
            axes.vlines(layer, *ends, color=style.INK, linewidth=0.9, zorder=3)
            axes.scatter([layer + 0.16] * one.n, one.values, s=7, color=color, lw=0, zorder=3)
    equal = 1 / len(layers)
    axes.axhline(equal, color=style.FAINT, linewidth=0.8, linestyle=style.DASHED, zorder=1)
    axes.set(xlabel="layer", ylabel="weight", xlim=(layers[0] - 0.6, layers[-1] + 0.6))
    layer_ticks(axes, layers)
