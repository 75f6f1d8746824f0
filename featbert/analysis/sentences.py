"""The sentences of the error browser: those in which a row is wrong."""

import dataclasses
from bisect import bisect_right
from collections.abc import Sequence

import numpy as np

from featbert.analysis.comparison import Comparison, JudgedRow, JudgedText, Row, Span, grouped
from featbert.analysis.rows import Members
from featbert.errors import FeatbertError
from featbert.tasks.base import Predictions
from featbert.text import counted
from featbert.units import visible

# Sentences of one text that are kept. A page with more of them would be slow to open.
MOST = 2000
# Joiners belong to the spelling of some languages. Other format characters could reorder a page.
_JOINERS = "\u200c\u200d"


def with_texts(comparison: Comparison, members: Members, *, most: int = MOST) -> Comparison:
    """The comparison with each evaluated text, and a line for each that has no predictions.

    Texts hold the first `most` sentences in which a row is wrong. One run represents each row: its
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
            corpus = rows[0].corpus
            name = f"{visible(corpus)} {split}" if "corpus" in comparison.varied else split
            try:
                texts.append(_judged(name, _sides(rows, best, bases), rows, members, split, most))
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
    most: int,
) -> JudgedText:
    seed = min(set.intersection(*(set(row.seeds) for row in rows)), default=None)
    runs = [
        next((run for run in members[row.name] if run.record.seed == seed), members[row.name][0])
        for row in rows
    ]
    predictions = [run.predictions(split) for run in runs]
    first, marks = predictions[0], rows[0].task.marks
    gold = _spans(first, marks(first, first.gold))
    answers = [
        _spans(answers_of_run, marks(answers_of_run, answers_of_run.predicted))
        for answers_of_run in predictions
    ]
    wrong = [i for i, right in enumerate(gold) if any(spans[i] != right for spans in answers)]
    seeds = sorted({run.record.seed for run in runs})
    about = (
        f"some row is wrong in {len(wrong):,} of {counted(len(gold), rows[0].task.unit)}; "
        f"runs of seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"
    )
    if most < len(wrong):
        about += f"; the first {most:,} of them are listed"
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
            for i in wrong[:most]
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
