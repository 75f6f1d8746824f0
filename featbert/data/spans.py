"""Questions that a passage answers: SQuAD's JSON (1.1, 2.0, XQuAD), and rows of JSONL and datasets.

    {"data": [{"paragraphs": [{"context": "Rome is old.", "qas": [
        {"id": "q1", "question": "What is old?", "answers": [{"text": "Rome", "answer_start": 0}]}
    ]}]}]}
    {"id": "q1", "question": "...", "context": "...", "answers": {"text": [], "answer_start": []}}

In tables answers are a column of texts next to a column of their first characters, or a list or
dictionary as pandas writes it. Articles or paragraphs may also be a list. Answers may be texts that
each occur once in the passage.

A question is a pair, its words and its passage's words, and all questions about a passage are one
document. Its answers are tags: "0:Rome" has the first character in the passage and the text as the
file has it. A question without an answer has the tag "". Equal answers count once.

The words of an answer are all words with a character of it. An answer that begins or ends inside a
word is counted. The places of answers follow from their texts (`offsets`).
"""

import json
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from featbert.data.answers import count_missing, number_of
from featbert.data.columns import ANSWER_KEYS, ANSWER_START_KEYS, IDS
from featbert.data.corpus import Sentence
from featbert.data.examples import TextReader, example_of
from featbert.data.files import SURROGATE, RawRow
from featbert.data.jsonl import literal
from featbert.data.offsets import Part, notice_partial, places_of
from featbert.errors import FormError, InputError, spelling
from featbert.text import counted, excerpt, listed

NO_ANSWER = ("",)
# RACE's lists of an article.
_RACE = ("questions", "options", "answers")


def answer_keys(names: Collection[str]) -> tuple[str, ...]:
    """Usual names of answer columns, with "text" if there is a column of first characters."""
    return (*ANSWER_KEYS, "text") if "answer_start" in names else ANSWER_KEYS


def json_questions(rows: Iterable[RawRow], path: Path) -> Iterator[RawRow]:
    """The rows, with a row for each question of the articles or paragraphs among them.

    RACE has lists of questions, options and answers for an article. AI2's questions hold their
    choices. InputError names the question.
    """
    number = 0
    for row in rows:
        values = row.values
        question = values.get("question")
        lists = [item for key in _RACE if isinstance(item := values.get(key), list)]
        if isinstance(question, dict) and isinstance(question.get("stem"), str):
            yield replace(row, values={**values, **question, "question": question["stem"]})
        elif len(lists) == len(_RACE) and len({*map(len, lists)}) == 1:
            article = {k: v for k, v in values.items() if k not in (*_RACE, *IDS)}
            for items in zip(*lists, strict=True):
                item = dict(zip(("question", "options", "answer"), items, strict=True))
                yield replace(row, values=article | item)
        elif "paragraphs" in values or "qas" in values:
            paragraphs, first, place = [values], row.number, str(path)
            if "paragraphs" in values:
                first, place = 1, f"article {row.number} of {path}"
                paragraphs = _value(values, "paragraphs", list, place)
            for p, paragraph in enumerate(paragraphs, first):
                context = _value(paragraph, "context", str, f"paragraph {p} of {place}")
                for qa in _value(paragraph, "qas", list, f"paragraph {p} of {place}"):
                    number += 1
                    position = f"question {number} of {path}"
                    if not isinstance(qa, dict) or "id" in qa:
                        position = f"question {_value(qa, 'id', str | int, position)} of {path}"
                    _value(qa, "question", str, position)
                    yield RawRow(qa | {"context": context}, position, number, "question")
        else:
            yield row


def _value(holder: Any, key: str, kind: Any, where: str) -> Any:
    if not isinstance(holder, dict) or key not in holder:
        keys = f"; it has {listed(holder)}" if isinstance(holder, dict) else ""
        raise InputError(f"no key {key!r} in {where}{keys}")
    if not isinstance(holder[key], kind):
        shown = excerpt(json.dumps(holder[key], ensure_ascii=False))
        noun = {list: "a list", str: "a text"}.get(kind, "a text or a number")
        raise InputError(f"{key!r} is {shown}, not {noun}, in {where}")
    return holder[key]


@dataclass
class QuestionReader(TextReader):
    """Reads the rows of a file as questions.

    InputError for values of another kind, and an `id` that occurs twice. A question with answers
    that are all left out, since their texts are elsewhere, hides its answer.
    """

    passages: dict[int, int] = field(default_factory=dict)  # by hash: a stream has many
    names: dict[str, str] = field(default_factory=dict)  # where each id was read
    of_lines = in_columns = False
    names_of_texts = ("question", "context")

    def begin(self, first: RawRow) -> None:
        self.keys = self.keys and answer_keys(first.values)
        super().begin(first)

    def __call__(self, row: RawRow) -> list[Sentence]:
        columns = self.find_columns(row)
        if columns.pair is None:
            names = listed(map(str, row.values))
            raise FormError(
                f"no column of passages in {self.path}; it has {names}; name it with "
                f"{spelling('pair')}"
            )
        question = example_of(row, columns.text, columns.pair)
        id_ = row.values.get("id")
        name = str(row.number if id_ in (None, "") else id_)
        document = self.passages.setdefault(hash(question.texts[1]), len(self.passages))
        question = replace(question, document=document, id=name)
        if self.keys is None:
            return [question]
        if SURROGATE.search(name):
            raise InputError(f"the id {excerpt(repr(name))} is no text, {row.where}")
        place = f"{row.unit} {row.number}"
        if name in self.names:
            first = self.names[name]
            fault = f"the id {excerpt(name)} of {place} is also the id of {first}"
            raise InputError(f"{fault}, counted from 1 in {self.path}")
        self.names[name] = place
        values = {**row.values, "context": question.texts[1]}
        answers = _answers(replace(row, values=values), columns.target or ANSWER_KEYS[0])
        if answers is None:
            count_missing(self.notes, "null")
            return [question]
        tags = tuple(dict.fromkeys(f"{start}:{text}" for start, text in answers))
        return [replace(question, tags=tags or NO_ANSWER)]

    def completed(self, sentences: list[Sentence]) -> list[Sentence]:
        """The questions, their answers at the places of their texts."""
        parts = [
            Part(s.texts[1], int(start), None, text, f"question {s.id} of {self.path}")
            for s in sentences
            for start, colon, text in (tag.partition(":") for tag in s.tags or ())
            if colon
        ]
        places, completed = iter(places_of(parts, self.path, "answers", self.notes)), []
        partial: list[tuple[str, str]] = []
        for s in sentences:
            if s.tags and s.tags != NO_ANSWER:
                answers = [(next(places), tag.partition(":")[2]) for tag in s.tags]
                # A moved answer is at the place of its text without white space around it.
                tags = {
                    f"{p[0]}:{text if len(text) == p[1] - p[0] else text.strip()}": p
                    for p, text in answers
                    if p
                }
                partial += [
                    (t, f"question {s.id}") for t, p in tags.items() if not _is_whole(s, *p)
                ]
                s = replace(s, tags=(*tags,) or None)
            completed.append(s)
        notice_partial(partial, self.path, "answers", self.notes)
        return completed


def _is_whole(question: Sentence, start: int, end: int) -> bool:
    """Whether the answer from `start` to `end` consists of whole words."""
    words, text = question.places[question.pair :], question.texts[1]
    end = start + len(text[start:end].rstrip())
    start = end - len(text[start:end].lstrip())
    first, last = words_at(words, start, end - start)
    return (words[first][0], words[last][1]) == (start, end)


def _answers(row: RawRow, key: Any) -> list[tuple[int, str]] | None:
    """First character and text of each answer, or None if they are hidden."""
    value = literal(row.values.get(key))
    impossible = str(row.values.get("is_impossible")).strip().lower() in ("true", "1")
    if value is None:
        return [] if impossible else None
    value = [value] if isinstance(value, str) else value
    if isinstance(value, list) and all(isinstance(text, str) for text in value):
        value = {"text": value, "answer_start": _starts(row, value)}
    try:
        if not isinstance(value, dict):
            answers = [(answer["answer_start"], answer["text"]) for answer in value]
        elif isinstance(value["text"], list):
            answers = [*zip(value["answer_start"], value["text"], strict=True)]
        else:
            answers = [(value["answer_start"], value["text"])]
    except (KeyError, TypeError, ValueError):
        answers = [(None, None)]
    answers = [(_whole_number(start), text) for start, text in answers]
    if not all(
        type(start) is int and isinstance(text, str) and not SURROGATE.search(text)
        for start, text in answers
    ):
        shown = excerpt(json.dumps(value, ensure_ascii=False, default=str))
        raise InputError(f"{shown} has no 'text' and 'answer_start' of answers, {row.where}")
    answers = [(start, text) for start, text in answers if text]
    if answers and impossible:
        raise InputError(f"is_impossible is true, but there are answers, {row.where}")
    return answers


def _whole_number(value: Any) -> Any:
    """A text or a number with decimals as a whole number, if it is one. Other values unchanged."""
    return int(number) if (number := number_of(value)).is_integer() else value


def _starts(row: RawRow, texts: Sequence[str]) -> list[Any]:
    """First characters of answers, from a column of their own or from the passage."""
    starts = next((row.values[key] for key in ANSWER_START_KEYS if key in row.values), None)
    if starts is not None and starts != "":
        starts = literal(starts)
        return starts if isinstance(starts, list) else [starts]
    passage = str(row.values.get("context"))
    for text in texts:
        if text and (n := passage.count(text)) != 1:
            raise InputError(
                f"the answer {excerpt(text)} has no 'answer_start' and occurs {counted(n, 'time')} "
                f"in the passage, {row.where}"
            )
    return [passage.find(text) for text in texts]


def may_be_answerable(row: RawRow) -> bool:
    """Whether a question has an answer, or hides whether it has."""
    answers = [_answers(row, key) for key in answer_keys(row.values)]
    return any(answers) or answers == [None] * len(answers)


def words_at(places: Sequence[tuple[int, int]], start: int, length: int) -> tuple[int, int]:
    """First and last word at `places` with one of `length` characters from `start` on.

    The next word, or the last one, if these are white space.
    """
    first = bisect_right(places, start, key=lambda place: place[1])
    first = min(first, len(places) - 1)
    last = bisect_left(places, start + length, key=lambda place: place[0]) - 1
    return first, max(first, last)


def answer_words(
    places: Sequence[tuple[int, int]], before: int, answer: str
) -> tuple[int, int] | None:
    """First and last word of an answer (a tag), or None for no answer.

    `places` has all words. The first `before` of them belong to the question.
    """
    if not answer:
        return None
    start, _, text = answer.partition(":")
    first, last = words_at(places[before:], int(start), len(text))
    return before + first, before + last


def answer_of(question: Sentence, first: int, last: int) -> str:
    """The answer that words `first` to `last` are, cut from the passage as it is."""
    start, end = question.places[first][0], question.places[last][1]
    return f"{start}:{question.texts[1][start:end]}"
