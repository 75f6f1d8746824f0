"""Comparisons as a JSON file, from which they can be drawn again.

    {"kind": "featbert comparison", "version": 3, "comparisons": [{"rows": [...], ...}], ...}

It has the fields of `Comparisons`. Numbers are unrounded. Numbers that are not finite are texts,
such as "inf". The file is ASCII.
"""

import json
import math
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

from featbert.analysis.comparison import Comparisons
from featbert.errors import InputError, MissingError, spelling
from featbert.io import regular_file

KIND = "featbert comparison"
# Grows when a field changes its meaning or goes.
VERSION = 3


def to_json(comparisons: Comparisons) -> str:
    """All that the comparisons hold, with a final newline."""
    data = {"kind": KIND, "version": VERSION} | vars(comparisons)
    return json.dumps(_finite(to_jsonable_python(data)), allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    """Plain data in which numbers that are not finite are texts."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def read_comparisons(path: Path) -> Comparisons:
    """The comparisons in a file that `to_json` wrote. Else MissingError or InputError."""
    try:
        text = regular_file(path).read_bytes()
    except FileNotFoundError:
        raise MissingError(f"no file {path}; featbert compare --format json writes one") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict) or data.pop("kind", None) != KIND:
        raise InputError(
            f"{path} holds no comparison; featbert compare --format json writes one (results files "
            f"are read without {spelling('file')})"
        )
    if (version := data.pop("version", None)) != VERSION:
        raise InputError(f"{path} is of version {version!r}, not {VERSION}; write it again")
    try:
        return TypeAdapter(Comparisons).validate_json(json.dumps(data))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise InputError(f"{path} is damaged: {first['msg']} at {place[:60]!r}") from None
