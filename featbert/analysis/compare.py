"""A comparison: rows of tuning x layers x settings, with means over seeds and a baseline.

A row is the runs of one way of training: they differ in nothing but the seed (and in where and when
they ran). It is called by its layers, `concat_last4`, or by its tuning, `fine-tuning`. Where rows
of one name differ in settings or conditions, the label says in which: `fine-tuning
(learning_rate=3e-05)`. What an experiment declares that it varies has columns of its own.

The baseline of a row is the fully tuned row with the best mean score on dev among the rows that
share its freed part of the comparable key and learned from as much: differences are never taken
across texts, encoders or amounts of training text without being asked for.
"""

from __future__ import annotations

import dataclasses
import json
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from featbert.encoders.layers import NAMES
from featbert.encoders.tunings import TUNINGS, get_tuning
from featbert.errors import InputError, MissingError, nearest
from featbert.runs.grouping import (
    CONDITIONS,
    EVALUATED,
    VARIED,
    check_comparable,
    comparable_key,
    freed_keys,
    group_comparable,
    same_data,
    unknown_vary,
)
from featbert.runs.record import RunRecord
from featbert.runs.run import Run
from featbert.tasks.base import Task, get_task
from featbert.text import counted, in_percent, natural

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from featbert.analysis.breakdown import Breakdown, ScorerRow
    from featbert.analysis.cost import CostRow
    from featbert.analysis.published import PublishedFigures
    from featbert.analysis.significance import Difference

# The tuning that rows are set against unless another row is named.
BASELINE = "full"
# What a body is called in a label; others are called by their name.
_BODIES = {"linear": "linear probe", "bilstm": "BiLSTM"}


@dataclass(frozen=True)
class Statistic:
    """A number over the seeds of a row.

    Attributes:
        mean: arithmetic mean.
        sd: sample standard deviation (n - 1), None for one value.
        n: number of values.
        values: in the order of the row's seeds and runs.
    """

    mean: float
    sd: float | None
    n: int
    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[float]) -> Statistic:
        """The statistic of at least one value."""
        sd = statistics.stdev(values) if len(values) > 1 else None
        return cls(statistics.fmean(values), sd, len(values), tuple(values))


@dataclass(frozen=True)
class RowCost:
    """What the runs of a row cost; None where it is no part of them.

    Attributes:
        trained_parameters: parameters that training changed, in one run.
        total_parameters: parameters needed to predict from text, the encoder's included.
        training_seconds: training and dev scoring of one run.
        extraction_seconds: of the store that the newest run read; paid once, not by seed.
        extraction_words: words in that store.
        store_bytes: size of that store on disk.
        prediction_words_per_second: all words predicted by all seconds, over the runs; a run on
            features predicts from stored states.
        text_words_per_second: the same from text to tags: for features the extraction's time
            for as many words is added.
        peak_memory_bytes: highest of the runs.
        run_bytes: weights on disk, of the newest run.
        extraction_flops, training_flops, prediction_flops: estimated from shapes, newest run.
    """

    trained_parameters: int
    total_parameters: int
    training_seconds: Statistic
    extraction_seconds: float | None
    extraction_words: int | None
    store_bytes: int | None
    prediction_words_per_second: float | None
    text_words_per_second: float | None
    peak_memory_bytes: int
    run_bytes: int
    extraction_flops: float | None
    training_flops: float
    prediction_flops: float


@dataclass(frozen=True)
class Row:
    """One row of a comparison.

    Attributes:
        label: see the head of this module.
        task: what its runs were trained for.
        tuning: name of the tuning.
        layers: layer combination that is read from a store, None without one.
        layer_indices: hidden states it reads, None without a store.
        model, corpus, context: as the newest run names them.
        varied: what the comparison's rows differ in by declaration, by name (`model`,
            `corpus`, `context`, `scorer`), as it is shown.
        settings: settings of its runs, which all share.
        trained_on: splits that its runs learned from; such a split has no scores.
        differing: the settings and conditions in the label, by name, as they are shown.
        runs: its runs in the order of their seeds: the source of every number of the row.
        left_out: runs of a seed that a newer run of the row has.
        splits: that its runs were scored on.
        cost: what it cost.
        signature: fields of the runs' signatures in which all of them agree.
        mixed: fields of their signatures in which they do not.
        cell: freed parts of the comparable key; rows of one cell were scored on the same data
            with the same encoder.
        baseline: label of the row it is compared with, None where there is none.
        is_baseline: whether it is that row.
        difference: mean score less the baseline's, by split; None without baseline, and for it.
    """

    label: str
    task: Task
    tuning: str
    layers: str | None
    layer_indices: tuple[int, ...] | None
    model: str
    corpus: str
    context: str
    varied: Mapping[str, str]
    settings: Mapping[str, Any]
    trained_on: tuple[str, ...]
    differing: Mapping[str, str]
    runs: tuple[Run, ...]
    left_out: tuple[Run, ...]
    splits: tuple[str, ...]
    cost: RowCost
    signature: Mapping[str, Any]
    mixed: tuple[str, ...]
    cell: Mapping[str, str]
    baseline: str | None = None
    is_baseline: bool = False
    difference: Mapping[str, float] | None = None

    def score(self, split: str, key: str | None = None) -> Statistic | None:
        """A value in [0, 1] over seeds, by default the task's measure; None without scores."""
        if split not in self.splits:
            return None
        key = key or self.task.measure.key
        return Statistic.of([run.record.scores[split].values[key] for run in self.runs])

    def mean(self, split: str, key: str | None = None) -> float:
        """The mean of `score`.

        Raises:
            KeyError: the row has no scores on `split`.
        """
        score = self.score(split, key)
        if score is None:
            raise KeyError(split)
        return score.mean

    @property
    def name(self) -> str:
        """Its label, with what the comparison varies where rows of one label differ in it."""
        return " · ".join([self.label, *self.varied.values()])

    @property
    def frozen(self) -> bool:
        """Whether its runs read features from a store."""
        return get_tuning(self.tuning).frozen

    @property
    def train_share(self) -> float:
        """Part of the training sentences that its runs learned from."""
        return float(self.settings.get("train_share", 1.0))

    @property
    def seeds(self) -> tuple[int, ...]:
        """Seeds of the runs, rising."""
        return tuple(run.record.seed for run in self.runs)

    def data(self, split: str) -> tuple[str | None, ...]:
        """What rows must share to be rivals on a split: its text, its tags and the scorer."""
        return tuple(self.cell.get(part) for part in same_data(split))


@dataclass(frozen=True)
class Comparison:
    """Comparable runs side by side.

    Attributes:
        rows: in the order of tunings; features by layer combination.
        task: of all runs.
        splits: that some row was scored on.
        corpus: name of the corpus; several, joined by commas, where it varies.
        model, context, scorer: likewise.
        sizes: (examples, words) by evaluated split; a split whose text varies is absent.
        key: parts of the comparable key that all rows share.
        varied: names of what rows differ in by declaration: keys of every row's `varied`.
        notes: what a reader should know, one line each: runs left out, unequal seeds.
        differences, costs, scorers, breakdowns: further analyses (`with_significance`,
            `with_costs`, `with_scorers`, `with_breakdowns`); empty unless asked for.
        published: published tables to show with it (`featbert.analysis.published`).
    """

    rows: tuple[Row, ...]
    task: Task
    splits: tuple[str, ...]
    corpus: str
    model: str
    context: str
    scorer: str
    sizes: Mapping[str, tuple[int, int]]
    key: Mapping[str, str]
    varied: tuple[str, ...]
    notes: tuple[str, ...]
    published: tuple[PublishedFigures, ...] = ()
    differences: tuple[Difference, ...] = ()
    breakdowns: tuple[Breakdown, ...] = ()
    costs: tuple[CostRow, ...] = ()
    scorers: tuple[ScorerRow, ...] = ()

    @property
    def title(self) -> str:
        """Corpus, encoder and context, and casing where it is not the text's own."""
        casing = self.key.get("casing", "original")
        parts = [self.corpus, self.model, f"context: {self.context}"]
        return " · ".join([*parts, f"casing: {casing}"] if casing != "original" else parts)

    def __repr__(self) -> str:
        runs = sum(len(row.runs) for row in self.rows)
        size = f"{counted(len(self.rows), 'row')} of {counted(runs, 'run')}"
        return f"<Comparison: {self.title} · {size}>"

    def _repr_html_(self) -> str:
        """The tables, as notebooks show them."""
        from featbert.report.tables import notebook_html

        return notebook_html([self])

    def frame(self, per: Literal["row", "run", "score"] = "row") -> pandas.DataFrame:
        """The comparison as a pandas table, see `featbert.analysis.frame`."""
        from featbert.analysis.frame import comparison_frame

        return comparison_frame(self, per=per)

    def plot(
        self, kind: str = "seeds", *, split: str | None = None, width: float | None = None
    ) -> Figure:
        """A figure of the comparison; in a notebook it shows itself.

        Args:
            kind: a name of `featbert.report.figures.registry.NAMES`, such as "seeds" or "pareto";
                where a kind has several figures, "types-length" is one of them.
            split: the first evaluated split by default.
            width: inches; by default one column of a page or both, as the figure needs.

        Raises:
            InputError: an unknown kind or split, or one that these runs have nothing for.
            MissingError: matplotlib is not installed.
        """
        from featbert.report.figures.registry import plot

        return plot(self, kind, split=split, width=width)


class Comparisons(list[Comparison]):
    """Comparisons in a list that notebooks show as tables."""

    def _repr_html_(self) -> str:
        from featbert.report.tables import notebook_html

        return notebook_html(self)


def compare(runs: Iterable[Run], *, baseline: str | None = None) -> Comparisons:
    """A comparison for each group of comparable runs.

    Args:
        runs: finished runs, such as `find_runs(directory)`.
        baseline: name of a run whose row is its group's baseline, in place of the best fully
            tuned row.

    Raises:
        MissingError: no run is called `baseline`.
    """
    runs = _once(runs)
    _check_baseline(runs, baseline)
    return Comparisons(
        _comparison(group, freed_keys(group[0].record.vary), baseline)
        for group in group_comparable(runs)
    )


def compare_runs(
    runs: Iterable[Run], *, vary: Iterable[str] = (), baseline: str | None = None
) -> Comparison:
    """One comparison of runs that were named one by one.

    Args:
        runs: at least one run.
        vary: what may differ besides what the runs' own experiments declare, as in `VARYABLE`.
        baseline: as in `compare`.

    Raises:
        InputError: no runs, or they do not fit together; names the keys that differ.
        MissingError: no run is called `baseline`.
    """
    runs = _once(runs)
    if not runs:
        raise InputError("no finished run to compare")
    _check_baseline(runs, baseline)
    return _comparison(runs, check_comparable(runs, vary=vary), baseline)


def same_task(one: Row, other: Row) -> bool:
    """Whether two rows were given the same: text, encoder, and sentences to learn from.

    What learned from dev too is no baseline for what did not, nor is what learned from more.
    """
    given = [(row.cell, row.trained_on, row.train_share) for row in (one, other)]
    return given[0] == given[1]


def best_by_dev(rows: Sequence[Row]) -> Row | None:
    """The row with the best mean score on dev, or on test where none was scored on dev."""
    for split in EVALUATED:
        scored = [row for row in rows if split in row.splits]
        if scored:
            return max(scored, key=lambda row: row.mean(split))
    return None


def baseline_of(row: Row, rows: Sequence[Row], split: str) -> Row | None:
    """The baseline of `row` among `rows`; None for a baseline and where `split` has no difference.

    Rows of other texts and encoders may have the baseline's label: the one that was scored on the
    same data with the same encoder counts, or else on the same text.
    """
    if row.difference is None or split not in row.difference:
        return None
    known = [o for o in rows if o.is_baseline and o.label == row.baseline]
    alike = [o for o in known if o.cell == row.cell]
    same_text = [o for o in known if o.data(split)[:1] == row.data(split)[:1]]
    return (alike or same_text)[0]


def best_of(rows: Sequence[Row], split: str, key: str | None = None) -> set[int]:
    """Places of the rows with the best mean among those scored on the same data.

    A row without rivals is not the best of anything.
    """
    rivals: dict[tuple[str | None, ...], dict[int, float]] = {}
    for place, row in enumerate(rows):
        if split in row.splits:
            rivals.setdefault(row.data(split), {})[place] = row.mean(split, key)
    return {
        place
        for means in rivals.values()
        for place, mean in means.items()
        if len(means) > 1 and mean == max(means.values())
    }


def build_row(
    runs: Sequence[Run],
    label: str,
    *,
    varied: Mapping[str, str] | None = None,
    differing: Mapping[str, str] | None = None,
    cell: Mapping[str, str] | None = None,
) -> Row:
    """The row of `runs`, which belong together; of one seed's runs the newest counts."""
    kept, left_out = _newest_by_seed(runs)
    record = max(kept, key=_age).record
    signatures = [dataclasses.asdict(run.record.signature) for run in kept]
    shared = {
        name: value
        for name, value in signatures[0].items()
        if all(other[name] == value for other in signatures)
    }
    return Row(
        label=label,
        task=get_task(record.task),
        tuning=record.tuning,
        layers=record.layers,
        layer_indices=None if record.layer_indices is None else tuple(record.layer_indices),
        model=record.signature.model,
        corpus=record.signature.corpus,
        context=record.signature.context,
        varied=varied or {},
        settings=record.settings,
        trained_on=tuple(record.trained_on),
        differing=differing or {},
        runs=tuple(kept),
        left_out=tuple(left_out),
        splits=tuple(s for s in EVALUATED if s in record.scores),
        cost=_cost([run.record for run in kept], record),
        signature=shared,
        mixed=tuple(name for name in signatures[0] if name not in shared),
        cell=cell or {},
    )


# Names of rows ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Naming:
    """A row's label, what it varies by declaration, and what is in the label's parentheses."""

    label: str
    varied: dict[str, str]
    differing: dict[str, str]


def row_key(run: Run, freed: frozenset[str]) -> tuple[object, ...]:
    """What two runs of one row share: everything but seed, place and time."""
    record = run.record
    return (
        record.task,
        record.tuning,
        record.layers,
        _canonical(record.settings),
        tuple(_conditions(record).items()),
        _cell(record, freed),
    )


def base_name(tuning: str, layers: str | None) -> str:
    """What a row is called by itself: its layers where it reads a store, or its tuning."""
    way = get_tuning(tuning)
    return layers if way.frozen and layers else way.title


def body_of(settings: Mapping[str, Any]) -> str:
    """The head's body, for people."""
    body = str(settings.get("body", "linear"))
    return _BODIES.get(body, body)


def with_settings(base: str, differing: Mapping[str, str]) -> str:
    """`fine-tuning (learning_rate=3e-05)`; a body is named without its key."""
    inner = [v if name == "body" else f"{name}={v}" for name, v in differing.items()]
    return f"{base} ({', '.join(inner)})" if inner else base


def name_rows(members: Sequence[Sequence[Run]], freed: frozenset[str]) -> list[Naming]:
    """Labels of the rows of one table, given the runs of each."""
    records = [runs[0].record for runs in members]
    varied = _varied([runs[0] for runs in members], freed)
    namings = []
    for record, row_varied in zip(records, varied, strict=True):
        # Settings may depend on what varies, so they are named across it; conditions such as the
        # training text follow from what varies, and are named only where it is the same.
        namesakes = [r for r in records if (r.tuning, r.layers) == (record.tuning, record.layers)]
        same_cell = [r for r in namesakes if _cell(r, freed) == _cell(record, freed)]
        differing = _with_body(
            {
                name: _setting(record.settings, name)
                for name in differing_names([r.settings for r in namesakes])
                if name not in row_varied
            },
            record,
            namesakes,
        )
        for name in differing_names([_conditions(r) for r in same_cell]):
            differing.setdefault(name, _condition(record, name, same_cell))
        label = with_settings(base_name(record.tuning, record.layers), differing)
        namings.append(Naming(label, row_varied, differing))
    return namings


def differing_names(tables: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names whose values are not the same in all tables, in order of first appearance."""
    names = dict.fromkeys(name for table in tables for name in table)
    return [
        name
        for name in names
        if len({_canonical(table[name]) if name in table else None for table in tables}) > 1
    ]


def _with_body(
    differing: dict[str, str], record: RunRecord, namesakes: Sequence[RunRecord]
) -> dict[str, str]:
    """Where namesakes differ in the body: its name instead of the settings that only it has."""
    if "body" not in differing:
        return differing
    body = record.settings.get("body")
    alike = differing_names([r.settings for r in namesakes if r.settings.get("body") == body])
    own = {n for n in differing if any(n not in r.settings for r in namesakes)} - {*alike}
    rest = {n: value for n, value in differing.items() if n != "body" and n not in own}
    return {"body": body_of(record.settings), **rest}


def _cell(record: RunRecord, freed: frozenset[str]) -> tuple[tuple[str, str], ...]:
    """The freed part of a record's comparable key."""
    return tuple((part, value) for part, value in comparable_key(record).items() if part in freed)


def _varied(runs: Sequence[Run], freed: frozenset[str]) -> list[dict[str, str]]:
    """For each row's first run: what varies in the table, by column, as it is shown.

    A fingerprint follows the name only where one name has several values.
    """
    columns: list[dict[str, str]] = [{} for _ in runs]
    for column, parts in VARIED.items():
        values = [
            tuple(v for p, v in comparable_key(run.record).items() if p in parts and p in freed)
            for run in runs
        ]
        if len(set(values)) < 2:
            continue
        names = [str(getattr(run.record.signature, column)) for run in runs]
        for row, name, value in zip(columns, names, values, strict=True):
            clash = len({v for n, v in zip(names, values, strict=True) if n == name}) > 1
            row[column] = f"{name} {'/'.join(v[:8] for v in value)}" if clash else name
    return columns


def _conditions(record: RunRecord) -> dict[str, str]:
    """Signature fields outside the comparable key in which the runs of a row agree."""
    signature = record.signature
    train = signature.splits.get("train")
    values = {name: getattr(signature, name, None) or "none" for name in CONDITIONS}
    values["train"] = f"{train.text} {train.tags}" if train else "none"
    return values


def _condition(record: RunRecord, name: str, among: Sequence[RunRecord]) -> str:
    """A condition's value as shown; the training text by its size where that is distinct."""
    value = _conditions(record)[name]
    train = record.signature.splits.get("train")
    if name != "train" or train is None:
        return value
    size = f"{train.sentences} sentences"
    others = {_conditions(r)["train"] for r in among if _train_size(r) == train.sentences}
    text, _, tags = value.partition(" ")
    return size if len(others) == 1 else f"{size} {text[:8]}/{tags[:8]}"


def _train_size(record: RunRecord) -> int | None:
    train = record.signature.splits.get("train")
    return train.sentences if train else None


def _setting(settings: Mapping[str, Any], name: str) -> str:
    if name not in settings:
        return "unset"
    value = settings[name]
    if value is None:
        return "none"
    if isinstance(value, float):
        value = float(f"{value:.10g}")  # 0.00012, not 0.00012000000000000002
    return value if isinstance(value, str) else _canonical(value)


def _canonical(value: Any) -> str:
    """JSON in which key order, and 1 against 1.0, make no difference."""
    return json.dumps(_plain(value), sort_keys=True, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value


# Order of rows ------------------------------------------------------------------------------------


def way_order(tuning: str, layers: str | None, indices: Sequence[int] | None = None) -> Any:
    """Sort key: tunings as they are registered, known combinations before others.

    Args:
        indices: of the layers, where single layers come first, by their number.
    """
    name = layers or ""
    single = indices is not None and len(indices) == 1
    known = NAMES.index(name) if name in NAMES else len(NAMES)
    order = indices[0] if indices and single else known
    return [*TUNINGS].index(tuning), not single, order, natural(name)


def by_value(text: str) -> tuple[float, list[tuple[int, str]]]:
    """Sort key of a setting as it is shown: numbers by what they are, before all else."""
    try:
        number = float(text)
    except ValueError:
        number = math.inf
    return (math.inf if math.isnan(number) else number, natural(text))


def _place(row: Row, by_layer: bool) -> tuple[object, ...]:
    """Sort key of a row; single layers come first where some are read by number."""
    way = way_order(row.tuning, row.layers, row.layer_indices if by_layer else None)
    varied = [natural(value) for value in row.varied.values()]
    settings = [by_value(value) for value in row.differing.values()]
    # Nothing frozen comes before what is.
    some = "none" not in row.differing.values()
    return (*way, varied, some, row.train_share, settings, natural(row.label))


# Building -----------------------------------------------------------------------------------------


def _comparison(runs: Sequence[Run], freed: frozenset[str], baseline: str | None) -> Comparison:
    groups: dict[tuple[object, ...], list[Run]] = {}
    for run in runs:
        groups.setdefault(row_key(run, freed), []).append(run)
    members = list(groups.values())
    rows = [
        build_row(
            group,
            naming.label,
            varied=naming.varied,
            differing=naming.differing,
            cell=dict(_cell(group[0].record, freed)),
        )
        for group, naming in zip(members, name_rows(members, freed), strict=True)
    ]
    by_layer = any((row.layers or "").startswith("layer:") for row in rows)
    rows = _with_differences(sorted(rows, key=lambda row: _place(row, by_layer)), baseline)
    scores = {s: run.record.scores[s] for run in runs for s in run.record.scores}
    splits = tuple(split for split in EVALUATED if split in scores)
    signatures = [run.record.signature for run in runs]
    shared_texts = [split for split in splits if _agree(runs, same_data(split)[0])]
    key = comparable_key(runs[0].record)
    return Comparison(
        rows=tuple(rows),
        task=rows[0].task,
        splits=splits,
        corpus=_names(s.corpus for s in signatures),
        model=_names(s.model for s in signatures),
        context=_names(s.context for s in signatures),
        scorer=_names(s.scorer for s in signatures),
        sizes={s: (scores[s].examples, scores[s].words) for s in shared_texts},
        key={part: value for part, value in key.items() if _agree(runs, part)},
        varied=tuple(rows[0].varied),
        notes=tuple(_notes(rows, runs)),
    )


def _once(runs: Iterable[Run]) -> list[Run]:
    """Each folder once, by name."""
    by_folder = {run.folder.absolute(): run for run in runs}
    return sorted(by_folder.values(), key=lambda run: natural(run.name))


def _check_baseline(runs: Sequence[Run], baseline: str | None) -> None:
    names = [run.name for run in runs]
    if baseline is not None and baseline not in names:
        raise MissingError(
            f"the baseline {baseline!r} is not among the compared runs{nearest(baseline, names)}"
        )


def _age(run: Run) -> tuple[datetime, str]:
    """Sort key by which the newest run is last; a start that is no time counts as oldest."""
    try:
        started = datetime.fromisoformat(run.record.started)
    except ValueError:
        started = datetime.min
    return started if started.tzinfo else started.replace(tzinfo=UTC), run.name


def _newest_by_seed(runs: Sequence[Run]) -> tuple[list[Run], list[Run]]:
    """One run a seed, by rising seed, and the others, newest first."""
    kept: dict[int, Run] = {}
    left_out = []
    for run in sorted(runs, key=_age, reverse=True):
        if kept.setdefault(run.record.seed, run) is not run:
            left_out.append(run)
    return [kept[seed] for seed in sorted(kept)], left_out


def _cost(records: Sequence[RunRecord], newest: RunRecord) -> RowCost:
    costs = [record.cost for record in records]
    seconds = sum(cost.prediction_seconds for cost in costs)
    words = sum(cost.prediction_words for cost in costs)
    from_text = seconds + sum(
        cost.extraction_seconds * cost.prediction_words / cost.extraction_words
        for cost in costs
        if cost.extraction_seconds and cost.extraction_words
    )
    return RowCost(
        trained_parameters=newest.cost.trained_parameters,
        total_parameters=newest.cost.total_parameters,
        training_seconds=Statistic.of([cost.training_seconds for cost in costs]),
        extraction_seconds=newest.cost.extraction_seconds,
        extraction_words=newest.cost.extraction_words,
        store_bytes=newest.cost.store_bytes,
        prediction_words_per_second=words / seconds if seconds > 0 else None,
        text_words_per_second=words / from_text if from_text > 0 else None,
        peak_memory_bytes=max(cost.peak_memory_bytes for cost in costs),
        run_bytes=newest.cost.run_bytes,
        extraction_flops=newest.cost.extraction_flops,
        training_flops=newest.cost.training_flops,
        prediction_flops=newest.cost.prediction_flops,
    )


def _agree(runs: Sequence[Run], part: str) -> bool:
    return len({comparable_key(run.record).get(part) for run in runs}) == 1


def _names(names: Iterable[str]) -> str:
    """Each name once, the most frequent first."""
    return ", ".join(name for name, _ in Counter(names).most_common())


def _with_differences(rows: Sequence[Row], baseline: str | None) -> list[Row]:
    """The rows, each with its baseline and the differences to it."""
    named = next((r for r in rows if any(run.name == baseline for run in r.runs)), None)
    return [_with_difference(row, rows, named) for row in rows]


def _with_difference(row: Row, rows: Sequence[Row], named: Row | None) -> Row:
    base = best_by_dev([o for o in rows if o.tuning == BASELINE and same_task(o, row)])
    # Encoder and context may differ from those of a named baseline; texts and scorer may not.
    if named is not None and all(named.data(s) == row.data(s) for s in EVALUATED):
        base = named
    if base is None:
        return row
    if base is row:
        return dataclasses.replace(row, baseline=row.label, is_baseline=True)
    difference = {s: row.mean(s) - base.mean(s) for s in row.splits if s in base.splits}
    return dataclasses.replace(row, baseline=base.label, difference=difference)


def _notes(rows: Sequence[Row], runs: Sequence[Run]) -> Iterable[str]:
    from featbert.analysis.curves import lead_line, leads, learning_points

    for row in rows:
        if row.left_out:
            names = ", ".join(run.name for run in row.left_out)
            yield f"{row.label}: of runs with one seed and settings the newest counts, not {names}"
    shares = {row.train_share for row in rows}
    if len(shares) == 1 and shares != {1.0}:
        yield f"all rows learned from {in_percent(shares.pop())} of the training sentences"
    if len({row.seeds for row in rows}) > 1:
        yield "the rows do not share the same seeds"
    places = Counter(
        f"{run.record.signature.device_name}, threads: {run.record.signature.threads}"
        for run in runs
    )
    if len(places) > 1:
        yield f"run on different hardware ({'; '.join(places)}): scores compare, times do not"
    unknown = dict.fromkeys(
        name for run in runs for name in unknown_vary(run.record.vary, run.record.settings)
    )
    if unknown:
        yield f"declared as varied but unknown, so it frees nothing: {', '.join(unknown)}"
    yield from map(lead_line, leads(learning_points(rows)))
