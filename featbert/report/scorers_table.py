"""Rows under several scorers as a table, for every format, and in words where scorers disagree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from featbert.analysis.scorers import SCORERS, scored_on
from featbert.report import units
from featbert.report.cells import (
    Block,
    Cell,
    Column,
    Table,
    no_share_cell,
    plain_cell,
    share_cell,
    text_cell,
)

if TYPE_CHECKING:
    from featbert.analysis.compare import Comparison
    from featbert.analysis.rows import Row
    from featbert.analysis.scorers import ScorerRow

_BLOCKS: dict[str, Block] = {"dev": "dev", "test": "test"}
_SIGNS = {1: "ahead of", 0: "even with", -1: "behind"}
_LEGEND = (
    "conlleval: micro entity F1 in percent, as in the first table; an entity is right when its "
    "type, first and last word are; an I- tag that continues nothing begins one, as the conlleval "
    "script has it",
    "strict: the same by seqeval's strict mode (IOB2); only B- begins an entity, so what a tagger "
    "begins with I- is passed over, right or wrong",
    "word: micro F1 of words with a tag other than O, right where the type is; an entity with one "
    "wrong end keeps its other words, and long entities weigh more",
)
_COMPARED = (
    "Δ: mean F1 less that of the baseline by the same scorer, in points; winner: whether the "
    "scorers agree in who is ahead, by however little"
)


def scorers_table(comparison: Comparison, before: str, number: int) -> Table:
    """A row for each row of the comparison: F1 and its difference to the baseline by each scorer.

    Args:
        before: what stands before the title, such as "1 of 2 · ".
        number: of the comparison.
    """
    found = {(s.row, s.split): s for s in comparison.scorers}
    rows = [row for row in comparison.rows if any((row.name, s) in found for s in _BLOCKS)]
    splits = [s for s in _BLOCKS if any((row.name, s) in found for row in rows)]
    drawn: list[tuple[Column, list[Cell]]] = [
        (Column("row", ("row",), "name", right=False), [text_cell(row.name) for row in rows])
    ]
    against = {s.row: s.against for s in comparison.scorers if s.against is not None}
    baselines = list(dict.fromkeys(against.values()))
    if len(baselines) > 1:
        column = Column("against", ("baseline",), "name", right=False)
        drawn.append((column, [text_cell(against.get(row.name, units.NONE)) for row in rows]))
    for split in splits:
        drawn += _columns(split, rows, [found.get((row.name, split)) for row in rows])
    told = [f"baseline: {baselines[0]}"] if len(baselines) == 1 else []
    return Table(
        title=units.visible(f"{before}F1 by scorer"),
        subtitle=units.visible(" · ".join([comparison.corpus, *told, comparison.scorer])),
        columns=tuple(column for column, _ in drawn),
        rows=tuple(zip(*(cells for _, cells in drawn), strict=True)),
        sections=tuple(i > 0 and rows[i - 1].tuning != row.tuning for i, row in enumerate(rows)),
        legend=(*_LEGEND, _COMPARED) if baselines else _LEGEND,
        notes=tuple(f"note: {units.visible(note)}" for note in scorer_notes(comparison)),
        blocks=("name", *(_BLOCKS[split] for split in splits)),
        number=number,
    )


def scorer_notes(comparison: Comparison) -> list[str]:
    """Where scorers disagree in who is ahead of the baseline or best, or that they agree."""
    compared = [s for s in comparison.scorers if s.agree is not None or _ranked(s)]
    if not compared:
        return []
    splits = list(dict.fromkeys(s.split for s in compared))
    notes = [_disagreement(s) for s in compared if s.agree is False]
    for split in splits:
        on = {row.name: scored_on(row, split) for row in comparison.rows}
        here = [s for s in compared if s.split == split]
        for data in dict.fromkeys(on.values()):
            if told := _best_rows([s for s in here if on[s.row] == data]):
                notes.append(f"{split}: the scorers disagree in the best row: {told}")
    if notes:
        return notes
    agree = []
    if any(s.agree is not None for s in compared):
        agree.append("each row's difference to its baseline has the same sign")
    if any(map(_ranked, compared)):
        agree.append("the same row is best")
    return [f"the scorers agree: on {' and '.join(splits)} {', and '.join(agree)} by all of them"]


def _columns(
    split: str, rows: Sequence[Row], found: Sequence[ScorerRow | None]
) -> Iterator[tuple[Column, list[Cell]]]:
    block = _BLOCKS[split]
    for name in SCORERS:
        head = f"{split} {name}"
        figures = [None if one is None else one.figures[name] for one in found]
        scores = [
            no_share_cell(row, split) if f is None else share_cell(f.f1, best=f.best)
            for row, f in zip(rows, figures, strict=True)
        ]
        yield Column(head, (f"{head} F1 (%)", f"{head} F1 sd (%)"), block), scores
        differences = [units.points(None if f is None else f.difference) for f in figures]
        column = Column("Δ", (f"{head} F1 difference (points)",), block)
        yield column, [plain_cell(text) for text in differences]
    marks = [_mark(row, one) for row, one in zip(rows, found, strict=True)]
    yield Column("winner", (f"{split} scorers agree",), block, right=False), marks


def _mark(row: Row, found: ScorerRow | None) -> Cell:
    if found is None or found.agree is None:
        return Cell("baseline" if found and row.is_baseline else units.NONE, ("",))
    return Cell("the same", ("yes",)) if found.agree else Cell("they disagree", ("no",))


def _disagreement(row: ScorerRow) -> str:
    """`dev: last is ahead of fine-tuning by conlleval (+0.10), behind it by word (-0.20)`."""
    by_sign: dict[int, list[str]] = {}
    for name, figure in row.figures.items():
        if figure.sign is not None:
            told = f"{name} ({units.points(figure.difference)})"
            by_sign.setdefault(figure.sign, []).append(told)
    parts = [f"{_SIGNS[sign]} {{}} by {' and '.join(names)}" for sign, names in by_sign.items()]
    first, *others = parts
    told = ", ".join([first.format(row.against), *(part.format("it") for part in others)])
    return f"{row.split}: {row.row} is {told}"


def _best_rows(rows: Sequence[ScorerRow]) -> str:
    """`last by conlleval and strict, fine-tuning by word`; nothing where all name the same."""
    by_row: dict[str, list[str]] = {}
    for name in SCORERS:
        best = ", ".join(row.row for row in rows if row.figures[name].best)
        by_row.setdefault(best, []).append(name)
    if len(by_row) < 2:
        return ""
    return "; ".join(f"{row} by {' and '.join(names)}" for row, names in by_row.items())


def _ranked(row: ScorerRow) -> bool:
    """Whether it is best by any scorer; where rows have rivals, one of them is."""
    return any(figure.best for figure in row.figures.values())
