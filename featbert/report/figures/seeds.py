"""The score of every seed, one line per row."""

import itertools
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from featbert.analysis.comparison import Comparison, Row, grouped
from featbert.report.figures import style
from featbert.report.figures.registry import figure
from featbert.report.figures.values import (
    about,
    bars,
    floors,
    score_name,
    tuning_keys,
    tuning_look,
)

_LEVELS = (0.0, 0.045, -0.045)  # inches: seeds are drawn a little apart
_SHARE = 0.42  # of the width, for names at most
_TALL = 4.5  # inches of axes that have numbers above, too


@figure(
    caption="If the dots of two rows overlap, their means decide little.",
    needs="two scored runs",
)
def seeds(comparison: Comparison, split: str, width: float | None) -> Figure | None:
    """Seeds as dots, their mean as a tick with a bar (see `bars`), and the baseline dashed."""
    rows = [*itertools.chain(*grouped((row.data(split), row) for row in comparison.rows).values())]
    scored = {i: score for i, row in enumerate(rows) if (score := row.score(split))}
    if sum(score.n for score in scored.values()) < 2:
        return None
    ends, meaning = bars(rows, split)
    ahead = {i: {split: 0.0} if rows[i].is_baseline else rows[i].difference or {} for i in scored}
    baselines = {i: scored[i].mean - by[split] for i, by in ahead.items() if split in by}
    levels, lowest = floors(comparison, split), comparison.task.measure.lowest
    shown = [
        *levels,
        *itertools.chain(*(score.values for score in scored.values())),
        *itertools.chain(*ends.values()),
        *baselines.values(),
    ]
    fig, axes, places = _row_axes(rows, style.percent_limits(shown, lowest), width)
    axes.set_xlabel(f"{score_name(comparison, split)} (%)")
    for level in levels:
        axes.axvline(100 * level, **style.FLOOR)
    for i, (row, (y, height)) in enumerate(zip(rows, places, strict=True)):
        score, baseline = scored.get(i), baselines.get(i)
        if score is None:
            why = f"trained on {split}" if split in row.trained_on else f"no {split}"
            within = "axes fraction", "data"
            axes.annotate(why, (0.02, y), xycoords=within, va="center", color=style.FAINT)
            continue
        color, marker = tuning_look(row.tuning)
        if baseline is not None:
            below, above = y - height / 2, y + height / 2
            axes.vlines(100 * baseline, below, above, **style.REFERENCE)
        if row.name in ends:
            low, high = (100 * min(max(end, lowest), 1.0) for end in ends[row.name])
            axes.hlines(y, low, high, color=color, alpha=0.35, linewidth=3.0)
        if score.n > 1:
            axes.vlines(100 * score.mean, y - 0.075, y + 0.075, color=color, linewidth=1.5)
        axes.scatter(
            [100 * value for value in score.values],
            [y + _LEVELS[n % len(_LEVELS)] for n in range(score.n)],
            s=13,
            color=color,
            marker=marker,
            edgecolor="white",
            linewidth=0.4,
            zorder=4,
        )
    keys = tuning_keys(row.tuning for row in rows)
    if baselines:
        keys.append(style.key("baseline", **style.REFERENCE))
    if levels:
        keys.append(style.key(comparison.task.floor, **style.FLOOR))
    note = about(comparison, f"dots: seeds, tick: mean, bar: {meaning}" if ends else "one seed")
    return style.header(fig, f"{score_name(comparison, split)} of every seed", note, keys)


def _row_axes(
    rows: Sequence[Row], limits: tuple[float, float], width: float | None
) -> tuple[Figure, Axes, list[tuple[float, float]]]:
    """A figure without marks, and the middle and height of each row. y is in inches.

    A line separates rows of different corpora and tunings. `limits` are scores in percent.
    """
    longest = max(len(row.name) for row in rows)
    width = width or (style.COLUMN_WIDTH if longest <= 18 else style.FULL_WIDTH)
    texts = [style.wrapped(row.name, _SHARE * width) for row in rows]
    heights = [max(0.2, 0.08 + 0.125 * (text.count("\n") + 1)) for text in texts]
    edges = [0.0, *itertools.accumulate(heights)]
    places = [(edge + height / 2, height) for edge, height in zip(edges, heights, strict=False)]
    figure = style.new_figure(width, edges[-1] + 0.45)
    axes = figure.subplots()
    axes.set(xlim=limits, ylim=(edges[-1], 0))
    axes.set_yticks([middle for middle, _ in places], texts, linespacing=1.15)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labeltop=edges[-1] > _TALL, top=edges[-1] > _TALL)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    # Leads the eye from a name to its marks.
    axes.grid(axis="y", linestyle=(0, (1, 2)))
    axes.locator_params(axis="x", nbins=max(2, int((1 - _SHARE) * width / 0.3)), steps=style.ROUND)
    for edge, (row, below) in zip(edges[1:], itertools.pairwise(rows), strict=False):
        if (row.corpus, row.tuning) != (below.corpus, below.tuning):
            axes.axhline(edge, color=style.FAINT, linewidth=0.5)
    return figure, axes, places
