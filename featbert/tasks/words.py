"""What tasks with an answer for each word share: items, files of predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from featbert.errors import InputError
from featbert.tasks.base import Counts, Measure, Predictions, Rows

if TYPE_CHECKING:
    from featbert.data.corpus import Corpus, Sentence, Split


class WordTask:
    """Methods of `Task` for one label a word."""

    measure: Measure
    of_texts = False

    def measured_by(self, key: str) -> Self:
        """The task itself, which has one measure."""
        if key != self.measure.key:
            raise InputError(f"unknown measure {key!r}; use {self.measure.key}")
        return self

    def defaults(self, words: bool, frozen: bool) -> dict[str, Any]:
        """None: those of the tunings were searched for words."""
        return {}

    def check(self, settings: Any) -> None:
        """Raises InputError for a head that has no answer for each word."""
        if settings.sentence_pooling != "none" or settings.output == "score":
            raise InputError("words have answers of their own; leave out --sentence-pooling")

    def classes(self, train: Split, scheme: str) -> tuple[str, ...]:
        """Labels of a training text, sorted."""
        return tuple(self.classes_in(self.gold(train)))

    def items(self, split: Sequence[Sentence] | Split) -> Counts:
        """Words before each sentence."""
        return np.cumsum([0, *(len(s.words) for s in split)])

    def gold(self, split: Split) -> Rows:
        """Labels by sentence."""
        return split.tags

    def encode(self, split: Split, classes: tuple[str, ...], scheme: str) -> Counts:
        """Number of each word's label."""
        number = {name: i for i, name in enumerate(classes)}
        return np.array([number[tag] for row in self.gold(split) for tag in row], dtype=np.int64)

    def answers(
        self, numbers: NDArray[Any], classes: tuple[str, ...], offsets: Counts, scheme: str
    ) -> Rows:
        """Labels by sentence."""
        labels = np.array(classes, dtype=object)[numbers]
        return [part.tolist() for part in np.split(labels, offsets[1:-1])]

    def taught(self, classes: Sequence[str]) -> tuple[str, ...]:
        """The labels, sorted."""
        return tuple(sorted(classes))

    def classes_of(self, corpus: Corpus) -> tuple[str, ...]:
        """Labels of a corpus, sorted."""
        return tuple(self.classes_in([row for s in corpus.splits.values() for row in s.tags]))

    def classes_in(self, gold: Rows) -> list[str]:
        """Labels that occur, sorted."""
        return sorted({tag for row in gold for tag in row})

    def rename(self, tags: Sequence[str], mapping: Mapping[str, str]) -> list[str]:
        """The labels (T,) of one sentence under their new names."""
        return [mapping.get(tag, tag) for tag in tags]

    def phrases(self, tags: Sequence[str]) -> list[tuple[str, int, int]]:
        """Nothing: a label marks no span of words."""
        return []

    def spans(self, rows: Rows) -> list[set[tuple[str, int, int]]]:
        """Each word with its label."""
        return [{(tag, i, i) for i, tag in enumerate(row)} for row in rows]

    def predictions_name(self, split: str) -> str:
        """dev -> dev.conll"""
        return f"{split}.conll"

    def write_predictions(self, path: Path, sentences: Sequence[Sentence], predicted: Rows) -> None:
        """Columns word, gold label, predicted label."""
        from featbert.data.conll import write_conll

        write_conll(path, sentences, predicted)

    def read_predictions(self, path: Path) -> Predictions:
        """Reads three columns; `-DOCSTART-` lines begin documents."""
        return read_columns(path.read_bytes(), path)


def read_columns(data: bytes, path: Path) -> Predictions:
    """Three-column lines as sentences."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8: {error}") from None
    # Split on \n, tab and space alone: a word may hold U+0085 or U+00A0.
    separator = "\t" if "\t" in text else " "
    found = Predictions([], [], [], [])
    open_sentence = False
    document = 0
    for number, line in enumerate(text.split("\n"), 1):
        line = line.removesuffix("\r")
        columns = line.split(separator)
        if not line.strip(" \t") or columns[0] == "-DOCSTART-":
            open_sentence = False
            document += columns[0] == "-DOCSTART-"
            continue
        if len(columns) != 3 or not all(columns):
            raise InputError(
                f"line {number} of {path} has not the three columns word, gold tag, predicted "
                f"tag: {line[:60]!r}"
            )
        if not open_sentence:
            for rows in (found.words, found.gold, found.predicted):
                rows.append([])
            found.documents.append(document)
            open_sentence = True
        for rows, column in zip((found.words, found.gold, found.predicted), columns, strict=True):
            rows[-1].append(column)
    return found
