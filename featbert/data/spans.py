"""Questions that a passage answers: SQuAD's JSON (1.1, 2.0, XQuAD), and rows of JSONL and datasets.

    {"data": [{"paragraphs": [{"context": "Rome is old.", "qas": [
        {"id": "q1", "question": "What is old?", "answers": [{"text": "Rome", "answer_start": 0}]}
    ]}]}]}
    {"id": "q1", "question": "...", "context": "...", "answers": {"text": [], "answer_start": []}}

In tables answers are a column of texts beside their first characters, or a list or dictionary as
pandas writes it. Articles or paragraphs may also be a list, and answers texts, each of which the
passage has once.

A question is a pair, its words and those of its passage, and all questions of a passage are one
document. Its answers are tags: "0:Rome" has the first character in the passage and the text as the
file has it; a question without an answer has the tag "". Equal answers count once.

The words of an answer are those that have a character of it. An answer that begins or ends inside
a word is counted. Places are those of the answers' texts (`offsets`).
"""

import json
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from featbert.data.answers import count_missing, number_of
from featbert.data.corpus import Sentence
from featbert.data.examples import IDS, Examples, example_of, looks_like_choices
from featbert.data.files import SURROGATE, Row, excerpt, literal, lower_names
from featbert.data.offsets import PARTIAL, Part, notice_of, places_of
from featbert.errors import InputError
from featbert.text import counted, listed

ANSWER_KEYS = ("answers", "answer", "answer_text", "answers.text")
# First characters beside texts of answers.
START_KEYS = ("answer_start", "answers.answer_start", "start")
NO_ANSWER = ("",)


def suited_targets(values: Mapping[Any, Any]) -> str | None:
    """The targets that columns of texts are surely of, by their names: choices, spans or None."""
    if looks_like_choices(values):
        return "choices"
    names = lower_names(values)
    answers = next((values[names[key]] for key in ANSWER_KEYS if key in names), None)
    asked = {"question", "context"} <= names.keys() and isinstance(answers, dict | list)
    return "spans" if asked else None


def answer_keys(names: Collection[str]) -> tuple[str, ...]:
    """Usual names of columns of answers; "text" is one beside first characters of answers."""
    return (*ANSWER_KEYS, "text") if "answer_start" in names else ANSWER_KEYS


def json_questions(rows: Iterable[Row], path: Path) -> Iterator[Row]:
    """The rows, with a row for each question of the articles or paragraphs among them.

    RACE has lists of questions, options and answers for an article; AI2's questions hold their
    choices. InputError names the question.
    """
    number, lists = 0, ("questions", "options", "answers")
    for row in rows:
        asked = row.values.get("question")
        several = [v for k, v in row.values.items() if k in lists and isinstance(v, list)]
        if isinstance(asked, dict) and isinstance(asked.get("stem"), str):
            yield replace(row, values={**row.values, **asked, "question": asked["stem"]})
            continue
        if len(several) == len(lists) and len({*map(len, several)}) == 1:
            kept = {k: v for k, v in row.values.items() if k not in (*lists, *IDS)}
            for question, options, answer in zip(*(row.values[k] for k in lists), strict=True):
                values = {**kept, "question": question, "options": options, "answer": answer}
                yield replace(row, values=values)
            continue
        if "paragraphs" in row.values:
            at = f"article {row.number} of {path}"
            paragraphs, first = _value(row.values, "paragraphs", list, at), 1
        elif "qas" in row.values:
            at, paragraphs, first = str(path), [row.values], row.number
        else:
            yield row
            continue
        for p, paragraph in enumerate(paragraphs, first):
            within = f"paragraph {p} of {at}"
            context = _value(paragraph, "context", str, within)
            for question in _value(paragraph, "qas", list, within):
                number += 1
                name, where = number, f"question {number} of {path}"
                if not isinstance(question, dict) or "id" in question:
                    name = _value(question, "id", str | int, where)
                where = f"question {name} of {path}"
                _value(question, "question", str, where)
                yield Row(question | {"context": context}, where, number, "question")


def _value(holder: Any, key: str, kind: Any, where: str) -> Any:
    if not isinstance(holder, dict) or key not in holder:
        has = f"; it has {listed(holder)}" if isinstance(holder, dict) else ""
        raise InputError(f"no key {key!r} in {where}{has}")
    if not isinstance(holder[key], kind):
        shown = excerpt(json.dumps(holder[key], ensure_ascii=False))
        wanted = {list: "a list", str: "a text"}.get(kind, "a text or a number")
        raise InputError(f"{key!r} is {shown}, not {wanted}, in {where}")
    return holder[key]


@dataclass
class Questions(Examples):
    """Reads the rows of a file as questions.

    InputError for values of another kind, and an `id` that occurs twice. A question whose answers
    are all left out, since their texts are elsewhere, hides its answer.
    """

    passages: dict[int, int] = field(default_factory=dict)  # by hash: a stream has many
    names: dict[str, str] = field(default_factory=dict)  # where each id was read
    of_lines = False
    names_of_texts = ("question", "context")

    def begin(self, first: Row) -> None:
        """Looks at the columns."""
        self.keys = self.keys and answer_keys(first.values)
        super().begin(first)

    def __call__(self, row: Row) -> list[Sentence]:
        columns = self.columns_of(row)
        if columns.pair is None:
            has = listed(map(str, row.values))
            raise InputError(
                f"no column of passages in {self.path}; it has {has}; name it with --pair"
            )
        question = example_of(row, columns)
        name = str(row.values.get("id", row.number))
        document = self.passages.setdefault(hash(question.texts[1]), len(self.passages))
        if self.keys is None:
            return [replace(question, document=document, id=name)]
        if SURROGATE.search(name):
            raise InputError(f"the id {excerpt(repr(name))} is no text, {row.where}")
        if name in self.names:
            other = self.names[name]
            raise InputError(f"the id {excerpt(name)} of {row.where} is that of {other}, too")
        self.names[name] = row.where
        values = {**row.values, "context": question.texts[1]}
        answers = _answers(replace(row, values=values), columns.target or ANSWER_KEYS[0])
        if answers is None:
            count_missing(self.notes, "null")
        tags = None if answers is None else tuple(dict.fromkeys(f"{s}:{t}" for s, t in answers))
        tags = NO_ANSWER if tags == () else tags
        return [replace(question, tags=tags, document=document, id=name)]

    def completed(self, sentences: list[Sentence]) -> list[Sentence]:
        """The questions, their answers at the places of their texts."""
        parts = [
            Part(s.texts[1], int(start), None, text, f"question {s.id} of {self.path}")
            for s in sentences
            for start, colon, text in (tag.partition(":") for tag in s.tags or ())
            if colon
        ]
        found = places_of(parts, self.path, "answers")
        self.notes.update(moved_answers=found.moved, misplaced_answers=found.lost)
        places, completed = iter(found.places), []
        partial: list[tuple[str, str]] = []
        for s in sentences:
            if s.tags and s.tags != NO_ANSWER:
                answers = [(next(places), tag.partition(":")[2]) for tag in s.tags]
                kept = {f"{place[0]}:{text}": place for place, text in answers if place}
                where = f"question {s.id}"
                partial += [(t, where) for t, place in kept.items() if not _is_whole(s, *place)]
                s = replace(s, tags=(*kept,) or None)
            completed.append(s)
        self.notes["partial_words"] = len(partial)
        notice_of(partial, self.path, "answers", PARTIAL)
        return completed


def _is_whole(question: Sentence, start: int, end: int) -> bool:
    """Whether the answer from `start` to `end` is of whole words."""
    words, text = question.places[question.pair :], question.texts[1]
    end = start + len(text[start:end].rstrip())
    start = end - len(text[start:end].lstrip())
    first, last = words_at(words, start, end - start)
    return (words[first][0], words[last][1]) == (start, end)


def _answers(row: Row, key: Any) -> list[tuple[int, str]] | None:
    """First character and text of each answer; None where they are hidden."""
    value = literal(row.values.get(key))
    impossible = str(row.values.get("is_impossible")).strip().lower() in ("true", "1")
    if value is None:
        return [] if impossible else None
    value = [value] if isinstance(value, str) else value
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        value = {"text": value, "answer_start": _starts(row, value)}
    try:
        if isinstance(value, dict):
            texts, starts = value["text"], value["answer_start"]
            one = not isinstance(texts, list)
            found = [(starts, texts)] if one else [*zip(starts, texts, strict=True)]
        else:
            found = [(one["answer_start"], one["text"]) for one in value]
    except (KeyError, TypeError, ValueError):
        found = [(None, None)]
    found = [(_whole_number(start), text) for start, text in found]
    if not all(
        type(start) is int and isinstance(text, str) and not SURROGATE.search(text)
        for start, text in found
    ):
        shown = excerpt(json.dumps(value, ensure_ascii=False, default=str))
        raise InputError(f"{shown} has no 'text' and 'answer_start' of answers, {row.where}")
    found = [(start, text) for start, text in found if text]
    if found and impossible:
        raise InputError(f"is_impossible is true, but there are answers, {row.where}")
    return found


def _whole_number(value: Any) -> Any:
    """A whole number that is a text, as in cells of tables, or has decimals; others as they are."""
    return int(number) if (number := number_of(value)).is_integer() else value


def _starts(row: Row, texts: Sequence[str]) -> list[Any]:
    """First characters of answers that are only texts: beside them, or where each occurs once."""
    starts = next((row.values[key] for key in START_KEYS if key in row.values), None)
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


def may_be_answerable(row: Row) -> bool:
    """Whether a question has an answer, or hides whether it has."""
    found = [_answers(row, key) for key in answer_keys(row.values)]
    return any(found) or found == [None] * len(found)


def words_at(places: Sequence[tuple[int, int]], start: int, length: int) -> tuple[int, int]:
    """First and last word at `places` that have one of `length` characters from `start` on.

    The next word, or the last one, where these are white space.
    """
    first = bisect_right(places, start, key=lambda place: place[1])
    first = min(first, len(places) - 1)
    last = bisect_left(places, start + length, key=lambda place: place[0]) - 1
    return first, max(first, last)


def answer_words(
    places: Sequence[tuple[int, int]], before: int, answer: str
) -> tuple[int, int] | None:
    """First and last word of an answer as tags have it; None for no answer.

    `places` are those of all words; the first `before` of them are the question's.
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
