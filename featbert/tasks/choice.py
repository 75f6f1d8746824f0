"""Multiple choice: which of several texts goes with a context.

An example is a context with k choices. Its sequences, a pair for each choice, are answered
together: "1" for one of them and "0" for the others. Scores are by example, and so is chance: the
accuracy of guessing, 1 / k on average.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from featbert.data.corpus import Sentence, Split
from featbert.tasks.base import Facet, Floats, Predictions, Rows, in_buckets
from featbert.tasks.examples import LENGTHS, ExampleTask
from featbert.tasks.forecasts import Forecasts
from featbert.tasks.measures import OF_CLASSES, Counts, ExampleMeasure, members
from featbert.text import natural

WRONG, RIGHT = "0", "1"


class Choice(ExampleTask):
    """The task of multiple choice."""

    name = "choice"
    title = "multiple choice"
    targets = "choices"
    answer = "choice"
    has_classes = False
    output = "choice"
    batch_size = 16  # as in the paper
    group = "example"
    pipeline = "multiple-choice"
    auto_model = "AutoModelForMultipleChoice"
    floor = "chance"
    measures: ClassVar[Mapping[str, ExampleMeasure]] = {"accuracy": OF_CLASSES["accuracy"]}
    facets: Mapping[str, Facet] = {
        "right": Facet("number of the right choice"),
        "choices": Facet("number of choices"),
        "length": Facet("words of context and longest choice"),
    }

    def _floor(self, gold: Rows, classes: Sequence[str]) -> float:
        return float(np.mean([1 / len(row) for row in gold]))

    def groups(self, sentences: Sequence[Sentence]) -> Counts:
        """The sequences of an example are neighbours of one document."""
        numbers = [sentence.document for sentence in sentences]
        begins = [i for i, n in enumerate(numbers) if i == 0 or n != numbers[i - 1]]
        return np.array([*begins, len(numbers)])

    def items(self, split: Sequence[Sentence] | Split) -> Counts:
        """Every choice is one."""
        return self.groups([*split])

    def gold(self, split: Split) -> Rows:
        tags = split.tags
        edges = pairwise(self.items(split))
        return [[tag for row in tags[first:end] for tag in row] for first, end in edges]

    def forecasts(
        self, gold: Rows, shares: Floats, classes: Sequence[str], scheme: str, numbers: Any = None
    ) -> Forecasts:
        """An item is an example. Its possible answers are its choices."""
        sizes = np.array([len(row) for row in gold], dtype=np.int64)
        by_choice = np.zeros((len(sizes), max(sizes, default=0)))
        by_choice[np.arange(by_choice.shape[1]) < sizes[:, None]] = shares[:, 1]
        right = np.array([row.index(RIGHT) for row in gold], dtype=np.int64)
        return Forecasts(by_choice, right, sizes)

    def classes(self, train: Split, scheme: str) -> tuple[str, ...]:
        return WRONG, RIGHT

    def model_config(self, classes: Sequence[str]) -> dict[str, Any]:
        return {"num_labels": 1}

    def marks(self, found: Predictions, rows: Rows) -> list[set[tuple[str, int, int]]]:
        """The words of the choice, with its number."""
        marks = []
        for row, sizes in zip(rows, found.texts, strict=True):
            number = row.index(RIGHT)
            first = sum(sizes[: number + 1])
            marks.append({(str(number), first, first + sizes[number + 1] - 1)})
        return marks

    def _marked(self, answer: Sequence[str]) -> list[str]:
        return [str(answer.index(RIGHT))]

    def _encoded(self, rows: Rows, classes: Sequence[str]) -> Any:
        numbers = [*map(str, range(max(map(len, rows), default=0)))]
        return members([*map(self._marked, rows)], numbers)

    def _buckets(self, facet: str, found: Predictions) -> tuple[list[str], list[str]]:
        if facet != "length":
            names = [str(row.index(RIGHT) if facet == "right" else len(row)) for row in found.gold]
            return names, sorted({*names}, key=natural)
        return in_buckets((first + max(choices) for first, *choices in found.texts), LENGTHS)

    def answered(
        self, sentences: Sequence[Sentence], answer: Sequence[str], shares: list[dict[str, float]]
    ) -> tuple[list[str], dict[str, Any]]:
        """The number of the chosen one, from 0, and the probability of each choice."""
        row, number = self.shown(sentences), answer.index(RIGHT)
        row |= {"answer": number, "probabilities": [share[RIGHT] for share in shares]}
        return [row["context"], *row["choices"], str(number)], row

    def shown(self, sentences: Sequence[Sentence]) -> dict[str, Any]:
        choices = [choice.texts[1] for choice in sentences]
        return {"context": sentences[0].texts[0], "choices": choices}

    def _row(self, sentences: Sequence[Sentence], answer: Sequence[str]) -> dict[str, Any]:
        """The numbers of the gold and the predicted choice."""
        gold = next((i for i, choice in enumerate(sentences) if choice.tags == (RIGHT,)), None)
        return {"gold": gold, "predicted": answer.index(RIGHT)}

    def _read(self, row: Any) -> tuple[list[str], list[str], list[str]]:
        choices, gold = row["choices"], row["gold"]
        one_of = [[str(int(i == n)) for i in range(len(choices))] for n in (gold, row["predicted"])]
        if any(RIGHT not in tags for tags in one_of[gold is None :]):
            raise ValueError("no such choice")
        return [row["context"], *choices], [] if gold is None else one_of[0], one_of[1]


TASK = Choice()
