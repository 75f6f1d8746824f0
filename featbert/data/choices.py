"""Multiple choice: a context and several choices, one of them right, in CSV, JSONL and datasets.

    video-id,fold-ind,startphrase,sent1,sent2,gold-source,ending0,...,ending3,label    SWAG
    {"context": "...", "endings": ["...", "...", "...", "..."], "label": 2}            HellaSwag
    {"premise": "...", "question": "cause", "choice1": "...", "choice2": "...", "label": 0}    COPA

Choices are a list or numbered columns, two or more for each example. Empty columns after the last
choice are ignored. A label is a letter (A, B, ...), a choice's own label or text, or a number.
Numbers count from 0, or from 1 if 0 never occurs in the corpus and one of them is the number of
choices. They are texts if in the whole corpus each is the text of a choice. Each choice is a
sequence of its own, the pair of context and choice, with the tag "1" if it is right, else "0". The
`document` of a sequence is the number of its example.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from featbert.data.answers import count_missing, number_of
from featbert.data.columns import IDS, columns_seen, usual_choices, usual_column
from featbert.data.corpus import Corpus, Sentence
from featbert.data.examples import TextReader, example_of, text_of
from featbert.data.files import RawFile, RawRow
from featbert.data.jsonl import literal
from featbert.data.options import ReadingOptions
from featbert.errors import FormError, InputError, spelling
from featbert.progress import notice
from featbert.text import counted, excerpt

# Before the number of a label that is not known to count from 0.
_COUNTED = "#"
# The questions that COPA asks about its premise (Roemmele et al. 2011).
_QUESTIONS = {"cause": "What was the cause of this?", "effect": "What happened as a result?"}


@dataclass
class ChoiceReader(TextReader):
    """Reads the rows of a file as examples with choices: a sequence for each choice."""

    ids: set[str] = field(default_factory=set)
    examples: int = 0
    of_lines = in_columns = False
    names_of_texts = ("context", "choices")

    def begin(self, first: RawRow) -> None:
        """Does nothing: each row may have other columns."""

    def __call__(self, row: RawRow) -> list[Sentence]:
        if self.options.text or self.options.pair:
            names = f"{spelling('text')} and {spelling('pair')}"
            raise InputError(f"{names} are not of choices, whose columns have usual names")
        context, columns = usual_choices(tuple(row.values))
        if not columns or context is None:
            missing_column = "context" if columns else "choices, such as endings or choice1"
            raise FormError(
                f"no column of {missing_column}, in {row.where}; it has "
                f"{columns_seen(row.values)}; name columns context, choice1, choice2, label"
            )
        target = self.target_of([*row.values], row.where)
        choices, labels = _choices(row, columns)
        context = _context(row, context, target)
        if len(choices) < 2:
            raise InputError(f"{counted(len(choices), 'choice')}, {row.where}; two are needed")
        right = self._right_choice(row, target, choices, labels)
        id_ = row.values.get(usual_column(row.values, IDS))
        if self.keys is not None and id_ not in (None, ""):
            self.notes["repeated_ids"] += str(id_) in self.ids
            self.ids.add(str(id_))
        pairs = (replace(row, values={"text": context, "pair": choice}) for choice in choices)
        sentences = [
            replace(example_of(pair, "text", "pair"), tags=right, document=self.examples)
            for pair in pairs
        ]
        self.examples += 1
        return sentences

    def _right_choice(
        self, row: RawRow, target: str | None, choices: Sequence[str], labels: Sequence[Any]
    ) -> tuple[str] | None:
        """The number of the right choice, after `_COUNTED` if it may count from 1, or None."""
        value = self.value_of(row, target)
        is_list = isinstance(value, list) and len(value) == len(choices)
        if is_list and (value.count(0), value.count(1)) == (len(choices) - 1, 1):
            return (str(value.index(1)),)
        hides = self.options.missing_values is None and number_of(value) == -1
        if hides:
            count_missing(self.notes, "-1")
        if hides or value is None:
            return None
        name, number = str(value).strip(), number_of(value)
        columns = [column.lower() for column in usual_choices(tuple(row.values))[1]]
        for texts in (labels, () if number.is_integer() else choices):
            if list(texts).count(name) == 1:
                return (str(texts.index(name)),)
        if number.is_integer():
            return (f"{_COUNTED}{number:.0f}",)
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
    def settled(files: Sequence[RawFile], options: ReadingOptions) -> list[RawFile]:
        """The files with the tag "1" for the right choices and "0" for the others."""
        of_files = [[[*c] for _, c in groupby(f.sentences, lambda s: s.document)] for f in files]
        labels = [
            (choices[0].tags[0].removeprefix(_COUNTED), [s.texts[1].strip() for s in choices])
            for examples in of_files
            for choices in examples
            if choices[0].tags and choices[0].tags[0].startswith(_COUNTED)
        ]
        first = options.first_choice
        are_texts = first is None and all(texts.count(label) == 1 for label, texts in labels)
        if first is None and not are_texts:
            are_positive = all(int(label) != 0 for label, _ in labels)
            first = int(are_positive and any(int(n) == len(texts) for n, texts in labels))
            if are_positive and not first:
                notice(
                    "the numbers of right choices count from 0, though 0 never occurs; if they "
                    f"count from 1, give {spelling('first_choice', 1)}"
                )
        return [
            file.with_sentences(s for choices in examples for s in _tagged(choices, first, file))
            for file, examples in zip(files, of_files, strict=True)
        ]


def _context(row: RawRow, column: str, target: str | None) -> str:
    """The context of an example, and the question about it in a column of its own."""
    context, question = text_of(row, column), usual_column(row.values, ["question"])
    if question in (None, column, target):
        return context
    text = text_of(row, question)
    return f"{context} {_QUESTIONS.get(text, text)}"


def _choices(row: RawRow, columns: Sequence[str]) -> tuple[list[str], Sequence[Any]]:
    """The choices of an example, and their own labels, if they have some.

    In one column datasets have {"text": [...], "label": ["A", ...]}, AI2 [{"text": "...", "label":
    "A"}, ...], and others {"A": "...", ...} or a list.
    """
    labels: Any = ()
    if len(columns) > 1:
        filled = [i for i, name in enumerate(columns, 1) if row.values[name] not in ("", None)]
        choices: Any = [text_of(row, name) for name in columns[: max(filled, default=0)]]
    else:
        choices = literal(row.values[columns[0]])
        if isinstance(choices, list) and choices and all(isinstance(c, dict) for c in choices):
            choices = {key: [choice.get(key) for choice in choices] for key in ("text", "label")}
        if isinstance(choices, dict) and not isinstance(choices.get("text"), list):
            choices = {"text": [*choices.values()], "label": [*choices]}
        if isinstance(choices, dict):
            choices, labels = choices["text"], choices.get("label")
        if not isinstance(choices, list) or not all(isinstance(text, str) for text in choices):
            raise InputError(f"no list of texts in column {columns[0]}, {row.where}")
    # All choices of SWAG begin with the words of a column.
    start = usual_column(row.values, ["sent2"])
    begin = f"{text_of(row, start)} " if start else ""
    return [begin + choice for choice in choices], labels if isinstance(labels, list) else ()


def _tagged(choices: Sequence[Sentence], first: int | None, file: RawFile) -> Iterable[Sentence]:
    """An example with tags in place of its label.

    `first` is the number of the first choice, None if numbers are texts of choices.
    """
    if (label := choices[0].tags) is None:
        return choices
    number, n = int(label[0].removeprefix(_COUNTED)), len(choices)
    right = number
    if label[0].startswith(_COUNTED):
        texts = [choice.texts[1].strip() for choice in choices]
        right = texts.index(str(number)) if first is None else number - first
    if right not in range(n):
        raise InputError(
            f"label {number}, {file.unit} {choices[0].lines[0]} of {file.path}; the example has "
            f"{n} choices, {first or 0} to {n - 1 + (first or 0)}"
        )
    return (replace(choice, tags=(str(int(i == right)),)) for i, choice in enumerate(choices))


def whole_examples(corpus: Corpus) -> Corpus:
    """A corpus of choices with a sentence per example, tagged with the number of the right choice.

    Its words are the words of the context and of all choices. Another corpus stays as it is.
    """
    if corpus.targets != "choices":
        return corpus
    splits = {}
    for name, split in corpus.splits.items():
        examples = groupby(split, key=lambda choice: choice.document)
        splits[name] = replace(split, sentences=tuple(_whole(*choices) for _, choices in examples))
    return replace(corpus, splits=splits)


def _whole(first: Sentence, *others: Sentence) -> Sentence:
    words = [*first.words, *(word for choice in others for word in choice.words[choice.pair :])]
    right = tuple(str(i) for i, choice in enumerate((first, *others)) if choice.tags == ("1",))
    texts = (*first.texts, *(choice.texts[1] for choice in others))
    return Sentence(tuple(words), right or None, first.document, first.pair, texts)
