"""Rows of a comparison: runs that differ in nothing but the seed, their label and their numbers."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from featbert.config import defaults
from featbert.encoders.layers import NAMES
from featbert.encoders.tunings import TUNINGS, get_tuning
from featbert.errors import FeatbertError
from featbert.inference.speed import read_speed
from featbert.io import json_hash
from featbert.models.registry import BODIES, OUTPUTS
from featbert.runs.grouping import CONDITIONS, EVALUATED, VARIED, comparable_key
from featbert.runs.record import RunRecord
from featbert.runs.run import Run, find_run
from featbert.tasks.base import Task, get_task
from featbert.text import in_percent, natural

if TYPE_CHECKING:
    from featbert.runs.planned import PlannedRun

# The tuning that rows are set against unless another row is named.
BASELINE = "full"

Item = TypeVar("Item")
Key = TypeVar("Key")


def grouped(pairs: Iterable[tuple[Key, Item]]) -> dict[Key, list[Item]]:
    """Items of (key, item) by their key, both in order of first appearance."""
    groups: dict[Key, list[Item]] = {}
    for key, item in pairs:
        groups.setdefault(key, []).append(item)
    return groups


def shared(tables: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What all tables have with the same value."""
    first, *others = tables
    return {n: v for n, v in first.items() if all(o.get(n, None) == v for o in others)}


@dataclass(frozen=True)
class Statistic:
    """A number over a row's runs, in their order; `sd` is the sample standard deviation (n - 1)."""

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
    """What the runs of a row cost: `Cost` of the newest one, except for these.

    Attributes:
        extraction_seconds, extraction_words, extraction_flops: of the words of the store that a run
            read: the part of train that it learned from, dev and test.
        prediction_words_per_second: over all runs; from stored states for a run on features.
        text_words_per_second: from text; for features with extraction of as many words.
        peak_memory_bytes: highest of the runs.
        one_by_one_seconds, batched_seconds: to label 1,000 sentences from words, by `featbert
            speed`; mean of the runs that were timed, None without.
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
    one_by_one_seconds: float | None = None
    batched_seconds: float | None = None


@dataclass(frozen=True)
class Row:
    """One row of a comparison.

    Attributes:
        varied: what rows differ in by declaration, by name (`model`, `corpus`), as it is shown.
        differing: the settings and conditions in the label, by name, as they are shown.
        runs: in the order of their seeds.
        left_out: runs of a seed that a newer run of the row has.
        cell: freed parts of the comparable key: data and encoder.
        baseline: the row it is compared with; a baseline is compared with itself.
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
    cell: Mapping[str, str]
    baseline: Row | None = dataclasses.field(default=None, repr=False)
    is_baseline: bool = False
    difference: Mapping[str, float] | None = None

    def score(self, split: str, key: str | None = None) -> Statistic | None:
        """A value in [0, 1] over seeds, by default the task's measure.

        None without scores, and for one that the row's classes do not have (F1 of three classes).
        """
        values = [run.record.score(split, key or self.task.measure.key) for run in self.runs]
        known = [value for value in values if value is not None]
        return Statistic.of(known) if len(known) == len(values) else None

    def mean(self, split: str, key: str | None = None) -> float:
        """The mean of `score`; the row must have scores on `split`."""
        score = self.score(split, key)
        assert score is not None
        return score.mean

    @property
    def name(self) -> str:
        """Its label, with what the comparison varies where rows of one label differ in it."""
        return " · ".join([self.label, *self.varied.values()])

    @property
    def frozen(self) -> bool:
        return get_tuning(self.tuning).frozen

    @property
    def train_share(self) -> float:
        """Part of the training sentences that its runs learned from."""
        return float(self.settings.get("train_share", 1.0))

    @property
    def learned_from(self) -> tuple[float, list[tuple[int, str]]]:
        """Its share of a training text, and that text, its sentences first: more is higher."""
        return self.train_share, natural(self.conditions["train"])

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(run.record.seed for run in self.runs)

    @property
    def conditions(self) -> dict[str, str]:
        """What its runs were given besides settings, by `CONDITIONS`; and their training text."""
        return _conditions(self.runs[0].record)

    @property
    def reading(self) -> str:
        """What it shares with rows that differ from it in their layers alone."""
        # Only a learned mix has a rate of its own.
        settings = {n: value for n, value in self.settings.items() if n != "mix_learning_rate"}
        return _canonical([dict(self.cell), settings, self.conditions])

    def learned(self, split: str) -> bool:
        """Whether some run's score on a split is above what needs no skill."""
        return any(run.record.scores[split].exceeds_floor for run in self.runs)

    def rival(self, split: str) -> Row | None:
        """Its baseline; None for a baseline and where `split` has no difference."""
        return self.baseline if split in (self.difference or {}) else None

    def data(self, split: str) -> tuple[str | None, ...]:
        """What rows must share to be rivals on a split: its text, its tags and the scorer."""
        return tuple(self.cell.get(part) for part in (f"{split}.text", f"{split}.tags", "scorer"))


def learned(run: Run) -> bool:
    """Whether a run's score on dev, if it has one, is above what needs no skill."""
    scores = run.record.scores.get(EVALUATED[0])
    return scores is None or scores.exceeds_floor


def why_unlearned(run: Run) -> str:
    """What is said of a run that is not `learned`, with its likely cause; empty for others."""
    if learned(run):
        return ""
    scores = run.record.scores[EVALUATED[0]]
    if run.task.has_scheme and not any(values.get("gold") for values in scores.by_class.values()):
        return "dev has no entity, so F1 on it says nothing and chose no epoch; add some to dev"
    if scores.floor == 1:
        return "dev has one answer alone, so guessing is always right; add others to dev"
    return (
        "not clearly better than guessing on dev; check the labels, or try a higher learning rate "
        "or more epochs"
    )


def side_by_side(runs: Iterable[Run]) -> bool:
    """Whether a run began while another one was trained, on what may be one machine."""
    took = [(datetime.fromisoformat(r.started[:19]), r.history) for r in (r.record for r in runs)]
    second = timedelta(seconds=1)  # which beginnings are cut to
    began = sorted((start, -sum(epoch.seconds for epoch in history)) for start, history in took)
    return any(b + second < a - second * less for (a, less), (b, _) in itertools.pairwise(began))


def same_task(one: Row, other: Row) -> bool:
    """Whether two rows were given the same: text, encoder, and sentences to learn from."""
    first, second = ((row.cell, row.trained_on, row.learned_from) for row in (one, other))
    return first == second


def best_by_dev(rows: Sequence[Row]) -> Row | None:
    """The row with the best mean score on dev, or on test where none was scored on dev."""
    for split in EVALUATED:
        scored = [row for row in rows if split in row.splits]
        if scored:
            return max(scored, key=lambda row: row.mean(split))
    return None


def rivals(rows: Iterable[Row]) -> list[list[Row]]:
    """Rows that learned from as much, the most there is, by text, encoder and context."""
    cells = grouped((tuple(row.cell.items()), row) for row in rows).values()
    most = [(cell, max(row.learned_from for row in cell)) for cell in cells]
    return [[row for row in cell if row.learned_from == text] for cell, text in most]


def left_out(rows: Iterable[Row]) -> Iterator[str]:
    """A note for each row that has runs of a seed twice."""
    for row in rows:
        if row.left_out:
            names = ", ".join(run.name for run in row.left_out)
            yield f"{row.label}: of runs with one seed and settings the newest counts, not {names}"


def best_of(rows: Sequence[Row], split: str, key: str | None = None) -> set[int]:
    """Places of the rows with the best mean among two or more that were scored on the same data."""
    scores = {i: row.score(split, key) for i, row in enumerate(rows)}
    means = {i: score.mean for i, score in scores.items() if score is not None}
    best = set()
    for rivals in grouped((rows[i].data(split), i) for i in means).values():
        highest = max(means[i] for i in rivals)
        best |= {i for i in rivals if len(rivals) > 1 and means[i] == highest}
    return best


def build_row(
    runs: Sequence[Run],
    label: str,
    varied: Mapping[str, str],
    differing: Mapping[str, str],
    cell: Mapping[str, str],
) -> Row:
    """The row of `runs`, which belong together; of one seed's runs the newest counts."""
    ordered = sorted(runs, key=lambda run: (run.record.started, run.name))
    newest = {run.record.seed: run for run in ordered}
    kept = [newest[seed] for seed in sorted(newest)]
    left_out = [run for run in reversed(ordered) if newest[run.record.seed] is not run]
    record = ordered[-1].record
    return Row(
        label=label,
        task=get_task(record.task),
        tuning=record.tuning,
        layers=record.layers,
        layer_indices=None if record.layer_indices is None else tuple(record.layer_indices),
        model=record.signature.model,
        corpus=record.signature.corpus,
        context=record.signature.context,
        varied=varied,
        settings=record.settings,
        trained_on=tuple(record.trained_on),
        differing=differing,
        runs=tuple(kept),
        left_out=tuple(left_out),
        splits=tuple(s for s in EVALUATED if s in record.scores),
        cost=_cost(kept, record),
        cell=cell,
    )


def row_key(run: Run, freed: frozenset[str]) -> tuple[object, ...]:
    """What two runs of one row share: everything but seed, place and time."""
    record = run.record
    return (
        record.task,
        record.tuning,
        record.layers,
        _canonical(record.settings | _head_of(run)),
        tuple(_conditions(record).items()),
        cell_of(record, freed),
    )


def _head_of(run: Run) -> dict[str, Any]:
    """For `head_from` the settings of the run that it names, which is another one for each seed."""
    if (name := run.record.settings.get("head_from")) is None:
        return {}
    try:
        return {"head_from": find_run(name, run.folder.parent).record.settings}
    except FeatbertError:  # it was removed
        return {}


def base_name(tuning: str, layers: str | None) -> str:
    """What a row is called by itself: its layers where it reads a store, or its tuning."""
    way = get_tuning(tuning)
    return layers if way.frozen and layers else way.title


# Parts of the head, which labels name without their key; and what a record without one had.
PARTS = {"body": (BODIES, "linear"), "output": (OUTPUTS, "softmax")}
# Settings whose values say enough without their key.
BARE = (*PARTS, "sentence_pooling")
# Settings that labels name where any two rows of a table differ in them.
OF_HEADS = (*BARE, "lstm_size", "lstm_layers", "longest_answer")
# How words become vectors, by parts of the signature; and what labels may name besides.
_READING_FIELDS = ("context", "casing", "pooling", "packing", "store_dtype")
_PRECISIONS = ("encoder_precision", "training_precision")
_LABEL_FIELDS = (*_READING_FIELDS, *_PRECISIONS, "tag_scheme")
# How dev and test were drawn from train.
_PARTS_OF_TRAIN: tuple[str, ...] = ("dev_share", "folds", "fold")
# Settings of which a run has one.
_INSTEAD = {"head_epochs", "head_from"}
# Settings that a line of signature names, by what it calls them; it has a hash of all.
QUOTED = {"epochs": "epochs", "batch": "batch_size", "lr": "learning_rate"}


def part_of(settings: Mapping[str, Any], name: str) -> str:
    """The head's body or output, for people."""
    registry, without = PARTS[name]
    part = str(settings.get(name, without))
    return registry[part].title if part in registry else part


def with_settings(base: str, differing: Mapping[str, str]) -> str:
    """`fine-tuning (learning_rate=3e-05)`; parts are named without their key."""
    return f"{base} ({listed(differing)})" if differing else base


def listed(settings: Mapping[str, str]) -> str:
    """`CRF, learning_rate=3e-05`"""
    return ", ".join(v if name in BARE else f"{name}={v}" for name, v in settings.items())


def run_title(
    tuning: str, layers: str | None, settings: Mapping[str, Any], task: str = "entities"
) -> str:
    """A run without its seed, and what is unusual in it: `last (CRF), 25% of train`."""
    usual = defaults(tuning, task).model_dump() if settings else {}
    head = [n for n in BARE if n in settings and settings[n] != usual[n]]
    parts = {name: setting_text(settings, name) for name in head}
    name, share = with_settings(base_name(tuning, layers), parts), settings.get("train_share", 1)
    return name if share == 1 else f"{name}, {in_percent(share)} of train"


def signature_line(runs: Sequence[Run]) -> str:
    """The runs of one row in a line that a paper can quote, as sacreBLEU's of a score."""
    r, s = runs[0].record, runs[0].record.signature
    texts = [(name, one.text, one.tags) for name, one in s.splits.items()]
    parts: dict[str, Any] = {
        "task": r.task,
        "corpus": f"{s.corpus} {json_hash(texts)[:8]}",
        "encoder": f"{s.model} {s.encoder_weights[:8]}",
        **{name: value for name in _READING_FIELDS if (value := getattr(s, name)) is not None},
        "row": run_title(r.tuning, r.layers, r.settings, r.task),
        **{key: r.settings[name] for key, name in QUOTED.items() if name in r.settings},
        "settings": json_hash(r.settings)[:8],
        "trained": "+".join(r.trained_on),
        **{name: r.reading[name] for name in _PARTS_OF_TRAIN if name in r.reading},
        "seeds": ",".join(str(run.record.seed) for run in runs),
        "precision": f"{s.encoder_precision}/{s.training_precision}",
        "scorer": s.scorer,
        **{name: s.versions.get(name) for name in ("featbert", "torch")},
    }
    return "|".join(f"{name}:{value}" for name, value in parts.items())


@dataclass(frozen=True)
class Way:
    """What a label may name of runs that differ only in their seed.

    Attributes:
        table: the same for all that are shown together.
        cell: what conditions may follow from, such as the encoder; they are named within one.
        settings: as in a record.
        conditions: parts of the signature, by name.
        searched: whether a search chose settings for these layers.
    """

    table: Any
    tuning: str
    layers: str | None
    settings: Mapping[str, Any]
    conditions: Mapping[str, Any]
    cell: Any = None
    searched: bool = False

    @property
    def body(self) -> str:
        return str(self.settings.get("body", PARTS["body"][1]))

    @property
    def values(self) -> dict[str, Any]:
        """Settings and conditions as they are compared; only frozen rows have a store."""
        parts = {name: without for name, (_, without) in PARTS.items()}
        values = {**parts, **self.conditions, **self.settings}
        if (precision := values.get("encoder_precision")) is not None:
            values["encoder_precision"] = precision.removesuffix("-autocast")
        if not get_tuning(self.tuning).frozen:
            values.pop("store_dtype", None)
        return values

    def scopes(self, name: str) -> list[tuple[Any, ...]]:
        """Of each, all ways are compared in a setting or condition."""
        frozen = get_tuning(self.tuning).frozen
        if name in self.conditions:
            of_side = frozen if name == "training_precision" else None
            return [(name, self.table, self.cell, of_side)]
        if name in OF_HEADS:
            return [(name, self.table)]
        # What follows from the tuning or the body, such as learning rates, is named within these.
        namesakes = (name, self.table, self.tuning, self.body, self.layers)
        return [namesakes] if self.searched else [namesakes, namesakes[:-1]]


def named_differences(ways: Sequence[Way]) -> list[dict[str, str]]:
    """For each way the settings and conditions that its label names, as labels show them."""
    values = [way.values for way in ways]
    namesakes = grouped(((w.table, w.tuning, w.body, w.layers), {*w.settings}) for w in ways)
    seen: dict[tuple[Any, ...], set[str | None]] = {}
    candidates = list[list[str]]()
    for way, valued in zip(ways, values, strict=True):
        # What a namesake has and this way lacks is unset; a head lacks what its body does not have.
        others = set().union(*namesakes[way.table, way.tuning, way.body, way.layers])
        names = dict.fromkeys([*OF_HEADS, *valued, *sorted(others - {*OF_HEADS})])
        candidates.append([n for n in names if n in valued or n in others - {*OF_HEADS}])
        for name in candidates[-1]:
            scopes = way.scopes(name)
            for scope in scopes if name in valued else scopes[:1]:
                value = _canonical(valued[name]) if name in valued else None
                seen.setdefault(scope, set()).add(value)
    # `--precision` is of both: it is named once unless a store had another.
    one_precision = all(len({v.get(name) for name in _PRECISIONS}) == 1 for v in values)
    differences = []
    for way, valued, named in zip(ways, values, candidates, strict=True):
        shown = [n for n in named if any(len(seen.get(s, ())) > 1 for s in way.scopes(n))]
        if {*shown} >= _INSTEAD:
            shown = [n for n in shown if n not in _INSTEAD - valued.keys()]
        texts = {n: way.conditions.get(n) or setting_text(valued, n) for n in shown}
        if {*shown} >= {*_PRECISIONS} and one_precision:
            texts = {n: v for n, v in texts.items() if n not in _PRECISIONS}
            texts["precision"] = valued[_PRECISIONS[0]]
        differences.append(texts)
    return differences


def build_rows(members: Sequence[Sequence[Run]], freed: frozenset[str]) -> list[Row]:
    """The rows of one table, given the runs of each."""
    records = [runs[0].record for runs in members]
    varied = _varied([runs[0] for runs in members], freed)
    cells = [cell_of(record, freed) for record in records]
    ways = [
        Way(None, r.tuning, r.layers, r.settings, _conditions(r), cell, r.configurations_tried > 1)
        for r, cell in zip(records, cells, strict=True)
    ]
    texts = {way.conditions["train"] for way in ways}
    rows = []
    for runs, way, columns, named in zip(
        members, ways, varied, named_differences(ways), strict=True
    ):
        differing = {name: value for name, value in named.items() if name not in columns}
        if "train" in differing:
            differing["train"] = _training_text(differing["train"], texts)
        label = with_settings(base_name(way.tuning, way.layers), differing)
        rows.append(build_row(runs, label, columns, differing, dict(way.cell)))
    return rows


def way_labels(ways: Sequence[Way]) -> list[str]:
    """Names of ways, with the settings and conditions in which those of a table differ."""
    named = zip(ways, named_differences(ways), strict=True)
    return [with_settings(base_name(way.tuning, way.layers), shown) for way, shown in named]


def label_conditions(signature: Mapping[str, Any]) -> dict[str, Any]:
    """Parts of a signature that labels of runs may name, as far as it has them."""
    return {name: signature[name] for name in _LABEL_FIELDS if name in signature}


def run_labels(runs: Iterable[RunRecord | PlannedRun]) -> dict[str, str]:
    """What runs are called among each other, without their seeds, by name.

    Task, corpus and encoder where these differ, the layers or the tuning, and in brackets the
    settings and conditions in which runs that share all of these differ.
    """
    runs = [*runs]
    places = [(run.task, run.signature.corpus, run.signature.model) for run in runs]
    ways = [
        Way(place, r.tuning, r.layers, r.settings, label_conditions(vars(r.signature)))
        for r, place in zip(runs, places, strict=True)
    ]
    apart = [i for i in range(3) if len({place[i] for place in places}) > 1]
    named = zip(runs, places, way_labels(ways), strict=True)
    return {run.name: ", ".join([*(place[i] for i in apart), label]) for run, place, label in named}


def cell_of(record: RunRecord, freed: frozenset[str]) -> tuple[tuple[str, str], ...]:
    """The freed part of a record's comparable key."""
    return tuple((part, value) for part, value in comparable_key(record).items() if part in freed)


def _varied(runs: Sequence[Run], freed: frozenset[str]) -> list[dict[str, str]]:
    """For each row's first run what varies, by column; fingerprints where names are the same."""
    columns: list[dict[str, str]] = [{} for _ in runs]
    cells = [cell_of(run.record, freed) for run in runs]
    for column, parts in VARIED.items():
        values = [tuple(value for part, value in cell if part in parts) for cell in cells]
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
    values["train"] = f"{train.sentences} sentences {train.text}/{train.tags}" if train else "none"
    return values


def _training_text(value: str, among: Iterable[str]) -> str:
    """A training text by its size; with fingerprints where another one has the same size."""
    size, _, fingerprints = value.rpartition(" ")
    if sum(other.rpartition(" ")[0] == size for other in among) == 1:
        return size or value
    return f"{size} {'/'.join(one[:8] for one in fingerprints.split('/'))}"


def setting_text(settings: Mapping[str, Any], name: str) -> str:
    """A setting as labels show it."""
    if name in PARTS:
        return part_of(settings, name)
    if name not in settings:
        return "unset"
    value = settings[name]
    if value is None:
        return "none"
    if isinstance(value, float):
        return f"{value:.10g}"  # 1, not 1.0; 0.00012, not 0.00012000000000000002
    return value if isinstance(value, str) else _canonical(value)


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def way_order(tuning: str, layers: str | None, indices: Sequence[int] | None = None) -> Any:
    """Sort key: tunings as registered, then combinations; with `indices` single layers first."""
    name = layers or ""
    single = len(indices or ()) == 1
    order = indices[0] if indices and single else [*NAMES, name].index(name)
    way, _, number = tuning.partition(":")
    place = [*TUNINGS].index(way), int(number or 0)
    return place, not single, order, natural(name)


def by_value(text: str) -> tuple[float, list[tuple[int, str]]]:
    """Sort key of a setting as it is shown: numbers by what they are, before all else."""
    try:
        number = float(text)
    except ValueError:
        number = math.inf
    return (math.inf if math.isnan(number) else number, natural(text))


def row_order(row: Row, by_layer: bool) -> tuple[object, ...]:
    """Sort key of a row; single layers come first where some are read by number."""
    way = way_order(row.tuning, row.layers, row.layer_indices if by_layer else None)
    varied = [natural(value) for value in row.varied.values()]
    settings = [by_value(value) for value in row.differing.values()]
    # Nothing frozen comes before what is.
    some = "none" not in row.differing.values()
    return (*way, varied, some, row.train_share, settings, natural(row.label))


def _cost(runs: Sequence[Run], newest: RunRecord) -> RowCost:
    costs = [run.record.cost for run in runs]
    speeds = [speed for speed in map(read_speed, runs) if speed is not None]
    seconds = sum(cost.prediction_seconds for cost in costs)
    words = sum(cost.prediction_words for cost in costs)
    from_text = seconds + sum(
        cost.extraction_seconds * cost.prediction_words / _words(run.record)
        for run in runs
        if (cost := run.record.cost).extraction_seconds
    )
    of_newest = dataclasses.asdict(newest.cost)
    whole: dict[str, Any] = {f.name: of_newest.get(f.name) for f in dataclasses.fields(RowCost)}
    whole |= {
        "training_seconds": Statistic.of([cost.training_seconds for cost in costs]),
        "prediction_words_per_second": words / seconds if seconds > 0 else None,
        "text_words_per_second": words / from_text if from_text > 0 else None,
        "peak_memory_bytes": max(cost.peak_memory_bytes for cost in costs),
    }
    read = statistics.fmean(_read(run.record) for run in runs)
    for name in ("extraction_seconds", "extraction_words", "extraction_flops"):
        whole[name] = whole[name] and read * whole[name]
    whole["extraction_words"] = whole["extraction_words"] and round(whole["extraction_words"])
    if speeds:
        for name in ("one_by_one_seconds", "batched_seconds"):
            whole[name] = statistics.fmean(getattr(speed, name) for speed in speeds)
    return RowCost(**whole)


def _read(record: RunRecord) -> float:
    """Part of the words in its store that a run read; 1 without a store."""
    splits, stored = record.signature.splits, record.cost.extraction_words
    learned = sum(splits[name].words for name in record.trained_on if name in splits)
    return 1 - (learned - record.train_words) / _words(record) if stored else 1.0


def _words(record: RunRecord) -> int:
    """Words of all splits. A store has fewer where texts of pairs that are apart are there once."""
    return sum(split.words for split in record.signature.splits.values())
