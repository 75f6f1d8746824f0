"""The same predictions under three scorers: does who wins depend on how one counts?

    conlleval   entities; an I- tag that continues nothing begins one, as in the conlleval script
    strict      entities that begin with B-; an I- tag that continues nothing is passed over
    word        words with a tag other than O, right where the type is, be it B- or I-

All three are micro F1 of the runs' records. Where they order rows differently, a claim that one
row is better is a claim about a scorer, too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from featbert.analysis.baselines import baseline_of
from featbert.analysis.rows import Row, SplitSummary, Statistic

if TYPE_CHECKING:
    from featbert.analysis.compare import Comparison

SCORERS: dict[str, Callable[[SplitSummary], Statistic]] = {
    "conlleval": lambda summary: summary.f1,
    "strict": lambda summary: summary.strict_f1,
    "word": lambda summary: summary.word_f1,
}
# Differences are told in points with two digits; what those show as nothing is nothing.
_DIGITS = 4


@dataclass(frozen=True)
class ScorerFigure:
    """One row on one split by one scorer.

    Attributes:
        f1: micro F1 in [0, 1] over seeds.
        difference: its mean less that of the baseline by the same scorer; None without one.
        best: whether no row on the same data has a higher mean; a lone row is best of nothing.
    """

    f1: Statistic
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
    """One row on one split by every scorer.

    Attributes:
        row: its name.
        split: "dev" or "test".
        against: name of the baseline, which is the same for all scorers; None without one.
        figures: by scorer, in the order of `SCORERS`.
        agree: whether all scorers give the difference the same sign; None without a difference.
    """

    row: str
    split: str
    against: str | None
    figures: Mapping[str, ScorerFigure]
    agree: bool | None


def with_scorers(comparison: Comparison) -> Comparison:
    """The comparison with every row's scores by every scorer, by split and then by row."""
    found = tuple(
        _scorer_row(row, comparison.rows, split)
        for split in comparison.splits
        for row in comparison.rows
        if split in row.splits
    )
    return dataclasses.replace(comparison, scorers=found)


def _scorer_row(row: Row, rows: Sequence[Row], split: str) -> ScorerRow:
    base = baseline_of(row, rows, split)
    figures = {}
    data = scored_on(row, split)
    rivals = [o for o in rows if split in o.splits and scored_on(o, split) == data]
    for name, score in SCORERS.items():
        f1 = score(row.splits[split])
        highest = max(score(o.splits[split]).mean for o in rivals)
        difference = None if base is None else f1.mean - score(base.splits[split]).mean
        figures[name] = ScorerFigure(f1, difference, len(rivals) > 1 and f1.mean == highest)
    signs = {figure.sign for figure in figures.values()}
    return ScorerRow(
        row=row.name,
        split=split,
        against=None if base is None else base.name,
        figures=figures,
        agree=None if base is None else len(signs) == 1,
    )


def scored_on(row: Row, split: str) -> tuple[str | None, ...]:
    """What rows must share to be rivals on a split: its text, its tags and what counted them."""
    return tuple(row.cell.get(part) for part in (f"{split}.text", f"{split}.tags", "scorer"))
