"""Examples: a text or a pair of texts with one answer, in TSV, CSV, JSONL and datasets.

    sentence1<TAB>sentence2<TAB>label           a row an example, with or without a header
    {"premise": "...", "hypothesis": "...", "label": "entailment"}

Columns are named by the caller, or found by their usual names (GLUE, SNLI, SICK, `text` and
`label`); without a header they are numbers from 1 (`tables`). A class is a text, a number or a
boolean, a list of one of these, or {"POS": 1, "NEG": 0}. Examples may lack an answer (`answers`); a
part in which all do can be predicted, not scored.

Words are cut from the text at white space and punctuation by the pre-tokenizer of `tokenizers` that
BERT has, each with its place; characters of scripts without spaces are a word each (`words`, rule
8). A text without any word becomes one empty word, and is counted.
"""

import functools
import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

from featbert.data.answers import (
    NO_VALUE,
    classes_settled,
    count_missing,
    missing_mark,
    number_of,
    rejected,
    scores_settled,
)
from featbert.data.corpus import Sentence
from featbert.data.files import (
    SURROGATE,
    Column,
    RawFile,
    Row,
    excerpt,
    literal,
    lower_names,
    named_column,
)
from featbert.errors import InputError

# Usual names of columns, in lower case; the first that a file has counts.
ASPECTS = ("aspect", "aspect_term", "aspect term")
PAIRS = (
    ("sentence1", "sentence2"),
    ("sentence_a", "sentence_b"),
    ("premise", "hypothesis"),
    ("context", "hypothesis"),
    ("question1", "question2"),
    ("question", "sentence"),
    ("question", "context"),
    ("text_a", "text_b"),
    ("text1", "text2"),
    ("text", "pair"),
    ("#1 string", "#2 string"),
    ("sentence 1", "sentence 2"),
    ("question", "passage"),
    ("question", "paragraph"),
    ("question", "document"),
    ("query", "document"),
    ("query", "passage"),
    ("claim", "evidence"),
    *((text, aspect) for text in ("sentence", "text", "review") for aspect in ASPECTS),
    *(("title", text) for text in ("text", "content", "body", "description", "abstract", "review")),
    ("review_title", "review_body"),
    *(("subject", text) for text in ("text", "content", "body", "message")),
    ("headline", "body"),
)
TEXTS = (
    *("sentence", "text", "review", "content", "question", "title", "data", "tweet", "comment"),
    *("comment_text", "review_text", "reviewtext", "headline", "claim", "utterance", "message"),
    *("review_body", "review text"),
)
# Contexts, and lists of choices.
CONTEXTS = (
    *("ctx", "context", "premise", "sent1", "passage", "article", "goal", "question", "sentence"),
    "prompt",
)
LISTS = ("endings", "choices", "options")
_COUNTED = re.compile(r"(ending|choice|option|answer|sol|op|)[ _-]?(\d+|[a-j])")
CLASS_KEYS = (
    *("label", "gold_label", "labels", "class", "category", "entailment_label", "entailment"),
    *("entailment_judgment", "quality", "is_duplicate", "sentiment", "stars", "coarse_label"),
    *("polarity", "rating", "overall", "class index", "intent", "emotion"),
    *("cats", "accept"),  # of spaCy and Prodigy
)
IDS = ("id", "idx", "ind", "index", "guid", "uid")
SCORE_KEYS = (
    *("score", "relatedness", "relatedness_score", "similarity", "similarity_score", "label"),
    *("rating", "stars", "overall", "target"),
)
_COMMA = re.compile(r"[+-]?\d+,\d+")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
# Words of a value that make it a text, and rows in which columns of texts are looked for.
_SEVERAL, _SEEN = 3, 1000


@dataclass(frozen=True)
class Columns:
    """Columns of a file: names, or numbers from 1; None is to be found.

    `text`, `pair` and `target` are those of examples; `delimiter` is what separates columns,
    `quoting` whether fields are quoted ("none", "double", or "auto" to find it), and `escape` a
    character that takes their meaning from separators and quotation marks. `missing` are values
    that are no answer; None for those of `answers`.
    """

    text: Column | None = None
    pair: Column | None = None
    target: Column | None = None
    token_column: Column | None = None
    tag_column: Column | None = None
    delimiter: str | None = None
    quoting: str = "auto"
    escape: str | None = None
    missing: frozenset[str] | None = None

    @property
    def of_texts(self) -> bool:
        return any(column is not None for column in (self.text, self.pair, self.target))

    def in_header(self, names: Collection[str]) -> bool:
        """Whether a column is named that is among these."""
        columns = (self.text, self.pair, self.target, self.token_column, self.tag_column)
        named = {column.lower() for column in columns if isinstance(column, str)}
        return not named.isdisjoint(lower_names(names))


def usual_texts(names: Collection[str]) -> tuple[str, ...]:
    """The columns of a pair or of a text among these, by their usual names; else none."""
    by_lower = lower_names(names)
    found = next((p for p in (*PAIRS, *((t,) for t in TEXTS)) if {*p} <= by_lower.keys()), ())
    return tuple(by_lower[name] for name in found)


@functools.lru_cache(16)
def usual_choices(names: tuple[str, ...]) -> tuple[str | None, list[str]]:
    """The column of a context and those of choices among these, by their usual names.

    Choices are one column with a list, or two and more of one name with numbers or letters, or
    three and more that are letters.
    """
    by_lower = lower_names(names)
    context = next((by_lower[name] for name in CONTEXTS if name in by_lower), None)
    counted: dict[str, list[tuple[int, str, str]]] = {}
    for lower, name in by_lower.items():
        match = _COUNTED.fullmatch(lower)
        if match and (match[1] or match[2].isalpha()):
            number = int(match[2]) if match[2].isdecimal() else 0
            counted.setdefault(match[1], []).append((number, match[2], name))
    counted = {kind: columns for kind, columns in counted.items() if len(columns) > 1 + (not kind)}
    most = max(counted.values(), key=len, default=[])
    several = [name for *_, name in sorted(most)]
    return context, [by_lower[name] for name in LISTS if name in by_lower][:1] or several


def looks_like_choices(names: Collection[str]) -> bool:
    """Whether these are columns of a context and of choices."""
    return all(usual_choices(tuple(names)))


def unread_texts(
    rows: Sequence[Mapping[Any, Any]], sentences: Sequence[Sentence], read: Columns
) -> tuple[str, ...]:
    """Columns that seem to be texts of the examples in these rows, but are not `read`.

    Most of their values are several words, or only they tell apart equal texts with other answers.
    Columns named after another one, such as `sentence1_parse`, are no texts of their own.
    """
    columns = [name for name in (read.text, read.pair, read.target) if isinstance(name, str)]
    answers: dict[tuple[str, ...], set[Any]] = {}
    for s in sentences:
        answers.setdefault(s.texts, set()).add(s.tags)
    unclear = [n for n, s in enumerate(sentences[: len(rows)]) if len(answers[s.texts]) > 1]
    unread = []
    for name in rows[0] if rows else ():
        lower = str(name).lower()
        if name in columns or lower in (*CLASS_KEYS, *SCORE_KEYS, *IDS):
            continue
        values = [row.get(name) for row in rows]
        texts = [value for value in values if isinstance(value, str) and value.strip()]
        if any(lower.startswith(f"{column.lower()}_") for column in columns) or len({*texts}) < 2:
            continue
        n_long = sum(n_words(text) >= _SEVERAL for text in texts)
        by_value: dict[Any, set[Any]] = {}
        for n in unclear:
            by_value.setdefault((sentences[n].texts, values[n]), set()).add(sentences[n].tags)
        decides = bool(unclear) and all(len(tags) == 1 for tags in by_value.values())
        repeated = 2 * len({*texts}) <= len(texts) and all(map(n_words, texts))
        if 2 * n_long > len(rows) or (decides and repeated):
            unread.append(str(name))
    return tuple(unread)


def n_words(value: str) -> int:
    """Words in a value with a letter, without addresses."""
    parts = [p for p in value.split() if any(map(str.isalpha, p)) and not {*"/@\\"} & {*p}]
    return sum(1 if part.isascii() else len(split_text(part)) for part in parts)


def columns_seen(values: Mapping[Any, Any]) -> str:
    """Columns for a message: names, or numbers with what the first line has: "1 ('Headline')"."""
    shown = [f"{n} ({excerpt(str(v), 30)})" if str(n).isdigit() else n for n, v in values.items()]
    return ", ".join(shown)


def delimiter_advice(values: Mapping[Any, Any]) -> str:
    """How to say what separates columns, where there is only one that holds such a sign."""
    line = "" if len(values) > 1 else "".join(map(str, [*values, *values.values()]))
    sign = next((sign for sign in "\t;|," if sign in line), None)
    how = "$'\\t'" if sign == "\t" else f"'{sign}'"
    if not sign and line:
        return "; write a tab between text and answer"
    return f"; if {sign!r} separates columns, give --delimiter {how}" if sign else ""


@dataclass
class Examples:
    """Reads the rows of a file as examples: a text or a pair each, here without answers.

    Attributes:
        wanted: columns that the caller names.
        keys: usual names of the column of answers; None reads texts alone.
        must: whether there must be such a column.
        notes: counts of `ReadingNotes`.
    """

    wanted: Columns
    keys: Sequence[str] | None
    path: Path
    must: bool = False
    notes: dict[str, Any] = field(default_factory=Counter)
    columns: Columns | None = None  # of the first row
    rows: list[Mapping[Any, Any]] = field(default_factory=list)  # the first ones
    # Values that are no answer, unless the caller names some.
    marks: ClassVar[Collection[str]] = ("-",)
    # Whether a line of raw text can be an example.
    of_lines: ClassVar[bool] = True
    # Names of the texts of an example, as predictions have them.
    names_of_texts: ClassVar[tuple[str, str]] = ("text", "pair")

    def begin(self, first: Row) -> None:
        """Looks at the columns of the first rows, of which `first` has a value each."""
        self.columns_of(first)

    def __call__(self, row: Row) -> list[Sentence]:
        """The sequences of an example; InputError names the row."""
        columns = self.columns_of(row)
        if len(self.rows) < _SEEN:
            self.rows.append(row.values)
        empty = [c for c in (columns.text, columns.pair) if c and row.values.get(c) is None]
        if columns.pair is not None and len(empty) == 1:  # such as a review without a title
            row = replace(row, values={**row.values, empty[0]: ""})
        sentence = example_of(row, columns)
        value = self.value_of(row, columns.target)
        try:
            answer = None if value is None else self.answer(value)
        except ValueError as error:
            raise InputError(f"{error} in column {columns.target}, {row.where}") from None
        if value is not None and answer is None:
            self._lacks("no class")
        return [sentence if answer is None else replace(sentence, tags=(answer,))]

    def value_of(self, row: Row, target: Column | None) -> Any:
        """The value in the column of answers; None, and counted, for what is no answer."""
        if target is None:
            return None
        value, missing = literal(row.values.get(target)), self.wanted.missing
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        mark = None if target == "answer" else rejected(row.values)
        mark = mark or missing_mark(value, self.marks if missing is None else missing)
        if mark is not None:
            self._lacks(mark)
        return value if mark is None else None

    def _lacks(self, mark: str) -> None:
        count_missing(self.notes, mark)

    def answer(self, value: Any) -> str | None:
        """The answer that a value is, None for none; ValueError for another value."""
        return str(value)

    def completed(self, sentences: list[Sentence]) -> list[Sentence]:
        """The sequences of all rows, with what only the whole file can say."""
        both_named = self.wanted.text is not None and self.wanted.pair is not None
        if self.rows and self.columns is not None and not both_named:
            target = self.target_named([*self.rows[0]])
            read = replace(self.columns, target=self.columns.target or target)
            self.notes["unread_columns"] = unread_texts(self.rows, sentences, read)
        return sentences

    @staticmethod
    def settled(files: Sequence[RawFile], *, marks: bool) -> list[RawFile]:
        """All files of a corpus with answers in one notation.

        `marks`: whether "-" and -1 may be no answer.
        """
        return [*files]

    def columns_of(self, row: Row) -> Columns:
        """The columns of text, second text and answer, with None for those there are not."""
        if self.columns is not None:
            return self.columns
        names, wanted = [*row.values], self.wanted
        pair = None if wanted.pair is None else named_column(wanted.pair, names, "pair", self.path)
        if wanted.text is not None:
            text = named_column(wanted.text, names, "text", self.path)
        elif found := usual_texts(self._may_be_texts(row)):
            text, pair = found[0], pair or (found[1] if len(found) > 1 else None)
        else:
            how = "; or export JSON-MIN" if "annotations" in row.values else ""
            raise InputError(
                f"no column of texts in {self.path}; it has {columns_seen(row.values)}; name it "
                f"with --text, by name or number{how or delimiter_advice(row.values)}"
            )
        self.columns = Columns(text, pair, self.target_of(names, self.path, text, pair))
        return self.columns

    def _may_be_texts(self, row: Row) -> list[str]:
        """The columns that are not lists or objects, and not the answers that the caller names."""
        target = self.target_named([*row.values])
        values = row.values.items()
        return [n for n, value in values if n != target and not isinstance(value, list | dict)]

    def target_named(self, names: Sequence[str]) -> str | None:
        """The column of answers that the caller names, if it is among these."""
        target = self.wanted.target
        if isinstance(target, int):
            return names[target - 1] if 0 < target <= len(names) else None
        return lower_names(names).get(target.lower()) if target else None

    def target_of(self, names: Sequence[str], where: object, *taken: str | None) -> str | None:
        """The column of answers, if there is one; by its usual names none that is `taken`."""
        target = self.wanted.target
        if self.keys is None:
            return None
        if target is not None:
            lacks = isinstance(target, str) and target.lower() not in lower_names(names)
            return None if lacks and not self.must else named_column(target, names, "target", where)
        by_lower = lower_names([name for name in names if name not in taken])
        usual = next((by_lower[key] for key in self.keys if key in by_lower), None)
        if self.must and usual is None:
            raise InputError(
                f"no column of answers in {where}; it has {', '.join(names)}; name it with --target"
            )
        return usual


class Classes(Examples):
    """Reads examples with a class each."""

    marks = ()  # any text can be a class
    settled = staticmethod(classes_settled)

    def begin(self, first: Row) -> None:
        """Looks at the columns; `answer` is one of classes if it holds yes or no."""
        if self.keys and str(first.values.get("answer")).lower() in ("true", "false", "yes", "no"):
            self.keys = (*self.keys, "answer")
        super().begin(first)

    def answer(self, value: Any) -> str | None:
        if isinstance(value, dict) and all(share in (0, 1) for share in value.values()):
            named = [name for name, share in value.items() if share]
            value = named[0] if len(named) == 1 else named
        if value == []:
            return None
        if isinstance(value, list):
            shown = excerpt(repr(value))[1:-1]
            raise ValueError(f"several classes, {shown} (one is learned for each text),")
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, str | int) or SURROGATE.search(str(value)):
            raise ValueError(f"{excerpt(repr(value))[1:-1]} is no class")
        return str(value).strip() or None


class Scores(Examples):
    """Reads examples with a score each, whose decimals a point or a comma separates."""

    marks = ("-", "NaN", "None", "Null", *NO_VALUE, *map(str.upper, NO_VALUE))
    settled = staticmethod(scores_settled)

    def answer(self, value: Any) -> str:
        if isinstance(value, str) and _COMMA.fullmatch(value.strip()):
            return value.strip()  # until all rows are read
        number = number_of(value)
        if not math.isfinite(number):
            raise ValueError(
                f"{excerpt(str(value))} is not a number (--task classification reads classes)"
            )
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


def example_of(row: Row, columns: Columns) -> Sentence:
    """One example with its words, without its answer."""
    texts = tuple(text_of(row, name) for name in (columns.text, columns.pair) if name is not None)
    words, places, touches = zip(*map(_cut, texts), strict=True)
    return Sentence(
        sum(words, ()),
        lines=(row.number,),
        pair=len(words[0]) if len(texts) > 1 else None,
        texts=texts,
        places=sum(places, ()),
        touches=sum(touches, ()),
    )


def text_of(row: Row, name: Column) -> str:
    """The text in a column; InputError for anything else."""
    value = row.values.get(name)
    if not isinstance(value, str) or SURROGATE.search(value):
        raise InputError(f"{excerpt(repr(value))[1:-1]} is no text in column {name}, {row.where}")
    return value


@functools.lru_cache(16)
def _cut(text: str) -> tuple[tuple[str, ...], tuple[tuple[int, int], ...], tuple[bool, ...]]:
    """Words, places, and which words touch the one before.

    A passage's words are in memory once, however many questions it has.
    """
    places = tuple(split_text(text))
    before = chain([-1], (end for _, end in places))
    touches = (start == end for (start, _), end in zip(places, before, strict=False))
    return tuple(text[start:end] for start, end in places), places, tuple(touches)


def split_text(text: str) -> list[tuple[int, int]]:
    """(start, end) of each word of a text, in code points; (0, 0) alone without a word."""
    from featbert.data.words import units  # which takes a while to import

    words = _splitter().pre_tokenize_str(text)
    if text.isascii():
        return [place for _, place in words] or [(0, 0)]
    return [place for _, (start, end) in words for place in units(text, start, end)] or [(0, 0)]


@functools.cache
def _splitter() -> Any:
    from tokenizers.pre_tokenizers import BertPreTokenizer

    return BertPreTokenizer()
