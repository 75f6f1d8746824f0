"""Rows of JSON: a JSON object on each line, or one array or table in a file."""

import ast
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from featbert.data.exports import plain_rows, rows_of_lists
from featbert.data.files import JSON_EXTENSIONS, RawRow, extension
from featbert.errors import InputError
from featbert.text import excerpt

# How numpy shows a list: inside another value, and by itself, without commas.
_ARRAY = re.compile(r"array\((\[[^\[\]]*\])(?:,\s*dtype=[^()]*)?\)")
_ITEM = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[-+.\w]+"""
_ARRAY_ALONE = re.compile(rf"\[\s*(?:{_ITEM})(?:\s+(?:{_ITEM}))+\s*\]")
_ADJACENT_STRINGS = re.compile(r"""['"]\s+['"]""")


def is_json(path: Path) -> bool:
    """Whether the file is JSON by its name."""
    return extension(path) in JSON_EXTENSIONS


def json_rows(lines: Iterable[str], path: Path) -> Iterator[RawRow]:
    """Rows of JSONL in one pass, or the rows of a .json file's array or "data".

    Blank lines are skipped. spaCy 2's `["a text", {"entities": [...]}]` is a row with a text.
    InputError for a line that is not a JSON object.
    """
    if extension(path) == "json":
        lines = list(lines)
        if (whole := _parsed(lines, path, 1) if lines else []) is not None:
            content = _table_in(whole) if isinstance(whole, dict) else whole
            is_array = isinstance(content, list)
            rows, unit = (plain_rows(content, path), "row") if is_array else ([whole], "line")
            yield from (_row(values, n, unit, path) for n, values in enumerate(rows, 1))
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
    if (rows := rows_of_lists(whole)) is not None:
        return rows
    for key in ("examples", "annotations") if data is None else ():
        values = whole.get(key)
        rows = [row for row in values if row is not None] if isinstance(values, list) else []
        are_dicts = key == "examples" and all(isinstance(row, dict) for row in rows)
        if rows and (are_dicts or all(map(_is_pair, rows))):
            return rows
    return data


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
