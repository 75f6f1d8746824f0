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
    """The task's measure of rows by bucket, on one split.

    Attributes:
        facet: what the buckets are of, a key of the task's `facets`.
        meaning: the same in words.
        gold: gold items by bucket, in the order of buckets; where each seed learned from a part of
            its own, the mean over the first row's seeds, rounded. A bucket in which some run has
            none is left out.
        rows: by name: the measure over seeds by bucket.
    """

    facet: str
    meaning: str
    split: str
    gold: Mapping[str, int]
    rows: Mapping[str, Mapping[str, Statistic]]


@dataclass(frozen=True)
class ScorerFigure:
    """One row on one split by one scorer.

    Attributes:
        score: in [0, 1] over seeds.
        difference: its mean less that of the baseline by the same scorer; None without one.
        best: whether no row on the same data has a higher mean; a row without rivals is not best.
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
    """One row on one split by every scorer of its task.

    Attributes:
        row: its name.
        against: name of the baseline, which is the same for all scorers; None without one.
        figures: by key of the score, in the order of the task's `scorers`.
        agree: whether all scorers give the difference the same sign; None without a difference.
    """

    row: str
    split: str
    against: str | None
    figures: Mapping[str, ScorerFigure]
    agree: bool | None


@dataclass(frozen=True)
class Price:
    """One row in one currency.

    Attributes:
        once: extraction, 0 without a store.
        run: one run's training.
        cheaper_from: the number of runs from which the row costs less than tuning as often; None
            where it never does, or where there is nothing to compare it with.
    """

    once: float
    run: float
    cheaper_from: int | None = None


@dataclass(frozen=True)
class CostRow:
    """A row's cost compared with that of full tuning on the same text with the same encoder.

    Attributes:
        row: its name.
        against: name of the tuned row, None for tuned rows and where there is none.
        seconds, flops: see `Price`.
    """

    row: str
    against: str | None
    seconds: Price
    flops: Price


@dataclass(frozen=True)
class Difference:
    """A row against its baseline on one split.

    Attributes:
        row, baseline: names of rows.
        split: that both were scored on.
        seeds: that both have; what follows is of their runs only.
        units: what was resampled: "documents" or "sentences".
        over_seeds: mean difference with its t interval, None for fewer than three seeds.
        by_seed: the test of each seed's pair of runs, in the order of `seeds`.
        pooled: the test of the counts summed over seeds.
        adjusted: the pooled p-value, adjusted for the rows that were tested on the split.
    """

    row: str
    baseline: str
    split: str
    seeds: tuple[int, ...]
    units: str
    over_seeds: Interval | None
    by_seed: tuple[PairedTest, ...]
    pooled: PairedTest
    adjusted: float


@dataclass(frozen=True)
class Figure:
    """The score of one split, in [0, 1]; None for what was not published or not reproduced.

    Attributes:
        published: as printed, a hundredth of it.
        published_sd: standard deviation printed with it.
        reproduced: over the seeds of the comparison row.
        difference: reproduced mean less the published figure, where the two are comparable.
    """

    published: float | None
    published_sd: float | None
    reproduced: Statistic | None
    difference: float | None


@dataclass(frozen=True)
class PublishedLine:
    """One published row, and the comparison row of its name if there is one.

    Attributes:
        label: the published row by all that its table says of it.
        figures: by split, of the splits that the table has figures of.
    """

    label: str
    published: PublishedRow
    row: Row | None
    figures: Mapping[str, Figure]


@dataclass(frozen=True)
class PublishedFigures:
    """A published table next to a comparison.

    Attributes:
        table: its `source` and `verified` say where the figures are from.
    """

    table: PublishedTable
    splits: tuple[str, ...]
    lines: tuple[PublishedLine, ...]
