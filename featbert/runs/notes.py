"""Tags and a note that people give a run: `<run>/notes.json`, beside its record."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from featbert.io import write_text

NAME = "notes.json"


@dataclass(frozen=True)
class Notes:
    """What people say of a run; nothing that its numbers depend on."""

    tags: tuple[str, ...] = ()
    note: str = ""


def read_notes(folder: Path) -> Notes:
    """The notes of a run's folder; those that cannot be read say so."""
    try:
        data = json.loads((folder / NAME).read_text("utf-8"))
        return Notes(tuple(map(str, data["tags"])), str(data["note"]))
    except FileNotFoundError:
        return Notes()
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return Notes(note=f"{NAME} cannot be read")


def write_notes(folder: Path, notes: Notes) -> None:
    """Keeps the notes with the run; the file appears whole or not at all."""
    write_text(folder / NAME, json.dumps(asdict(notes), ensure_ascii=False) + "\n")
