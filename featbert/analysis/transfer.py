"""Transfer matrices: trained on each language (rows), scored on all of them (columns).

A matrix holds the runs of one approach, one layer combination and one table of settings; its rows
differ in the corpus alone. The cell of a row's own data comes from the runs' own records, the
others from evaluation records. A column is one text with one set of tags, so no two cells of it
were scored on different gold. Runs that `compare` keeps apart for their encoder, context or scorer
are kept apart here too; only the corpus is free.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from featbert.analysis.labels import Naming, name_rows, row_key
from featbert.analysis.ordering import by_value
from featbert.analysis.rows import Row, build_row
from featbert.analysis.transfer_cells import (
    TransferCell,
    other_cell,
    own_cell,
    zero_shot_average,
)
from featbert.analysis.transfer_data import (
    Data,
    DataKey,
    ScoredRun,
    all_data,
    distinct,
    key_of,
    read_scored,
)
from featbert.analysis.transfer_notes import matrix_notes, run_notes
from featbert.encoders.layers import NAMES
from featbert.runs.grouping import CONDITIONS, comparable_key, freed_keys
from featbert.runs.run import Run
from featbert.text import natural

_CORPUS = freed_keys(["corpus"])


@dataclass(frozen=True)
class TransferRow:
    """What was trained on one corpus.

    Attributes:
        label: as its own column is called, if there is one.
        trained: the runs over seeds.
        cells: by column; None where no run was scored on that data.
        average: mean over the cells on other data of their means ("zero-shot"), None without any.
        average_sd: sample standard deviation over seeds of each seed's own average; None where
            those cells do not share two seeds or more.
    """

    label: str
    trained: Row
    cells: tuple[TransferCell | None, ...]
    average: float | None
    average_sd: float | None


@dataclass(frozen=True)
class TransferMatrix:
    """One way of training, on each language and scored on all.

    Attributes:
        label: as in a comparison: the layers or `fine-tuning`, and what tells it from others.
        settings: that all its runs share.
        encoder_layers: transformer layers L of the encoder.
        split: which split of each corpus the columns are.
        key: the comparable key without the corpus: what all its runs share.
        columns: those with a row of their own first, in the order of the rows.
        notes: what a reader should know, one line each.
    """

    label: str
    tuning: str
    layers: str | None
    settings: Mapping[str, Any]
    model: str
    encoder_layers: int
    context: str
    scorer: str
    split: str
    key: Mapping[str, str]
    columns: tuple[Data, ...]
    rows: tuple[TransferRow, ...]
    notes: tuple[str, ...]

    @property
    def encoding(self) -> str:
        """Encoder, context, and casing where it is not the text's own."""
        casing = self.key.get("casing", "original")
        told = f"{self.model} · context: {self.context}"
        return told if casing == "original" else f"{told} · casing: {casing}"

    @property
    def trained_on(self) -> tuple[str, ...]:
        """Labels of the rows."""
        return tuple(row.label for row in self.rows)

    @property
    def evaluated_on(self) -> tuple[str, ...]:
        """Labels of the columns."""
        return tuple(column.label for column in self.columns)

    @property
    def means(self) -> tuple[tuple[float | None, ...], ...]:
        """(rows, columns) mean F1 in [0, 1], None where nothing was scored."""
        return tuple(tuple(c.f1.mean if c else None for c in row.cells) for row in self.rows)

    @property
    def own(self) -> tuple[tuple[bool, ...], ...]:
        """(rows, columns) whether a cell's data is of the corpus that its row was trained on."""
        return tuple(tuple(c is not None and c.own for c in row.cells) for row in self.rows)


def transfer_matrices(runs: Iterable[Run], *, split: str = "test") -> list[TransferMatrix]:
    """A matrix for each way of training that has two columns or more.

    In the order of a comparison: encoders and contexts by name, then features by layer
    combination, then fine-tuning. Reads every evaluation of every run.

    Args:
        runs: finished runs, such as `find_runs(directory)`.
        split: "test", "dev", or another split that runs were evaluated on.

    Raises:
        InputError: an evaluation is damaged, or is another run's.
    """
    by_folder = {run.folder.absolute(): run for run in runs}
    tables: dict[tuple[object, ...], list[Run]] = {}
    for run in sorted(by_folder.values(), key=lambda run: natural(run.name)):
        tables.setdefault(tuple(_shared_key(run).items()), []).append(run)
    ordered = sorted(tables.values(), key=_place_of_table)
    return [matrix for members in ordered for matrix in _matrices(members, split)]


def _shared_key(run: Run) -> dict[str, str]:
    """The part of the comparable key that a matrix does not free."""
    key = comparable_key(run.record)
    # A corpus without test has a row all the same; only its own cell is empty.
    return {part: v for part, v in key.items() if part not in _CORPUS and part != "splits"}


def _place_of_table(runs: Sequence[Run]) -> tuple[object, ...]:
    signature = runs[0].record.signature
    return natural(signature.model), natural(signature.context), natural(runs[0].name)


def _matrices(runs: Sequence[Run], split: str) -> Iterator[TransferMatrix]:
    """The matrices of runs that agree in encoder, context and scorer."""
    scored = [read_scored(run, split) for run in runs]
    data = all_data(scored)
    groups: dict[tuple[object, ...], list[ScoredRun]] = {}
    for one in scored:
        groups.setdefault(_way(one.run), []).append(one)
    # Ways of training are named like the rows of one comparison; which corpus a run was trained
    # on is for the rows of its matrix to say.
    stand_ins = [[_without_corpus(group[0].run)] for group in groups.values()]
    named = zip(groups.values(), name_rows(stand_ins, frozenset()), strict=True)
    for group, naming in sorted(named, key=lambda pair: _place_of_way(*pair)):
        matrix = _matrix(group, naming, data, split)
        if len(matrix.columns) > 1:
            yield matrix


def _way(run: Run) -> tuple[object, ...]:
    """What the runs of a matrix share beside the comparable key: what runs of a row share, less
    the corpus."""
    signature = run.record.signature
    conditions = [getattr(signature, name, None) for name in CONDITIONS if name != "train"]
    tuning, layers, settings, *_ = row_key(run, frozenset())
    return tuning, layers, settings, *conditions


def _without_corpus(run: Run) -> Run:
    signature = dataclasses.replace(run.record.signature, splits={})
    return Run(run.folder, dataclasses.replace(run.record, signature=signature))


def _place_of_way(group: Sequence[ScoredRun], naming: Naming) -> tuple[object, ...]:
    record = group[0].run.record
    name = record.layers or ""
    order = NAMES.index(name) if name in NAMES else len(NAMES)
    settings = [by_value(value) for value in naming.differing.values()]
    return record.tuning == "full", order, natural(name), settings, natural(naming.label)


def _matrix(
    scored: Sequence[ScoredRun], naming: Naming, data: Mapping[DataKey, Data], split: str
) -> TransferMatrix:
    by_row: dict[tuple[object, ...], list[ScoredRun]] = {}
    for one in scored:
        by_row.setdefault(row_key(one.run, _CORPUS), []).append(one)
    members = list(by_row.values())
    labels = _row_labels([group[0] for group in members], data)
    named = sorted(zip(labels, members, strict=True), key=lambda pair: natural(pair[0]))
    columns = _columns([group for _, group in named], data)
    first = scored[0].run.record
    matrix = TransferMatrix(
        label=naming.label,
        tuning=first.tuning,
        layers=first.layers,
        settings=first.settings,
        model=", ".join(dict.fromkeys(s.run.record.signature.model for s in scored)),
        encoder_layers=first.signature.encoder_layers,
        context=first.signature.context,
        scorer=first.signature.scorer,
        split=split,
        key=_shared_key(scored[0].run),
        columns=columns,
        rows=tuple(_row(label, group, columns, split) for label, group in named),
        notes=(),
    )
    return dataclasses.replace(matrix, notes=(*matrix_notes(matrix), *run_notes(matrix, scored)))


def _row_labels(firsts: Sequence[ScoredRun], data: Mapping[DataKey, Data]) -> list[str]:
    """A row is called like its own column; two on one corpus by the size of what they read."""

    def base(one: ScoredRun) -> str:
        signature = one.run.record.signature
        own = one.own_key
        return data[own].label if own else signature.language or signature.corpus

    def sized(one: ScoredRun) -> str:
        train = one.run.record.signature.splits.get("train")
        return f"{base(one)} ({train.sentences} sentences)" if train else base(one)

    def exact(one: ScoredRun) -> str:
        train = one.run.record.signature.splits.get("train")
        return f"{sized(one)} {train.text[:8]}/{train.tags[:8]}" if train else one.run.name

    return distinct(firsts, base, sized, exact)


def _columns(
    members: Sequence[Sequence[ScoredRun]], data: Mapping[DataKey, Data]
) -> tuple[Data, ...]:
    """What the rows own, in their order, then what else they were scored on, by label."""
    own = [one.own_key for group in members for one in group if one.own_key is not None]
    others = {key_of(e.identity) for group in members for one in group for e in one.evaluations}
    ordered = sorted(others - {*own}, key=lambda key: natural(data[key].label))
    return tuple(data[key] for key in dict.fromkeys([*own, *ordered]))


def _row(
    label: str, group: Sequence[ScoredRun], columns: Sequence[Data], split: str
) -> TransferRow:
    trained = build_row([s.run for s in group], label=label, varied={}, differing={}, cell={})
    by_folder = {s.run.folder: s for s in group}
    kept = [by_folder[run.folder] for run in trained.runs]
    cells = tuple(
        own_cell(kept, split) if kept[0].own_key == column.key else other_cell(kept, column.key)
        for column in columns
    )
    return TransferRow(label, trained, cells, *zero_shot_average(cells))
