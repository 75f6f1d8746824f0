"""One process at a time makes a folder, whichever command or machine it belongs to.

    .<folder>.lock        beside it: which process makes it, and on which machine

The lock is the system's (`locks.py`) and ends with its process, however that ends: a file that a
killed process left holds nobody up. Who is done takes the file away.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from featbert.atomic import cannot_write
from featbert.errors import FeatbertError
from featbert.locks import LockedError, take_lock


@contextlib.contextmanager
def owning(folder: Path, busy: type[FeatbertError]) -> Iterator[None]:
    """Within the block no other process makes `folder`.

    The folder above is made, and not left behind where nothing comes into it.

    Raises:
        FeatbertError: `busy`, with who else makes it; or the lock cannot be written.
    """
    path = lock_beside(folder)
    made = not path.parent.exists()
    file = _taken(path, folder, busy)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            path.unlink()
        with contextlib.suppress(OSError):  # a full disk: who has it was not written
            file.close()
        if made:
            with contextlib.suppress(OSError):
                path.parent.rmdir()


def lock_beside(folder: Path) -> Path:
    """The lock of who makes a folder."""
    return folder.with_name(f".{folder.name}.lock")


def _taken(path: Path, folder: Path, busy: type[FeatbertError]) -> TextIO:
    try:
        file = _opened(path)
    except LockedError as error:
        who = error.text[:300].strip() or "another process"
        raise busy(
            f"{folder} is being trained by {who}; wait for its end, then give the command again"
        ) from None
    except OSError as error:
        raise FeatbertError(cannot_write(path, error)) from None
    with contextlib.suppress(OSError):
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        file.flush()
    return file


def _opened(path: Path) -> TextIO:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return take_lock(path)
    except FileNotFoundError:  # who had made the folder above took it away between the two
        path.parent.mkdir(parents=True, exist_ok=True)
        return take_lock(path)
