"""A row of a comparison: the runs of one way of training, over seeds.

The runs of a row differ in nothing but the seed (and in where and when they ran): approach,
layers, settings, the conditions of `grouping.CONDITIONS`, and whatever part of the comparable
key the experiment frees are the same in all of them.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from featbert.runs.grouping import EVALUATED
from featbert.runs.record import RunRecord
from featbert.runs.run import Run
from featbert.tasks.base import Scores


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
class SplitSummary:
    """Scores of one split over the seeds of a row, all in [0, 1]; entity scores are micro."""

    f1: Statistic
    precision: Statistic
    recall: Statistic
    strict_f1: Statistic
    word_f1: Statistic
    word_accuracy: Statistic


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
        prediction_words_per_second: all words predicted by all seconds, over the runs; a
            features run predicts from stored vectors.
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
        label: what the row is called: its layers or `fine-tuning`, and in parentheses what
            tells it from rows with the same layers.
        tuning: name of the tuning.
        layers: layer combination, None for fine-tuning.
        layer_indices: hidden states it reads, None for fine-tuning.
        model: encoder as the newest run names it.
        corpus: corpus as the newest run names it.
        context: "sentence" or "document".
        varied: what the comparison's rows differ in by declaration, by name (`model`,
            `corpus`, `context`, `scorer`), as it is shown.
        settings: settings of its runs, which all share.
        trained_on: splits that its runs learned from; such a split has no scores.
        differing: the settings and conditions in the label, by name, as they are shown.
        runs: its runs in the order of their seeds: the source of every number of the row.
        left_out: runs of a seed that a newer run of the row has.
        splits: scores by evaluated split.
        cost: what it cost.
        signature: fields of the runs' signatures in which all of them agree.
        mixed: fields of their signatures in which they do not.
        cell: freed parts of the comparable key; rows of one cell were scored on the same data
            with the same encoder.
        baseline: label of the row it is compared with, None where there is none.
        is_baseline: whether it is that row.
        difference: mean F1 less the baseline's, by split; None without baseline, and for it.
    """

    label: str
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
    splits: Mapping[str, SplitSummary]
    cost: RowCost
    signature: Mapping[str, Any]
    mixed: tuple[str, ...]
    cell: Mapping[str, str]
    baseline: str | None = None
    is_baseline: bool = False
    difference: Mapping[str, float] | None = None

    @property
    def name(self) -> str:
        """Its label, with what the comparison varies where rows of one label differ in it."""
        return " · ".join([self.label, *self.varied.values()])

    @property
    def train_share(self) -> float:
        """Part of the training sentences that its runs learned from."""
        return float(self.settings.get("train_share", 1.0))

    @property
    def seeds(self) -> tuple[int, ...]:
        """Seeds of the runs, rising."""
        return tuple(run.record.seed for run in self.runs)


def same_task(one: Row, other: Row) -> bool:
    """Whether two rows were given the same: text, encoder, and sentences to learn from.

    What learned from dev too is no baseline for what did not, nor is what learned from more.
    """
    return (one.cell, one.trained_on, one.train_share) == (
        other.cell,
        other.trained_on,
        other.train_share,
    )


def build_row(
    runs: Sequence[Run],
    *,
    label: str,
    varied: Mapping[str, str],
    differing: Mapping[str, str],
    cell: Mapping[str, str],
) -> Row:
    """The row of `runs`, which belong together; of one seed's runs the newest counts."""
    kept, left_out = _newest_by_seed(runs)
    newest = max(kept, key=_age)
    record = newest.record
    signatures = [dataclasses.asdict(run.record.signature) for run in kept]
    shared = {
        name: value
        for name, value in signatures[0].items()
        if all(other[name] == value for other in signatures)
    }
    return Row(
        label=label,
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
        splits={s: _summary(s, kept) for s in EVALUATED if s in record.scores},
        cost=_cost([run.record for run in kept], record),
        signature=shared,
        mixed=tuple(name for name in signatures[0] if name not in shared),
        cell=cell,
    )


def _age(run: Run) -> tuple[datetime, str]:
    """Sort key by which the newest run is last; a start that is no time counts as oldest."""
    try:
        started = datetime.fromisoformat(run.record.started)
    except ValueError:
        started = datetime.min
    if started.tzinfo is None:
        started = started.replace(tzinfo=UTC)
    return started, run.name


def _newest_by_seed(runs: Sequence[Run]) -> tuple[list[Run], list[Run]]:
    """One run a seed, by rising seed, and the others, newest first."""
    kept: dict[int, Run] = {}
    left_out = []
    for run in sorted(runs, key=_age, reverse=True):
        if run.record.seed in kept:
            left_out.append(run)
        else:
            kept[run.record.seed] = run
    return [kept[seed] for seed in sorted(kept)], left_out


def _summary(split: str, runs: Sequence[Run]) -> SplitSummary:
    def over(number: Callable[[Scores], float]) -> Statistic:
        return Statistic.of([number(run.record.scores[split]) for run in runs])

    return SplitSummary(
        f1=over(lambda s: s.values["f1"]),
        precision=over(lambda s: s.values["precision"]),
        recall=over(lambda s: s.values["recall"]),
        strict_f1=over(lambda s: s.values["strict_f1"]),
        word_f1=over(lambda s: s.values["word_f1"]),
        word_accuracy=over(lambda s: s.values["word_accuracy"]),
    )


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
