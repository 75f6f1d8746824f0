"""Records as JSON files: written whole or not at all, read with every field's type checked."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from featbert.errors import FeatbertError
from featbert.io import cannot_write, replacing
from featbert.runs.checked import build_checked
from featbert.runs.record import RecordError, check_intact, json_text
from featbert.runs.sealing import sealed


def write_json_record(path: Path, record: Any) -> None:
    """Writes a dataclass under its final name once it is on the disk; folders are made.

    Raises:
        FeatbertError: it cannot be written; the file is as it was.
    """
    text = json_text(sealed(dataclasses.asdict(record)))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            temporary.write_text(text, "utf-8")
    except OSError as error:
        raise FeatbertError(cannot_write(path, error)) from None


def read_json_record(path: Path, kind: type, *, called: str, version: int, advice: str) -> Any:
    """The dataclass `kind` in a file.

    Args:
        called: what messages call it, "an evaluation record".
        version: the `format_version` it must have.
        advice: what to do about another one.

    Raises:
        FileNotFoundError: no such file.
        RecordError: not JSON, another format version, changed since it was written, or a field
            that is missing or of another type.
    """
    try:
        data = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise RecordError(f"{called} expected in {path}: {error}") from None
    found = data.get("format_version") if isinstance(data, dict) else None
    if found != version:
        raise RecordError(
            f"{called} of format version {version} expected, {path} has {found!r}; {advice}"
        )
    check_intact(data, where=str(path))
    return build_checked(kind, data, where=str(path))
