"""Examples: a text or a pair of texts with one answer, in TSV, CSV, JSONL and datasets.

    sentence1<TAB>sentence2<TAB>label           a row an example, with or without a header
    {"premise": "...", "hypothesis": "...", "label": "entailment"}

The caller names columns, or they are found by their usual names (`columns`). Without a header they
are numbers from 1 (`tables`). A class is a text, a number or a boolean, a list of one of these, or
{"POS": 1, "NEG": 0}. Examples may lack an answer (`answers`). A part without any answer can be
predicted, not scored.

Words are cut from the text at white space and punctuation, by the pre-tokenizer of `tokenizers` for
BERT, each with its place. Each character of a script without spaces is a word (`words`, rule 8). A
text without any word becomes one empty word, and is counted.
"""

import functools
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from featbert.data.answers import (
    NO_VALUE,
    classes_settled,
    count_missing,
    missing_mark,
    number_of,
    rejected,
    scores_settled,
)
from featbert.data.columns import (
    EXAMPLE_KEYS,
    IDS,
    ROW_NUMBERS,
    USUAL_NAMES,
    Column,
    columns_seen,
    delimiter_advice,
    lower_names,
    named_column,
    usual_column,
    usual_columns,
    usual_texts,
)
from featbert.data.corpus import Sentence, Split
from featbert.data.files import SURROGATE, RawFile, RawRow
from featbert.data.jsonl import literal
from featbert.data.options import ReadingOptions
from featbert.errors import FormError, InputError, other_task, spelling
from featbert.progress import notice
from featbert.text import excerpt

_COMMA = re.compile(r"[+-]?\d+,\d+")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
# The tags of a sentence in one cell, with O or a beginning: "S-Bahn U-Bahn" is a class.
_TAGS = re.compile(
    r"(?=(?:.*[\s,])?(?:O(?:[\s,]|$)|B-))"
    r"(?:O|[BIESLU]-[^\s,]+)(?:[\s,]+(?:O|[BIESLU]-[^\s,]+))+"
)
# Words of a value that make it a text, and rows in which columns of texts are looked for.
_SEVERAL, _SEEN = 3, 1000
# So many distinct answers are no classes, unless the caller says it.
_DISTINCT = 8


class ExampleColumns(NamedTuple):
    """The columns of an example in a file, or None for a column that it lacks."""

    text: Column
    pair: Column | None = None
    target: str | None = None


@dataclass
class TextReader:
    """Reads the rows of a file as examples without answers: a text or a pair each.

    Attributes:
        keys: usual names of the column of answers. None reads only texts.
        must: whether there must be such a column.
        texts_of_train, answers_of_train: names of columns that were read in train. They come before
            usual names.
        notes: counts of `ReadingNotes`.
        columns: of the first row.
        rows: the first ones.
        only_column: the column of answers, if it was taken for want of another one.
    """

    options: ReadingOptions
    keys: Sequence[str] | None
    path: Path
    must: bool = False
    texts_of_train: Sequence[str] = ()
    answers_of_train: Sequence[str] = ()
    notes: dict[str, Any] = field(default_factory=Counter)
    columns: ExampleColumns | None = None
    rows: list[Mapping[Any, Any]] = field(default_factory=list)
    only_column: Sequence[str] = ()
    # Values that are no answer, unless the caller names some.
    marks: ClassVar[Collection[str]] = ("-",)
    # Whether a line of raw text can be an example.
    of_lines: ClassVar[bool] = True
    # Whether columns without names may be a text, perhaps another one, and an answer.
    in_columns: ClassVar[bool] = True
    # Whether the only column besides texts and numbers of rows has the answers, whatever its name.
    takes_only_column: ClassVar[bool] = False
    # Names of the texts of an example in predictions.
    names_of_texts: ClassVar[tuple[str, str]] = ("text", "pair")

    def begin(self, first: RawRow) -> None:
        """Finds the columns. `first` has a value of the first rows for each."""
        self.find_columns(first)

    def __call__(self, row: RawRow) -> list[Sentence]:
        """The sequences of an example. InputError names the row."""
        columns = self.find_columns(row)
        if len(self.rows) < _SEEN:
            self.rows.append(row.values)
        names = [name for name in (columns.text, columns.pair) if name is not None]
        if cells := {name: as_cell(row.values[name]) for name in names if name in row.values}:
            # A pair may lack a text, such as a review its title.
            row = replace(row, values={**row.values, **dict.fromkeys(names, ""), **cells})
        elif not self.path.suffix:  # objects of Python
            raise InputError(
                f"no {' and '.join(map(str, names))} in {row.where}; it has "
                f"{columns_seen(row.values)}; give all objects the same keys, or give strings"
            )
        sentence = example_of(row, columns.text, columns.pair)
        value = self.value_of(row, columns.target)
        try:
            answer = None if value is None else self.answer(value)
        except ValueError as error:
            fault = str(error).removesuffix(",")
            if columns.target is not None:
                fault = f"{error} in column {columns.target}"
            raise InputError(f"{fault}, {row.where}") from None
        if value is not None and answer is None:
            count_missing(self.notes, "no class")
        return [sentence if answer is None else replace(sentence, tags=(answer,))]

    def value_of(self, row: RawRow, target: str | None) -> Any:
        """The value in the column of answers. None, which is counted, if it is no answer."""
        if target is None:
            return None
        value, values = answer_in(row, target), self.options.missing_values
        if isinstance(value, list) and len(value) == 1 and not isinstance(value[0], list | dict):
            value = value[0]  # a list in a list is a span
        mark = None if target == "answer" else rejected(row.values)
        mark = mark or missing_mark(value, self.marks if values is None else values)
        if mark is None:
            return value
        count_missing(self.notes, mark)
        return None

    def answer(self, value: Any) -> str | None:
        """The answer that a value is, None for no answer. ValueError for another value."""
        return str(value)

    def completed(self, sentences: list[Sentence]) -> list[Sentence]:
        """The sequences of all rows, with what only the whole file shows."""
        self._check_recurring(sentences)
        both_named = self.options.text is not None and self.options.pair is not None
        if self.rows and self.columns is not None and not both_named:
            target = self._target_named(column_names(self.rows))
            columns = self.columns._replace(target=self.columns.target or target)
            self.notes["unread_columns"] = _unread_texts(self.rows, sentences, columns)
        if self.columns is not None and self.options.target is None:
            self.notes["other_answers"] = self._other_answers(self.columns)
        return sentences

    def _check_recurring(self, sentences: Sequence[Sentence]) -> None:
        """Raises InputError for an only column of many distinct texts or whole numbers."""
        answers = [s.tags[0] for s in sentences if s.tags] if self.only_column else []
        are_decimals = any(number_of(answer) % 1 for answer in answers if number_of(answer) > 0)
        if len({*answers}) == len(answers) >= _DISTINCT and not are_decimals:
            raise FormError(
                f"no column of answers in {self.path}: {self.only_column[0]} has another value in "
                f"each row; name it with {spelling('target')} if it has the answers"
            )

    def _other_answers(self, columns: ExampleColumns) -> tuple[str, ...]:
        """Columns with usual names of answers that divide the first rows in another way."""
        if columns.target is None:
            return ()

        def n_values(*names: Column | None) -> int:
            return len({tuple(str(row.get(name)) for name in names) for row in self.rows})

        names = usual_columns(column_names(self.rows), self.keys or ())
        n_answers = n_values(columns.target)
        return tuple(
            name
            for name in names
            if name not in columns
            and n_values(name) > 1
            and not n_values(name) == n_values(name, columns.target) == n_answers
        )

    @staticmethod
    def settled(files: Sequence[RawFile], options: ReadingOptions) -> list[RawFile]:
        """All files of a corpus with answers in one notation."""
        return [*files]

    def find_columns(self, row: RawRow) -> ExampleColumns:
        if self.columns is not None:
            return self.columns
        names, options, pair = [*row.values], self.options, None
        if options.pair is not None:
            pair = named_column(options.pair, names, "pair", self.path)
        # By their usual names neither lists nor objects, nor other columns that the caller names.
        no_texts, values = (self._target_named(names), pair), row.values.items()
        usual = [
            n for n, value in values if n not in no_texts and not isinstance(value, list | dict)
        ]
        text_option, only = options.text, self._only_text(usual)
        if (
            only
            and isinstance(text_option, str)
            and usual_column(names, [text_option.lower()]) is None
        ):
            text_option, usual = None, [only]
        if text_option is not None:
            text = named_column(text_option, names, "text", self.path)
        elif texts := usual_texts(usual, self.texts_of_train):
            text, pair = texts[0], pair or (texts[1] if len(texts) > 1 else None)
        elif only is not None:
            text = only
            lacking = self.texts_of_train[0]
            notice(f"{self.path} has no column {lacking}; its texts are read from {only}")
        else:
            advice = f"give {spelling('text')}, by name or number"
            if self.texts_of_train:
                advice = f"name texts as in the first part: {', '.join(self.texts_of_train)}"
            if "annotations" in row.values:
                advice += "; or export JSON-MIN"
            elif objects := [str(n) for n, value in values if isinstance(value, dict)]:
                columns = f"give the values in {', '.join(objects)} columns of their own"
                advice = f"{columns}, or {advice}"
            elif usual_texts(names):
                advice = "its columns are lists; write an object for each example"
            elif self.keys is not None:
                advice += delimiter_advice(row.values, self.path)
            elif not self.path.suffix:  # objects of Python
                advice = f"call it {self.names_of_texts[0]}"
            elif len(names) == 1:
                advice += f"; if each line is a text, give {spelling('input', 'text')}"
            raise FormError(
                f"no column of texts in {self.path}; it has {columns_seen(row.values)}; {advice}"
            )
        if text == pair:
            raise InputError(f"is {text}, as {spelling('text')} is; name another", setting="pair")
        self.columns = ExampleColumns(text, pair, self.target_of(names, self.path, text, pair))
        for name in self.notes.get("answer_columns", ()):
            if name in (text, pair):
                raise InputError(f"names {name}, which is a text; name another", setting="target")
        self.notes["text_columns"] = (text,) if pair is None else (text, pair)
        return self.columns

    def _only_text(self, names: Sequence[str]) -> str | None:
        """The only column that can have the texts of a part, if train has one text per example."""
        if len(self.texts_of_train) != 1:
            return None
        other_columns = (*EXAMPLE_KEYS, *IDS, *ROW_NUMBERS, *map(str.lower, self.answers_of_train))
        columns_left = [name for name in names if name.lower() not in other_columns]
        is_clear = len(columns_left) == 1 and not columns_left[0].isdecimal()
        return columns_left[0] if is_clear else None

    def _target_named(self, names: Sequence[str]) -> str | None:
        """The column of answers that the caller names, if it is among these."""
        target = self.options.target
        if isinstance(target, int):
            return names[target - 1] if 0 < target <= len(names) else None
        return lower_names(names).get(target.lower()) if target else None

    def target_of(self, names: Sequence[str], where: object, *texts: str | None) -> str | None:
        """The column of answers, if there is one. A usual name counts unless `texts` have it."""
        target = self.options.target
        if self.keys is None:
            return None
        if target is not None:
            is_lacking = isinstance(target, str) and self._target_named(names) is None
            column = None
            if self.must or not is_lacking:
                column = named_column(target, names, "target", where)
        else:
            keys = (*map(str.lower, self.answers_of_train), *self.keys)
            columns_left = [name for name in names if name not in texts]
            column = usual_column(columns_left, keys)
            numbers = (*IDS, *ROW_NUMBERS)
            columns_left = [
                n for n in columns_left if not (n.lower() in numbers or n.lower().endswith("_id"))
            ]
            is_open = column is None and self.must and self.takes_only_column
            if is_open and len(columns_left) == 1 and columns_left[0].lower() not in USUAL_NAMES:
                self.only_column = (column,) = columns_left
                notice(f"read as answers of {self.path.name}: {column}")
        if self.must and column is None:
            raise FormError(
                f"no column of answers in {where}; it has {', '.join(names)}; name it with "
                f"{spelling('target')}"
            )
        if column is not None:
            self.notes["answer_columns"] = (column,)
        return column


def answer_in(row: RawRow, target: str | None) -> Any:
    """The value in a column of answers. Several choices of Label Studio are a list."""
    match literal(row.values.get(target)):
        case {"choices": list(classes), **more} if not more:
            return classes
        case value:
            return value


class ClassReader(TextReader):
    """Reads examples with a class each."""

    marks = ()  # any text can be a class
    takes_only_column = True
    settled = staticmethod(classes_settled)

    def begin(self, first: RawRow) -> None:
        """Finds the columns. `answer` is a column of classes if it holds yes or no."""
        if self.keys and str(first.values.get("answer")).lower() in ("true", "false", "yes", "no"):
            self.keys = (*self.keys, "answer")
        super().begin(first)

    def answer(self, value: Any) -> str | None:
        if isinstance(value, dict) and all(share in (0, 1) for share in value.values()):
            classes = [name for name, share in value.items() if share]
            value = classes[0] if len(classes) == 1 else classes
        if value == []:
            return None
        shown = excerpt(repr(value))[1:-1]
        if isinstance(value, list):
            several = other_task("multilabel")
            raise ValueError(f"several classes, {shown} ({several} reads them),")
        return class_name(value) or None


def class_name(value: Any) -> str:
    """The name of a class that is a text, a finite number or a boolean.

    ValueError for others, and for the tags of a sentence.
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        shown = excerpt(repr(value))[1:-1]
        raise ValueError(f"{shown} is an object, no class (write it as a column of its own),")
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    is_class = isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))
    if not is_class or SURROGATE.search(str(value)):
        raise ValueError(f"{excerpt(repr(value))[1:-1]} is no class")
    if _TAGS.fullmatch(name := str(value).strip()):
        raise ValueError(f"{excerpt(name)} has the tags of words (write JSONL with lists of them),")
    return name


class ScoreReader(TextReader):
    """Reads examples with a score each, with a point or a comma before its decimals."""

    takes_only_column = True
    marks = ("-", "NaN", "None", "Null", *NO_VALUE, *map(str.upper, NO_VALUE))
    settled = staticmethod(scores_settled)

    def answer(self, value: Any) -> str:
        if isinstance(value, str) and _COMMA.fullmatch(value.strip()):
            return value.strip()  # until all rows are read
        number = number_of(str(value).replace("\u2212", "-"))  # a minus sign
        if not math.isfinite(number):
            classes = other_task("classification")
            raise ValueError(f"{excerpt(str(value))} is not a number ({classes} reads classes)")
        return repr(number)

    def completed(self, sentences: list[Sentence]) -> list[Sentence]:
        commas = [s.tags[0] for s in sentences if s.tags and "," in s.tags[0]]
        if commas and all(map(_THOUSANDS.fullmatch, commas)):
            raise InputError(
                f"{commas[0]} in {self.path} could be {float(commas[0].replace(',', '.'))} or "
                f"{commas[0].replace(',', '')}; write scores without commas"
            )
        if commas:
            points = ((s, s.tags[0].replace(",", ".") if s.tags else "") for s in sentences)
            sentences = [replace(s, tags=(repr(float(n)),)) if n else s for s, n in points]
        return super().completed(sentences)


def _unread_texts(
    rows: Sequence[Mapping[Any, Any]], sentences: Sequence[Sentence], columns: ExampleColumns
) -> tuple[str, ...]:
    """Columns besides `columns` that seem to be texts of the examples in these rows.

    Most of their values are several words, or only they tell apart equal texts with other answers.
    Columns named after another one, such as `sentence1_parse`, are no texts of their own.
    """
    names = [name.lower() for name in columns if isinstance(name, str)]
    answers: dict[tuple[str, ...], set[Any]] = {}
    for s in sentences:
        answers.setdefault(s.texts, set()).add(s.tags)
    unclear = [n for n, s in enumerate(sentences[: len(rows)]) if len(answers[s.texts]) > 1]
    unread = []
    for name in column_names(rows):
        lower, values = str(name).lower(), [row.get(name) for row in rows]
        texts = [value for value in values if isinstance(value, str) and value.strip()]
        is_part = any(lower.startswith(f"{column}_") for column in names)
        if name in columns or lower in (*EXAMPLE_KEYS, *IDS) or is_part:
            continue
        if len({*texts}) < 2:
            continue
        n_long = sum(n_words(text) >= _SEVERAL for text in texts)
        by_value: dict[Any, set[Any]] = {}
        for n in unclear:
            by_value.setdefault((sentences[n].texts, str(values[n])), set()).add(sentences[n].tags)
        decides = bool(unclear) and all(len(tags) == 1 for tags in by_value.values())
        repeated = 2 * len({*texts}) <= len(texts) and all(map(n_words, texts))
        if 2 * n_long > len(rows) or (decides and repeated):
            unread.append(str(name))
    return tuple(unread)


def column_names(rows: Iterable[Mapping[Any, Any]]) -> list[Any]:
    """Names of the columns that some row has, in the order of their first row."""
    return [*dict.fromkeys(name for row in rows for name in row)]


def n_words(value: str) -> int:
    """Words in a value with a letter, without addresses."""
    parts = [p for p in value.split() if any(map(str.isalpha, p)) and not {*"/@\\"} & {*p}]
    return sum(1 if part.isascii() else len(split_text(part)) for part in parts)


def example_of(row: RawRow, text: Column, pair: Column | None = None) -> Sentence:
    """The example in one or two columns of a row, with its words, without its answer."""
    texts = tuple(text_of(row, name) for name in (text, pair) if name is not None)
    words, places, touches = zip(*map(_cut, texts), strict=True)
    return Sentence(
        sum(words, ()),
        lines=(row.number,),
        pair=len(words[0]) if len(texts) > 1 else None,
        texts=texts,
        places=sum(places, ()),
        touches=sum(touches, ()),
    )


def is_several(values: Any) -> bool:
    """Whether it can be iterated, unlike None and an array of a single value."""
    return isinstance(values, Iterable) and getattr(values, "ndim", 1) > 0


def text_rows(texts: Iterable[Any]) -> Iterator[RawRow]:
    """Texts given in Python as rows: strings, or pairs of strings.

    InputError for values that are no texts, and if some are pairs and others are not.
    """
    if not is_several(texts):
        shown = excerpt(repr(texts))[1:-1]
        raise InputError(f"{shown} is no list of texts; give strings, or pairs of strings")
    n_first = 0
    for number, text in enumerate(texts, 1):
        is_one = isinstance(text, str | Mapping) or not isinstance(text, Iterable)
        strings = (text,) if is_one else tuple(text)
        place, names = f"text {number}", TextReader.names_of_texts[: len(strings)]
        if not names or len(strings) != len(names):
            raise InputError(f"{len(strings)} texts instead of one or two, {place}")
        n_first = n_first or len(strings)
        if len(strings) != n_first:
            form = "a single text among pairs" if n_first == 2 else "a pair among single texts"
            raise InputError(f"{place} is {form}: {excerpt(str(strings[0]))}")
        row = RawRow(dict(zip(names, strings, strict=True)), place, number)
        yield replace(row, values={name: text_of(row, name) for name in names})


def examples_of(
    texts: Iterable[Any], *, prompt: str = "", lowercase: bool = False
) -> list[Sentence]:
    """Examples of texts as of `text_rows`. `prompt` is put before each, or before a pair."""
    examples = []
    for row in text_rows(texts):
        first, *second = row.values.values()
        strings = [text.lower() if lowercase else text for text in (prompt + first, *second)]
        values = dict(zip(row.values, strings, strict=True))
        examples.append(example_of(replace(row, values=values), *values))
    return examples


def example_split(name: str, texts: Iterable[Any], answers: Iterable[Any]) -> Split:
    """A split of texts or pairs, as of `text_rows`, with an answer each.

    An answer is a class or a score, whichever the corpus has (`targets`). None and NaN are no
    answer. InputError for other values, and if the numbers of texts and answers differ.
    """
    tags = []
    for number, answer in enumerate(answers, 1):
        try:
            value = answer.item() if hasattr(answer, "item") else answer  # a scalar of NumPy
            tags.append("" if value is None or value != value else class_name(value))
        except (TypeError, ValueError):
            shown = excerpt(repr(answer))[1:-1]
            raise InputError(f"{shown} is no class or score, answer {number} of {name}") from None
    examples = examples_of(texts)
    if len(examples) != len(tags):
        raise InputError(f"{len(examples)} texts but {len(tags)} answers, {name}; give one to each")
    answered = (
        replace(s, tags=(tag,) if tag else None, lines=())
        for s, tag in zip(examples, tags, strict=True)
    )
    return Split(name, tuple(answered))


def as_cell(value: Any) -> Any:
    """A text as a table has it: null as an empty cell, a number by its digits."""
    if value is None or value != value:
        return ""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number else value


def text_of(row: RawRow, name: Column) -> str:
    """The text in a column. InputError for anything else."""
    value = row.values.get(name)
    if name not in row.values:
        columns = f"{spelling('text')} and {spelling('pair')}"
        raise InputError(
            f"no column {name} in {row.where}, but in other rows; choose with {columns}"
        )
    if not isinstance(value, str) or SURROGATE.search(value):
        raise InputError(f"{excerpt(repr(value))[1:-1]} is no text in column {name}, {row.where}")
    return value


@functools.lru_cache(16)  # a passage's words are in memory once, however many questions it has
def _cut(text: str) -> tuple[tuple[str, ...], tuple[tuple[int, int], ...], tuple[bool, ...]]:
    """Words, places, and which words touch the word before."""
    places = tuple(split_text(text))
    ends = (-1, *(end for _, end in places))
    touches = tuple(start == end for (start, _), end in zip(places, ends, strict=False))
    return tuple(text[start:end] for start, end in places), places, touches


def split_text(text: str) -> list[tuple[int, int]]:
    """(start, end) of each word of a text, in code points. Only (0, 0) without a word."""
    from featbert.data.words import units  # which takes a while to import

    words = _splitter().pre_tokenize_str(text)
    if text.isascii():
        return [place for _, place in words] or [(0, 0)]
    return [place for _, (start, end) in words for place in units(text, start, end)] or [(0, 0)]


@functools.cache
def _splitter() -> Any:
    from tokenizers.pre_tokenizers import BertPreTokenizer

    return BertPreTokenizer()
