"""Base of tasks with one answer for each text or pair: items, scores, files of predictions.

An answer is a tuple of one string, so that it is laid out like the tags of a sentence.
"""

import json
import math
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from featbert.data.corpus import Sentence, Split
from featbert.data.files import writing
from featbert.errors import InputError, check_known
from featbert.io import regular_file
from featbert.tasks.base import Facet, Floats, Parts, Predictions, Rows, Scores, Task, in_buckets
from featbert.tasks.measures import Counts, ExampleMeasure, Values, counts_by_class, members, prf
from featbert.text import excerpt, natural

LENGTHS = ((10, "1-10"), (20, "11-20"), (40, "21-40"), (80, "41-80"), (math.inf, "81+"))
OVERLAPS = ((-1, "one text"), (0.25, "0-25%"), (0.5, "25-50%"), (0.75, "50-75%"), (1, "75-100%"))
FACETS = {"length": Facet("words"), "overlap": Facet("share of words that both texts have")}


class ExampleTask(Task):
    """A task with one answer a sequence.

    `measures` can choose the epoch, by key. The first does by default. Each is an `ExampleMeasure`,
    unless the task has its own `counts`. `frozen_body` is the body of frozen vectors by default.
    """

    name: str
    output: ClassVar[str]
    frozen_body: ClassVar[str] = "linear"
    batch_size: ClassVar[int] = 32
    of_texts: bool = True
    unit: str = "example"
    pipeline: str = "text-classification"
    auto_model: str = "AutoModelForSequenceClassification"
    measures: ClassVar[Mapping[str, Any]]

    def __init__(self, key: str | None = None) -> None:
        self.measure = next(iter(self.measures.values())) if key is None else self.measures[key]
        if key is not None:
            self.name = f"{self.name}:{key}"
        self.scorer = f"{self.measure.name} of examples"
        names = {key: measure.name for key, measure in self.measures.items()}
        self.columns = {self.measure.key: self.measure.name} | names

    def measured_by(self, key: str) -> Self:
        check_known("measure", [key], self.measures)
        return type(self)(key)

    def defaults(self, tuning: str, *, frozen: bool, words: bool) -> dict[str, Any]:
        """A linear head on [CLS], or on frozen means of subwords by a solver.

        Devlin et al. 2019, note 6: the first piece is not a meaningful representation of a
        sentence without fine-tuning. Bodies and rates come from `experiments/defaults-*`.
        """
        settings = {"body": "linear", "output": self.output, "batch_size": self.batch_size}
        if not frozen:
            return settings | {"sentence_pooling": "max_mean" if words else "cls", "epochs": 3}
        if words:
            return settings | {"sentence_pooling": "max_mean", "epochs": 4, "learning_rate": 4e-3}
        settings |= {"sentence_pooling": "mean", "epochs": 10, "learning_rate": 1e-2}
        return settings | {"body": self.frozen_body}

    def check(self, settings: Any) -> None:
        super().check(settings)
        if settings.sentence_pooling == "none":
            raise InputError("is none, but texts need one; give mean", setting="sentence_pooling")
        if settings.sentence_pooling in ("cls", "pooler", "word_mean") and settings.reads_words:
            raise InputError(
                f"is {settings.sentence_pooling}, which is not computed, since the body "
                f"{settings.body} reads words; use max_mean, mean, max or attention",
                setting="sentence_pooling",
            )
        if settings.sentence_pooling == "pooler" and settings.tuning == "none":
            raise InputError("is pooler, which features lack; use cls", setting="sentence_pooling")

    def score(self, gold: Rows, predicted: Rows, classes: Sequence[str] = ()) -> Scores:
        values = self.dev_values(gold, predicted, classes)
        floor = self._floor(gold, classes) if gold else None
        return Scores(values, self._by_class(gold, predicted), len(gold), 0, floor)

    def _by_class(self, gold: Rows, predicted: Rows) -> dict[str, Values]:
        """As in `Scores`."""
        if not self.has_classes:
            return {}
        classes = self.classes_in([*gold, *predicted])
        sides = (self._encoded(rows, classes) for rows in (gold, predicted))
        totals = counts_by_class(*sides).sum(axis=0).tolist()
        return {name: prf(*counts) for name, counts in zip(classes, totals, strict=True)}

    def _floor(self, gold: Rows, classes: Sequence[str]) -> float | None:
        """The best measure of one answer to all examples, None without `_constants`."""
        rows = ([answer] * len(gold) for answer in self._constants(gold))
        counts = (self.counts(gold, row, classes).sum(axis=0) for row in rows)
        return max((float(self.measure.of(total)) for total in counts), default=None)

    def _constants(self, gold: Rows) -> Rows:
        """Answers that a system without skill gives to all examples: the best of them counts."""
        return ()

    def dev_values(self, gold: Rows, predicted: Rows, classes: Sequence[str] = ()) -> Values:
        classes = sorted({*classes, *self.classes_in([*gold, *predicted])})
        sides = self._encoded(gold, classes), self._encoded(predicted, classes)
        values = {}
        for key in self.columns:
            measure = self.measures[key]
            if key == self.measure.key or len(classes) <= measure.most_classes:
                values[key] = float(measure.of(measure.count(*sides, classes).sum(axis=0)))
        return values

    def counts(self, gold: Rows, predicted: Rows, classes: Sequence[str] = ()) -> Counts:
        all_classes = sorted({*classes, *self.classes_in([*gold, *predicted])})
        measure: ExampleMeasure = self.measures[self.measure.key]
        sides = self._encoded(gold, all_classes), self._encoded(predicted, all_classes)
        return measure.count(*sides, all_classes)

    def _encoded(self, rows: Rows, classes: Sequence[str]) -> Any:
        """Answers for an `ExampleMeasure`."""
        single(rows)
        return members(rows, classes)

    def with_gold(self, gold: Rows, predicted: Rows) -> tuple[Rows, Rows]:
        pairs = zip(gold, predicted, strict=True)
        answered = [(right, answer) for right, answer in pairs if right]
        return [right for right, _ in answered], [answer for _, answer in answered]

    def unlabelled(self, split: Split) -> int:
        return sum(not row for row in self.gold(split)) if split.is_tagged else 0

    def items(self, split: Sequence[Sentence] | Split) -> Counts:
        return np.arange(len(split) + 1)

    def parts(self, found: Predictions, known: Collection[Any], classes: Sequence[str]) -> Parts:
        counts = self.counts(found.gold, found.predicted, classes)
        of_all = np.ones(len(counts), dtype=np.int64)
        return counts, of_all, lambda facet: self._buckets(facet, found)

    def _buckets(self, facet: str, found: Predictions) -> tuple[list[str], list[str]]:
        if facet == "class":
            names = [" + ".join(self._marked(answer)) or "none" for answer in found.gold]
            return names, sorted({*names}, key=natural)
        if facet == "length":
            return in_buckets(map(len, found.words), LENGTHS)
        return in_buckets(map(_overlap, found.words, found.texts), OVERLAPS)

    def spans(self, rows: Rows) -> list[set[tuple[str, int, int]]]:
        """The names of each answer, before the first word, for matrices of confusion."""
        return [{(name, 0, -1) for name in self._marked(row)} for row in rows]

    def _marked(self, answer: Sequence[str]) -> list[str]:
        return single([answer])

    def predictions_name(self, split: str) -> str:
        return f"{split}.jsonl"

    def write_predictions(self, path: Path, sentences: Sequence[Sentence], predicted: Rows) -> None:
        """A line for each example: its text or texts, gold and predicted answer."""
        with writing(path) as stream:
            edges = pairwise(self.items(sentences))
            for (first, end), answer in zip(edges, predicted, strict=True):
                row = self.shown(sentences[first:end]) | self._row(sentences[first:end], answer)
                stream.write(json.dumps(row, ensure_ascii=False) + "\n")

    def _row(self, sentences: Sequence[Sentence], answer: Sequence[str]) -> dict[str, Any]:
        """Gold answer, None if it is hidden, and predicted answer for a line of predictions."""
        gold = sentences[0].tags
        return {
            "gold": self.as_json(gold[0]) if gold else None,
            "predicted": self.as_json(answer[0]),
        }

    def read_predictions(self, path: Path) -> Predictions:
        """Reads the examples with a gold answer, or all if no example has one."""
        from featbert.data.examples import split_text

        rows: list[tuple[Any, ...]] = []
        for number, line in enumerate(regular_file(path).read_bytes().split(b"\n")[:-1], 1):
            try:
                row = json.loads(line)
                texts, gold, answer = self._read(row)
                cut = [split_text(text) for text in texts]
                document = int(row.get("document", 0))
            except (ValueError, KeyError, TypeError, RecursionError):
                raise InputError(
                    f"line {number} of {path} is no prediction: {excerpt(repr(line))}"
                ) from None
            words = [t[a:b] for t, places in zip(texts, cut, strict=True) for a, b in places]
            sizes, places = tuple(map(len, cut)), [place for places in cut for place in places]
            rows.append((words, gold, answer, document, sizes, places, number))
        rows = [row for row in rows if row[1]] or rows
        if not rows:
            return Predictions([], [], [], [])
        return Predictions(*map(list, zip(*rows, strict=True)))

    def _read(self, row: Any) -> tuple[list[str], list[str], list[str]]:
        """Texts, gold answer ([] if it is hidden) and predicted answer of a line of predictions."""
        texts = [row["text"], *([row["pair"]] if "pair" in row else [])]
        gold = [] if row["gold"] is None else [self._tag(row["gold"])]
        return texts, gold, [self._tag(row["predicted"])]

    def _tag(self, value: Any) -> str:
        """An answer from `as_json`."""
        return str(value)


def single(rows: Rows) -> list[str]:
    """The answer of each example. InputError unless each has one."""
    if any(len(row) != 1 for row in rows):
        raise InputError("an example has one answer; these predictions are of another task")
    return [row[0] for row in rows]


def best_threshold(scores: Floats, values: Floats, lower: float, upper: float) -> float:
    """The middle of the gap between scores (S,) with the highest value, the first of equals.

    The scores ascend, between `lower` and `upper`. values (S + 1,) are of each gap.
    """
    values = np.round(values, 12)
    values[1:-1][scores[1:] == scores[:-1]] = -1  # no threshold is between equal scores
    gap = int(values.argmax())
    edges = [lower, *scores.tolist(), upper]
    return float((edges[gap] + edges[gap + 1]) / 2)


def _overlap(words: Sequence[str], sizes: Sequence[int]) -> float:
    """Share of a pair's different words, in lower case, that both texts have. -1 for one text."""
    if len(sizes) < 2:
        return -1.0
    first = {word.lower() for word in words[: sizes[0]]}
    second = {word.lower() for word in words[sizes[0] :]}
    return len(first & second) / len(first | second)
