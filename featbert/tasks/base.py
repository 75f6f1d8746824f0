"""The interface of a task, and the registry of tasks.

Code outside of a task never asks which one it has.
"""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pydantic.dataclasses
from numpy.typing import NDArray

from featbert.data.corpus import UNLABELLED, Corpus, Sentence, Split
from featbert.data.tags import TargetKind, target_kind
from featbert.errors import InputError
from featbert.progress import notice
from featbert.registry import Entry, Registry
from featbert.schema import STRICT, Amount, Count, Share
from featbert.tasks.forecasts import CALIBRATION, Forecasts, ProbabilityScores
from featbert.text import counted

Threshold = float | list[float] | None
Rows = Sequence[Sequence[str]]
Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
Parts = tuple[NDArray[Any], Counts, Callable[[str], tuple[Sequence[str], Sequence[str]]]]

TASKS = Registry(
    "task",
    {
        "entities": Entry("featbert.tasks.entities:TASK"),
        "labels": Entry("featbert.tasks.labels:TASK"),
        "classification": Entry("featbert.tasks.classification:TASK"),
        "multilabel": Entry("featbert.tasks.multilabel:TASK"),
        "regression": Entry("featbert.tasks.regression:TASK"),
        "choice": Entry("featbert.tasks.choice:TASK"),
        "spans": Entry("featbert.tasks.spans:TASK"),
    },
)
# Kinds of answers that outputs give and tasks need, with descriptions.
ANSWERS = {
    "class": "one class for each text",
    "set": "any number of classes for each text",
    "tags": "one tag for each word",
    "score": "a score for each text",
    "choice": "one of several texts",
    "span": "a span of words",
}
# The number of a word without an answer, which no loss counts.
IGNORED = -100
# Data sets of GLUE that are not measured by accuracy (Wang et al. 2019, table 1).
GLUE = {"cola": "classification:matthews", "stsb": "regression"}


@dataclass(frozen=True)
class Measure:
    """A number from `lowest` to 1 that is computed from additive counts.

    `key` is its name in records ("f1"), `name` for people. `of` maps counts (..., K) to values
    (...). It is defined for at most `most_classes`.
    """

    key: str
    name: str
    of: Callable[[NDArray[Any]], Floats]
    lowest: float = field(default=0.0, kw_only=True)
    most_classes: float = field(default=math.inf, kw_only=True)


@dataclass(frozen=True)
class Facet:
    """A property by which scores can be broken down. `title` describes its buckets for people.

    `needs_train`: whether the buckets depend on the training text.
    """

    title: str
    needs_train: bool = False


@dataclass(frozen=True)
class Bucket:
    """One part of a breakdown: counts (K,) of the task's measure, and its number of gold items."""

    counts: tuple[int | float, ...]
    size: int


@dataclass(frozen=True)
class Predictions:
    """A run's predictions on one split of S sequences.

    Attributes:
        gold, predicted: answers, one per word or one per sequence. Without gold answers `gold` is
            (). A word without a gold answer is `UNLABELLED` in both.
        documents: (S,) number of each sequence's document from 1, or 0 without documents.
        texts: (S,) words of each text of a sequence. Empty if each sequence is one text.
        places: (S,) first and end character of each word in its text, for raw texts.
        numbers: (S,) place of each sequence in the split, from 1. Empty for the whole split.
    """

    words: list[list[str]]
    gold: list[list[str]]
    predicted: list[list[str]]
    documents: list[int]
    texts: list[tuple[int, ...]] = field(default_factory=list)
    places: list[list[tuple[int, int]]] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)

    def __repr__(self) -> str:
        words = counted(sum(map(len, self.words)), "word")
        return f"<Predictions: {counted(len(self.words), 'sequence')}, {words}>"


@pydantic.dataclasses.dataclass(frozen=True, config=STRICT)
class Scores:
    """Scores of one split.

    Attributes:
        values: by key, up to 1. The first is the task's measure.
        by_class: values and counts by class, such as an entity type.
        examples: number of sentences (or of other examples).
        words: number of words.
        floor: the measure of a system without skill (`Task.floor`), None if unknown.
        probabilities: scores of the probabilities, None without any.
    """

    values: dict[str, Share]
    by_class: dict[str, dict[str, Amount]]
    examples: Count
    words: Count
    floor: Share | None = None
    probabilities: ProbabilityScores | None = None

    @property
    def all_values(self) -> dict[str, float]:
        """Values of answers and of probabilities."""
        return self.values | ({} if self.probabilities is None else self.probabilities.values)

    @property
    def exceeds_floor(self) -> bool:
        """Whether the measure is above the floor, 0 if unknown, by two standard errors of it."""
        floor, score = self.floor or 0.0, next(iter(self.values.values()))
        return score > floor + 2 * math.sqrt(floor * (1 - floor) / max(self.examples, 1))


@pydantic.dataclasses.dataclass(frozen=True, config=STRICT)
class TargetSummary:
    """Facts about training targets that a head needs.

    Attributes:
        classes: names by number, in the order of weights. () for scores.
        counts: training items of each class. () if items have no class, or more than one number.
        items: training items with an answer.
        lowest, highest: of training scores, 0 without scores.
    """

    classes: tuple[str, ...] = ()
    counts: tuple[Count, ...] = ()
    items: Count = 0
    lowest: float = 0.0
    highest: float = 0.0


class Task(ABC):
    """The question that is asked of a text, and how answers are scored.

    The answers of a sequence are a row: a label for each word, or one for the whole text.

    Attributes:
        name: in records, files and options.
        title: for people.
        targets: name of the answers that `load_corpus` reads.
        answer: the kind of answer that an output must give, one of `ANSWERS`.
        scorer: the scoring program with its version, a part of every run's signature.
        measure: chooses the epoch. Differences of it are tested.
        columns: every value of the answers, key to name for people. The measure is first.
        probability_columns: every value of the probabilities, which tables show on request.
        scorers: key to name of the columns that have scorers of their own.
        facets: by name, the properties by which scores can be broken down.
        of_texts: whether a whole text or pair has one answer. Otherwise each word has one.
        unit: name of a sequence of a text, in the singular.
        whole: name of all words of a sequence, by default its `unit`.
        kinds: name of the classes of answers, in the plural.
        has_classes: whether answers are classes, which a training text may lack.
        renames: whether an evaluation can give classes other names.
        removes: whether an answer can do without a class, so that "O" as its new name removes it.
        phrases_name: name of the phrases that tags mark, in the plural, "" without phrases.
        floor: name of a system without skill, such as "chance". "" shows none.
        group: name of the sequences with one document number, in the singular.
        breakdown: a note for readers of scores by a facet, "" for none.
        pipeline: name of the task on the Hub.
        auto_model: transformers' class of models with such answers.
    """

    name: str
    title: str
    targets: str | TargetKind
    answer: str
    scorer: str
    measure: Measure
    columns: Mapping[str, str]
    probability_columns: Mapping[str, str] = CALIBRATION
    scorers: Mapping[str, str] = {}
    facets: Mapping[str, Facet]
    of_texts: bool
    unit: str
    whole: str = ""
    kinds: str = "labels"
    has_classes: bool = True
    renames: bool = True
    removes: bool = False
    phrases_name: str = ""
    floor: str = ""
    group: str = "document"
    breakdown: str = ""
    pipeline: str
    auto_model: str

    @property
    def all_columns(self) -> dict[str, str]:
        """Every value that scores have, key to name for people."""
        return {**self.columns, **self.probability_columns}

    @property
    def has_scheme(self) -> bool:
        """Whether labels are tags of a scheme."""
        return target_kind(self.targets).has_scheme

    @abstractmethod
    def measured_by(self, key: str) -> Self:
        """The same task with another of its measures. InputError for an unknown one."""

    @abstractmethod
    def defaults(self, tuning: str, *, frozen: bool, words: bool) -> dict[str, Any]:
        """Settings that this task has by default.

        `frozen`: the tuning leaves the encoder as it is. `words`: the body reads words.
        """

    def check(self, settings: Any) -> None:
        """Raises InputError for a head (`config.Settings`) that cannot give this task's answers."""
        if self.answer not in settings.answers:
            gives, needs = ANSWERS[settings.answers[0]], ANSWERS[self.answer]
            raise InputError(
                f"is {settings.output}, which gives {gives}, but {self.title} have {needs}; "
                "leave it out",
                setting="output",
            )

    @abstractmethod
    def with_gold(self, gold: Rows, predicted: Rows) -> tuple[Rows, Rows]:
        """Gold and predicted answers without examples or words that have no gold answer.

        Such words are `UNLABELLED` in both, so that the others keep their places.
        """

    @abstractmethod
    def unlabelled(self, split: Split) -> int:
        """How many examples or words have no answer, if others have one."""

    @abstractmethod
    def score(self, gold: Rows, predicted: Rows, classes: Sequence[str] = ()) -> Scores:
        """All scores of one split. InputError for predictions that do not fit the gold answers.

        `classes` are as of `counts`: a measure may be defined by classes that do not occur here.
        """

    def doubts(self, gold: Rows, predicted: Rows) -> list[str]:
        """Why values of `score` are undefined, a sentence each."""
        return []

    def scores(self, gold: Rows, predicted: Rows, words: int, classes: Sequence[str]) -> Scores:
        """Scores of a split with so many words, as in records. A notice names undefined values."""
        gold, predicted = self.with_gold(gold, predicted)
        for doubt in self.doubts(gold, predicted):
            notice(doubt)
        return replace(self.score(gold, predicted, classes), words=words)

    def forecasts(
        self, gold: Rows, shares: Floats, classes: Sequence[str], scheme: str, numbers: Any = None
    ) -> Forecasts:
        """Probabilities (T, C) as forecasts of the gold answers, for tasks with `CALIBRATION`.

        Each sequence has a gold answer. Words without one are left out. `numbers` (T, ...) are the
        given answers, by default those with the highest probability.
        """
        number = {name: i for i, name in enumerate(classes)}
        names = [name for row in gold for name in self.written(row, scheme)]
        labelled = np.array([name != UNLABELLED for name in names], dtype=bool)
        right = np.array([number.get(name, -1) for name in names], dtype=np.int64)
        answers = None if numbers is None else numbers[labelled]
        return Forecasts(shares[labelled], right[labelled], answers=answers)

    def ranking(self, gold: Rows, shares: Floats, classes: Sequence[str]) -> dict[str, float]:
        """Values of probabilities (T, C) by key of `probability_columns`, without `CALIBRATION`."""
        return {}

    def with_probabilities(
        self,
        scores: Scores,
        split: Split,
        shares: Floats,
        classes: Sequence[str],
        scheme: str,
        numbers: NDArray[Any] | None = None,
    ) -> Scores:
        """The scores of a split with the values of its probabilities (T, C).

        `numbers` are as of `forecasts`.
        """
        if not self.probability_columns:
            return scores
        gold = self.gold(split)
        has_gold = np.repeat([bool(row) for row in gold], np.diff(self.items(split)))
        shares, numbers = shares[has_gold], None if numbers is None else numbers[has_gold]
        gold = [row for row in gold if row]
        forecasts = self.forecasts(gold, shares, classes, scheme, numbers)
        if not len(forecasts.right):
            return scores
        values = forecasts.values() | self.ranking(gold, shares, classes)
        return replace(scores, probabilities=ProbabilityScores(values, forecasts.reliability()))

    def scaled_threshold(self, threshold: Threshold, temperature: float) -> Threshold:
        """The threshold that gives the same answers if logits are divided by a temperature."""
        return threshold

    def dev_values(
        self, gold: Rows, predicted: Rows, classes: Sequence[str] = ()
    ) -> dict[str, float]:
        """The values that are computed after each epoch. The measure is first."""
        return self.score(gold, predicted, classes).values

    @abstractmethod
    def counts(self, gold: Rows, predicted: Rows, classes: Sequence[str] = ()) -> NDArray[Any]:
        """(S, K) counts of the measure by sentence.

        K follows from `classes`, all that may occur, so that it is the same for compared systems.
        """

    def kept_scores(self, gold: Rows, predicted: Rows) -> tuple[list[float], list[float]] | None:
        """Gold and predicted scores, if `counts` follow from them and are no small integers."""
        return None

    def break_down(
        self,
        facets: Sequence[str],
        found: Predictions,
        *,
        known: Collection[Any] = (),
        classes: Sequence[str] = (),
    ) -> dict[str, dict[str, Bucket]]:
        """Counts by bucket of each facet, in the order of buckets. They add up to the whole.

        Args:
            known: the result of `Task.known` on the training text, for facets that need it.
            classes: as of `counts`.
        """
        counts, gold, buckets = self.parts(found, known, classes)
        parts: dict[str, dict[str, Bucket]] = {}
        for facet in facets:
            bucket_names, order = buckets(facet)
            bucket_of = np.array(bucket_names, dtype=object)
            parts[facet] = {
                name: Bucket(tuple(counts[inside].sum(axis=0).tolist()), int(gold[inside].sum()))
                for name in order
                if (inside := bucket_of == name).any()
            }
        return parts

    @abstractmethod
    def parts(self, found: Predictions, known: Collection[Any], classes: Sequence[str]) -> Parts:
        """The material of a breakdown into T items. `classes` are as of `counts`.

        Returns:
            Counts (T, K), a mask of gold items (T,), and a function that maps a facet to the bucket
            of each item (T,) and all buckets in order.
        """

    def known(self, words: Rows, gold: Rows) -> set[Any]:
        """Words or phrases of a training text that a facet asks for."""
        return set()

    def classes(self, train: Split, scheme: str) -> tuple[str, ...]:
        """The classes that a training text can teach, in the order of their numbers."""
        return tuple(self.classes_in(self.gold(train)))

    def summary(self, train: Split, scheme: str) -> TargetSummary:
        """Facts about a training text's targets that a head needs."""
        classes = self.classes(train, scheme)
        numbers = self.encode(train, classes, scheme)
        counts = np.bincount(numbers[numbers != IGNORED], minlength=len(classes))
        return TargetSummary(classes, tuple(counts.tolist()), int(counts.sum()))

    def groups(self, sentences: Sequence[Sentence]) -> Counts | None:
        """(G + 1,) sequences before each group that is answered together, None without groups.

        A group is then the unit of batches, items, answers and scores.
        """
        return None

    @abstractmethod
    def items(self, split: Sequence[Sentence] | Split) -> Counts:
        """(S + 1,) items to answer before each sequence: its words, or one for each sequence."""

    def encode(self, split: Split, classes: tuple[str, ...], scheme: str) -> NDArray[Any]:
        """(T,) the right answer to each item as a number, `IGNORED` for a word without an answer.

        T is the last of `items`.
        """
        number = {name: i for i, name in enumerate(classes)} | {UNLABELLED: IGNORED}
        names = (name for row in self.gold(split) for name in self.written(row, scheme))
        return np.array([number[name] for name in names], np.int64)

    def answers(
        self,
        numbers: NDArray[Any],
        classes: tuple[str, ...],
        sentences: Sequence[Sentence] | Split,
        scheme: str,
        threshold: Threshold = None,
    ) -> Rows:
        """Answers by sequence, from the numbers of their items.

        If answers have margins or probabilities, only those above `threshold` are given.
        """
        names = self.named(numbers, classes, threshold)
        rows = np.split(names, self.items(sentences)[1:-1])
        return [self.read(row.tolist(), scheme) for row in rows]

    def named(self, numbers: Any, classes: tuple[str, ...], threshold: Threshold = None) -> Any:
        """(T,) the answer to each item, from its numbers."""
        return np.array(classes, dtype=object)[numbers]

    def written(self, answer: Sequence[str], scheme: str) -> Sequence[str]:
        """An answer as it is learned: tags in the scheme."""
        return answer

    def read(self, answer: Sequence[str], scheme: str) -> Sequence[str]:
        """An answer that was learned in the scheme, as scores and files have it."""
        return answer

    def threshold(
        self, numbers: NDArray[Any], split: Split, classes: tuple[str, ...], settings: Any
    ) -> Threshold:
        """The threshold, or one for each class, with which these answers have the best score.

        None without one. `settings` belong to the run.
        """
        return None

    def threshold_note(self, threshold: Threshold, classes: Sequence[str]) -> str:
        """How users of an exported model apply the threshold, in a sentence."""
        return ""

    def gold(self, split: Split) -> Rows:
        """The right answers by sequence, () for an example without one."""
        return split.tags

    def taught(self, classes: Sequence[str]) -> tuple[str, ...]:
        """Names of the classes for people, sorted."""
        return tuple(self.classes_in([classes]))

    def classes_of(self, corpus: Corpus) -> tuple[str, ...]:
        """Names of the classes of a corpus for people, sorted."""
        rows = [(tag,) for split in corpus.splits.values() for tag in split.labels]
        return tuple(self.classes_in(rows))

    def classes_in(self, gold: Rows) -> list[str]:
        """Names of the classes that occur, for people, sorted."""
        names = {name for row in gold for name in row} if self.has_classes else set()
        return sorted(names - {UNLABELLED})

    def model_config(self, classes: Sequence[str]) -> dict[str, Any]:
        """The part on answers in the config of transformers' model."""
        return {
            "id2label": dict(enumerate(classes)),
            "label2id": {n: i for i, n in enumerate(classes)},
        }

    def rename(self, tags: Sequence[str], mapping: Mapping[str, str]) -> list[str]:
        """An answer with classes under other names ("O" is no class, if the task `removes`)."""
        return [mapping.get(tag, tag) for tag in tags]

    def phrases(self, tags: Sequence[str]) -> list[tuple[str, int, int]] | None:
        """(class, first word, word after the last) of the phrases that tags mark, if they do."""
        return None

    def spans(self, rows: Rows) -> list[set[tuple[str, int, int]]]:
        """(class, first word, last word) of each answer, by sentence."""
        return [{(n, i, i) for i, n in enumerate(row) if n != UNLABELLED} for row in rows]

    def marks(self, found: Predictions, rows: Rows) -> list[set[tuple[str, int, int]]]:
        """Marks on the words of `found` that show these answers, as in `spans`."""
        return self.spans(rows)

    def shown(self, sentences: Sequence[Sentence]) -> dict[str, Any]:
        """The texts of an example as a JSON object, given its sequence or group."""
        return dict(zip(("text", "pair"), sentences[0].texts, strict=False))

    def as_json(self, answer: str) -> Any:
        """The answer of an example as JSON objects have it."""
        return answer

    def answered(
        self, sentences: Sequence[Sentence], answer: Sequence[str], shares: list[dict[str, float]]
    ) -> tuple[list[str], dict[str, Any]]:
        """An example and its answer: the columns of a line, and a JSON object.

        Args:
            sentences: the example's sequence or group.
            shares: the probabilities of its items, {} for scores.
        """
        (text,), row = answer, self.shown(sentences)
        row |= {"answer": self.as_json(text) if shares[0] else float(text)}
        row |= {"probabilities": shares[0]} if shares[0] else {}
        return [*sentences[0].texts, text], row

    @abstractmethod
    def predictions_name(self, split: str) -> str:
        """File name of the predictions on `split`."""

    @abstractmethod
    def write_predictions(self, path: Path, sentences: Sequence[Sentence], predicted: Rows) -> None:
        """Writes a split's predictions with their words and gold answers."""

    @abstractmethod
    def read_predictions(self, path: Path) -> Predictions:
        """Reads a file of `write_predictions`. OSError, or InputError for a damaged file."""


def in_buckets(
    values: Iterable[float], bounds: Sequence[tuple[float, str]]
) -> tuple[list[str], list[str]]:
    """The bucket of each value, and all buckets in order.

    `bounds` are highest values with names. A value is in the first bucket that reaches it.
    """
    names = [next(name for highest, name in bounds if value <= highest) for value in values]
    return names, [name for _, name in bounds]


def task_of(name: str, data: str) -> str:
    """`name`, or instead of a plain "classification" the task that GLUE has for this data set."""
    glue = re.fullmatch(r"hf:(?:.*/)?glue:(\w+)", data)
    return GLUE.get(glue[1], name) if glue and name == "classification" else name


def get_task(name: str) -> Task:
    """The task of a name such as "classification:matthews". InputError if unknown."""
    base_name, _, measure = name.partition(":")
    task: Task = TASKS.load(base_name)
    return task.measured_by(measure) if measure else task
