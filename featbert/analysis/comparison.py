"""Comparisons as values: everything that can be shown of a group of runs, computed once.

Tables, figures, pages and notebooks draw these objects. They read no run and no file.
Numbers are unrounded, scores in [0, 1]. Rows refer to each other by name (`Row.name`).
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from featbert.analysis.interval import LEVEL, Estimate
from featbert.config import Analyses, unchecked
from featbert.data.corpus import EVALUATED
from featbert.encoders.tunings import get_tuning
from featbert.errors import check_known
from featbert.experiments.published import PublishedTable
from featbert.tasks.base import Task, get_task
from featbert.tasks.forecasts import Reliability
from featbert.text import counted, in_percent

if TYPE_CHECKING:
    import pandas

# The tuning of baselines, unless another row is named.
BASELINE = "full"
# Operations and bytes within this factor are alike.
AS_CHEAP = 1.05

# Topics of findings that are the answer, in order.
ANSWER = ("Answer", "Cheapest", "Not settled", "Check first")

Item = TypeVar("Item")
Key = TypeVar("Key")


def grouped(pairs: Iterable[tuple[Key, Item]]) -> dict[Key, list[Item]]:
    """Items of (key, item) by their key, both in order of first appearance."""
    groups: dict[Key, list[Item]] = {}
    for key, item in pairs:
        groups.setdefault(key, []).append(item)
    return groups


def shared(tables: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The entries that all tables have with the same value."""
    first, *rest_of_tables = tables
    return {n: v for n, v in first.items() if all(o.get(n, None) == v for o in rest_of_tables)}


@dataclass(frozen=True)
class Statistic:
    """A number over a row's runs, in their order. `sd` is the sample standard deviation (n - 1)."""

    mean: float
    sd: float | None
    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[float]) -> Statistic:
        """The statistic of at least one value."""
        sd = statistics.stdev(values) if len(values) > 1 else None
        return cls(statistics.fmean(values), sd, tuple(map(float, values)))

    @property
    def n(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class RowCost:
    """Costs of a row: fields of the newest run's `Cost`, except the following.

    Attributes:
        extraction_seconds, extraction_words, extraction_flops: of its part of train, and of dev. A
            pass over test is part of no cost, frozen or tuned.
        prediction_words_per_second: of all runs. Rows on features read stored states.
        text_words_per_second: of all runs from text. Rows on features extract first.
        peak_memory_bytes: the highest of all runs.
        training_flops, prediction_flops: means over all runs.
        one_by_one_seconds, batched_seconds: time to label 1,000 sentences from words (`featbert
            speed`), one at a time and in batches. Mean of the timed runs, None if none was timed.
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

    @property
    def operations(self) -> float:
        """Of training one run, with its extraction if that is known."""
        return self.training_flops + (self.extraction_flops or 0.0)


@dataclass(frozen=True)
class ComparedRun:
    """One run of a row.

    Attributes:
        scores: by split and key.
        losses, dev_scores: of each epoch, None for a dev score that was not computed.
        cost: fields of the record's `Cost`.
        facts: the record as a page shows it, by dotted names. Only filled for a page or a file.
    """

    name: str
    seed: int
    scores: Mapping[str, Mapping[str, float]]
    best_epoch: int
    losses: tuple[float, ...]
    dev_scores: tuple[float | None, ...]
    cost: Mapping[str, int | float | None]
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class MixStatistic:
    """Learned weights of a layer mix over seeds, and its scale."""

    layers: tuple[int, ...]
    weights: tuple[Statistic, ...]
    scale: Statistic


@dataclass(frozen=True)
class Row:
    """One row of a comparison: runs that differ only in the seed, in the order of seeds.

    Attributes:
        varied: values in which rows may differ, by name (`model`, `corpus`), as shown.
        differing: settings and conditions in the label, by name, as shown.
        conditions: conditions of training besides settings (`CONDITIONS`), and the training text.
        left_out: names of runs that a newer run with the same seed replaces.
        is_trial: whether a search tried it and did not choose it. Trials have no part in an answer.
        scores: over seeds, by split and key. A score that some run lacks is absent.
        estimates: the task's measure with its interval, by split. Empty before `with_estimates`.
        floors: scores of a system without skill, by split, if known.
        learned: splits on which the interval is above the floor. If it does not cover other text,
            a run's score is clearly above it, too.
        cell: parts of the comparable key (data, encoder) in which rows may differ.
        baseline: name of the row that it is compared with. A baseline names itself.
        difference: mean score less the baseline's, by split. None for a baseline and without one.
        train_sentences: number of sentences (or other examples) that its runs learned from.
        quote: a line with data, settings and versions, for a paper.
        reliability: right answers by confidence, by split and added up over seeds, if all runs have
            probabilities.
    """

    label: str
    task_name: str
    tuning: str
    layers: str | None
    layer_indices: tuple[int, ...] | None
    model: str
    corpus: str
    context: str
    casing: str
    scorer: str
    varied: Mapping[str, str]
    settings: Mapping[str, Any]
    trained_on: tuple[str, ...]
    differing: Mapping[str, str]
    conditions: Mapping[str, str]
    runs: tuple[ComparedRun, ...]
    left_out: tuple[str, ...]
    splits: tuple[str, ...]
    scores: Mapping[str, Mapping[str, Statistic]]
    floors: Mapping[str, float]
    cost: RowCost
    cell: Mapping[str, str]
    mix: MixStatistic | None
    train_sentences: Statistic
    encoder_layers: int
    searched: bool
    quote: str
    baseline: str | None = None
    difference: Mapping[str, float] | None = None
    reliability: Mapping[str, Reliability] = field(default_factory=dict)
    is_trial: bool = False
    estimates: Mapping[str, Estimate] = field(default_factory=dict)
    learned: tuple[str, ...] = ()

    @property
    def task(self) -> Task:
        return get_task(self.task_name)

    def score(self, split: str, key: str | None = None) -> Statistic | None:
        """A value in [0, 1] over seeds, by default the task's measure.

        None if the row has no such score, such as F1 for three classes.
        """
        return self.scores.get(split, {}).get(key or self.task.measure.key)

    def mean(self, split: str, key: str | None = None) -> float:
        """The mean of `score`. The row must have scores on `split`."""
        score = self.score(split, key)
        assert score is not None
        return score.mean

    @property
    def name(self) -> str:
        """Its label and varied values. Rows of a comparison have different names."""
        return " · ".join([self.label, *self.varied.values()])

    @property
    def corpus_name(self) -> str:
        """Its corpus, with fingerprints if other rows have another corpus of the same name."""
        return self.varied.get("corpus", self.corpus)

    @property
    def is_baseline(self) -> bool:
        return self.baseline == self.name

    @property
    def frozen(self) -> bool:
        return get_tuning(self.tuning).frozen

    @property
    def train_share(self) -> float:
        return float(self.settings.get("train_share", 1.0))

    @property
    def train_part(self) -> tuple[float, float]:
        """Share of train, and examples of each class (infinite: all of that share)."""
        return self.train_share, self.settings.get("shots") or math.inf

    @property
    def rival_key(self) -> tuple[object, ...]:
        """Evaluated texts, encoder, context, splits and training text. Rivals have the same."""
        return *self.cell.items(), self.trained_on, self.conditions["train"]

    @property
    def part_name(self) -> str:
        return part_name(self.settings)

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(run.seed for run in self.runs)

    @property
    def has_seed(self) -> bool:
        """Whether its scores depend on the seed. If not, one run stands for all seeds."""
        return unchecked(self.settings, self.tuning).has_seed

    @property
    def competes(self) -> bool:
        """Whether it can be an answer: it learned by the split that chooses, and is no trial."""
        return not self.is_trial and self.splits[0] in self.learned

    def data(self, split: str) -> tuple[str | None, ...]:
        """Text and tags of a split, and the scorer. Rivals have the same."""
        return tuple(self.cell.get(part) for part in (f"{split}.text", f"{split}.tags", "scorer"))


def part_name(settings: Mapping[str, Any]) -> str:
    """`25% of train`, `8 examples of each class`, or nothing for all of train."""
    if shots := settings.get("shots"):
        return f"{counted(shots, 'example')} of each class"
    share = float(settings.get("train_share", 1.0))
    return "" if share == 1 else f"{in_percent(share)} of train"


def same_task(row: Row, other: Row) -> bool:
    """Whether two rows have the same text, encoder, and sentences to learn from."""
    return row.rival_key == other.rival_key and row.train_part == other.train_part


def best_by_dev(rows: Sequence[Row]) -> Row | None:
    """The row with the best mean score on dev, or on test if none was scored on dev.

    Of equal rows the first of those with about the fewest operations.
    """
    for split in EVALUATED:
        scored = [row for row in rows if split in row.splits]
        if scored:
            best = max(row.mean(split) for row in scored)
            equals = [row for row in scored if row.mean(split) == best]
            least = min(row.cost.operations for row in equals)
            return next(row for row in equals if row.cost.operations <= AS_CHEAP * least)
    return None


def rivals(rows: Iterable[Row]) -> list[list[Row]]:
    """For each text, encoder, context and training text, the rows on its largest part.

    A part that only trials of a search learned from does not count.
    """
    groups = grouped((row.rival_key, row) for row in rows).values()
    # Eight examples of each class are fewer than a quarter of train.
    largest = [
        max(
            (row for row in group if not row.is_trial),
            key=lambda row: (row.train_sentences.mean, row.train_part),
        )
        for group in groups
    ]
    return [
        [row for row in group if row.train_part == of_largest.train_part]
        for group, of_largest in zip(groups, largest, strict=True)
    ]


def first_two(rows: Iterable[Row], split: str) -> Iterator[tuple[Row, Row]]:
    """The competing rows with the two best means on each text of a split, best first."""
    competing = ((row.data(split), row) for row in rows if row.competes)
    for group in grouped(competing).values():
        ordered = sorted(group, key=lambda row: -row.mean(split))
        yield from itertools.islice(itertools.pairwise(ordered), 1)


def best_of_two_contests(rows: Iterable[Row]) -> Iterator[tuple[Row, Row]]:
    """The best rows by dev of the two best groups of `rivals`, best first, for each text."""
    groups = ([row for row in group if row.competes] for group in rivals(rows))
    best = [row for row in map(best_by_dev, groups) if row is not None]
    alike = grouped(((row.splits[0], tuple(map(row.data, EVALUATED))), row) for row in best)
    for (split, _), group in alike.items():
        yield from first_two(group, split)


def leader_and_rival(rows: Iterable[Row]) -> tuple[Row | None, Row | None]:
    """The best row by dev, and the best of the other side (frozen or tuned), of those that learned.

    If there is no other side, the second by dev.
    """
    competing = [row for row in rows if row.competes]
    leader = best_by_dev(competing)
    other_side = [row for row in competing if leader and row.frozen != leader.frozen]
    return leader, best_by_dev(other_side or [row for row in competing if row is not leader])


def best_on_features(rows: Iterable[Row]) -> Row | None:
    """The best row by dev on frozen features, among those that learned."""
    return best_by_dev([row for row in rows if row.competes and row.frozen])


def best_tuned(rows: Iterable[Row]) -> Row | None:
    """The best fully tuned row by dev, among those that learned."""
    return best_by_dev([row for row in rows if row.competes and row.tuning == BASELINE])


def answer_pairs(rows: Iterable[Row]) -> Iterator[tuple[Row, Row]]:
    """The pairs of rows that dev chooses for an answer, or test if nothing is scored on dev."""
    for group in rivals(rows):
        for row, rival in (leader_and_rival(group), (best_on_features(group), best_tuned(group))):
            if row is not None and rival is not None:
                yield row, rival
    yield from best_of_two_contests(rows)


# Analyses -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Difference:
    """A row's difference from its baseline, or from the best row by dev, on one split.

    Attributes:
        units: plural of the unit of text: "documents", "sentences" or "examples".
        estimate: the unadjusted difference, with its interval and p-value.
        adjusted: p-value. A pair that is tested alone has the estimate's. p-values of all others of
            the split are adjusted by Holm together.
        low, high: the interval of the adjusted test. It excludes 0 exactly if `adjusted` is below
            1 - `LEVEL`.
        level: of this interval as one of a single test.
        alone: whether it is a pair of an answer, on a split that did not choose it.
    """

    row: str
    baseline: str
    split: str
    units: str
    estimate: Estimate
    adjusted: float
    low: float
    high: float
    level: float = LEVEL
    alone: bool = False

    @property
    def value(self) -> float:
        return self.estimate.value

    @property
    def sign(self) -> int:
        """1 if the row is ahead by the adjusted test, -1 if it is behind, else 0."""
        if self.adjusted >= 1 - LEVEL:
            return 0
        return 1 if self.value > 0 else -1

    @property
    def opposite(self) -> Difference:
        """The baseline's difference from the row."""
        e = self.estimate
        by_row = {n: getattr(e, n)[::-1] for n in ("seeds", "seed_variances", "run_variances")}
        estimate = dataclasses.replace(e, value=-e.value, low=-e.high, high=-e.low, **by_row)
        swapped = dataclasses.replace(self, row=self.baseline, baseline=self.row)
        return dataclasses.replace(swapped, estimate=estimate, low=-self.high, high=-self.low)


@dataclass(frozen=True)
class Price:
    """The number of runs from which a row on features costs less than as many tuned runs.

    Infinite if it never does. None if the cost of extraction is unknown, or without a `tuned_row`:
    the fully tuned row on the same text.
    """

    tuned_row: str | None
    seconds_cheaper_from: float | None
    flops_cheaper_from: float | None


@dataclass(frozen=True)
class ParetoPoint:
    """A row by name, its label within the front, and its cost, which is above 0."""

    row: str
    name: str
    cost: float
    on_front: bool


@dataclass(frozen=True)
class ParetoFront:
    """Rows that were scored on one text, by cost and quality.

    Attributes:
        currency: name of the cost, see `featbert.analysis.cost.CURRENCIES`.
        label: the part of the text's name that distinguishes the comparison's fronts, or "".
        machine: where seconds were measured, "" for a cost that holds on every machine.
        left_out: names of rows with a score of unknown cost.
    """

    split: str
    currency: str
    label: str
    machine: str
    points: tuple[ParetoPoint, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class Breakdown:
    """The task's measure of rows by bucket of a facet (`meaning`: in words), on one split.

    `gold` are numbers of gold items by bucket, in the order of buckets. If each seed learned from
    another part of train, they are rounded means over the first row's seeds. A bucket that is empty
    in some run is left out.
    """

    facet: str
    meaning: str
    split: str
    gold: Mapping[str, int]
    rows: Mapping[str, Mapping[str, Statistic]]


@dataclass(frozen=True)
class Confusion:
    """(gold class, predicted class, number) of a row on a split, summed over its runs."""

    row: str
    split: str
    counts: tuple[tuple[str, str, int], ...]


@dataclass(frozen=True)
class FoldMeans:
    """Means over the folds of a corpus, a line for each row by name of column."""

    corpus: str
    folds: str
    lines: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class BudgetCurve:
    """Scores that a row's random search reaches with k = 1..n of its n finished trials.

    Attributes:
        trials: k.
        operations, seconds: costs of k trials and one extraction.
        dev: expected best score, in [0, 1]. `low` and `high` are its bootstrap band.
        test: expected test score of the trial that dev chooses. None without test scores.
        left_out: number of pruned or failed trials, which n does not count.
    """

    row: str
    trials: tuple[int, ...]
    operations: tuple[float, ...]
    seconds: tuple[float, ...]
    dev: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    test: tuple[float, ...] | None
    left_out: int


@dataclass(frozen=True)
class BudgetLead:
    """Budgets at which a row on features or a tuned row is ahead.

    Attributes:
        currency: "operations", "trials" or "seconds".
        spans: (lowest budget, highest one or None, the row ahead or None if it is unclear).
    """

    row: str
    against: str
    currency: str
    spans: tuple[tuple[float, float | None, str | None], ...]


@dataclass(frozen=True)
class PublishedFigures:
    """A published table next to a comparison: a line for each published row, by name of column.

    For each split a line has the `_published` score and its `_published_sd`, `_here_mean` and
    `_here_sd` of the comparison's `row`, and the `_difference` if the two are comparable. None for
    a figure that was not published or not reproduced.
    """

    table: PublishedTable
    splits: tuple[str, ...]
    lines: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class Contest:
    """The rows on one corpus with one encoder that learned from the largest part of train.

    Attributes:
        about: values that distinguish it from the comparison's other contests, or "".
        split: the last split on which its best row by dev was scored.
        leader: name of the best row by dev among those that learned. None if no row did.
        features, tuned: names of the best row on features and of the best fully tuned row by dev,
            among those that learned. None if there is none.
        difference: features less tuned, on the last split that both have. None if not estimated.
        ahead: name of the better one of the two by the adjusted test. None if there is none.
        cheapest: name of the row with the least cost within the margin of the leader.
        findings: (topic, sentence) in order. The first ones are the answer.
    """

    about: str
    split: str
    leader: str | None
    features: str | None
    tuned: str | None
    difference: Difference | None = None
    ahead: str | None = None
    cheapest: str | None = None
    findings: tuple[tuple[str, str], ...] = ()


# (first word, word after the last one, class)
Span = tuple[int, int, str]


@dataclass(frozen=True)
class JudgedRow:
    """The run that represents a row."""

    name: str
    run: str
    seed: int


@dataclass(frozen=True)
class JudgedText:
    """The sentences of one evaluated text in which some row is wrong.

    Attributes:
        a, b: places of the two rows that a page compares first.
        sentences: (number in the split from 1, words, gold spans, spans of each row). A row with
            the gold spans has None.
    """

    name: str
    a: int
    b: int
    rows: tuple[JudgedRow, ...]
    sentences: tuple[
        tuple[int, tuple[str, ...], tuple[Span, ...], tuple[tuple[Span, ...] | None, ...]], ...
    ]
    about: str


@dataclass(frozen=True)
class Comparison:
    """Comparable runs side by side.

    Attributes:
        corpus, model, context, scorer: names, several with commas if rows differ.
        sizes: (examples, words) by evaluated split. Absent for a split if rows have other texts.
        key: parts of the comparable key that all rows share.
        machines, speed_machines: machines that trained, and machines that timed labelling.
        notes: remarks for readers, one line each, such as runs left out or other machines.
        best: names of the rows that are better than the next one on their text, by split.
        test_notes, cost_notes: remarks on tests and on costs.
        learning: names of rows by line of a learning curve, in the order of shares of train.
        fronts: by split and cost.
        missing_breakdowns: facets, and the split with the reason.
        confusions: classes confused by the best row of the first split.
        scorers: keys of the scores by which rows were compared.
        overall: for each text with several contests, the best row of all against the best row of
            another contest.
    """

    rows: tuple[Row, ...]
    task_name: str
    splits: tuple[str, ...]
    corpus: str
    model: str
    context: str
    scorer: str
    sizes: Mapping[str, tuple[int, int]]
    key: Mapping[str, str]
    varied: tuple[str, ...]
    machines: tuple[str, ...]
    speed_machines: tuple[str, ...]
    notes: tuple[str, ...]
    learning: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    fronts: tuple[ParetoFront, ...] = ()
    folds: tuple[FoldMeans, ...] = ()
    overall: tuple[str, ...] = ()
    contests: tuple[Contest, ...] = ()
    published: tuple[PublishedFigures, ...] = ()
    best: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    differences: tuple[Difference, ...] = ()
    test_notes: tuple[str, ...] = ()
    prices: Mapping[str, Price] = field(default_factory=dict)
    cost_notes: tuple[str, ...] = ()
    scorers: tuple[str, ...] = ()
    breakdowns: tuple[Breakdown, ...] = ()
    missing_breakdowns: tuple[tuple[tuple[str, ...], str], ...] = ()
    confusions: tuple[Confusion, ...] = ()
    budgets: tuple[BudgetCurve, ...] = ()
    budget_leads: tuple[BudgetLead, ...] = ()
    texts: tuple[JudgedText, ...] = ()
    missing_texts: tuple[str, ...] = ()

    @property
    def task(self) -> Task:
        return get_task(self.task_name)

    @property
    def floors(self) -> dict[tuple[str, str], float]:
        """Scores without skill (`Task.floor`), by split and corpus."""
        pairs = itertools.product(self.splits, self.rows)
        return {(s, row.corpus_name): row.floors[s] for s, row in pairs if s in row.floors}

    @property
    def encoding(self) -> str:
        """Encoder and context, and casing if it is not the text's own."""
        casing = self.key.get("casing", "original")
        parts = [self.model, f"context: {self.context}", f"casing: {casing}"]
        return " · ".join(parts[:2] if casing == "original" else parts)

    @property
    def title(self) -> str:
        return f"{self.corpus} · {self.encoding}"

    @property
    def remarks(self) -> list[str]:
        """All notes, in the order of the analyses."""
        reasons = self.missing_breakdowns
        unread = (f"no scores by {', '.join(facets)} on {reason}" for facets, reason in reasons)
        return [*self.notes, *self.test_notes, *self.cost_notes, *unread]

    @property
    def answer(self) -> list[str]:
        """Up to four lines for each contest, indented below its name if there are several."""
        lines = [*self.overall]
        for contest in self.contests:
            lines += [f"{contest.about}:"] if contest.about else []
            indent = "  " * bool(contest.about)
            for topic, sentence in contest.findings:
                head = f"{topic}: " if topic in ANSWER[2:] else ""
                lines += [f"{indent}{head}{sentence}"] if topic in ANSWER else []
        return lines

    def row(self, name: str) -> Row:
        return next(row for row in self.rows if row.name == name)

    def difference(self, row: Row, other: Row, split: str) -> Difference | None:
        """A row's difference from another one, if it was tested."""
        for d in self.differences:
            if d.split == split and {d.row, d.baseline} == {row.name, other.name}:
                return d if d.row == row.name else d.opposite
        return None

    def rival(self, row: Row, split: str) -> Row | None:
        """The baseline of a row. None for a baseline and if `split` has no difference."""
        if row.baseline is None or split not in (row.difference or {}):
            return None
        return self.row(row.baseline)

    def __repr__(self) -> str:
        runs = sum(len(row.runs) for row in self.rows)
        size = f"{counted(len(self.rows), 'row')} of {counted(runs, 'run')}"
        return f"<Comparison: {self.title} · {size}>"

    def frame(self, per: Literal["row", "run"] = "row") -> pandas.DataFrame:
        """The comparison as a pandas table, see `featbert.analysis.frame`."""
        from featbert.analysis.frame import comparison_frame

        return comparison_frame(self, per=per)

    def limited_to(self, view: View) -> Comparison:
        """The comparison without the analyses that a view does not show."""
        unread = (
            (tuple(name for name in view.by if name in facets), reason)
            for facets, reason in self.missing_breakdowns
        )
        return dataclasses.replace(
            self,
            test_notes=self.test_notes if view.stats else (),
            prices=self.prices if view.cost else {},
            cost_notes=self.cost_notes if view.cost else (),
            scorers=self.scorers if view.scorers else (),
            breakdowns=tuple(b for name in view.by for b in self.breakdowns if b.facet == name),
            missing_breakdowns=tuple((facets, reason) for facets, reason in unread if facets),
            budgets=self.budgets if view.budget else (),
            budget_leads=self.budget_leads if view.budget else (),
        )


# Transfer -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ScoredData:
    """Data of a column: one split of one corpus, before any mapping of types.

    `label` is the language if known, else the corpus. If data share a label, it has the corpus too,
    and 8 hex digits of the fingerprints `text` and `tags` if needed.
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
    """A row's score on a column's data, with `remarks` on its evaluations (`remarks_on`).

    `own`: whether the row was trained on this corpus, and no type was mapped.
    """

    score: Statistic
    seeds: tuple[int, ...]
    own: bool
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class TransferRow:
    """The runs that were trained on one corpus.

    Attributes:
        cells: by column. None if no run was scored on it.
        average: mean score over the cells on other data. None without such cells.
        average_sd: standard deviation of `average` over seeds. None if cells have different seeds
            or only one.
    """

    label: str
    seeds: tuple[int, ...]
    cells: tuple[TransferCell | None, ...]
    average: float | None
    average_sd: float | None


@dataclass(frozen=True)
class TransferMatrix:
    """One way of training on each language, scored on all languages.

    `columns`: data that rows were trained on, in the order of rows, then other data.
    """

    label: str
    tuning: str
    task_name: str
    encoding: str
    scorer: str
    split: str
    columns: tuple[ScoredData, ...]
    rows: tuple[TransferRow, ...]
    notes: tuple[str, ...]

    @property
    def task(self) -> Task:
        return get_task(self.task_name)

    @property
    def trained_on(self) -> tuple[str, ...]:
        return tuple(row.label for row in self.rows)

    @property
    def evaluated_on(self) -> tuple[str, ...]:
        return tuple(column.label for column in self.columns)

    @property
    def means(self) -> tuple[tuple[float | None, ...], ...]:
        """(rows, columns)"""
        return tuple(tuple(c.score.mean if c else None for c in row.cells) for row in self.rows)

    @property
    def own(self) -> tuple[tuple[bool, ...], ...]:
        """(rows, columns)"""
        return tuple(tuple(c is not None and c.own for c in row.cells) for row in self.rows)


# Several comparisons ------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class View:
    """Scores and analyses that tables show. Comparisons may hold more.

    Attributes:
        show: keys of scores besides the task's measure.
        by: facets.
        transfer: whether transfer matrices are among the tables.
    """

    show: tuple[str, ...] = ()
    stats: bool = False
    cost: bool = False
    budget: bool = False
    scorers: bool = False
    by: tuple[str, ...] = ()
    transfer: bool = False

    @classmethod
    def of(cls, request: Analyses) -> View:
        """Scores and analyses that a user asks for."""
        flags = request.model_dump(include={"stats", "cost", "budget", "scorers", "transfer"})
        return cls(show=tuple(request.show), by=tuple(request.by), **flags)

    def check(self, comparisons: Iterable[Comparison]) -> None:
        """InputError for a score or facet that no task of the comparisons has."""
        tasks = [comparison.task for comparison in comparisons]
        check_known("score", self.show, {key: 0 for task in tasks for key in task.all_columns})
        check_known("facet", self.by, {key: 0 for task in tasks for key in task.facets})

    def drawn(self, comparison: Comparison) -> Comparison:
        """The comparison with the shown breakdowns for figures, else those by the first facet."""
        by = [b for name in self.by for b in comparison.breakdowns if b.facet == name]
        first = [b for b in comparison.breakdowns if b.facet == comparison.breakdowns[0].facet]
        return dataclasses.replace(comparison, breakdowns=tuple(by or first))


@dataclass(frozen=True)
class Comparisons(Sequence[Comparison]):
    """Comparisons, and everything that is shown with them. Notebooks show them as tables.

    Attributes:
        matrices: of transfer between corpora.
        published: published tables by language or data set.
        notes: further lines.
        experiment: name of the experiment that has the runs, or "".
    """

    comparisons: tuple[Comparison, ...]
    matrices: tuple[TransferMatrix, ...] = ()
    published: tuple[PublishedTable, ...] = ()
    notes: tuple[str, ...] = ()
    experiment: str = ""
    view: View = View()

    @overload
    def __getitem__(self, place: int) -> Comparison: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Comparison]: ...
    def __getitem__(self, place: int | slice) -> Comparison | Sequence[Comparison]:
        return self.comparisons[place]

    def __len__(self) -> int:
        return len(self.comparisons)

    def __repr__(self) -> str:
        return f"<Comparisons: {', '.join(map(repr, self.comparisons))}>"

    @classmethod
    def of(cls, comparisons: Comparison | Sequence[Comparison]) -> Comparisons:
        """One comparison or several, with a view that shows everything."""
        if isinstance(comparisons, Comparisons):
            return comparisons
        if isinstance(comparisons, Comparison):
            comparisons = [comparisons]
        by = dict.fromkeys(b.facet for comparison in comparisons for b in comparison.breakdowns)
        view = View(stats=True, cost=True, budget=True, scorers=True, by=tuple(by))
        return cls(tuple(comparisons), view=view)

    def without_sentences(self) -> Comparisons:
        """Without any text of the corpora."""
        bare = tuple(dataclasses.replace(c, texts=(), missing_texts=()) for c in self.comparisons)
        return dataclasses.replace(self, comparisons=bare)

    def with_view(self, view: View) -> Comparisons:
        """With the analyses of `view` shown too. Its scores and facets, if any, replace theirs."""
        view.check(self.comparisons)
        options = {name: value or getattr(self.view, name) for name, value in vars(view).items()}
        return dataclasses.replace(self, view=View(**options))

    def viewed(self) -> Comparisons:
        """Without analyses that the view does not show."""
        shown = tuple(comparison.limited_to(self.view) for comparison in self.comparisons)
        matrices = self.matrices if self.view.transfer else ()
        return dataclasses.replace(self, comparisons=shown, matrices=matrices)
