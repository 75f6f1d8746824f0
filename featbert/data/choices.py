"""Multiple choice: a context and several choices, one of them right, in CSV, JSONL and datasets.

    video-id,fold-ind,startphrase,sent1,sent2,gold-source,ending0,...,ending3,label    SWAG
    {"context": "...", "endings": ["...", "...", "...", "..."], "label": 2}            HellaSwag
    {"premise": "...", "question": "cause", "choice1": "...", "choice2": "...", "label": 0}    COPA

Choices are a list or numbered columns, two or more for each example. Empty columns after the last
choice are ignored. A label is a letter (A, B, ...), a choice's own label or text, or a number.
Numbers count from 0, or from 1 where 0 never occurs in the corpus and one is as high as the number
of choices. Each choice is a sequence of its own, the pair of context
and choice, which is tagged "1" where it is right and "0" where not; the `document` of a sequence is
the number of its example.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from featbert.data.answers import number_of
from featbert.data.corpus import Corpus, Sentence
from featbert.data.examples import (
    CLASS_KEYS,
    IDS,
    SCORE_KEYS,
    Columns,
    Examples,
    columns_seen,
    example_of,
    looks_like_choices,
    text_of,
    usual_choices,
    usual_texts,
)
from featbert.data.files import RawFile, Row, excerpt, literal, lower_names
from featbert.errors import InputError
from featbert.text import counted

RIGHT_KEYS = (
    *("label", "gold", "gold_label", "answer", "target", "correct"),
    *("answerkey", "answer_key", "correct_answer"),
)
# Before the number of a label that is not known to count from 0.
_COUNTED = "#"
# What COPA asks of its premise (Roemmele et al. 2011).
_QUESTIONS = {"cause": "What was the cause of this?", "effect": "What happened as a result?"}


@dataclass
class Choices(Examples):
    """Reads the rows of a file as examples with choices: a sequence for each choice."""

    ids: set[str] = field(default_factory=set)
    examples: int = 0
    of_lines = False
    names_of_texts = ("context", "choices")

    def begin(self, first: Row) -> None:
        """Nothing: each row may have other columns."""

    def __call__(self, row: Row) -> list[Sentence]:
        names = lower_names(row.values)
        context, columns = self._columns(row)
        target = self.target_of([*row.values], row.where)
        context, choices = self._texts(row, context, columns, target)
        if len(choices) < 2:
            raise InputError(f"{counted(len(choices), 'choice')}, {row.where}; two are needed")
        right = self._label(row, target, choices)
        id_ = next((row.values[names[key]] for key in IDS if key in names), None)
        if self.keys is not None and id_ not in (None, ""):
            self.notes["repeated_ids"] += str(id_) in self.ids
            self.ids.add(str(id_))
        sentences = []
        for choice in choices:
            pair = Row({"text": context, "pair": choice}, row.where, row.number)
            sentence = example_of(pair, Columns("text", "pair"))
            sentences.append(replace(sentence, tags=right, document=self.examples))
        self.examples += 1
        return sentences

    def _label(
        self, row: Row, target: str | None, choices: Sequence[str]
    ) -> tuple[str, ...] | None:
        """The number of the right choice, until `settled`; None where there is no answer."""
        value = self.value_of(row, target)
        if isinstance(value, list) and sorted(value) == [0] * (len(choices) - 1) + [1]:
            return (str(value.index(1)),)
        hides = self.wanted.missing is None and number_of(value) == -1
        if hides:
            self._lacks("-1")
        if hides or value is None:
            return None
        name, number = str(value).strip(), number_of(value)
        for texts in (_labels(row), [] if number.is_integer() else choices):
            if texts.count(name) == 1:
                return (str(texts.index(name)),)
        if number.is_integer():
            return (f"{_COUNTED}{number:.0f}",)
        columns = [column.lower() for column in usual_choices(tuple(row.values))[1]]
        if len(columns) > 1 and name.lower() in columns:
            return (str(columns.index(name.lower())),)
        name = name.strip("().:")
        letter = ord(name.upper()) - ord("A") if len(name) == 1 else -1
        if letter not in range(len(choices)):
            raise InputError(
                f"label {excerpt(str(value))} in column {target}, {row.where}; the example has "
                f"{len(choices)} choices: give a number, a letter or the text of one"
            )
        return (str(letter),)

    @staticmethod
    def settled(
        files: Sequence[RawFile], *, marks: bool, first_choice: int | None = None
    ) -> list[RawFile]:
        """The files with "1" for the right choice of each example and "0" for the others.

        `first_choice` is the number of the first one; None for what the numbers say.
        """
        of_files = [
            [[*choices] for _, choices in groupby(file.sentences, lambda s: s.document)]
            for file in files
        ]
        labels = [
            (int(choices[0].tags[0].removeprefix(_COUNTED)), len(choices))
            for examples in of_files
            for choices in examples
            if choices[0].tags and choices[0].tags[0].startswith(_COUNTED)
        ]
        from_1 = all(number != 0 for number, _ in labels) and any(n == k for n, k in labels)
        first = int(from_1) if first_choice is None else first_choice
        settled = []
        for file, examples in zip(files, of_files, strict=True):
            tagged = [_tagged(choices, first, file) for choices in examples]
            sentences = tuple(choice for choices in tagged for choice in choices)
            settled.append(replace(file, sentences=sentences))
        return settled

    def _columns(self, row: Row) -> tuple[str, list[str]]:
        """The column of the context and those of choices, by their usual names."""
        if self.wanted.text or self.wanted.pair:
            raise InputError("--text and --pair are not of choices, whose columns have usual names")
        context, columns = usual_choices(tuple(row.values))
        if not columns or context is None:
            what = "context" if columns else "choices, such as endings or choice1, choice2"
            raise InputError(
                f"no column of {what}, in {row.where}; it has {columns_seen(row.values)}; name "
                "columns context, choice1, choice2, label"
            )
        return context, columns

    def _texts(
        self, row: Row, context: str, columns: Sequence[str], target: str | None
    ) -> tuple[str, list[str]]:
        """The context and the choices of an example."""
        names = lower_names(row.values)
        parts = [text_of(row, context)]
        # What is asked of the context may be in a column of its own.
        if "question" in names and names["question"] not in (context, target):
            asked = text_of(row, names["question"])
            parts.append(_QUESTIONS.get(asked, asked))
        # What all choices begin with, as in SWAG.
        start = f"{text_of(row, names['sent2'])} " if "sent2" in names else ""
        return " ".join(parts), [start + choice for choice in _choices(row, columns)]


def usual_form(names: Collection[str]) -> type[Examples] | None:
    """What reads rows with such columns as examples; None where none has its usual name."""
    if looks_like_choices(names):
        return Choices
    texts, lower = len(usual_texts(names)), lower_names(names).keys()
    answers = not lower.isdisjoint((*CLASS_KEYS, *SCORE_KEYS))
    # One text alone may be a word, which may be called "text", and then its tag.
    return Examples if texts == 2 or (texts == 1 and (answers or len(lower) == 1)) else None


def _choices(row: Row, columns: Sequence[str]) -> list[str]:
    if len(columns) == 1:
        texts = _listed(row, columns[0])["text"]
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise InputError(f"no list of texts in column {columns[0]}, {row.where}")
        return texts
    given = [i for i, name in enumerate(columns, 1) if row.values[name] not in ("", None)]
    return [text_of(row, name) for name in columns[: max(given, default=0)]]


def _tagged(choices: Sequence[Sentence], first: int, file: RawFile) -> Sequence[Sentence]:
    """An example with tags in place of its label; `first` is the number of the first choice."""
    if (label := choices[0].tags) is None:
        return choices
    number, n = int(label[0].removeprefix(_COUNTED)), len(choices)
    right = number - first * label[0].startswith(_COUNTED)
    if right not in range(n):
        raise InputError(
            f"label {number}, {file.unit} {choices[0].lines[0]} of {file.path}; the example has "
            f"{n} choices, {first} to {n - 1 + first}"
        )
    return [replace(choice, tags=(str(int(i == right)),)) for i, choice in enumerate(choices)]


def _listed(row: Row, column: str) -> dict[str, Any]:
    """The texts in a column of choices, and their own labels, where they have some.

    Datasets have {"text": [...], "label": ["A", ...]}, AI2 [{"text": "...", "label": "A"}, ...],
    and others {"A": "...", ...}.
    """
    value = literal(row.values[column])
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        value = {key: [one.get(key) for one in value] for key in ("text", "label")}
    if isinstance(value, dict) and not isinstance(value.get("text"), list):
        value = {"text": [*value.values()], "label": [*value]}
    return {"label": None, **(value if isinstance(value, dict) else {"text": value})}


def _labels(row: Row) -> list[Any]:
    """The choices' own labels, where they have some."""
    columns = usual_choices(tuple(row.values))[1]
    labels = _listed(row, columns[0])["label"] if len(columns) == 1 else None
    return labels if isinstance(labels, list) else []


def whole_examples(corpus: Corpus) -> Corpus:
    """A corpus of choices with a sentence an example, tagged with the number of the right choice.

    Its words are those of the context and of all choices. Another corpus stays as it is.
    """
    if corpus.targets != "choices":
        return corpus
    splits = {}
    for name, split in corpus.splits.items():
        examples = groupby(split, key=lambda choice: choice.document)
        splits[name] = replace(split, sentences=tuple(_whole(*choices) for _, choices in examples))
    return replace(corpus, splits=splits)


def _whole(first: Sentence, *others: Sentence) -> Sentence:
    words = [*first.words, *(word for one in others for word in one.words[one.pair :])]
    right = tuple(str(i) for i, choice in enumerate((first, *others)) if choice.tags == ("1",))
    texts = (*first.texts, *(choice.texts[1] for choice in others))
    return Sentence(tuple(words), right or None, first.document, first.pair, texts)
