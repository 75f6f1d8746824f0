"""Files that appear whole or not at all, and locks that end with their process."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from featbert.errors import FeatbertError

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
