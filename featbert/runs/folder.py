"""A run's folder while it is being written: nothing in it counts before the record does."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from torch import nn

from featbert.errors import FeatbertError
from featbert.io import cannot_write, replacing
from featbert.runs.lock import RunBusyError, lock_path, owned
from featbert.runs.record import RECORD_NAME
from featbert.training.checkpoint import NAME as CHECKPOINT

FILES = ("config.json", "history.jsonl", "dev.conll", "test.conll", "weights.safetensors")


def working_folder(folder: Path) -> Path:
    """Where a run is written: its own folder, or aside while a finished run stands there."""
    finished = (folder / RECORD_NAME).is_file()
    return _aside(folder) if finished else folder


def move_into_place(written: Path, folder: Path) -> None:
    """Puts a finished run that was written aside in the place of the one before."""
    if written == folder:
        return
    before = _before(folder)
    shutil.rmtree(before, ignore_errors=True)
    with contextlib.suppress(FileNotFoundError):
        os.replace(folder, before)
    os.replace(written, folder)
    shutil.rmtree(before, ignore_errors=True)


def clean_run_folder(folder: Path) -> None:
    """Makes the folder, or takes away what an earlier attempt at this run left, record first.

    A checkpoint stays: it is what the attempt is gone on from.

    Raises:
        FeatbertError: the folder cannot be written to.
    """
    with told_by_name(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name in (RECORD_NAME, *FILES):
            (folder / name).unlink(missing_ok=True)
        _remove_temporary(folder)


def settle(folder: Path) -> None:
    """Ends what a kill in the last moments of a run left half done, where it left something.

    The run is finished then; a checkpoint beside its record goes, and a run that was written aside
    takes its place. Where another process trains the run, or the folder cannot be written to,
    nothing is done.
    """
    if not _is_unsettled(folder):
        return
    with contextlib.suppress(RunBusyError, OSError, FeatbertError), owned(folder):
        settle_owned(folder)


def settle_owned(folder: Path) -> None:
    """`settle` for who owns the run's lock.

    Raises:
        OSError: the folder cannot be written to.
    """
    if (_aside(folder) / RECORD_NAME).is_file():
        move_into_place(_aside(folder), folder)
    if (folder / RECORD_NAME).is_file():
        shutil.rmtree(_before(folder), ignore_errors=True)
        (folder / CHECKPOINT).unlink(missing_ok=True)
        _remove_temporary(folder)


@contextlib.contextmanager
def told_by_name(path: Path) -> Iterator[None]:
    """Tells an OSError of the block, which writes a file, in one line that names it.

    Raises:
        FeatbertError: in its place.
    """
    try:
        yield
    except FeatbertError:
        raise
    except OSError as error:
        raise FeatbertError(cannot_write(path, error)) from None


def write_text(path: Path, text: str) -> None:
    """Writes a file that appears whole or not at all.

    Raises:
        FeatbertError: it cannot be written.
    """
    with told_by_name(path), replacing(path) as temporary:
        temporary.write_text(text, "utf-8")


def append_line(path: Path, line: str) -> None:
    """Adds a line to a file, which is made where there is none.

    Raises:
        FeatbertError: it cannot be written.
    """
    with told_by_name(path), path.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def file_hash(path: Path) -> str:
    """SHA-256 of a file's bytes, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def save_weights(path: Path, tagger: nn.Module) -> None:
    """The tagger's parameters as safetensors; appears whole or not at all.

    Raises:
        FeatbertError: they cannot be written.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    state = {n: t.detach().cpu().contiguous() for n, t in tagger.state_dict().items()}
    try:
        with told_by_name(path), replacing(path) as temporary:
            save_file(state, temporary)
            # safetensors makes files for their owner alone; these are read like those beside them
            shutil.copymode(path.with_name("config.json"), temporary)
    except SafetensorError as error:
        raise FeatbertError(cannot_write(path, OSError(str(error)))) from None


def _aside(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}")


def _before(folder: Path) -> Path:
    """Where the run before stands for a moment, while another takes its place."""
    return folder.with_name(f".{folder.name}.before")


def _is_unsettled(folder: Path) -> bool:
    return (
        (_aside(folder) / RECORD_NAME).is_file()
        or _before(folder).exists()
        or (folder / CHECKPOINT).exists()
        or ((folder / RECORD_NAME).is_file() and lock_path(folder).exists())
        or any(map(_is_temporary, _names(folder)))
    )


def _remove_temporary(folder: Path) -> None:
    for name in filter(_is_temporary, _names(folder)):
        (folder / name).unlink(missing_ok=True)


def _is_temporary(name: str) -> bool:
    """Ours end so, and safetensors' begin so."""
    return name.endswith(".tmp") or name.startswith(".tmp")


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
