"""Locks of the system (flock) on files: they end with their process, however that ends.

The file says who has the lock, for people; whether one has it is asked of the system alone, so that
what a killed process left holds nobody up.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from pathlib import Path
from typing import TextIO

# A file system that knows no locks. Work goes on there without them.
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL)
# Seconds after which a lock is tried once more: `is_locked` has it for a moment.
_AGAIN = 0.01


class LockedError(Exception):
    """Another process has the lock; `text` is what it wrote into the file."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


def take_lock(path: Path) -> TextIO:
    """The file, made where it is not there, open to read and to add; closing it frees the lock.

    Raises:
        LockedError: another process has the lock.
        OSError: the file cannot be opened to write.
    """
    while True:
        file = path.open("a+", encoding="utf-8", errors="replace")
        try:
            _lock(file)
        except BlockingIOError:
            with file:
                file.seek(0)
                raise LockedError(file.read()) from None
        except OSError as error:
            if error.errno in _NO_LOCKS:
                return file
            file.close()
            raise
        except BaseException:
            file.close()
            raise
        # Whoever had it may have taken the file away between the two steps: a lock of nothing.
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        file.close()


def _lock(file: TextIO) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        time.sleep(_AGAIN)
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_locked(path: Path, *, unsure: bool = False) -> bool:
    """Whether a process has the lock of a file.

    Args:
        unsure: the answer where the system does not say.
    """
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    except OSError:
        return unsure
    return False
