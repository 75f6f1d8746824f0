"""Features against fine-tuning, a line for each corpus and task: the answer in one table."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from featbert.analysis.compare import Comparison, Difference
from featbert.analysis.frame import statistic
from featbert.analysis.resampling import Interval, t_interval
from featbert.analysis.rows import BASELINE, Row, best_by_dev, rivals
from featbert.analysis.significance import paired_runs, seed_differences

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Contest:
    """The best row on features and the best tuned row by dev, on one corpus with one encoder.

    Attributes:
        rows: among which they were chosen: all that learned from as much.
        split: the last that both were scored on, None without rows of both.
        over_seeds: t interval of the mean difference (features less tuned) of runs with the same
            seeds; None for fewer than three.
        over_text: the test of the difference, None unless it was asked for.
    """

    comparison: Comparison
    rows: tuple[Row, ...]
    features: Row | None
    tuned: Row | None
    split: str | None = None
    over_seeds: Interval | None = None
    over_text: Difference | None = None

    @property
    def ahead(self) -> Row | None:
        """The row that text and seeds both say is better; None where one of them does not, and
        where neither row learned anything."""
        sides, split = {1: self.features, -1: self.tuned}, self.split
        if self.over_text is None or split is None:
            return None
        learned = any(row.learned(split) for row in sides.values() if row)
        return sides.get(self.over_text.sign) if learned else None


def contests(comparison: Comparison) -> list[Contest]:
    """One for each freed part of the comparison, in the order of its rows."""
    return [_contest(comparison, tuple(rows)) for rows in rivals(comparison.rows)]


def _contest(comparison: Comparison, rows: tuple[Row, ...]) -> Contest:
    features = best_by_dev([row for row in rows if row.frozen])
    tuned = best_by_dev([row for row in rows if row.tuning == BASELINE])
    if features is None or tuned is None:
        return Contest(comparison, rows, features, tuned)
    split = [s for s in comparison.splits if s in features.splits and s in tuned.splits][-1]
    seeds = t_interval(seed_differences(paired_runs(tuned, features), split))
    wanted = (features.name, tuned.name, split)
    tests = (*comparison.differences, *comparison.leads)
    found = (d for d in tests if (d.row, d.baseline, d.split) == wanted)
    return Contest(comparison, rows, features, tuned, split, seeds, next(found, None))


def overview_frame(comparisons: Iterable[Comparison]) -> pandas.DataFrame:
    """A line for each corpus, encoder and task in which features and fine-tuning can be compared.

    Differences are features less tuned, in [0, 1]; `ahead` is the tuning that text and seeds both
    say is better, "neither" where they do not, and None where that was not tested.
    """
    import pandas

    lines = []
    for one in itertools.chain(*map(contests, comparisons)):
        if one.features is None or one.tuned is None or one.split is None:
            continue
        ours, theirs = one.features.score(one.split), one.tuned.score(one.split)
        seeds, test = one.over_seeds, one.over_text
        line = {
            "task": one.features.task.name,
            "corpus": one.features.corpus,
            "model": one.features.model,
            "context": one.features.context,
            "measure": one.features.task.measure.name,
            "split": one.split,
            "features": one.features.label,
            **statistic("features", ours),
            "tuned": one.tuned.label,
            **statistic("tuned", theirs),
            "difference": one.features.mean(one.split) - one.tuned.mean(one.split),
            "over_text_low": test and test.pooled.low,
            "over_text_high": test and test.pooled.high,
            "over_seeds_low": seeds and seeds.low,
            "over_seeds_high": seeds and seeds.high,
            "p_adjusted": test and test.adjusted,
            "ahead": (one.ahead.tuning if one.ahead else "neither") if test else None,
        }
        lines.append(line)
    return pandas.DataFrame(lines)
