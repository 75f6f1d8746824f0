"""Confusions of classes of the row that is best on the first split."""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence

from featbert.analysis.comparison import Comparison, Confusion
from featbert.analysis.rows import Members
from featbert.errors import MissingError
from featbert.runs.run import Run

# The class of an answer that only gold or only the row has.
NONE = "none"


def with_confusions(comparison: Comparison, members: Members) -> Comparison:
    """The comparison with the confusions of its best row on each split that it was scored on."""
    confusions = tuple(_confusions(comparison, members))
    return dataclasses.replace(comparison, confusions=confusions)


def _confusions(comparison: Comparison, members: Members) -> Iterator[Confusion]:
    first = comparison.splits[0]
    for split in comparison.splits:
        scored = [row for row in comparison.rows if row.score(first) and row.score(split)]
        if not scored:
            continue
        row = max(scored, key=lambda row: row.mean(first))
        try:
            pairs = confused(members[row.name], split)
        except MissingError:
            continue
        counts = tuple((gold, predicted, n) for (gold, predicted), n in sorted(pairs.items()))
        yield Confusion(row.name, split, counts)


def confused(runs: Sequence[Run], split: str) -> Counter[tuple[str, str]]:
    """Pairs of a gold and a predicted class, summed over runs of one task."""
    pairs: Counter[tuple[str, str]] = Counter()
    spans = runs[0].task.spans
    for run in runs:
        predictions = run.predictions(split)
        rows = zip(spans(predictions.gold), spans(predictions.predicted), strict=True)
        for gold_spans, predicted_spans in rows:
            gold = {(first, last): name for name, first, last in gold_spans}
            predicted = {(first, last): name for name, first, last in predicted_spans}
            places = gold | predicted
            pairs.update((gold.get(at, NONE), predicted.get(at, NONE)) for at in places)
    return pairs
