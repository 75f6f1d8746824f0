"""Every seed's score, a line a row: how far rows are apart, and how far their seeds are."""

import itertools

from matplotlib.figure import Figure

from featbert.analysis.compare import Comparison
from featbert.analysis.resampling import FEWEST, LEVEL, t_interval
from featbert.analysis.rows import Statistic
from featbert.report.figures.registry import figure
from featbert.report.figures.rows import row_plot
from featbert.report.figures.style import DASHED, FAINT, header, key
from featbert.report.figures.values import about, score_name, tuning_keys, tuning_look

_LEVELS = (0.0, 0.045, -0.045)  # inches: seeds are drawn a little apart


@figure(
    caption="Rows whose dots overlap are hard to tell apart by means alone.",
    needs="two scored runs",
)
def seeds(comparison: Comparison, split: str, width: float | None) -> Figure | None:
    """Seeds as dots, their mean as a tick, its uncertainty as a bar; a row's baseline dashed.

    A bar is the t interval of the mean where every row of several seeds has three or more, else
    ± 1 standard deviation in all rows, since bars of two kinds would not compare.
    """
    rows = comparison.rows
    scored = {i: found for i, row in enumerate(rows) if (found := row.score(split))}
    if sum(found.n for found in scored.values()) < 2:
        return None
    several = [found.n for found in scored.values() if found.n > 1]
    intervals = bool(several) and min(several) >= FEWEST
    bars = {i: _bar(found, intervals=intervals) for i, found in scored.items()}
    ahead = {i: {split: 0.0} if rows[i].is_baseline else rows[i].difference or {} for i in scored}
    baselines = {i: scored[i].mean - by[split] for i, by in ahead.items() if split in by}
    drawn, axes, places = row_plot(
        [row.name for row in rows],
        [row.tuning for row in rows],
        [
            *itertools.chain(*(found.values for found in scored.values())),
            *itertools.chain(*(bar for bar in bars.values() if bar)),
            *baselines.values(),
        ],
        label=f"{score_name(comparison, split)} (%)",
        width=width,
    )
    for i, (row, (y, height)) in enumerate(zip(rows, places, strict=True)):
        found, baseline = scored.get(i), baselines.get(i)
        if found is None:
            why = f"trained on {split}" if split in row.trained_on else f"no {split}"
            within = "axes fraction", "data"
            axes.annotate(why, (0.02, y), xycoords=within, va="center", color=FAINT)
            continue
        color, marker = tuning_look(row.tuning)
        if baseline is not None:
            ends = y - height / 2, y + height / 2
            axes.vlines(100 * baseline, *ends, color=FAINT, linewidth=0.8, linestyle=DASHED)
        if bar := bars[i]:
            low, high = (100 * min(max(end, 0.0), 1.0) for end in bar)
            axes.hlines(y, low, high, color=color, alpha=0.35, linewidth=3.0)
        if found.n > 1:
            axes.vlines(100 * found.mean, y - 0.075, y + 0.075, color=color, linewidth=1.5)
        axes.scatter(
            [100 * value for value in found.values],
            [y + _LEVELS[n % len(_LEVELS)] for n in range(found.n)],
            s=13,
            color=color,
            marker=marker,
            edgecolor="white",
            linewidth=0.4,
            zorder=4,
        )
    keys = tuning_keys(row.tuning for row in rows)
    if baselines:
        keys.append(key("baseline", linestyle=DASHED, linewidth=0.8))
    what = f"{100 * LEVEL:.0f}% t interval of the mean over seeds" if intervals else "mean ± 1 sd"
    note = about(comparison, f"dots: seeds, tick: mean, bar: {what}" if several else "one seed")
    return header(drawn, f"{score_name(comparison, split)} of every seed", note, keys)


def _bar(found: Statistic, *, intervals: bool) -> tuple[float, float] | None:
    if intervals:
        interval = t_interval(found.values)
        return None if interval is None else (interval.low, interval.high)
    return None if found.sd is None else (found.mean - found.sd, found.mean + found.sd)
