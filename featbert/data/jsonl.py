"""Rows of JSON: an object on each line, or one array or table in a file, also as programs write it.

Label Studio's choices     [{"data": {"text": "..."}, "annotations": [{"result": [{"from_name":
                           "mood", "value": {"choices": ["good"]}}]}]}]
spaCy 2's tokens           [{"paragraphs": [{"sentences": [{"tokens": [{"orth": "Rome", "ner":
                           "U-LOC"}]}]}]}]
spaCy 2's pairs            [["Rome is old.", {"entities": [[0, 4, "LOC"]]}]]
lists of columns           {"text": ["It is.", "It was."], "label": ["x", "y"]}
questions                  SQuAD's articles and paragraphs, RACE's articles, AI2's questions
"""

import ast
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from featbert.data.annotations import studio_row, studio_task
from featbert.data.columns import IDS, usual_texts
from featbert.data.files import JSON_EXTENSIONS, RawRow, extension
from featbert.errors import InputError
from featbert.text import excerpt, listed

# How numpy shows a list: inside another value, and by itself, without commas.
_ARRAY = re.compile(r"array\((\[[^\[\]]*\])(?:,\s*dtype=[^()]*)?\)")
_ITEM = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[-+.\w]+"""
_ARRAY_ALONE = re.compile(rf"\[\s*(?:{_ITEM})(?:\s+(?:{_ITEM}))+\s*\]")
# Letters of a word, at most, for half of the words of a text.
_LONG_WORD = 12
_ADJACENT_STRINGS = re.compile(r"""['"]\s+['"]""")
# Fields of spaCy's tokens, and columns of their values.
_TOKEN_COLUMNS = {"orth": "tokens", "ner": "ner_tags", "tag": "pos_tags"}
# RACE's lists of an article, and columns of their items.
_RACE = {"questions": "question", "options": "options", "answers": "answer"}


def is_json(path: Path) -> bool:
    """Whether the file is JSON by its name."""
    return extension(path) in JSON_EXTENSIONS


def json_rows(lines: Iterable[str], path: Path) -> Iterator[RawRow]:
    """Rows of JSONL in one pass, or the rows of a .json file's array or "data".

    Blank lines are skipped. Articles have a row for each of their questions or sentences.
    InputError for a line that is not a JSON object, and for an article that lacks something.
    """
    numbers = count(1)  # of the questions or sentences of all articles
    for row in _objects(lines, path):
        values = row.values
        question = values.get("question")
        lists = [item for key in _RACE if isinstance(item := values.get(key), list)]
        if isinstance(question, dict) and isinstance(question.get("stem"), str):  # AI2
            yield replace(row, values={**values, **question, "question": question["stem"]})
        elif len(lists) == len(_RACE) and len({*map(len, lists)}) == 1:
            article = {k: v for k, v in values.items() if k not in (*_RACE, *IDS)}
            for items in zip(*lists, strict=True):
                item = dict(zip(_RACE.values(), items, strict=True))
                yield replace(row, values=article | item)
        elif (sentences := _spacy_sentences(values)) is not None:
            for sentence, number in zip(sentences, numbers, strict=False):
                place = f"row {number} of {path}"
                yield RawRow({"document": row.number - 1} | sentence, place, number, "row")
        elif "paragraphs" in values or "qas" in values:
            yield from _squad_questions(row, path, numbers)
        else:
            yield studio_row(row)


def _objects(lines: Iterable[str], path: Path) -> Iterator[RawRow]:
    """The objects of a file. spaCy 2's `["a text", {"entities": [...]}]` has a text, too."""
    if extension(path) == "json":
        lines = list(lines)
        if (whole := _parsed(lines, path, 1) if lines else []) is not None:
            content = _table_in(whole) if isinstance(whole, dict) else whole
            rows, unit = (content, "row") if isinstance(content, list) else ([whole], "line")
            yield from _with_choices([_row(v, n, unit, path) for n, v in enumerate(rows, 1)])
            return
    for number, line in enumerate(lines, start=1):
        if line.strip(" \t"):
            yield _row(_parsed([line], path, number), number, "line", path)


def _table_in(whole: Mapping[str, Any]) -> Any:
    """The rows in an object, or None if it is itself a row.

    They are under "data", a table as pandas writes it (columns, or orient="split"), LightTag's
    examples, or spaCy's pairs under "annotations".
    """
    data, names = whole.get("data"), whole.get("columns")
    if isinstance(data, list) and isinstance(names, list):
        return [dict(zip(map(str, names), row, strict=False)) for row in data]
    first = next(iter(whole.values()), None)
    if len(whole) > 1 and isinstance(first, dict):
        columns = [c for c in whole.values() if isinstance(c, dict) and c.keys() == first.keys()]
        if len(columns) == len(whole):
            return [{name: column[n] for name, column in whole.items()} for n in first]
    if (rows := _rows_of_lists(whole)) is not None:
        return rows
    for key in ("examples", "annotations") if data is None else ():
        values = whole.get(key)
        rows = [row for row in values if row is not None] if isinstance(values, list) else []
        are_dicts = key == "examples" and all(isinstance(row, dict) for row in rows)
        if rows and (are_dicts or all(map(_is_pair, rows))):
            return rows
    return data


def _rows_of_lists(columns: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """The rows of lists of equal length, one of which has texts. None for anything else.

    Words have no spaces, and most are short. Texts in Chinese have no spaces either.
    """
    lists = [*columns.values()]
    are_lists = len(lists) > 1 and all(isinstance(items, list) for items in lists)
    if not are_lists or len({*map(len, lists)}) != 1:
        return None
    n_rows = len(lists[0])
    texts = ([t for t in columns[name] if isinstance(t, str)] for name in usual_texts(columns))
    if not any(2 * sum(" " in t or len(t) > _LONG_WORD for t in items) > n_rows for items in texts):
        return None
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


def _with_choices(rows: list[RawRow]) -> list[RawRow]:
    """The rows, with choices of Label Studio as columns if no annotation has spans.

    The answer to the only question is the label, whatever its name. A column of choices replaces a
    column of the data, whose answers are older.
    """
    tasks = [*map(studio_task, rows)]
    questions = {name for task in tasks if task for name in task.choices}
    if not questions or any(task and task.spans for task in tasks):
        return rows
    names = {name: "label" if len(questions) == 1 else name for name in questions}
    columns = []
    for row, task in zip(rows, tasks, strict=True):
        if task is not None:
            older = {name: v for name, v in task.data.items() if name not in names.values()}
            chosen = {names[name]: classes for name, classes in task.choices.items()}
            row = replace(row, values=older | chosen, mark=task.mark)
        columns.append(row)
    return columns


def _spacy_sentences(document: Mapping[str, Any]) -> list[dict[str, list[Any]]] | None:
    """The sentences in a document of spaCy's tokens, or None for anything else."""
    paragraphs = document.get("paragraphs")
    if not paragraphs or not isinstance(paragraphs, list):
        return None
    if not all(isinstance(p, dict) and "sentences" in p for p in paragraphs):
        return None
    # A token may be white space.
    tokens_of_sentences = (
        [token for token in _items(sentence, "tokens") if str(token.get("orth")).strip()]
        for paragraph in paragraphs
        for sentence in _items(paragraph, "sentences")
    )
    return [
        {
            column: [token[name] for token in tokens]
            for name, column in _TOKEN_COLUMNS.items()
            if all(name in token for token in tokens)
        }
        for tokens in tokens_of_sentences
        if tokens
    ]


def _items(holder: Mapping[str, Any], key: str) -> Iterator[dict[str, Any]]:
    """The objects in a list of an object."""
    items = holder.get(key)
    return (item for item in (items if isinstance(items, list) else ()) if isinstance(item, dict))


def _squad_questions(row: RawRow, path: Path, numbers: Iterator[int]) -> Iterator[RawRow]:
    """The questions of an article or a paragraph. InputError names the question."""
    paragraphs, first, place = [row.values], row.number, str(path)
    if "paragraphs" in row.values:
        first, place = 1, f"article {row.number} of {path}"
        paragraphs = _value(row.values, "paragraphs", list, place)
    for p, paragraph in enumerate(paragraphs, first):
        context = _value(paragraph, "context", str, f"paragraph {p} of {place}")
        for qa in _value(paragraph, "qas", list, f"paragraph {p} of {place}"):
            number = next(numbers)
            position = f"question {number} of {path}"
            if not isinstance(qa, dict) or "id" in qa:
                position = f"question {_value(qa, 'id', str | int, position)} of {path}"
            _value(qa, "question", str, position)
            yield RawRow(qa | {"context": context}, position, number, "question")


def _value(holder: Any, key: str, kind: Any, where: str) -> Any:
    if not isinstance(holder, dict) or key not in holder:
        keys = f"; it has {listed(holder)}" if isinstance(holder, dict) else ""
        raise InputError(f"no key {key!r} in {where}{keys}")
    if not isinstance(holder[key], kind):
        shown = excerpt(json.dumps(holder[key], ensure_ascii=False))
        noun = {list: "a list", str: "a text"}.get(kind, "a text or a number")
        raise InputError(f"{key!r} is {shown}, not {noun}, in {where}")
    return holder[key]


def _parsed(lines: Sequence[str], path: Path, first: int) -> Any:
    """The value in lines from number `first` on, or None for a value on each line."""
    try:
        return json.loads("\n".join(lines))
    except (ValueError, RecursionError) as error:
        reason, line = getattr(error, "msg", "cannot be parsed"), getattr(error, "lineno", 1)
        if len(lines) > 1 and reason == "Extra data":
            return None
        raise InputError(
            f"not JSON ({reason}), line {first + line - 1} of {path}: {excerpt(lines[line - 1])}; "
            f"{_advice(path)}"
        ) from None


def _advice(path: Path) -> str:
    if extension(path) == "json":
        return "write one array of objects, or each object on one line"
    return "write each object on one line; if the file is one array, name it .json"


def _row(values: Any, number: int, unit: str, path: Path) -> RawRow:
    place = f"{unit} {number} of {path}"
    if _is_pair(values):
        values = {"text": values[0], **values[1]}
    if not isinstance(values, dict):
        shown = excerpt(json.dumps(values))
        raise InputError(f"not a JSON object, {place}: {shown}; {_advice(path)}")
    return RawRow(values, place, number, unit)


def _is_pair(value: Any) -> bool:
    """Whether a value is spaCy 2's list of a text and its annotations."""
    return isinstance(value, list) and [*map(type, value)] == [str, dict]


def literal(value: Any) -> Any:
    """The list or dictionary that a text writes as JSON, Python or numpy. Others are unchanged."""
    if isinstance(value, str) and value[:1] + value[-1:] in ("[]", "{}"):
        text = _ARRAY.sub(r"\1", value)
        if _ARRAY_ALONE.fullmatch(text):
            text = f"[{', '.join(re.findall(_ITEM, text))}]"
        parsers: list[Callable[[str], Any]] = [json.loads, ast.literal_eval]
        for parse in parsers[: 1 if _ADJACENT_STRINGS.search(text) else 2]:
            with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
                content = parse(text)
                return content if isinstance(content, list | dict) else value
    return value
