"""Learning curves: scores by how many training sentences rows learned from, and who is ahead.

Points come from rows over seeds, so a curve shows what the tables show and nothing else.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from featbert.analysis.compare import Comparison
from featbert.analysis.rows import Row, Statistic, base_name, with_settings
from featbert.encoders.tunings import get_tuning
from featbert.runs.grouping import EVALUATED
from featbert.text import in_percent

SHARE = "train_share"


@dataclass(frozen=True)
class LearningPoint:
    """A row that learned from a share of a training text.

    Attributes:
        series: name of its line: the row's base name, and what distinguishes it from other lines.
        cell: of its row: points of one cell were scored on the same data with the same encoder.
        share: part of the training sentences, 1 for all of them.
        sentences: that its runs learned from, over seeds.
        scores: by split.
        label: of its row.
        runs: names of its runs, in the order of the values.
    """

    series: str
    tuning: str
    cell: Mapping[str, str]
    share: float
    sentences: Statistic
    scores: Mapping[str, Statistic]
    label: str
    runs: tuple[str, ...]


@dataclass(frozen=True)
class LearningCurve:
    """Scores by training sentences: points by line, in the order of rows, then by share."""

    title: str
    points: tuple[LearningPoint, ...]


@dataclass(frozen=True)
class Lead:
    """A line of frozen features against a tuned one, at the shares that both have.

    Attributes:
        features, tuned: names of the lines.
        split: that was scored.
        differences: mean score of features less that of tuning, by share, rising.
    """

    features: str
    tuned: str
    split: str
    differences: Mapping[float, float]

    @property
    def ahead(self) -> tuple[float, ...]:
        """Shares at which features have the higher mean."""
        return tuple(share for share, by in self.differences.items() if by > 0)

    @property
    def behind(self) -> tuple[float, ...]:
        """Shares at which tuning has it."""
        return tuple(share for share, by in self.differences.items() if by < 0)


def learning_curves(comparison: Comparison) -> LearningCurve | None:
    """The rows of a comparison by how much they learned from; None where all learned from as much.

    A line is one way of training on shares of one text. Rows of one tuning and layer combination
    that differ in settings besides the share are lines of their own, except for epochs that make
    as many steps of each share. Where a search chose the settings of each share on dev, rows that
    only its choice distinguishes are one line.
    """
    points = learning_points(comparison.rows)
    if len({point.share for point in points}) < 2:
        return None
    return LearningCurve(comparison.title, tuple(points))


def learning_points(rows: Sequence[Row]) -> list[LearningPoint]:
    """A point for each row, by line and share; rows that learned from dev too are left out."""
    alike: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        if row.trained_on == ("train",):
            key = (row.tuning, row.layers, tuple(row.varied.values()))
            alike.setdefault(key, []).append(row)
    lines: dict[str, list[LearningPoint]] = {}
    for group in alike.values():
        for row, apart in _apart(group):
            base = with_settings(base_name(row.tuning, row.layers), apart)
            series = " · ".join([base, *row.varied.values()])
            lines.setdefault(series, []).append(_learning_point(row, series))
    return [point for line in lines.values() for point in sorted(line, key=lambda p: p.share)]


def leads(points: Sequence[LearningPoint], split: str = EVALUATED[0]) -> list[Lead]:
    """Each line of features against each tuned one on the same data, by mean score on `split`.

    Lines that have less than two shares in common are left out.
    """
    lines: dict[str, list[LearningPoint]] = {}
    for point in points:
        if split in point.scores:
            lines.setdefault(point.series, []).append(point)
    found = []
    for ours, theirs in itertools.product(lines.values(), lines.values()):
        if not get_tuning(ours[0].tuning).frozen or get_tuning(theirs[0].tuning).frozen:
            continue
        if ours[0].cell != theirs[0].cell:
            continue
        tuned = {point.share: point.scores[split].mean for point in theirs}
        by_share = {
            point.share: point.scores[split].mean - tuned[point.share]
            for point in ours
            if point.share in tuned
        }
        if len(by_share) > 1:
            found.append(Lead(ours[0].series, theirs[0].series, split, by_share))
    return found


def lead_line(lead: Lead) -> str:
    """Who has the higher mean score with which shares of train, in a sentence."""
    named = [
        f"{name} with {_listed(shares)}"
        for name, shares in ((lead.features, lead.ahead), (lead.tuned, lead.behind))
        if shares
    ]
    return f"higher mean on {lead.split} by share of train: {', '.join(named) or 'neither'}"


def _learning_point(row: Row, series: str) -> LearningPoint:
    return LearningPoint(
        series=series,
        tuning=row.tuning,
        cell=row.cell,
        share=row.train_share,
        sentences=Statistic.of([run.record.train_sentences for run in row.runs]),
        scores={s: score for s in row.splits if (score := row.score(s)) is not None},
        label=row.label,
        runs=tuple(run.name for run in row.runs),
    )


def _apart(rows: Sequence[Row]) -> Iterator[tuple[Row, dict[str, str]]]:
    """Rows of one tuning and layer combination, each with what distinguishes its line from others.

    All that they differ in; where a search chose settings, those that make the fewest lines
    without two rows of one share on a line.
    """
    differing = _differing(rows)
    names = dict.fromkeys(name for one in differing for name in one)
    apart = tuple(n for n in names if len({one.get(n) for one in differing}) > 1)
    if any(run.record.configurations_tried > 1 for row in rows for run in row.runs):
        chosen = [name for name in apart if any(name in row.settings for row in rows)]
        bound = [name for name in apart if name not in chosen]
        shares = [row.train_share for row in rows]
        apart = min(
            _enough(differing, shares, bound, chosen),
            key=lambda some: (len({_values(one, some) for one in differing}), len(some)),
        )
    for row, one in zip(rows, differing, strict=True):
        yield row, {name: one[name] for name in apart if name in one}


def _differing(rows: Sequence[Row]) -> list[dict[str, str]]:
    """What labels say of each row besides its share.

    Where rows were trained for as many steps whatever their share, their epochs differ by it; then
    epochs are given as they would be on all of train.
    """
    named = [{n: value for n, value in row.differing.items() if n != SHARE} for row in rows]
    epochs = [row.settings.get("epochs", 0) for row in rows]
    on_all = [math.floor(n * r.train_share + 1e-9) for n, r in zip(epochs, rows, strict=True)]
    if len({*on_all}) < len({*epochs}):
        named = [
            one | ({"epochs": str(n)} if "epochs" in one else {})
            for one, n in zip(named, on_all, strict=True)
        ]
    return named


def _enough(
    differing: Sequence[Mapping[str, str]],
    shares: Sequence[float],
    bound: Sequence[str],
    chosen: Sequence[str],
) -> Iterator[tuple[str, ...]]:
    """Sets of names, each with all of `bound`, that keep the rows of every share apart."""
    for n in range(len(chosen) + 1):
        for some in itertools.combinations(chosen, n):
            names = (*bound, *some)
            rows = zip(shares, differing, strict=True)
            places = {(share, _values(one, names)) for share, one in rows}
            if len(places) == len(differing) or n == len(chosen):
                yield names


def _values(one: Mapping[str, str], names: Sequence[str]) -> tuple[str | None, ...]:
    return tuple(one.get(name) for name in names)


def _listed(shares: Sequence[float]) -> str:
    *others, last = map(in_percent, shares)
    return f"{', '.join(others)} and {last}" if others else last
