"""Tags and a note that people give a run: `<run>/notes.json`, beside its record."""

from dataclasses import field
from pathlib import Path

import pydantic.dataclasses

from featbert.runs.record import read_json
from featbert.tasks.base import KEPT

NAME = "notes.json"


@pydantic.dataclasses.dataclass(frozen=True, config=KEPT)
class Notes:
    """What people say of a run; nothing that its numbers depend on."""

    tags: list[str] = field(default_factory=list)
    note: str = ""


def read_notes(folder: Path) -> Notes:
    """The notes of a run's folder; InputError where they cannot be read."""
    path = folder / NAME
    return read_json(path, Notes, "") if path.is_file() else Notes()
