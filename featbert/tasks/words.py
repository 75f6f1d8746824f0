"""What tasks with an answer for each word share: items, files of predictions."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from featbert.data.corpus import Sentence, Split
from featbert.data.files import DOCSTART, read_file
from featbert.errors import InputError, check_known
from featbert.tasks.base import Counts, Predictions, Rows, Task


class WordTask(Task, Protocol):
    """A task with one label a word, and one measure."""

    of_texts: bool = False
    unit: str = "sentence"
    pipeline: str = "token-classification"
    auto_model: str = "AutoModelForTokenClassification"

    def measured_by(self, key: str) -> Self:
        check_known("measure", [key], [self.measure.key])
        return self

    def defaults(self, tuning: str, *, frozen: bool, words: bool) -> dict[str, Any]:
        return {}  # those of the tunings were searched for words

    def check(self, settings: Any) -> None:
        if settings.sentence_pooling != "none" or settings.output in ("score", "span"):
            raise InputError("words have answers of their own; leave out --sentence-pooling")

    def items(self, split: Sequence[Sentence] | Split) -> Counts:
        return np.cumsum([0, *(len(s.words) for s in split)])

    def predictions_name(self, split: str) -> str:
        return f"{split}.conll"

    def write_predictions(self, path: Path, sentences: Sequence[Sentence], predicted: Rows) -> None:
        from featbert.data.conll import write_conll

        write_conll(path, sentences, predicted)

    def read_predictions(self, path: Path) -> Predictions:
        """Of lines with word, gold and predicted label; `-DOCSTART-` begins a document."""
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
            if len(columns) != 3 or not all(columns):
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
        return Predictions(words, gold, predicted, documents)


def check_lengths(gold: Rows, predicted: Rows) -> None:
    """Raises InputError where there is not one predicted label for each gold one."""
    if [*map(len, gold)] != [*map(len, predicted)]:
        raise InputError("the predictions are not of these sentences: their lengths differ")
