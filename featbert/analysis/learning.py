"""Learning curves: F1 by how many training sentences rows learned from, and who is ahead where.

A line of the curve is one way of training on shares of one text. Rows of one approach and layer
combination that differ in settings beside the share are lines of their own, save for epochs that
make as many steps of each share. Where a grid chose the settings of each share on dev, rows that
its choice alone tells apart are one line.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from featbert.analysis.labels import TAGGER
from featbert.analysis.rows import Row, Statistic
from featbert.runs.record import RunRecord
from featbert.text import in_percent

if TYPE_CHECKING:
    from featbert.analysis.compare import Comparison

SHARE = "train_share"


@dataclass(frozen=True)
class LearningPoint:
    """A row that learned from a share of a training text.

    Attributes:
        series: name of its line: its layers or `fine-tuning`, and what tells it from other lines.
        tuning: name of the tuning.
        cell: of its row: points of one cell were scored on the same data with the same encoder.
        share: part of the training sentences, 1 for all of them.
        sentences: that its runs learned from, over seeds.
        f1: micro entity F1 in [0, 1] by split.
        label: of its row, which tells all of its settings that others have not.
        runs: names of its runs, in the order of the values.
    """

    series: str
    tuning: str
    cell: Mapping[str, str]
    share: float
    sentences: Statistic
    f1: Mapping[str, Statistic]
    label: str
    runs: tuple[str, ...]


@dataclass(frozen=True)
class LearningCurve:
    """F1 by training sentences.

    Attributes:
        title: corpus, encoder and context.
        points: by line, in the order of rows, then by share.
    """

    title: str
    points: tuple[LearningPoint, ...]


@dataclass(frozen=True)
class Lead:
    """A line of features against one of fine-tuning, at the shares that both have.

    Attributes:
        features, finetune: names of the lines.
        split: that was scored.
        differences: mean F1 of features less that of fine-tuning, by share, rising.
    """

    features: str
    finetune: str
    split: str
    differences: Mapping[float, float]

    @property
    def ahead(self) -> tuple[float, ...]:
        """Shares at which features have the higher mean F1."""
        return tuple(share for share, by in self.differences.items() if by > 0)

    @property
    def behind(self) -> tuple[float, ...]:
        """Shares at which fine-tuning has it."""
        return tuple(share for share, by in self.differences.items() if by < 0)


def learning_curves(comparison: Comparison) -> LearningCurve | None:
    """The rows of a comparison by how much they learned from; None where all learned from as much.

    A line that has one share alone has one point.
    """
    from featbert.analysis.curves import title_of  # which compares, and so comes after

    points = learning_points(comparison.rows)
    if len({point.share for point in points}) < 2:
        return None
    return LearningCurve(title_of(comparison), tuple(points))


def learning_points(rows: Sequence[Row]) -> list[LearningPoint]:
    """A point for each row, by line and share; rows that learned from dev too are left out."""
    alike: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        if row.trained_on == ("train",):
            key = (row.tuning, row.layers, tuple(row.varied.values()))
            alike.setdefault(key, []).append(row)
    lines: dict[str, list[LearningPoint]] = {}
    for group in alike.values():
        for row, told in _parted(group):
            point = _point(row, told)
            lines.setdefault(point.series, []).append(point)
    return [point for line in lines.values() for point in sorted(line, key=lambda p: p.share)]


def leads(points: Sequence[LearningPoint], split: str = "dev") -> list[Lead]:
    """Each line of features against each of fine-tuning on the same data, by mean F1 on `split`.

    Lines that have less than two shares in common are left out.
    """
    lines: dict[str, list[LearningPoint]] = {}
    for point in points:
        if split in point.f1:
            lines.setdefault(point.series, []).append(point)
    found = []
    for ours, theirs in itertools.product(lines.values(), lines.values()):
        if (ours[0].tuning, theirs[0].tuning) != ("none", "full"):
            continue
        if ours[0].cell != theirs[0].cell:
            continue
        tuned = {point.share: point.f1[split].mean for point in theirs}
        by_share = {
            point.share: point.f1[split].mean - tuned[point.share]
            for point in ours
            if point.share in tuned
        }
        if len(by_share) > 1:
            found.append(Lead(ours[0].series, theirs[0].series, split, by_share))
    return found


def lead_line(lead: Lead) -> str:
    """Who has the higher mean F1 with which shares of train, in a sentence."""
    told = [
        f"{name} with {_listed(shares)}"
        for name, shares in ((lead.features, lead.ahead), (lead.finetune, lead.behind))
        if shares
    ]
    return f"higher mean {lead.split} F1 by share of train: {', '.join(told) or 'neither'}"


def trained_sentences(record: RunRecord) -> int:
    """Sentences that a run learned from."""
    if record.train_sentences is not None:
        return record.train_sentences
    splits = record.signature.splits
    return sum(splits[name].sentences for name in record.trained_on if name in splits)


def _point(row: Row, told: Mapping[str, str]) -> LearningPoint:
    base = "fine-tuning" if row.tuning == "full" else row.layers or "features"
    inner = ", ".join(
        value if name == TAGGER else f"{name}={value}" for name, value in told.items()
    )
    return LearningPoint(
        series=" · ".join([f"{base} ({inner})" if inner else base, *row.varied.values()]),
        tuning=row.tuning,
        cell=row.cell,
        share=row.train_share,
        sentences=Statistic.of([trained_sentences(run.record) for run in row.runs]),
        f1={split: summary.f1 for split, summary in row.splits.items()},
        label=row.label,
        runs=tuple(run.name for run in row.runs),
    )


def _parted(rows: Sequence[Row]) -> Iterator[tuple[Row, dict[str, str]]]:
    """Rows of one approach and layer combination, each with what tells its line from others.

    All that they differ in; where a grid chose settings, those that make the fewest lines without
    two rows of one share on a line.
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
    """What labels tell of each row beside its share.

    Where rows were trained for as many steps whatever their share, their epochs differ by it; then
    epochs are told as they would be on all of train.
    """
    told = [{n: value for n, value in row.differing.items() if n != SHARE} for row in rows]
    epochs = [row.settings.get("epochs", 0) for row in rows]
    on_all = [math.floor(n * r.train_share + 1e-9) for n, r in zip(epochs, rows, strict=True)]
    if len({*on_all}) < len({*epochs}):
        told = [
            one | ({"epochs": str(n)} if "epochs" in one else {})
            for one, n in zip(told, on_all, strict=True)
        ]
    return told


def _enough(
    differing: Sequence[Mapping[str, str]],
    shares: Sequence[float],
    bound: Sequence[str],
    chosen: Sequence[str],
) -> Iterator[tuple[str, ...]]:
    """Sets of names, each with all of `bound`, that tell the rows of every share apart."""
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
