"""Scores by facet, and confused classes.

Facets of words seen in training need the training text, with the fingerprint in the run's record.
If a run learned from a part of it, the same part is drawn again.
"""

import contextlib
import dataclasses
import itertools
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from featbert.analysis.comparison import Breakdown, Comparison, Confusion, Row, Statistic, grouped
from featbert.analysis.rows import Members
from featbert.errors import FeatbertError, MissingError, check_known
from featbert.progress import track
from featbert.runs.run import Run, TrainingTexts


def with_breakdowns(comparison: Comparison, members: Members, facets: Sequence[str]) -> Comparison:
    """The comparison with a breakdown by each facet on each split. InputError for an unknown facet.

    Rows of each text are apart, and by a facet that depends on the training text those that
    learned from as much of it. Predictions that cannot be read are in `missing_breakdowns`.
    """
    task = comparison.task
    check_known("facet", facets, task.facets)
    facets = [*dict.fromkeys(facets)]
    texts = TrainingTexts()
    breakdowns: list[Breakdown] = []
    unread: list[tuple[tuple[str, ...], str]] = []
    for split, trained in itertools.product(comparison.splits, (False, True)):
        names = [name for name in facets if task.facets[name].needs_train == trained]
        scored = [row for row in comparison.rows if names and split in row.splits]
        groups = grouped(
            ((row.data(split)[:2], trained and (row.trained_on, row.train_part)), row)
            for row in scored
        )
        for alike in groups.values():
            try:
                breakdowns += _breakdowns(names, split, alike, members, texts)
            except FeatbertError as error:
                unread.append((tuple(names), f"{split}: {error}"))
    breakdowns.sort(key=lambda one: facets.index(one.facet))
    return dataclasses.replace(
        comparison, breakdowns=tuple(breakdowns), missing_breakdowns=tuple(unread)
    )


def _breakdowns(
    facets: Sequence[str], split: str, rows: Sequence[Row], members: Members, texts: TrainingTexts
) -> Iterator[Breakdown]:
    """One by each facet. Either all or none of them need the training text."""
    task, of = rows[0].task, rows[0].task.measure.of
    by_row = {
        row.name: [
            run.counts(split, facets=facets, texts=texts).facets for run in members[row.name]
        ]
        for row in track(rows, f"scoring by {', '.join(facets)} on {split}", "rows")
    }
    for facet in facets:
        parts = {name: [buckets[facet] for buckets in runs] for name, runs in by_row.items()}
        first, *_ = parts.values()
        # A bucket that is only predicted, such as a length that gold lacks, has no column.
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
        learned = _learned(rows[0]) if task.facets[facet].needs_train else ""
        title = task.facets[facet].title + learned
        yield Breakdown(facet, title, split, gold, scores)


def _learned(row: Row) -> str:
    """A row's training data, if it is not all of train."""
    if row.part_name:
        return f" (trained on {row.part_name.replace('of train', 'of it')})"
    return "" if row.trained_on == ("train",) else f" (trained on {' and '.join(row.trained_on)})"


# Confusions --------------------------------------------------------------------------------------

# The class of an answer that only gold or only the row has.
NONE = "none"


def with_confusions(comparison: Comparison, members: Members) -> Comparison:
    """The comparison with the confusions of its best row on each split that it was scored on."""
    first, confusions = comparison.splits[0], []
    for split in comparison.splits:
        scored = [row for row in comparison.rows if row.score(first) and row.score(split)]
        for row in sorted(scored, key=lambda row: -row.mean(first))[:1]:
            with contextlib.suppress(MissingError):
                pairs = sorted(confused(members[row.name], split).items())
                counts = tuple((gold, predicted, n) for (gold, predicted), n in pairs)
                confusions.append(Confusion(row.name, split, counts))
    return dataclasses.replace(comparison, confusions=tuple(confusions))


def confused(runs: Sequence[Run], split: str) -> Counter[tuple[str, str]]:
    """Pairs of a gold and a predicted class, summed over runs of one task.

    An answer is a set of classes at places. Two classes of one place are confused if they are the
    only ones there that gold or only the row has.
    """
    pairs: Counter[tuple[str, str]] = Counter()
    spans = runs[0].task.spans
    for run in runs:
        predictions = run.predictions(split)
        rows = zip(spans(predictions.gold), spans(predictions.predicted), strict=True)
        for gold, predicted in rows:
            pairs.update((name, name) for name, *_ in gold & predicted)
            missed, extra = _by_place(gold - predicted), _by_place(predicted - gold)
            for place in missed.keys() | extra.keys():
                missed_classes, extra_classes = missed.get(place, []), extra.get(place, [])
                if len(missed_classes) == len(extra_classes) == 1:
                    pairs[missed_classes[0], extra_classes[0]] += 1
                else:
                    pairs.update((name, NONE) for name in missed_classes)
                    pairs.update((NONE, name) for name in extra_classes)
    return pairs


def _by_place(spans: set[tuple[str, int, int]]) -> dict[tuple[int, int], list[str]]:
    places: dict[tuple[int, int], list[str]] = {}
    for name, first, last in spans:
        places.setdefault((first, last), []).append(name)
    return places
