"""Features against fine-tuning over corpora and tasks."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from featbert.analysis.compare import Comparison
from featbert.analysis.overview import contests
from featbert.analysis.resampling import Interval, PairedTest
from featbert.report.figures import style
from featbert.report.figures.registry import figure
from featbert.report.figures.values import tuning_look, tuning_title
from featbert.report.units import visible

_LINE = 0.3  # inches


@figure(
    "overview",
    caption="Right of the line features are better, left of it fine-tuning.",
    section="tasks",
    of="comparisons",
    needs="rows on features and fine-tuned rows of two corpora or tasks",
    splits="none",
)
def overview(comparisons: Sequence[Comparison], split: str, width: float | None) -> Figure | None:
    """The best row on features less the best tuned row by dev, with its intervals."""
    found = [one for comparison in comparisons for one in contests(comparison) if one.split]
    if len(found) < 2:
        return None
    drawn = style.new_figure(width or style.FULL_WIDTH, _LINE * len(found) + 0.5)
    axes = drawn.subplots()
    for place, one in enumerate(found):
        assert one.features is not None
        assert one.tuned is not None
        assert one.split is not None
        ahead = style.FAINT if one.ahead is None else tuning_look(one.ahead.tuning).color
        middle = 100 * (one.features.mean(one.split) - one.tuned.mean(one.split))
        text = None if one.over_text is None else one.over_text.pooled
        bars: list[tuple[Interval | PairedTest | None, float, float]]
        bars = [(text, -0.13, 2.2), (one.over_seeds, 0.13, 0.9)]
        for ends, above, line in bars:
            if ends is not None:
                axes.hlines(place + above, 100 * ends.low, 100 * ends.high, ahead, linewidth=line)
        axes.plot(middle, place, color=ahead, marker="o", markersize=4.5)
    axes.axvline(0, color=style.INK, linewidth=0.8)
    names = [f"{one.rows[0].corpus} · {one.rows[0].task.name}" for one in found]
    axes.set_yticks(range(len(found)), [visible(name) for name in names])
    axes.set(ylim=(len(found) - 0.5, -0.5), xlabel="features less fine-tuning, in points")
    axes.grid(axis="x")
    note = "best rows by dev, on the last split; thick: over text, thin: over seeds (95%)"
    keys = [
        *(
            style.key(f"{tuning_title(name)} better", tuning_look(name))
            for name in ("none", "full")
        ),
        style.key("not distinguished, or not tested", style.Look(style.FAINT, "o")),
    ]
    return style.header(drawn, "Features against fine-tuning", note, keys)
