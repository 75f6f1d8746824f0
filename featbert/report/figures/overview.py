"""Features against fine-tuning over corpora and tasks."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from featbert.analysis.comparison import Comparison
from featbert.analysis.frame import overview_lines
from featbert.encoders.tunings import TUNINGS, tuning_title
from featbert.report.figures import style
from featbert.report.figures.registry import figure
from featbert.report.figures.values import tuning_look
from featbert.units import visible

_LINE = 0.3  # inches


@figure(
    caption="Right of zero features are better, left of zero fine-tuning.",
    section="tasks",
    of="comparisons",
    needs="rows on features and fine-tuned rows of two corpora or tasks",
    splits="none",
)
def overview(comparisons: Sequence[Comparison], split: str, width: float | None) -> Figure | None:
    """The best row on features less the best tuned row by dev, with its interval."""
    lines = overview_lines(comparisons)
    if len(lines) < 2:
        return None
    fig = style.new_figure(width or style.FULL_WIDTH, _LINE * len(lines) + 0.5)
    axes = fig.subplots()
    for place, contest in enumerate(lines):
        is_tuning = contest["ahead"] in TUNINGS
        color = tuning_look(contest["ahead"]).color if is_tuning else style.FAINT
        if contest["low"] is not None:
            axes.hlines(place, 100 * contest["low"], 100 * contest["high"], color, linewidth=1.6)
        axes.plot(100 * contest["difference"], place, color=color, marker="o", markersize=4.5)
    axes.axvline(0, color=style.INK, linewidth=0.8)
    apart = [n for n in ("model", "context") if len({contest[n] for contest in lines}) > 1]
    names = [
        visible(" · ".join(contest[n] for n in ("corpus", *apart, "task"))) for contest in lines
    ]
    axes.set_yticks(range(len(lines)), names)
    axes.set(ylim=(len(lines) - 0.5, -0.5), xlabel="features less fine-tuning, in points")
    axes.grid(axis="x")
    note = "rows chosen on dev, last split; lines: 95% intervals"
    keys = [
        style.key(f"{tuning_title(name)} better", tuning_look(name)) for name in ("none", "full")
    ]
    keys.append(style.key("not significant, or not tested", style.Look(style.FAINT, "o")))
    return style.header(fig, "Features against fine-tuning", note, keys)
