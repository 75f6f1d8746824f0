"""Every seed's F1, a line a row: how far rows lie apart, and how far their seeds do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from featbert.analysis.compare import Comparison
from featbert.analysis.curves import title_of
from featbert.analysis.rows import Row, Statistic
from featbert.analysis.seeds import FEWEST, LEVEL, t_interval
from featbert.errors import InputError
from featbert.report.figures import style
from featbert.report.figures.keys import Key
from featbert.report.figures.rows import RowPlot, new_row_plot, parted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DOT = 0.055  # inches
_BASELINE = (0, (4.0, 2.0))


def seed_dots(
    comparison: Comparison, *, split: str = "dev", width: float = style.COLUMN_WIDTH
) -> Figure:
    """Seeds as dots, their mean as a tick, and how sure it is as a bar; a row's baseline dashed.

    The bar is the t interval of the mean where every row of several seeds has three or more, else
    ± 1 standard deviation in all rows: bars of two kinds would not compare.

    Args:
        split: "dev" or "test". Rows without a score on it keep their line.
        width: inches.

    Raises:
        InputError: no row was scored on `split`.
    """
    rows = comparison.rows
    scored = {i: row.splits[split].f1 for i, row in enumerate(rows) if split in row.splits}
    if not scored:
        raise InputError(f"a row scored on {split} expected to draw, found none")
    several = [f1.n for f1 in scored.values() if f1.n > 1]
    intervals = bool(several) and min(several) >= FEWEST
    bars = {i: _bar(f1, intervals=intervals) for i, f1 in scored.items()}
    lines = {i: _baseline(rows[i], f1, split) for i, f1 in scored.items()}
    shown = [value for f1 in scored.values() for value in (f1.mean, *f1.values)]
    shown += [end for bar in bars.values() if bar for end in bar]
    shown += [base for base in lines.values() if base is not None]
    with style.styled():
        plot = new_row_plot(
            f"{split.capitalize()} F1 of every seed",
            f"{title_of(comparison)} · {_told(several, intervals=intervals)}",
            [row.name for row in rows],
            shown=[min(max(value, 0.0), 1.0) for value in shown],
            label=f"{split} entity F1 (%)",
            keys=_keys(rows, baseline=any(base is not None for base in lines.values())),
            parted=parted([row.tuning for row in rows]),
            width=width,
        )
        for i, row in enumerate(rows):
            if i in scored:
                _draw(plot, i, row, scored[i], bars[i], lines[i])
            else:
                plot.remark(i, _without(row, split))
    return plot.figure


def _without(row: Row, split: str) -> str:
    return f"trained on {split}" if split in row.trained_on else f"no {split} score"


def _bar(f1: Statistic, *, intervals: bool) -> tuple[float, float] | None:
    if intervals:
        found = t_interval(f1.values)
        return None if found is None else (found.low, found.high)
    return None if f1.sd is None else (f1.mean - f1.sd, f1.mean + f1.sd)


def _baseline(row: Row, f1: Statistic, split: str) -> float | None:
    """Mean F1 of the row that this one is compared with, which has a name of its own."""
    if row.is_baseline:
        return f1.mean
    less = (row.difference or {}).get(split)
    return None if less is None else f1.mean - less


def _told(several: Sequence[int], *, intervals: bool) -> str:
    if not several:
        return "one seed"
    bar = f"{100 * LEVEL:.0f}% t interval of the mean over seeds" if intervals else "mean ± 1 sd"
    return f"dots: seeds, tick: mean, bar: {bar}"


def _keys(rows: Sequence[Row], *, baseline: bool) -> list[Key]:
    found = [
        Key(style.APPROACH_NAMES[approach], color, marker=marker)
        for approach, (color, marker) in style.APPROACHES.items()
        if any(row.tuning == approach for row in rows)
    ]
    if baseline:
        found.append(Key("baseline", style.FAINT, line=_BASELINE, width=0.8))
    return found


def _draw(
    plot: RowPlot,
    place: int,
    row: Row,
    f1: Statistic,
    bar: tuple[float, float] | None,
    baseline: float | None,
) -> None:
    axes, y = plot.axes, plot.middle(place)
    color, marker = style.APPROACHES[row.tuning]
    if baseline is not None:
        ends = plot.edges[place]
        axes.vlines(100 * baseline, *ends, color=style.FAINT, linewidth=0.8, linestyle=_BASELINE)
    if bar is not None:
        low, high = (100 * min(max(end, 0.0), 1.0) for end in bar)
        axes.hlines(y, low, high, color=color, alpha=0.35, linewidth=3.0)
    if f1.n > 1:
        axes.vlines(100 * f1.mean, y - 0.075, y + 0.075, color=color, linewidth=1.5, zorder=3)
    low, high = axes.get_xlim()
    values = [100 * value for value in f1.values]
    lifts = _lifts([(value - low) / (high - low) * plot.inches for value in values])
    axes.scatter(
        values,
        [y + lift for lift in lifts],
        s=13,
        color=color,
        marker=marker,
        edgecolor="white",
        linewidth=0.4,
        zorder=4,
    )


def _lifts(places: Sequence[float]) -> list[float]:
    """How far dots are moved off their line so that none hides another, in inches."""
    levels = (0.0, _DOT, -_DOT)
    taken: dict[float, float] = {}
    lifts = [0.0] * len(places)
    for i in sorted(range(len(places)), key=lambda i: places[i]):
        free = [level for level in levels if places[i] - taken.get(level, -9.0) >= 0.8 * _DOT]
        lifts[i] = free[0] if free else min(levels, key=lambda level: taken[level])
        taken[lifts[i]] = places[i]
    return lifts
