"""Files that appear whole or not at all, whatever stops their writer.

    with replacing(path) as temporary:
        temporary.write_text(text, "utf-8")

The file is written under a temporary name beside its own, which it takes when the block has ended
without an error. What a killed process left there is taken away by whoever next writes the file.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from featbert.locks import is_locked

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_FORBIDDEN = (errno.EROFS, errno.EACCES, errno.EPERM)


@contextlib.contextmanager
def replacing(path: Path, *, durable: bool = True) -> Iterator[Path]:
    """Gives the name to write to; the folder must be there.

    Args:
        durable: the bytes are on the disk before the file has its name, and the name before this
            returns; otherwise a power cut may still lose the file.

    Raises:
        OSError: it cannot be written; the file is as it was, and nothing is left beside it.
    """
    _remove_abandoned(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as owned:
            with contextlib.suppress(OSError):  # a file system may know no locks
                fcntl.flock(owned, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield temporary
            if durable:
                flush(temporary)
            os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    if durable:
        flush_folder(path.parent)


def flush(path: Path) -> None:
    """Waits until a file's bytes are on the disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def flush_folder(folder: Path) -> None:
    """Waits until a folder's list of names is on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def cannot_write(path: Path, error: OSError) -> str:
    """What to tell where a file could not be written: which, why, and what to do about it."""
    told = f"{path} cannot be written: {error.strerror or error}"
    if error.errno in _NO_ROOM:
        return f"{told}; make room on that disk, then the same command goes on"
    if error.errno in _FORBIDDEN:
        return f"{told}; name a folder that can be written to, or give the right to"
    return told


def _remove_abandoned(path: Path) -> None:
    """Takes away temporary files of this path whose writer is gone."""
    beginning = f".{path.name}."
    with contextlib.suppress(OSError):
        for name in os.listdir(path.parent):
            number = name.removeprefix(beginning).removesuffix(".tmp")
            if name == f"{beginning}{number}.tmp" and number.isdecimal():
                other = path.with_name(name)
                if not _is_running(int(number)) and not is_locked(other, unsure=True):
                    other.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    """Whether this machine has such a process, this one not counted."""
    if process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True
