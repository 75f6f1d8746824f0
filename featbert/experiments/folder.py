"""A run's folder while it is being written: nothing in it counts before the record does."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from torch import nn

from featbert.comparison.record import RECORD_NAME

FILES = ("config.json", "history.jsonl", "dev.conll", "test.conll", "weights.safetensors")


def working_folder(folder: Path) -> Path:
    """Where a run is written: its own folder, or aside while a finished run stands there."""
    finished = (folder / RECORD_NAME).is_file()
    return folder.with_name(f".{folder.name}") if finished else folder


def move_into_place(written: Path, folder: Path) -> None:
    """Puts a finished run that was written aside in the place of the one before."""
    if written == folder:
        return
    before = folder.with_name(f".{folder.name}.before")
    shutil.rmtree(before, ignore_errors=True)
    os.replace(folder, before)
    os.replace(written, folder)
    shutil.rmtree(before)


def clean_run_folder(folder: Path) -> None:
    """Makes the folder, or takes away what an earlier attempt at this run left, record first."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in (RECORD_NAME, *FILES):
        for path in (folder / name, folder / f"{name}.tmp"):
            path.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Writes a file that appears whole or not at all."""
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(text, "utf-8")
    flush(temporary)
    os.replace(temporary, path)


def flush(path: Path) -> None:
    """Waits until a file is on the disk: a record must not outlive what it stands for."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def file_hash(path: Path) -> str:
    """SHA-256 of a file's bytes, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def save_weights(path: Path, tagger: nn.Module) -> None:
    """The tagger's parameters as safetensors; appears whole or not at all."""
    from safetensors.torch import save_file

    temporary = path.with_name(path.name + ".tmp")
    save_file({n: t.detach().cpu().contiguous() for n, t in tagger.state_dict().items()}, temporary)
    # safetensors makes files for their owner alone; these are read like the others beside them
    shutil.copymode(path.with_name("config.json"), temporary)
    flush(temporary)
    os.replace(temporary, path)
