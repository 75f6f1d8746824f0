"""Sentences where taggers differ, with what each of them found: what an error browser shows.

One run stands for each row, that of the lowest seed which all rows of a text have, so that the
rows' entities are of equal seeds. Kept are the sentences in which at least one row is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from featbert.analysis.rows import Row
from featbert.errors import FeatbertError
from featbert.runs.run import Run

if TYPE_CHECKING:
    from featbert.analysis.compare import Comparison

# (first word, word after the last one, type)
Span = tuple[int, int, str]
# Sentences of one text that are kept; a page with more of them would be slow to open.
MOST = 2000


@dataclass(frozen=True)
class Answer:
    """A row that is compared: its name, its approach, and the run that stands for it."""

    row: str
    tuning: str
    seed: int
    run: str


@dataclass(frozen=True)
class JudgedSentence:
    """A sentence in which at least one row is wrong.

    Attributes:
        number: in its split, from 1.
        words: (T,) as they are in the file.
        gold: its entities in order.
        found: by answer: that row's entities, None where they are the gold ones.
    """

    number: int
    words: tuple[str, ...]
    gold: tuple[Span, ...]
    found: tuple[tuple[Span, ...] | None, ...]


@dataclass(frozen=True)
class JudgedText:
    """One evaluated split with all rows that were scored on it.

    Attributes:
        corpus, split: what it is.
        answers: the rows, in the comparison's order.
        sentences: those with a mistake, in the file's order, the first `MOST`.
        with_mistakes: how many there are in all.
        size: sentences of the split.
    """

    corpus: str
    split: str
    answers: tuple[Answer, ...]
    sentences: tuple[JudgedSentence, ...]
    with_mistakes: int
    size: int


def judged_texts(comparison: Comparison, *, most: int = MOST) -> tuple[list[JudgedText], list[str]]:
    """Each evaluated text of a comparison, and a line for each whose predictions are not there."""
    found: list[JudgedText] = []
    notes: list[str] = []
    for split in comparison.splits:
        scored = [row for row in comparison.rows if split in row.splits]
        for text in dict.fromkeys(_text(row, split) for row in scored):
            rows = [row for row in scored if _text(row, split) == text]
            try:
                found.append(_judged(rows, split, most))
            except FeatbertError as error:
                notes.append(f"no sentences of {rows[0].corpus} {split}: {error}")
    return found, notes


def _text(row: Row, split: str) -> tuple[str | None, str | None]:
    return row.cell.get(f"{split}.text"), row.cell.get(f"{split}.tags")


def _judged(rows: Sequence[Row], split: str, most: int) -> JudgedText:
    from featbert.tasks.entities import TASK

    runs = _runs(rows)
    read = [run.predictions(split) for run in runs]
    gold = [_spans(one) for one in TASK.spans(read[0].gold)]
    by_row = [[_spans(one) for one in TASK.spans(found.predicted)] for found in read]
    wrong = [i for i, right in enumerate(gold) if any(found[i] != right for found in by_row)]
    sentences = tuple(
        JudgedSentence(
            number=i + 1,
            words=tuple(read[0].words[i]),
            gold=gold[i],
            found=tuple(None if found[i] == gold[i] else found[i] for found in by_row),
        )
        for i in wrong[:most]
    )
    answers = tuple(
        Answer(row.name, row.tuning, run.record.seed, run.name)
        for row, run in zip(rows, runs, strict=True)
    )
    return JudgedText(rows[0].corpus, split, answers, sentences, len(wrong), len(gold))


def _runs(rows: Sequence[Row]) -> list[Run]:
    """One run a row: of the lowest seed that all have, else of each row's lowest."""
    shared = set.intersection(*(set(row.seeds) for row in rows))
    seed = min(shared, default=None)
    return [next((r for r in row.runs if r.record.seed == seed), row.runs[0]) for row in rows]


def _spans(found: set[tuple[str, int, int]]) -> tuple[Span, ...]:
    """Entities of one sentence in the order of their words."""
    return tuple(sorted((first, last + 1, kind) for kind, first, last in found))
