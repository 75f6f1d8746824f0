"""What a reader of a transfer matrix should know: types that a language lacks, what was mapped,
what is missing. One line each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from featbert.analysis.transfer_cells import TransferCell, told_mapping
from featbert.analysis.transfer_data import ScoredRun

if TYPE_CHECKING:
    from featbert.analysis.transfer import TransferMatrix

# F1 of a run's record and of an evaluation of the same text may differ by the device's rounding.
_AGREE = 0.00005


def matrix_notes(matrix: TransferMatrix) -> list[str]:
    """Notes that follow from the cells."""
    return [
        *_missing(matrix),
        *_absent(matrix),
        *_unseen(matrix),
        *_taken_out(matrix),
        *_renamed(matrix),
        *_seeds(matrix),
        *_set_aside(matrix),
    ]


def run_notes(matrix: TransferMatrix, scored: Sequence[ScoredRun]) -> list[str]:
    """Notes on runs: the own data scored twice, runs and evaluations left out."""
    kept = {run.folder for row in matrix.rows for run in row.trained.runs}
    counted = [one for one in scored if one.run.folder in kept]
    notes = [note for one in counted for note in (*_own_twice(one), *_learned(one))]
    for row in matrix.rows:
        if row.trained.left_out:
            names = ", ".join(run.name for run in row.trained.left_out)
            notes.append(
                f"{row.label}: of runs with one seed and settings the newest counts, not {names}"
            )
    return [*notes, *(note for one in scored for note in one.left_out)]


def _filled(matrix: TransferMatrix) -> Iterator[tuple[str, str, TransferCell]]:
    """Row label, column label and cell of all cells on other data that were scored."""
    for row in matrix.rows:
        for column, cell in zip(matrix.evaluated_on, row.cells, strict=True):
            if cell is not None and not cell.own:
                yield row.label, column, cell


def _by_column(
    matrix: TransferMatrix,
) -> Iterator[tuple[str, list[str], list[TransferCell]]]:
    """For each column its label, and the rows with a cell on that other data."""
    for column in matrix.evaluated_on:
        filled = [(row, cell) for row, at, cell in _filled(matrix) if at == column]
        yield column, [row for row, _ in filled], [cell for _, cell in filled]


def _missing(matrix: TransferMatrix) -> Iterator[str]:
    told = []
    for row in matrix.rows:
        empty = [
            column
            for column, cell in zip(matrix.evaluated_on, row.cells, strict=True)
            if cell is None
        ]
        if empty:
            told.append(f"{row.label} on {', '.join(empty)}")
    if told:
        yield f"not evaluated: {'; '.join(told)}; an average is over the cells that there are"


def _absent(matrix: TransferMatrix) -> Iterator[str]:
    """`nl has no MISC: each one predicted there is an error`."""
    for column, rows, cells in _by_column(matrix):
        by_rows: dict[tuple[str, ...], list[str]] = {}
        for name in _names(cell.absent_types for cell in cells):
            taught = [r for r, c in zip(rows, cells, strict=True) if name in c.absent_types]
            by_rows.setdefault(tuple(taught), []).append(name)
        for taught_rows, names in by_rows.items():
            who = "" if len(taught_rows) == len(rows) else f" ({', '.join(taught_rows)})"
            yield f"{column} has no {', '.join(names)}: each one predicted there is an error{who}"


def _unseen(matrix: TransferMatrix) -> Iterator[str]:
    """`en was trained without MISC: none of it can be found in nl, es`."""
    for row in matrix.trained_on:
        cells = [(column, cell) for at, column, cell in _filled(matrix) if at == row]
        by_columns: dict[tuple[str, ...], list[str]] = {}
        for name in _names(cell.unseen_types for _, cell in cells):
            columns = tuple(column for column, cell in cells if name in cell.unseen_types)
            by_columns.setdefault(columns, []).append(name)
        for columns, names in by_columns.items():
            yield (
                f"{row} was trained without {', '.join(names)}: "
                f"none of it can be found in {', '.join(columns)}"
            )


def _taken_out(matrix: TransferMatrix) -> Iterator[str]:
    """`nl has no MISC: scored without it`, or `de is scored without MISC`."""
    found = False
    for column, rows, cells in _by_column(matrix):
        by_rows: dict[tuple[str, ...], list[str]] = {}
        for name in _names(_out(cell) for cell in cells):
            without = [r for r, c in zip(rows, cells, strict=True) if name in _out(c)]
            by_rows.setdefault(tuple(without), []).append(name)
        has = _types_of(matrix, column)
        for without_rows, names in by_rows.items():
            found = True
            who = "" if len(without_rows) == len(rows) else f" ({', '.join(without_rows)})"
            told = ", ".join(names)
            if has is not None and not has & {*names}:
                yield f"{column} has no {told}: scored without it{who}"
            else:
                yield f"{column} is scored without {told}{who}"
    if found:
        yield "a row's own data is scored with all its types"


def _out(cell: TransferCell) -> list[str]:
    return [old for old, new in cell.mapping.items() if new == "O"]


def _types_of(matrix: TransferMatrix, column: str) -> set[str] | None:
    """The types of a column's corpus, known where a row was trained on it."""
    place = matrix.evaluated_on.index(column)
    for row in matrix.rows:
        cell = row.cells[place]
        if cell is not None and cell.own:
            return set(row.trained.runs[0].record.signature.entity_types)
    return None


def _renamed(matrix: TransferMatrix) -> Iterator[str]:
    by_mapping: dict[str, list[tuple[str, str]]] = {}
    for row, column, cell in _filled(matrix):
        renamed = {old: new for old, new in cell.mapping.items() if new not in (old, "O")}
        if renamed:
            by_mapping.setdefault(told_mapping(renamed), []).append((row, column))
    everywhere = {(row, column) for row, column, _ in _filled(matrix)}
    for told, pairs in by_mapping.items():
        where = "all cells on other data" if set(pairs) == everywhere else _told(pairs)
        yield f"types renamed before scoring, {told}: {where}; not in a row's own data"


def _seeds(matrix: TransferMatrix) -> Iterator[str]:
    fewer = []
    for row in matrix.rows:
        for column, cell in zip(matrix.evaluated_on, row.cells, strict=True):
            if cell is not None and cell.seeds != row.trained.seeds:
                fewer.append(f"{row.label} on {column}: {_numbers(cell.seeds)}")
    if fewer:
        yield f"scored for some seeds alone: {'; '.join(fewer)}"
    if len({row.trained.seeds for row in matrix.rows}) > 1:
        told = "; ".join(f"{row.label}: {_numbers(row.trained.seeds)}" for row in matrix.rows)
        yield f"the rows do not share the same seeds: {told}"


def _set_aside(matrix: TransferMatrix) -> Iterator[str]:
    for row, column, cell in _filled(matrix):
        if cell.set_aside:
            yield (
                f"{row} on {column}: the newest evaluation and its mapping count, "
                f"not {', '.join(cell.set_aside)}"
            )


def _own_twice(one: ScoredRun) -> Iterator[str]:
    """An evaluation of a run's own data says what its record says, unless types are mapped."""
    if one.own_key is None:
        return
    for evaluation in one.on(one.own_key):
        own = one.run.record.scores[evaluation.split].values["f1"]
        again = evaluation.scores.values["f1"]
        types = {*one.run.record.signature.entity_types, *evaluation.entity_types}
        if any(old != new and old in types for old, new in evaluation.mapping.items()):
            yield (
                f"{one.run.name}: its record counts on its own data, {100 * own:.2f}; with "
                f"{told_mapping(evaluation.mapping)} it has {100 * again:.2f}"
            )
        elif abs(own - again) >= _AGREE:
            yield (
                f"{one.run.name}: its record counts on its own data, {100 * own:.2f}; an "
                f"evaluation of the same data disagrees, {100 * again:.2f}"
            )


def _learned(one: ScoredRun) -> Iterator[str]:
    """A score on text that the run was trained on says nothing about transfer."""
    signature = one.run.record.signature
    texts = {signature.splits[s].text for s in one.run.record.trained_on if s in signature.splits}
    for evaluation in one.evaluations:
        if evaluation.identity.text in texts:
            yield f"{one.run.name}: it was trained on the very text of {evaluation.corpus}"


def _names(lists: Iterable[Sequence[str]]) -> list[str]:
    return sorted({name for names in lists for name in names})


def _told(pairs: Sequence[tuple[str, str]]) -> str:
    """`en on nl, es; de on nl`."""
    by_row: dict[str, list[str]] = {}
    for row, column in pairs:
        by_row.setdefault(row, []).append(column)
    return "; ".join(f"{row} on {', '.join(columns)}" for row, columns in by_row.items())


def _numbers(seeds: Sequence[int]) -> str:
    return ", ".join(map(str, seeds))
