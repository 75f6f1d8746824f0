"""One label for each word, such as its part of speech, and what tasks of words share.

    accuracy = right / words        macro F1 = mean over labels of 2 right / (predicted + gold)

The mean is across labels that occur in gold or prediction, as in scikit-learn's `f1_score`.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Self

import numpy as np

from featbert.data.conll import write_conll
from featbert.data.corpus import UNLABELLED, Sentence, Split
from featbert.data.files import DOCSTART, read_file
from featbert.errors import InputError, check_known
from featbert.tasks.base import Facet, Parts, Predictions, Rows, Scores, Task, in_buckets
from featbert.tasks.measures import OF_CLASSES, Counts, scores_by_class


class WordTask(Task):
    """A task with one label a word, and one measure."""

    of_texts: bool = False
    unit: str = "sentence"
    answer: str = "tags"
    pipeline: str = "token-classification"
    auto_model: str = "AutoModelForTokenClassification"

    def measured_by(self, key: str) -> Self:
        check_known("measure", [key], [self.measure.key])
        return self

    def defaults(self, tuning: str, *, frozen: bool, words: bool) -> dict[str, Any]:
        """Rates of frozen heads, from `experiments/defaults-words`. Tunings have the others."""
        return {"learning_rate": 4e-3 if words else 8e-3} if frozen else {}

    def check(self, settings: Any) -> None:
        super().check(settings)
        if settings.sentence_pooling != "none":
            raise InputError("is for texts, not words; leave it out", setting="sentence_pooling")

    def with_gold(self, gold: Rows, predicted: Rows) -> tuple[Rows, Rows]:
        check_lengths(gold, predicted)
        pairs = zip(gold, predicted, strict=True)
        return gold, [
            [
                answer if right != UNLABELLED else UNLABELLED
                for right, answer in zip(*pair, strict=True)
            ]
            for pair in pairs
        ]

    def unlabelled(self, split: Split) -> int:
        return sum(row.count(UNLABELLED) for row in self.gold(split)) if split.is_tagged else 0

    def items(self, split: Sequence[Sentence] | Split) -> Counts:
        return np.cumsum([0, *(len(s.words) for s in split)])

    def predictions_name(self, split: str) -> str:
        return f"{split}.conll"

    def write_predictions(self, path: Path, sentences: Sequence[Sentence], predicted: Rows) -> None:
        write_conll(path, sentences, predicted)

    def read_predictions(self, path: Path) -> Predictions:
        """Reads lines with word, gold and predicted label. `-DOCSTART-` begins a document."""
        lines = read_file(path)
        separator = "\t" if any("\t" in line for line in lines) else " "
        sentences: list[list[list[str]]] = []
        documents: list[int] = []
        begins, document = True, 0
        for number, line in enumerate(lines, 1):
            columns = line.split(separator)
            if not line.strip(" \t") or columns[0] == DOCSTART:
                begins = True
                document += columns[0] == DOCSTART
                continue
            if len(columns) != 3 or not (columns[0] and columns[2]):
                raise InputError(
                    f"line {number} of {path} does not have three columns (word, gold tag, "
                    f"predicted tag): {line[:60]!r}"
                )
            if begins:
                sentences.append([])
                documents.append(document)
            sentences[-1].append(columns)
            begins = False
        words, gold, predicted = ([[row[i] for row in s] for s in sentences] for i in range(3))
        masked = [*map(list, self.with_gold(gold, predicted)[1])]
        return Predictions(words, gold, masked, documents)


def check_lengths(gold: Rows, predicted: Rows) -> None:
    """Raises InputError unless there is one predicted label for each gold label."""
    if [*map(len, gold)] != [*map(len, predicted)]:
        raise InputError("the predictions are not of these sentences: their lengths differ")


class Labels(WordTask):
    """The task of labels."""

    name = "labels"
    title = "labels of words"
    targets = "labels"
    scorer = "accuracy of words"
    measure = OF_CLASSES["accuracy"]
    columns: Mapping[str, str] = {"accuracy": "accuracy", "macro_f1": "macro F1"}
    facets: Mapping[str, Facet] = {
        "label": Facet("label"),
        "seen": Facet("whether the word occurs in train", needs_train=True),
        "sentence": Facet("words of the sentence"),
    }

    def score(self, gold: Rows, predicted: Rows, classes: Sequence[str] = ()) -> Scores:
        right, words = self.counts(gold, predicted).sum(axis=0).tolist()
        by_class = scores_by_class(*labelled_words(gold, predicted))
        macro = sum(values["f1"] for values in by_class.values()) / max(1, len(by_class))
        values = {"accuracy": right / words if words else 0.0, "macro_f1": macro}
        return Scores(values, by_class, len(gold), words)

    def counts(self, gold: Rows, predicted: Rows, classes: Sequence[str] = ()) -> Counts:
        check_lengths(gold, predicted)
        counts = [
            (sum(g == p != UNLABELLED for g, p in zip(*pair, strict=True)), sum(map(bool, pair[0])))
            for pair in zip(gold, predicted, strict=True)
        ]
        return np.array(counts, dtype=np.int64).reshape(-1, 2)

    def parts(self, found: Predictions, known: Collection[Any], classes: Sequence[str]) -> Parts:
        labels = [*chain(*found.gold)]
        pairs = zip(labels, chain(*found.predicted), strict=True)
        # A word without a label counts nowhere.
        counts = np.array(
            [(g == p and g != "", g != "") for g, p in pairs], dtype=np.int64
        ).reshape(-1, 2)

        def buckets(facet: str) -> tuple[list[str], list[str]]:
            if facet == "sentence":
                return in_buckets((len(row) for row in found.words for _ in row), _SENTENCE_LENGTHS)
            names = labels
            if facet == "seen":
                names = ["seen" if word in known else "unseen" for word in chain(*found.words)]
            return names, sorted({*names} - {UNLABELLED})

        return counts, counts[:, 1], buckets

    def known(self, words: Rows, gold: Rows) -> set[str]:
        """Every word, as it is written."""
        return {*chain(*words)}


def labelled_words(gold: Rows, predicted: Rows) -> tuple[list[str], list[str]]:
    """Gold and predicted labels of all words that have a gold one."""
    pairs = zip(chain(*gold), chain(*predicted), strict=True)
    labels = [pair for pair in pairs if pair[0] != UNLABELLED]
    return [right for right, _ in labels], [answer for _, answer in labels]


_SENTENCE_LENGTHS = ((10, "1-10"), (20, "11-20"), (40, "21-40"), (math.inf, "41+"))
TASK = Labels()
