"""One process at a time does a piece of work, whichever command or machine it belongs to.

The lock is the system's (`locks.py`) and ends with its process, however that ends: a file that a
killed process left holds nobody up. Who is done takes the file away.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

from featbert.atomic import cannot_write
from featbert.errors import FeatbertError
from featbert.locks import LockedError, take_lock


@contextlib.contextmanager
def owning(path: Path, busy: Callable[[str], FeatbertError]) -> Iterator[None]:
    """Within the block this process alone has the lock at `path`, whose folder is made.

    Args:
        busy: the error for who else has it, such as "process 4711 on host".

    Raises:
        FeatbertError: `busy`; or the file cannot be written.
    """
    file = _taken(path, busy)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            path.unlink()
        with contextlib.suppress(OSError):  # a full disk: who has it was not written
            file.close()


def lock_beside(folder: Path) -> Path:
    """The lock of who makes a folder: a hidden file beside it."""
    return folder.with_name(f".{folder.name}.lock")


def _taken(path: Path, busy: Callable[[str], FeatbertError]) -> TextIO:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = take_lock(path)
    except LockedError as error:
        raise busy(error.text[:300].strip() or "another process") from None
    except OSError as error:
        raise FeatbertError(cannot_write(path, error)) from None
    with contextlib.suppress(OSError):
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        file.flush()
    return file
