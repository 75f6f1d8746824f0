"""Transfer matrices: each way of training, trained on each corpus and scored on all.

Rows are what was trained on, columns what was evaluated on. Scores on a row's own corpus are those
of the runs' records; the others come from their evaluations.
"""

import dataclasses
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from featbert.analysis.compare import Comparison, compare_runs, once
from featbert.analysis.rows import (
    Row,
    Statistic,
    base_name,
    grouped,
    left_out,
    with_settings,
)
from featbert.errors import InputError
from featbert.inference.evaluate import (
    EvaluationRecord,
    read_evaluation,
    remarks_on,
)
from featbert.runs.folder import evaluation_files
from featbert.runs.grouping import EVALUATED, comparable_key, freed_keys
from featbert.runs.record import Signature, SplitIdentity
from featbert.runs.run import Run
from featbert.text import natural

_CORPUS = freed_keys(["corpus"])
_FIRST = re.compile(r"-first-\d+$")


@dataclass(frozen=True)
class Data:
    """What a column is scored on: one split of one corpus, before any mapping of types.

    Its `label` is the language where known, else the corpus; where several share one, with the
    corpus, and with 8 hex digits of the fingerprints `text` and `tags` where that is not enough.
    """

    label: str
    language: str | None
    corpus: str
    text: str
    tags: str
    sentences: int
    words: int


@dataclass(frozen=True)
class TransferCell:
    """A row on the data of a column; `remarks` are those on its evaluations (`remarks_on`).

    `own`: whether it is the corpus that they were trained on, with no type mapped.
    """

    score: Statistic
    seeds: tuple[int, ...]
    own: bool
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class TransferRow:
    """The runs that were trained on one corpus.

    Attributes:
        cells: by column; None where no run was scored on it.
        average: mean over the cells on other data of their means; None without any.
        average_sd: its spread over seeds, None where the cells do not share two seeds or more.
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
        comparison: of all ways of training and corpora.
        columns: those with a row of their own first, in the order of the rows.
    """

    label: str
    comparison: Comparison
    split: str
    columns: tuple[Data, ...]
    rows: tuple[TransferRow, ...]
    notes: tuple[str, ...]

    @property
    def trained_on(self) -> tuple[str, ...]:
        return tuple(row.label for row in self.rows)

    @property
    def evaluated_on(self) -> tuple[str, ...]:
        return tuple(column.label for column in self.columns)

    @property
    def means(self) -> tuple[tuple[float | None, ...], ...]:
        """(rows, columns) mean score in [0, 1], None where nothing was scored."""
        return tuple(tuple(c.score.mean if c else None for c in row.cells) for row in self.rows)

    @property
    def own(self) -> tuple[tuple[bool, ...], ...]:
        """(rows, columns) whether a cell's data is of the corpus that its row was trained on."""
        return tuple(tuple(c is not None and c.own for c in row.cells) for row in self.rows)


def transfer_matrices(runs: Iterable[Run], *, split: str = EVALUATED[-1]) -> list[TransferMatrix]:
    """A matrix for each way of training that has two columns or more, in the order of a comparison.

    Reads every evaluation of every run, on any split.
    """
    parts = [(run, comparable_key(run.record).items()) for run in once(runs)]
    keys = ((tuple(part for part in own if part[0] not in _CORPUS), run) for run, own in parts)
    comparisons = [compare_runs(table, vary=["corpus"]) for table in grouped(keys).values()]
    found = []
    for one in sorted(comparisons, key=lambda one: (natural(one.model), natural(one.context))):
        scored = {run.folder: _read(run, split) for row in one.rows for run in row.runs}
        data = _all_data([*scored.values()])
        for rows in grouped((_way(row), row) for row in one.rows).values():
            named = [(row, [scored[run.folder] for run in row.runs]) for row in rows]
            found.append(_matrix(one, named, data, split))
    return [matrix for matrix in found if len(matrix.columns) > 1]


class _Scored(NamedTuple):
    """A run with all that it was scored on in one split; `notes`: what was left out."""

    run: Run
    own: SplitIdentity | None
    evaluations: list[EvaluationRecord]
    notes: list[str]


def _read(run: Run, split: str) -> _Scored:
    """A run with its evaluations on `split` by its own scorer."""
    record = run.record
    kept, notes = [], []
    for path in evaluation_files(run.folder):
        try:
            evaluation = read_evaluation(run, path)
        except InputError as error:
            notes.append(f"left out, an evaluation that cannot be used: {error}")
            continue
        if evaluation.split != split or _is_sample(evaluation.corpus, record.signature.corpus):
            continue
        if evaluation.scorer == record.signature.scorer:
            kept.append(evaluation)
        else:
            what = f"{run.name} on {evaluation.corpus}"
            notes.append(f"left out: {what}, which was scored by {evaluation.scorer}")
    own = record.signature.splits.get(split) if split in record.scores else None
    return _Scored(run, own, kept, notes)


def _is_sample(one: str, other: str) -> bool:
    """Whether one of two corpora is the beginning of the other (`--limit`): that is no transfer."""
    return one != other and _FIRST.sub("", one) == _FIRST.sub("", other)


def _way(row: Row) -> str:
    """How its runs were trained, on whatever corpus."""
    given = {**row.conditions, "train": None}
    return repr((row.tuning, row.layers, sorted(row.settings.items()), given))


def _matrix(
    comparison: Comparison,
    rows: Sequence[tuple[Row, list[_Scored]]],
    data: Mapping[SplitIdentity, Data],
    split: str,
) -> TransferMatrix:
    labels = _distinct([_row_names(scored[0], data) for _, scored in rows])
    named = sorted(zip(labels, rows, strict=True), key=lambda pair: natural(pair[0]))
    every = [one for _, (_, scored) in named for one in scored]
    # What the rows own, in their order, then what else they were scored on, by label.
    own = [one.own for one in every if one.own is not None]
    others = {e.identity for one in every for e in one.evaluations} - {*own}
    by_label = sorted(others, key=lambda one: natural(data[one].label))
    places = list(dict.fromkeys([*own, *by_label]))
    columns, found = tuple(data[place] for place in places), []
    for name, (row, scored) in named:
        trained = dataclasses.replace(row, label=name)
        cells = tuple(_cell(trained, scored, place, split) for place in places)
        found.append(TransferRow(name, trained, cells, *_average(cells)))
    first = rows[0][0]
    # The size of the training text is for the rows to say.
    differing = {name: value for name, value in first.differing.items() if name != "train"}
    return TransferMatrix(
        label=with_settings(base_name(first.tuning, first.layers), differing),
        comparison=comparison,
        split=split,
        columns=columns,
        rows=tuple(found),
        notes=(*_notes(found, columns), *(note for one in every for note in one.notes)),
    )


def _row_names(one: _Scored, data: Mapping[SplitIdentity, Data]) -> tuple[str, str, str]:
    """A row is called like its own column; two on one corpus by the size of what they read."""
    signature = one.run.record.signature
    train = signature.splits.get("train")
    base = data[one.own].label if one.own else signature.language or signature.corpus
    if train is None:
        return base, base, one.run.name
    sized = f"{base} ({train.sentences} sentences)"
    return base, sized, f"{sized} {train.text[:8]}/{train.tags[:8]}"


def _cell(
    trained: Row, kept: Sequence[_Scored], place: SplitIdentity, split: str
) -> TransferCell | None:
    """None where no run was scored on its data.

    All its scores have the newest evaluation's mapping of types, or their mean would mean nothing.
    """
    if kept[0].own == place and (score := trained.score(split)) is not None:
        return TransferCell(score, trained.seeds, own=True)
    found = [(s.run, e) for s in kept for e in s.evaluations if e.identity == place]
    if not found:
        return None
    found.sort(key=lambda pair: pair[1].started, reverse=True)
    mapping = found[0][1].mapping
    newest = grouped((run.record.seed, (run, e)) for run, e in found if e.mapping == mapping)
    pairs = [newest[seed][0] for seed in sorted(newest)]
    remarks = dict.fromkeys(one for run, e in pairs for one in remarks_on(run, e, trained.label))
    return TransferCell(
        score=Statistic.of([e.scores.values[run.task.measure.key] for run, e in pairs]),
        seeds=tuple(run.record.seed for run, _ in pairs),
        own=False,
        remarks=tuple(remarks),
    )


def _average(cells: Sequence[TransferCell | None]) -> tuple[float | None, float | None]:
    """Mean over the cells on other data, and its sample standard deviation over seeds."""
    others = [cell for cell in cells if cell is not None and not cell.own]
    if not others:
        return None, None
    mean = statistics.fmean(cell.score.mean for cell in others)
    if len({cell.seeds for cell in others}) > 1:
        return mean, None
    by_seed = [statistics.fmean(v) for v in zip(*(c.score.values for c in others), strict=True)]
    return mean, Statistic.of(by_seed).sd


def _notes(rows: Sequence[TransferRow], columns: Sequence[Data]) -> Iterator[str]:
    for row in rows:
        for column, cell in zip(columns, row.cells, strict=True):
            where = f"{row.label} on {column.label}"
            if cell is None:
                yield f"{where}: not evaluated"
                continue
            if cell.seeds != row.trained.seeds:
                yield f"{where}: of seeds {', '.join(map(str, cell.seeds))} only"
            yield from (f"{where}: {remark}" for remark in cell.remarks)
        yield from left_out([row.trained])


def _all_data(scored: Sequence[_Scored]) -> dict[SplitIdentity, Data]:
    """All data that anything was scored on, with distinct labels."""
    # Those that were trained on it know best what a corpus is called.
    found: list[tuple[SplitIdentity, Signature | EvaluationRecord]] = [
        (s.own, s.run.record.signature) for s in scored if s.own is not None
    ]
    found += [(e.identity, e) for s in scored for e in s.evaluations]
    called, names = [], []
    for place, about in grouped(found).items():
        language = next((one.language for one in about if one.language), None)
        corpus = about[0].corpus
        called.append((place, language, corpus))
        base, exact = language or corpus, f"{corpus} {place.text[:8]}/{place.tags[:8]}"
        names.append((base, f"{base} ({corpus})" if language else base, f"{base} ({exact})"))
    return {
        one[0]: Data(label, *one[1:], *dataclasses.astuple(one[0]))
        for label, one in zip(_distinct(names), called, strict=True)
    }


def _distinct(names: Sequence[tuple[str, str, str]]) -> list[str]:
    """For each, the first of its names, from short to exact, that no other one has."""
    counts = Counter(name for own in names for name in {*own})
    return [next((name for name in own if counts[name] == 1), own[-1]) for own in names]
