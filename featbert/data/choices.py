"""Multiple choice: a context and several choices, one of them right, in CSV, JSONL and datasets.

    video-id,fold-ind,startphrase,sent1,sent2,gold-source,ending0,...,ending3,label    SWAG
    {"context": "...", "endings": ["...", "...", "...", "..."], "label": 2}            HellaSwag
    {"premise": "...", "question": "cause", "choice1": "...", "choice2": "...", "label": 0}    COPA

Choices are a list or numbered columns, two or more, as many as an example has: empty columns after
the last one are none. A label counts from 0. Each choice is a sequence of its own, the pair of
context and choice, which is tagged "1" where it is right and "0" where not; the `document` of a
sequence is the number of its example.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from featbert.data.corpus import Corpus, ReadingNotes, Sentence, Split
from featbert.data.examples import (
    HIDDEN,
    NO_ANSWER,
    Columns,
    example_of,
    hidden,
    lower_names,
    text_of,
    usual_choices,
)
from featbert.data.files import RawFile, RawSentence, Row, excerpt, named_column
from featbert.errors import InputError
from featbert.text import counted

RIGHT_KEYS = ("label", "gold", "gold_label", "answer", "target", "correct")
IDS = ("id", "idx", "ind")
# What COPA asks of its premise (Roemmele et al. 2011).
_QUESTIONS = {"cause": "What was the cause of this?", "effect": "What happened as a result?"}


@dataclass(frozen=True)
class ChoiceColumns:
    """Columns of a file of choices.

    Attributes:
        question: what is asked of the context, in a column of its own.
        start: what all choices begin with, as SWAG's `sent2`.
        choices: one column with a list, or several with a choice each.
        target: of the label; None reads texts alone.
        id: of the example's name.
    """

    context: str
    question: str | None
    start: str | None
    choices: tuple[str, ...]
    target: str | None
    id: str | None


def choose_choice_columns(
    names: Sequence[str], wanted: Columns, keys: Sequence[str] | None, where: str, *, must: bool
) -> ChoiceColumns:
    """The columns by their usual names, that of labels as it is wanted; see `choose_columns`."""
    if (wanted.text, wanted.pair) != (None, None):
        raise InputError("--text and --pair are not of choices, whose columns have usual names")
    context, choices = usual_choices(names)
    if not choices or context is None:
        what = "context" if choices else "choices, such as endings or choice1, choice2"
        raise InputError(f"no column of {what} in {where}; it has {', '.join(names)}")
    by_lower, target = lower_names(names), wanted.target
    label = None
    if target is not None and keys is not None and (must or target in names):
        label = named_column(target, names, "target", where)
    elif keys is not None and target is None:
        label = next((by_lower[key] for key in keys if key in by_lower), None)
        if must and label is None:
            raise InputError(
                f"no column of labels in {where}; it has {', '.join(names)}; name it with --target"
            )
    question = by_lower.get("question")
    return ChoiceColumns(
        context,
        question if question not in (context, label) else None,
        by_lower.get("sent2"),
        tuple(choices),
        label,
        next((by_lower[name] for name in IDS if name in by_lower), None),
    )


def read_choices(
    rows: Iterable[Row],
    path: Path,
    wanted: Columns,
    keys: Sequence[str] | None,
    *,
    must: bool,
    encoding: str = "utf-8",
    unit: str = "line",
) -> RawFile:
    """The examples of one file, a sequence for each choice; arguments as of `read_examples`."""
    sentences: list[RawSentence] = []
    ids: Counter[str] = Counter()
    found: dict[tuple[str, ...], ChoiceColumns] = {}  # rows of JSONL may have others
    empty = 0
    for number, row in enumerate(rows):
        names = tuple(row.values)
        if names not in found:
            found[names] = choose_choice_columns(names, wanted, keys, row.where, must=must)
        columns = found[names]
        example = choices_of(row, columns, number)
        empty += any("" in s.words for s in example)
        if columns.id is not None and (name := row.values[columns.id]) not in ("", None):
            ids[str(name)] += 1
        sentences += example
    notes = ReadingNotes(encoding=encoding, empty_texts=empty, repeated_ids=ids.total() - len(ids))
    return hidden(RawFile(path, tuple(sentences), notes, unit))


def choice_texts(rows: Iterable[Row]) -> Iterator[Sentence]:
    """The sequences of examples, row by row, whatever their labels."""
    for number, row in enumerate(rows):
        columns = choose_choice_columns([*row.values], Columns(), None, row.where, must=False)
        yield from choices_of(row, columns, number)


def choices_of(row: Row, columns: ChoiceColumns, number: int) -> list[RawSentence]:
    """The sequences of one example; InputError for fewer than two choices, or no such label."""
    parts = [text_of(row, columns.context)]
    if columns.question is not None:
        asked = text_of(row, columns.question)
        parts.append(_QUESTIONS.get(asked, asked))
    context = " ".join(parts)
    start = "" if columns.start is None else f"{text_of(row, columns.start)} "
    choices = [start + one for one in _choices(row, columns.choices)]
    if len(choices) < 2:
        raise InputError(f"{counted(len(choices), 'choice')}, {row.where}; at least two are needed")
    right = None if columns.target is None else _label(row, columns.target, len(choices))
    found = []
    for i, choice in enumerate(choices):
        pair = Row({"text": context, "pair": choice}, row.where, row.number)
        sentence = example_of(pair, Columns("text", "pair"))
        tags = None if right is None else (str(int(i == right)),)
        found.append(replace(sentence, tags=tags, document=number))
    return found


def _choices(row: Row, columns: Sequence[str]) -> list[str]:
    if len(columns) == 1:
        listed = row.values[columns[0]]
        # Datasets have lists of texts with their names, {"text": [...], "label": [...]}.
        listed = listed.get("text") if isinstance(listed, dict) else listed
        if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
            raise InputError(f"no list of texts in column {columns[0]}, {row.where}")
        return listed
    given = [i for i, name in enumerate(columns, 1) if row.values[name] not in ("", None)]
    return [text_of(row, name) for name in columns[: max(given, default=0)]]


def _label(row: Row, column: str, n: int) -> int | None:
    """The number of the right choice, from 0; None where it is hidden."""
    value = row.values.get(column)
    if value is None or str(value).strip() in (*NO_ANSWER, *HIDDEN):
        return None
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if number not in range(n):
        raise InputError(
            f"label {excerpt(str(value))} in column {column}, {row.where}; "
            f"the example has {n} choices, 0 to {n - 1}"
        )
    return int(number)


def whole_examples(corpus: Corpus) -> Corpus:
    """A corpus of choices with a sentence an example, tagged with the number of the right choice.

    Its words are those of the context and of all choices. Another corpus stays as it is.
    """
    if corpus.targets != "choices":
        return corpus
    splits = {
        name: replace(split, sentences=tuple(map(_whole, _by_example(split))))
        for name, split in corpus.splits.items()
    }
    return replace(corpus, splits=splits)


def _by_example(split: Split) -> Iterator[list[Sentence]]:
    return ([*example] for _, example in groupby(split, key=lambda choice: choice.document))


def _whole(choices: list[Sentence]) -> Sentence:
    first, *others = choices
    words = [*first.words, *(word for one in others for word in one.words[one.pair :])]
    right = tuple(str(i) for i, choice in enumerate(choices) if choice.tags == ("1",))
    texts = (first.texts[0], *(choice.texts[1] for choice in choices))
    return Sentence(tuple(words), right or None, first.document, first.pair, texts)
