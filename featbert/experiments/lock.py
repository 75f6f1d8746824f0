"""One process trains a run at a time, whichever command or machine it belongs to.

    <runs directory>/.<run>.lock        which process trains it, and on which machine

The lock is the system's (flock) and ends with its process, however that ends: a file that a killed
process left holds nobody up. Who is done takes the file away.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from featbert.atomic import cannot_write
from featbert.errors import FeatbertError, InputError
from featbert.locks import LockedError, take_lock


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


def _taken(path: Path, folder: Path) -> TextIO:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = take_lock(path)
    except LockedError as error:
        who = error.text[:300].strip() or "another process"
        raise RunBusyError(
            f"{folder} is being trained by {who}; wait for its end, the same command then finds it "
            "finished"
        ) from None
    except OSError as error:
        raise FeatbertError(cannot_write(path, error)) from None
    with contextlib.suppress(OSError):
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        file.flush()
    return file
