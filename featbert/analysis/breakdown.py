"""Scores by facet, confused classes, and sentences in which a row is wrong.

Facets of words seen in training need the training text, with the fingerprint in the run's record.
If a run learned from a part of it, the same part is drawn again.
"""

import contextlib
import dataclasses
import itertools
import statistics
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from featbert.analysis.comparison import (
    Breakdown,
    Comparison,
    Confusion,
    JudgedRow,
    JudgedText,
    Row,
    Span,
    Statistic,
    grouped,
)
from featbert.analysis.rows import Members
from featbert.errors import FeatbertError, MissingError
from featbert.progress import track
from featbert.runs.run import Run, TrainingTexts
from featbert.tasks.base import Predictions
from featbert.text import counted
from featbert.units import visible

# Sentences of one text that are kept. A page with more of them would be slow to open.
MOST = 2000
# Joiners belong to the spelling of some languages. Other format characters could reorder a page.
_JOINERS = "\u200c\u200d"


def with_breakdowns(comparison: Comparison, members: Members, facets: Sequence[str]) -> Comparison:
    """The comparison with a breakdown by each facet on each split.

    Rows of each text are apart, and by a facet that depends on the training text those that
    learned from the same part of it. Predictions that cannot be read are in `missing_breakdowns`.
    """
    task, facets = comparison.task, [*dict.fromkeys(facets)]
    texts = TrainingTexts()
    breakdowns: list[Breakdown] = []
    unread: list[tuple[tuple[str, ...], str]] = []
    for split, trained in itertools.product(comparison.splits, (False, True)):
        names = [name for name in facets if task.facets[name].needs_train == trained]
        scored = [row for row in comparison.rows if names and split in row.splits]
        groups = grouped(
            ((row.data(split)[:2], trained and _training_data(row)), row) for row in scored
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


def _training_data(row: Row) -> tuple[object, ...]:
    return row.trained_on, row.conditions["train"], row.train_part


def _learned(row: Row) -> str:
    """A row's training data, if it is not all of train or if rows have several texts."""
    part = row.part_name.replace("of train", "of it") or " and ".join(row.trained_on)
    parts = [f"trained on {part}"] * (part != "train")
    if "train" in row.differing:
        parts.append(f"train={row.differing['train']}")
    return f" ({', '.join(parts)})" if parts else ""


# Confusions --------------------------------------------------------------------------------------

# The class of an answer that only gold or only the row has.
NONE = "none"


def with_confusions(comparison: Comparison, members: Members) -> Comparison:
    """The comparison with the confusions of its best row on each split that it was scored on.

    Scores of texts are no classes, and have none.
    """
    if comparison.task.answer == "score":
        return comparison
    first, confusions = comparison.splits[0], []
    for split in comparison.splits:
        scored = [row for row in comparison.rows if row.score(first) and row.score(split)]
        for row in sorted(scored, key=lambda row: -row.mean(first))[:1]:
            with contextlib.suppress(MissingError):
                pairs = sorted(confused(members[row.name], split).items())
                counts = tuple((*classes, n) for classes, n in pairs)
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
            missed = grouped(((first, last), name) for name, first, last in gold - predicted)
            extra = grouped(((first, last), name) for name, first, last in predicted - gold)
            for place in missed.keys() | extra.keys():
                missed_classes, extra_classes = missed.get(place, []), extra.get(place, [])
                if len(missed_classes) == len(extra_classes) == 1:
                    pairs[missed_classes[0], extra_classes[0]] += 1
                else:
                    pairs.update((name, NONE) for name in missed_classes)
                    pairs.update((NONE, name) for name in extra_classes)
    return pairs


# Sentences of the error browser ------------------------------------------------------------------


def with_texts(comparison: Comparison, members: Members) -> Comparison:
    """The comparison with each evaluated text, and a line for each that has no predictions.

    Texts hold the first `MOST` sentences in which a row is wrong. One run represents each row: its
    seed is the lowest that all rows of the text have, else the row's lowest. The page first
    compares the best row on features with its baseline, if a text has them.
    """
    texts: list[JudgedText] = []
    reasons: list[str] = []
    best = [comparison.row(contest.features) for contest in comparison.contests if contest.features]
    bases = [base for row in best if (base := comparison.rival(row, "dev")) is not None]
    for split in comparison.splits:
        scored = [row for row in comparison.rows if split in row.splits]
        for rows in grouped((row.data(split)[:2], row) for row in scored).values():
            corpus = rows[0].corpus_name
            name = f"{visible(corpus)} {split}" if "corpus" in comparison.varied else split
            try:
                texts.append(_judged(name, _sides(rows, best, bases), rows, members, split))
            except FeatbertError as error:
                reasons.append(f"no sentences of {corpus} {split}: {error}")
    return dataclasses.replace(comparison, texts=tuple(texts), missing_texts=tuple(reasons))


def _sides(rows: Sequence[Row], best: Sequence[Row], bases: Sequence[Row]) -> tuple[int, int]:
    """Places of the two rows that are compared at first."""
    names = [row.name for row in rows]
    a = next((names.index(row.name) for row in best if row.name in names), 0)
    candidates = [*(row.name for row in bases), *reversed(names)]
    b = next((names.index(n) for n in candidates if n in names and n != names[a]), a)
    return a, b


def _judged(
    name: str,
    sides: tuple[int, int],
    rows: Sequence[Row],
    members: Members,
    split: str,
) -> JudgedText:
    seed = min(set.intersection(*(set(row.seeds) for row in rows)), default=None)
    runs = [
        next((run for run in members[row.name] if run.record.seed == seed), members[row.name][0])
        for row in rows
    ]
    predictions = [run.predictions(split) for run in runs]
    first, marks = predictions[0], rows[0].task.marks
    gold = _spans(first, marks(first, first.gold))
    answers = [_spans(of_run, marks(of_run, of_run.predicted)) for of_run in predictions]
    wrong = [i for i, right in enumerate(gold) if any(spans[i] != right for spans in answers)]
    seeds = sorted({run.record.seed for run in runs})
    about = (
        f"some row is wrong in {len(wrong):,} of {counted(len(gold), rows[0].task.unit)}; "
        f"runs of seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"
    )
    if len(wrong) > MOST:
        about += f"; the first {MOST:,} of them are listed"
    return JudgedText(
        name,
        *sides,
        rows=tuple(
            JudgedRow(visible(row.name), visible(run.name), run.record.seed)
            for row, run in zip(rows, runs, strict=True)
        ),
        sentences=tuple(
            (
                first.numbers[i] if first.numbers else i + 1,
                _in_line(first, i),
                gold[i],
                tuple(None if spans[i] == gold[i] else spans[i] for spans in answers),
            )
            for i in wrong[:MOST]
        ),
        about=about,
    )


def _in_line(predictions: Predictions, number: int) -> tuple[str, ...]:
    """The words of a sequence. A bar is between two of its texts."""
    words = np.array([visible(word, _JOINERS) for word in predictions.words[number]], dtype=object)
    return tuple(np.insert(words, _bars(predictions, number), "‖"))


def _bars(predictions: Predictions, number: int) -> list[int]:
    """Words of a sequence before each bar."""
    return np.cumsum(predictions.texts[number][:-1]).tolist() if predictions.texts else []


def _spans(
    predictions: Predictions, marks: Sequence[set[tuple[str, int, int]]]
) -> list[tuple[Span, ...]]:
    """By sequence, in words and bars."""
    spans = []
    for number, marked in enumerate(marks):
        bars = _bars(predictions, number)
        shifted = [(bisect_right(bars, i), i, j, visible(kind)) for kind, i, j in marked]
        spans.append(tuple(sorted((n + i, n + j + 1, kind) for n, i, j, kind in shifted)))
    return spans
