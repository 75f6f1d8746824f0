"""Published scores and ours, a line a row."""

import itertools

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from featbert.analysis.compare import Comparison, PublishedFigures, PublishedLine
from featbert.encoders.tunings import tuning_title
from featbert.report.figures.registry import figure
from featbert.report.figures.rows import row_plot
from featbert.report.figures.style import INK, Look, header, key
from featbert.report.figures.values import score_name, tuning_look

_PUBLISHED = Look(INK, "D")
_APART = 0.045  # inches: the published mark above, ours beneath


@figure(
    caption="Of other encoders or corpora where the table says so.",
    section="published",
    needs="a published table with figures of the same rows",
)
def published(comparison: Comparison, split: str, width: float | None) -> dict[str, Figure]:
    """A figure for each published table that shares a row's score with the comparison."""
    return {
        one.table.id: _draw(comparison, one, split, width)
        for one in comparison.published
        if any(None not in _pair(row, split) for row in one.lines)
    }


def _draw(
    comparison: Comparison, reproduction: PublishedFigures, split: str, width: float | None
) -> Figure:
    rows = [row for row in reproduction.lines if any(_pair(row, split))]
    marks = [_pair(row, split) for row in rows]
    given = [mark for mark in itertools.chain(*marks) if mark]
    drawn, axes, places = row_plot(
        [row.label for row in rows],
        [_tuning(row) for row in rows],
        [mean + sign * sd for mean, sd in given for sign in (-1, 1)],
        label=f"{score_name(comparison, split)} (%)",
        width=width,
    )
    for row, (theirs, ours), (y, _) in zip(rows, marks, places, strict=True):
        apart = _APART if theirs and ours else 0.0
        if theirs:
            _mark(axes, y - apart, theirs, _PUBLISHED, hollow=True)
        if ours:
            _mark(axes, y + apart, ours, tuning_look(_tuning(row)))
    tunings = {_tuning(row): None for row, pair in zip(rows, marks, strict=True) if pair[1]}
    keys = [key(f"{tuning_title(name)}, reproduced", tuning_look(name)) for name in tunings]
    keys.insert(0, key("published", _PUBLISHED, markerfacecolor="white"))
    table = reproduction.table
    note = [
        table.source,
        f"figures from: {table.verified}",
        f"published on {table.corpus}; here on {comparison.corpus}, {comparison.model}",
        "line: ± 1 sd" if any(sd for _, sd in given) else "",
    ]
    title = f"Published and reproduced {score_name(comparison, split)}: {table.title}"
    return header(drawn, title, " · ".join(filter(None, note)), keys)


_Mark = tuple[float, float]


def _pair(row: PublishedLine, split: str) -> tuple[_Mark | None, _Mark | None]:
    found = row.figures.get(split)
    if found is None:
        return None, None
    ours = found.reproduced
    return (
        None if found.published is None else (found.published, found.published_sd or 0.0),
        None if ours is None else (ours.mean, ours.sd or 0.0),
    )


def _tuning(row: PublishedLine) -> str:
    return row.published.tuning or "full"


def _mark(axes: Axes, y: float, mark: _Mark, look: Look, *, hollow: bool = False) -> None:
    mean, sd = (100 * number for number in mark)
    axes.hlines(y, mean - sd, mean + sd, color=look.color, linewidth=1.2, alpha=0.6)
    face = "white" if hollow else look.color
    axes.scatter([mean], [y], s=17, marker=look.marker, color=face, edgecolor=look.color, zorder=4)
