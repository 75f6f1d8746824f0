"""Scores by facet, and by several scorers.

Whether something was seen in training is known only where the training text, with the fingerprint
in the run's record, can be read again. Where a run learned from a part of it, that is drawn again.
"""

import dataclasses
import itertools
import statistics
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from featbert.analysis.compare import Breakdown, Comparison
from featbert.analysis.rows import Row, Statistic, grouped
from featbert.errors import FeatbertError, check_known
from featbert.progress import track
from featbert.runs.run import TrainingTexts
from featbert.text import in_percent


def with_breakdowns(comparison: Comparison, facets: Sequence[str]) -> Comparison:
    """The comparison with a breakdown by each facet on each split; InputError for an unknown facet.

    Rows of each text are apart, and by a facet that depends on the training text those that
    learned from as much of it. What cannot be read is in its notes.
    """
    task = comparison.task
    check_known("facet", facets, task.facets)
    facets = [*dict.fromkeys(facets)]
    texts = TrainingTexts()
    found: list[Breakdown] = []
    notes: list[str] = []
    for split, trained in itertools.product(comparison.splits, (False, True)):
        asked = [name for name in facets if task.facets[name].needs_train == trained]
        scored = [row for row in comparison.rows if asked and split in row.splits]
        groups = grouped(
            ((row.data(split)[:2], trained and (row.trained_on, row.train_share)), row)
            for row in scored
        )
        for alike in groups.values():
            try:
                found += _breakdowns(asked, split, alike, texts)
            except FeatbertError as error:
                notes.append(f"no scores by {', '.join(asked)} on {split}: {error}")
    found.sort(key=lambda one: facets.index(one.facet))
    return dataclasses.replace(
        comparison, breakdowns=tuple(found), notes=(*comparison.notes, *notes)
    )


def _breakdowns(
    facets: Sequence[str], split: str, rows: Sequence[Row], texts: TrainingTexts
) -> Iterator[Breakdown]:
    """One by each facet; either all or none of them need the training text."""
    task, of = rows[0].task, rows[0].task.measure.of
    by_row = {
        row.name: [run.counts(split, texts=texts).by_facet(facets) for run in row.runs]
        for row in track(rows, f"scoring by {', '.join(facets)} on {split}", "rows")
    }
    for facet in facets:
        parts = {name: [one[facet] for one in runs] for name, runs in by_row.items()}
        first, *_ = parts.values()
        # What is only predicted by some, such as a length that gold has not, has no gold and no
        # column.
        gold = {
            name: round(statistics.fmean(run[name].size for run in first))
            for name in first[0]
            if all(name in run and run[name].size for runs in parts.values() for run in runs)
        }
        scores = {
            label: {
                name: Statistic.of([float(of(np.array(run[name].counts))) for run in runs])
                for name in gold
            }
            for label, runs in parts.items()
        }
        needs_train = task.facets[facet].needs_train
        title = task.facets[facet].title + (_learned(rows[0]) if needs_train else "")
        yield Breakdown(facet, title, split, gold, scores)


def _learned(row: Row) -> str:
    """What a row learned from, where that is not all of train."""
    if row.train_share != 1:
        return f" (trained on {in_percent(row.train_share)} of it)"
    return "" if row.trained_on == ("train",) else f" (trained on {' and '.join(row.trained_on)})"


# Several scorers ----------------------------------------------------------------------------------

# Differences are shown in points with two digits; what those show as nothing is nothing.
_DIGITS = 4


def with_scorers(comparison: Comparison) -> Comparison:
    """The comparison with every row's difference by every scorer of its task, if it has several.

    The `winner` is the "same" where all differences have one sign, to a hundredth of a point.
    """
    scorers = comparison.task.scorers
    rows = comparison.rows if scorers else ()
    found: dict[str, dict[str, Any]] = {row.name: {} for row in rows}
    for row, split in itertools.product(rows, comparison.splits):
        base = row.rival(split)
        by = {k: row.mean(split, k) - base.mean(split, k) for k in scorers} if base else {}
        same = len({np.sign(round(apart, _DIGITS)) for apart in by.values()}) == 1
        found[row.name] |= {f"{split}_{key}_difference": by.get(key) for key in scorers}
        found[row.name][f"{split}_winner"] = ("same" if same else "differs") if by else None
    return dataclasses.replace(comparison, scorers=found)
