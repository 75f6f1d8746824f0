"""Records as JSON files: written whole or not at all, read with every field's type checked."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

from featbert.comparison.record import RecordError, build_checked, json_text


def write_json_record(path: Path, record: Any) -> None:
    """Writes a dataclass under its final name once it is on the disk; folders are made."""
    temporary = path.with_name(path.name + ".tmp")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(json_text(dataclasses.asdict(record)))
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def read_json_record(path: Path, kind: type, *, called: str, version: int, advice: str) -> Any:
    """The dataclass `kind` in a file.

    Args:
        called: what messages call it, "an evaluation record".
        version: the `format_version` it must have.
        advice: what to do about another one.

    Raises:
        FileNotFoundError: no such file.
        RecordError: not JSON, another format version, or a field that is missing or of
            another type.
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
    return build_checked(kind, data, where=str(path))
