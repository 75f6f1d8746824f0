"""What further analyses of a comparison give: numbers of its rows, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from featbert.analysis.rows import Row, Statistic

if TYPE_CHECKING:
    from featbert.analysis.resampling import Interval, PairedTest
    from featbert.runs.published import PublishedRow, PublishedTable

# Differences are shown in points with two digits; what those show as nothing is nothing.
_DIGITS = 4


@dataclass(frozen=True)
class Breakdown:
    """The task's measure of rows by bucket of a facet (`meaning`: in words), on one split.

    `gold` are gold items by bucket, in the order of buckets; where each seed learned from a part of
    its own, the mean over the first row's seeds, rounded. A bucket in which some run has none is
    left out.
    """

    facet: str
    meaning: str
    split: str
    gold: Mapping[str, int]
    rows: Mapping[str, Mapping[str, Statistic]]


@dataclass(frozen=True)
class ScorerFigure:
    """One row on one split by one scorer: the score in [0, 1] over seeds.

    `difference` is its mean less the baseline's by the same scorer. `best`: no row on the same
    data has a higher mean; a row without rivals is not best.
    """

    score: Statistic
    difference: float | None
    best: bool

    @property
    def sign(self) -> int | None:
        """1 ahead of the baseline, -1 behind, 0 even to a hundredth of a point."""
        if self.difference is None:
            return None
        rounded = round(self.difference, _DIGITS)
        return (rounded > 0) - (rounded < 0)


@dataclass(frozen=True)
class ScorerRow:
    """One row on one split by every scorer of its task, by their keys.

    `agree`: whether all give the difference to `against`, the baseline, the same sign. Both are
    None without a baseline.
    """

    row: str
    split: str
    against: str | None
    figures: Mapping[str, ScorerFigure]
    agree: bool | None


@dataclass(frozen=True)
class Price:
    """One row in one currency: `once` for extraction, and training of one run.

    `cheaper_from` is the number of runs from which the row costs less than tuning as often.
    """

    once: float
    run: float
    cheaper_from: int | None = None


@dataclass(frozen=True)
class CostRow:
    """A row's cost, and the fully tuned row on the same text that it is compared with, if any."""

    row: str
    against: str | None
    seconds: Price
    flops: Price


@dataclass(frozen=True)
class Difference:
    """A row against its baseline on one split, or against the row that leads.

    Attributes:
        seeds: that both have; what follows is of their runs only.
        units: what was resampled: "documents", or what the task has: "sentences", "examples".
        over_seeds: mean difference with its t interval, None for fewer than three seeds.
        pooled: the test of the counts summed over seeds.
        adjusted: the pooled p-value, adjusted for the rows that were tested on the split.
    """

    row: str
    baseline: str
    split: str
    seeds: tuple[int, ...]
    units: str
    over_seeds: Interval | None
    pooled: PairedTest
    adjusted: float


@dataclass(frozen=True)
class Figure:
    """The score of one split, in [0, 1]; None for what was not published or not reproduced.

    `difference` is the reproduced mean less the published figure, where the two are comparable.
    """

    published: float | None
    published_sd: float | None
    reproduced: Statistic | None
    difference: float | None


@dataclass(frozen=True)
class PublishedLine:
    """One published row, and the comparison row of its name if there is one; figures by split."""

    label: str
    published: PublishedRow
    row: Row | None
    figures: Mapping[str, Figure]


@dataclass(frozen=True)
class PublishedFigures:
    """A published table next to a comparison."""

    table: PublishedTable
    splits: tuple[str, ...]
    lines: tuple[PublishedLine, ...]
