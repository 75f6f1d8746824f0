"""Quality against operations and bytes to keep, two panels for each corpus."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from featbert.analysis.compare import Comparison
from featbert.analysis.cost import pareto_fronts
from featbert.report.figures import style
from featbert.report.figures.pareto import draw_fronts
from featbert.report.figures.registry import figure
from featbert.report.figures.values import score_name

_HEIGHT = 2.2  # inches of a panel
_CURRENCIES = ("operations", "kept")


@figure(
    caption="Up and to the left is better.",
    section="tasks",
    of="comparisons",
    needs="two comparisons, each of two rows with a score and known costs",
    splits="none",
)
def tradeoff(comparisons: Sequence[Comparison], split: str, width: float | None) -> Figure | None:
    """A line of panels for each text on which rows were scored last."""
    shown = []
    for one in comparisons:
        split = one.splits[-1]
        found = [pareto_fronts(one, split, name) for name in _CURRENCIES]
        lines = [pair for pair in zip(*found, strict=True) if all(len(f.points) > 1 for f in pair)]
        shown += [(one, score_name(one, split), front) for pair in lines for front in pair]
    if len(shown) < 2 * len(_CURRENCIES):
        return None
    width = width or style.FULL_WIDTH
    drawn, panes = style.panels(len(shown), width, width / len(_CURRENCIES), _HEIGHT)
    for axes, (one, score, front) in zip(panes, shown, strict=True):
        axes.set_ylabel(f"{score} (%)")
        axes.set_title(style.wrapped(front.label or one.corpus, width / len(_CURRENCIES)))
    lowest = [one.task.measure.lowest for one, *_ in shown]
    models = ", ".join(dict.fromkeys(one.model for one in comparisons))
    return draw_fronts(drawn, panes, [f for *_, f in shown], lowest, "Score against cost", models)
