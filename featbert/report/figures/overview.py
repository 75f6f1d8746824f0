"""Features against fine-tuning over corpora and tasks."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from featbert.analysis.comparison import Comparison
from featbert.analysis.frame import overview_lines
from featbert.encoders.tunings import TUNINGS
from featbert.report.figures import style
from featbert.report.figures.registry import figure
from featbert.report.figures.values import method_title, tuning_look
from featbert.units import visible

_LINE = 0.3  # inches
_NOT_SETTLED = style.Look(style.FAINT, "d")


@figure(
    caption="Right of zero frozen features are better, left of zero fine-tuning.",
    section="tasks",
    of="comparisons",
    needs="rows on features and fine-tuned rows of two corpora or tasks",
    splits="none",
)
def overview(comparisons: Sequence[Comparison], split: str, width: float | None) -> Figure | None:
    """The best row on features less the best fully tuned row by dev, with its interval."""
    lines = overview_lines(comparisons)
    if len(lines) < 2:
        return None
    fig = style.new_figure(width or style.FULL_WIDTH, _LINE * len(lines) + 0.5)
    axes = fig.subplots()
    for place, contest in enumerate(lines):
        is_tuning = contest["ahead"] in TUNINGS
        color, marker = tuning_look(contest["ahead"]) if is_tuning else _NOT_SETTLED
        if contest["low"] is not None:
            axes.hlines(place, 100 * contest["low"], 100 * contest["high"], color, linewidth=1.6)
        axes.plot(100 * contest["difference"], place, color=color, marker=marker, markersize=4.5)
    axes.axvline(0, color=style.INK, linewidth=0.8)
    apart = [n for n in ("model", "context") if len({contest[n] for contest in lines}) > 1]
    names = [" · ".join(contest[n] for n in ("corpus", *apart, "task")) for contest in lines]
    axes.set_yticks(range(len(lines)), [*map(visible, names)])
    axes.set(ylim=(len(lines) - 0.5, -0.5), xlabel="frozen less fine-tuning, in points")
    axes.grid(axis="x")
    chosen_on, splits = (
        " or ".join(dict.fromkeys(contest[name] for contest in lines))
        for name in ("chosen_on", "split")
    )
    note = f"both rows chosen on {chosen_on}, their difference on {splits}; line: 95% interval"
    keys = [
        style.key(f"{method_title(name)} better", tuning_look(name)) for name in ("none", "full")
    ]
    keys.append(style.key("not significant, or not tested", _NOT_SETTLED))
    return style.header(fig, "Frozen features against fine-tuning", note, keys)
