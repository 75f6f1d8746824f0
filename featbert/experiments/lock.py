"""One process trains a run at a time, whichever command or machine it belongs to.

    <runs directory>/.<run>.lock        which process trains it, and on which machine

The lock is the system's (flock) and ends with its process, however that ends: a file that a killed
process left holds nobody up. Who is done takes the file away.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from featbert.atomic import cannot_write
from featbert.errors import FeatbertError, InputError


class RunBusyError(InputError):
    """Another process trains this run."""


def lock_path(folder: Path) -> Path:
    """The lock of the run in a folder."""
    return folder.with_name(f".{folder.name}.lock")


@contextlib.contextmanager
def owned(folder: Path) -> Iterator[None]:
    """Within the block no other process trains the run in `folder`.

    Raises:
        RunBusyError: another one does; says which.
        FeatbertError: the runs directory cannot be written to.
    """
    path = lock_path(folder)
    file = _taken(path, folder)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            path.unlink()
        file.close()


def is_locked(path: Path) -> bool:
    """Whether a process has the lock of a file."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _taken(path: Path, folder: Path) -> TextIO:
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("a+", encoding="utf-8")
        except OSError as error:
            raise FeatbertError(cannot_write(path, error)) from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            who = file.read(300).strip() or "another process"
            file.close()
            raise RunBusyError(
                f"{folder} is being trained by {who}; wait for its end, the same command then "
                "finds it finished"
            ) from None
        except OSError:
            return file  # a file system that knows no locks
        if _is_still(path, file):
            break
        file.close()  # whoever had it was done between the two steps, and took it away
    with contextlib.suppress(OSError):
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        file.flush()
    return file


def _is_still(path: Path, file: TextIO) -> bool:
    try:
        return path.stat().st_ino == os.fstat(file.fileno()).st_ino
    except OSError:
        return False
