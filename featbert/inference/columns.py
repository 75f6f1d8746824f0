"""Files read as in a run's training: in its columns, as far as they have these."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice, tee
from typing import Any, TypeVar

from featbert.data.corpus import Sentence
from featbert.data.options import ReadingOptions
from featbert.errors import InputError
from featbert.runs.record import RunRecord

T = TypeVar("T")
TEXTS = ("text", "pair")
COLUMN_OPTIONS = (*TEXTS, "target", "token_column", "tag_column")


def read_as_trained(
    read: Callable[[ReadingOptions], T], trained: Mapping[str, Any], given: ReadingOptions
) -> T:
    """The result of `read` with options from training, without columns that it does not find.

    `given` options come first. Both texts of a pair are found, or none of them.
    """
    options = {name: value for name, value in trained.items() if name not in given.changed}
    while True:
        try:
            return read(replace(given, **options))
        except InputError as error:
            if error.setting not in options:
                raise
            unfound = TEXTS if error.setting in TEXTS else (error.setting,)
            options = {name: value for name, value in options.items() if name not in unfound}


def stream_as_trained(
    lines: Iterator[str],
    read: Callable[[Iterator[str], ReadingOptions], Iterator[Sentence]],
    trained: Mapping[str, Any],
    given: ReadingOptions,
) -> Iterator[Sentence]:
    """As `read_as_trained`, from lines that come once. The first sentence is read at once."""

    def begun(options: ReadingOptions) -> Iterator[Sentence]:
        nonlocal lines
        lines, again = tee(lines)
        sentences = read(again, options)
        return chain([*islice(sentences, 1)], sentences)

    return read_as_trained(begun, trained, given)


def trained_columns(record: RunRecord) -> dict[str, Any]:
    """The columns of a training that have names: as the caller gave them, or as they were found."""
    options = record.reading.items()
    return record.columns | {n: v for n, v in options if n in COLUMN_OPTIONS and isinstance(v, str)}
