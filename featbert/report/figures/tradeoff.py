"""Quality against operations and bytes to keep, two panels for each corpus."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from featbert.analysis.comparison import Comparison, grouped
from featbert.report.figures import style
from featbert.report.figures.pareto import FRONT_CAPTION, draw_fronts, drawable_fronts
from featbert.report.figures.registry import figure

_HEIGHT = 2.4  # inches of a panel
_CURRENCIES = ("operations", "kept")


@figure(
    caption=FRONT_CAPTION,
    section="tasks",
    of="comparisons",
    needs="two comparisons, each of two rows with a score and known costs, of which one learned",
    splits="none",
)
def tradeoff(comparisons: Sequence[Comparison], split: str, width: float | None) -> Figure | None:
    """A line of panels for each text of the last split."""
    width = width or style.FULL_WIDTH
    return against(comparisons, _CURRENCIES, width, width / len(_CURRENCIES))


def against(
    comparisons: Sequence[Comparison], currencies: Sequence[str], width: float, panel_width: float
) -> Figure | None:
    """Panels of the last split by text and cost. None for fewer than two texts."""
    shown = []
    for comparison in comparisons:
        split = comparison.splits[-1]
        fronts = drawable_fronts(comparison, split)
        by_text = grouped((f.label, f) for f in fronts if f.currency in currencies).values()
        for pair in (fronts for fronts in by_text if len(fronts) == len(currencies)):
            shown += [(comparison, front, front.label or comparison.corpus) for front in pair]
    if len(shown) < 2 * len(currencies):
        return None
    names = [*dict.fromkeys(row.model for comparison in comparisons for row in comparison.rows)]
    if len(names) > 1:
        shown = [(c, front, f"{title}, {c.model}") for c, front, title in shown]
    splits = " and ".join(dict.fromkeys(front.split for _, front, _ in shown))
    title, size = f"Score on {splits} against cost", (width, panel_width, _HEIGHT)
    return draw_fronts(shown, size, title, ", ".join(names))
