"""Transfer matrices: each way of training, trained on each corpus and scored on all.

A row is a training corpus, a column an evaluated one. Scores on a row's own corpus are from
the runs' records, others from evaluations.
"""

import dataclasses
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from featbert.analysis.comparison import (
    Comparison,
    Row,
    ScoredData,
    Statistic,
    TransferCell,
    TransferMatrix,
    TransferRow,
    grouped,
)
from featbert.analysis.labels import base_name, canonical, with_settings
from featbert.analysis.rows import compare_group, left_out, once
from featbert.data.corpus import EVALUATED
from featbert.errors import InputError
from featbert.inference.evaluate import EvaluationRecord, read_evaluation, remarks_on
from featbert.runs.folder import evaluation_files
from featbert.runs.grouping import check_comparable, comparable_key, freed_keys
from featbert.runs.record import SearchRecord, Signature, SplitIdentity
from featbert.runs.run import Run
from featbert.text import natural

_CORPUS = freed_keys(["corpus"])
_FIRST = re.compile(r"-first-\d+$")


def transfer_matrices(
    runs: Iterable[Run], searches: Sequence[SearchRecord] = (), *, split: str = EVALUATED[-1]
) -> list[TransferMatrix]:
    """A matrix for each way of training that has two columns or more, in the order of a comparison.

    Settings that `searches` chose for each corpus may differ between its rows. Reads every
    evaluation of every run, on any split.
    """
    parts = [(run, comparable_key(run.record).items()) for run in once(runs)]
    keys = ((tuple(part for part in key if part[0] not in _CORPUS), run) for run, key in parts)
    groups = [
        compare_group(group, check_comparable(group, vary=["corpus"]))
        for group in grouped(keys).values()
    ]
    groups.sort(key=lambda group: (natural(group[0].model), natural(group[0].context)))
    matrices = []
    for comparison, members in groups:
        scored = {
            row.name: [_read(run, split) for run in members[row.name]] for row in comparison.rows
        }
        data = _all_data([run_scores for key in scored.values() for run_scores in key])
        ways = (_way(row, searches) for row in comparison.rows)
        for rows in grouped(zip(ways, comparison.rows, strict=True)).values():
            pairs = [(row, scored[row.name]) for row in rows]
            matrices.append(_matrix(comparison, pairs, data, split))
    return [matrix for matrix in matrices if len(matrix.columns) > 1]


def _way(row: Row, searches: Sequence[SearchRecord]) -> str:
    """Tuning, layers and settings of a row, but not its corpus or settings that a search chose."""
    names = {run.name for run in row.runs}
    chosen = {
        setting
        for search in searches
        if not names.isdisjoint(search.rows)
        for trial in search.tried
        for setting in trial.settings
    }
    settings = {name: value for name, value in row.settings.items() if name not in chosen}
    return canonical([row.tuning, row.layers, settings, {**row.conditions, "train": None}])


class _Scored(NamedTuple):
    """A run with all that it was scored on in one split. `notes`: evaluations left out."""

    run: Run
    own: SplitIdentity | None
    evaluations: list[EvaluationRecord]
    notes: list[str]


def _read(run: Run, split: str) -> _Scored:
    """A run with its evaluations on `split` by its own scorer."""
    record = run.record
    usable, notes = [], []
    for path in evaluation_files(run.folder):
        try:
            evaluation = read_evaluation(run, path)
        except InputError as error:
            notes.append(f"left out, an evaluation that cannot be used: {error}")
            continue
        # A corpus and its beginning (`--limit`) are no transfer.
        names = {evaluation.corpus, record.signature.corpus}
        if evaluation.split != split or len({_FIRST.sub("", name) for name in names}) < len(names):
            continue
        if evaluation.scorer == record.signature.scorer:
            usable.append(evaluation)
        else:
            subject = f"{run.name} on {evaluation.corpus}"
            notes.append(f"left out: {subject}, which was scored by {evaluation.scorer}")
    identity = record.signature.splits.get(split) if split in record.scores else None
    return _Scored(run, identity, usable, notes)


def _matrix(
    comparison: Comparison,
    rows: Sequence[tuple[Row, list[_Scored]]],
    data: Mapping[SplitIdentity, ScoredData],
    split: str,
) -> TransferMatrix:
    labels = _distinct([_row_names(scored[0], data) for _, scored in rows])
    labelled = sorted(zip(labels, rows, strict=True), key=lambda pair: natural(pair[0]))
    every = [run_scores for _, (_, scored) in labelled for run_scores in scored]
    # Data that rows were trained on, in their order, then other data by label.
    own_data = [run_scores.own for run_scores in every if run_scores.own is not None]
    other_data = {e.identity for run_scores in every for e in run_scores.evaluations} - {*own_data}
    by_label = sorted(other_data, key=lambda place: natural(data[place].label))
    places = list(dict.fromkeys([*own_data, *by_label]))
    columns = tuple(data[place] for place in places)
    matrix_rows, notes = list[TransferRow](), list[str]()
    for name, (row, scored) in labelled:
        trained = dataclasses.replace(row, label=name)
        cells = tuple(_cell(trained, scored, place, split) for place in places)
        matrix_rows.append(TransferRow(name, trained.seeds, cells, *_average(cells)))
        notes += [*_notes(matrix_rows[-1], columns), *left_out([trained])]
    first = rows[0][0]
    # Rows have the size of the training text in their names.
    differing = {name: value for name, value in first.differing.items() if name != "train"}
    return TransferMatrix(
        label=with_settings(base_name(first.tuning, first.layers), differing),
        tuning=first.tuning,
        task_name=comparison.task_name,
        encoding=comparison.encoding,
        scorer=comparison.scorer,
        split=split,
        columns=columns,
        rows=tuple(matrix_rows),
        notes=(*notes, *(note for run_scores in every for note in run_scores.notes)),
    )


def _row_names(scored: _Scored, data: Mapping[SplitIdentity, ScoredData]) -> tuple[str, str, str]:
    """Names of a row, from short to exact: of its own column, and with the size of train."""
    signature = scored.run.record.signature
    train = signature.splits.get("train")
    base = data[scored.own].label if scored.own else signature.language or signature.corpus
    if train is None:
        return base, base, scored.run.name
    sized = f"{base} ({train.sentences} sentences)"
    return base, sized, f"{sized} {train.text[:8]}/{train.tags[:8]}"


def _cell(
    trained: Row, kept: Sequence[_Scored], place: SplitIdentity, split: str
) -> TransferCell | None:
    """A row's score on the data `place`. None if no run was scored on it.

    Only scores with the newest evaluation's mapping of types count: others are not comparable.
    """
    if kept[0].own == place and (score := trained.score(split)) is not None:
        return TransferCell(score, trained.seeds, own=True)
    scores = [(s.run, e) for s in kept for e in s.evaluations if e.identity == place]
    if not scores:
        return None
    scores.sort(key=lambda pair: pair[1].started, reverse=True)
    mapping = scores[0][1].mapping
    newest = grouped((run.record.seed, (run, e)) for run, e in scores if e.mapping == mapping)
    pairs = [newest[seed][0] for seed in sorted(newest)]
    remarks = dict.fromkeys(
        remark for run, e in pairs for remark in remarks_on(run, e, trained.label)
    )
    return TransferCell(
        score=Statistic.of([e.scores.values[run.task.measure.key] for run, e in pairs]),
        seeds=tuple(run.record.seed for run, _ in pairs),
        own=False,
        remarks=tuple(remarks),
    )


def _average(cells: Sequence[TransferCell | None]) -> tuple[float | None, float | None]:
    """Mean over the cells on other data, and its sample standard deviation over seeds."""
    foreign = [cell for cell in cells if cell is not None and not cell.own]
    if not foreign:
        return None, None
    mean = statistics.fmean(cell.score.mean for cell in foreign)
    if len({cell.seeds for cell in foreign}) > 1:
        return mean, None
    by_seed = [statistics.fmean(v) for v in zip(*(c.score.values for c in foreign), strict=True)]
    return mean, Statistic.of(by_seed).sd


def _notes(row: TransferRow, columns: Sequence[ScoredData]) -> Iterator[str]:
    for column, cell in zip(columns, row.cells, strict=True):
        place = f"{row.label} on {column.label}"
        if cell is None:
            yield f"{place}: not evaluated"
            continue
        if cell.seeds != row.seeds:
            yield f"{place}: of seeds {', '.join(map(str, cell.seeds))} only"
        yield from (f"{place}: {remark}" for remark in cell.remarks)


def _all_data(scored: Sequence[_Scored]) -> dict[SplitIdentity, ScoredData]:
    """All data that anything was scored on, with distinct labels."""
    # Runs that were trained on a corpus know its name best.
    pairs: list[tuple[SplitIdentity, Signature | EvaluationRecord]] = [
        (s.own, s.run.record.signature) for s in scored if s.own is not None
    ]
    pairs += [(e.identity, e) for s in scored for e in s.evaluations]
    called, names = [], []
    for place, about in grouped(pairs).items():
        language = next((record.language for record in about if record.language), None)
        corpus = about[0].corpus
        called.append((place, language, corpus))
        base, exact = language or corpus, f"{corpus} {place.text[:8]}/{place.tags[:8]}"
        names.append((base, f"{base} ({corpus})" if language else base, f"{base} ({exact})"))
    return {
        place: ScoredData(label, language, corpus, *dataclasses.astuple(place))
        for label, (place, language, corpus) in zip(_distinct(names), called, strict=True)
    }


def _distinct(names: Sequence[tuple[str, str, str]]) -> list[str]:
    """For each, the first of its names, from short to exact, that no other one has."""
    counts = Counter(name for candidates in names for name in {*candidates})
    return [
        next((name for name in candidates if counts[name] == 1), candidates[-1])
        for candidates in names
    ]
