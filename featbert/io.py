"""Locks, files that appear whole or not at all, hashes, and file names.

A lock (filelock) is released when its process ends. Its text names the process, for messages.
"""

import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
import socket
import stat
import sys
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from featbert.errors import BusyError, FeatbertError, InputError
from featbert.text import listed

# Seconds to try a lock for: `is_owned` in another process may hold it for a moment.
_PATIENCE, _POLL = 0.1, 0.01
_RETRIES = 5
# Errors of a file system without locks, where work continues without them.
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL)
# Errors that a wrong offset in a damaged file may cause.
_OF_CONTENT = (errno.EINVAL, errno.EFAULT, errno.EOVERFLOW)
# Advice by error number, for files that cannot be opened, read or written.
_HELP = {
    (errno.ENOSPC, errno.EDQUOT): "make room on that disk, then run the same command again",
    (errno.EROFS, errno.EACCES, errno.EPERM): (
        "change its permissions, or name a folder that you may use"
    ),
    (errno.EMFILE, errno.ENFILE): "close what else is open, or raise the limit with ulimit -n",
    (errno.EAGAIN,): "another process uses it; wait until that ends",
    (errno.ENOLCK,): "its file system has no locks; set HDF5_USE_FILE_LOCKING=FALSE",
    (errno.EIO, errno.ESTALE, errno.ETIMEDOUT, errno.ENOTCONN): (
        "check that disk or network folder, then run the same command again"
    ),
}
# Temporary files (also of safetensors), locks and files that macOS adds.
_PASSING = (".*.tmp", ".tmp*", ".*.lock", ".DS_Store")
# Files that may block a program that opens them, or never end.
_SPECIAL = {
    stat.S_IFIFO: "FIFO",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}


@contextlib.contextmanager
def owning(path: Path, patience: float = _PATIENCE) -> Iterator[None]:
    """Prevents other processes from writing `path` within the block.

    Holds the lock file next to it, which is deleted afterwards. Creates the parent folder, and
    removes it if it stays empty. BusyError if the lock is not free within `patience` seconds.
    """
    from filelock import FileLock, Timeout

    lock = lock_beside(path)
    made = not lock.parent.exists()
    file_lock = FileLock(lock, patience, poll_interval=_POLL, thread_local=False, on_acquired=_sign)
    try:
        for retry in range(_RETRIES + 1):
            lock.parent.mkdir(parents=True, exist_ok=True)
            try:
                file_lock.acquire()
                break
            except FileNotFoundError:  # the process that made the folder just removed it
                if retry == _RETRIES:
                    raise
    except Timeout:
        try:
            with temporary(lock):  # filelock waits, too, if the folder takes no files
                holder = ""
        except OSError as error:
            raise FeatbertError(cannot_write(lock, error)) from None
        with contextlib.suppress(OSError):
            holder = lock.read_text("utf-8", errors="replace")[:300].strip()
        raise BusyError(
            f"{path} is in use by {holder or 'another process'}; wait until it ends, then run the "
            "command again"
        ) from None
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise FeatbertError(cannot_write(lock, error)) from None
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # deleted while held: others never lock a deleted file
            lock.unlink()
        with contextlib.suppress(OSError):
            file_lock.release(force=True)
        if made:
            with contextlib.suppress(OSError):
                lock.parent.rmdir()


def lock_beside(folder: Path) -> Path:
    """Path of the lock file of a folder or file."""
    return folder.with_name(f".{folder.name}.lock")


def is_owned(path: Path) -> bool:
    """Whether a process is `owning` the path. False if the system cannot say."""
    try:
        with owning(path):
            return False
    except BusyError:
        return True


def _sign(descriptor: int) -> None:
    """Writes the name of this process into a lock file. A full disk leaves the file empty."""
    with contextlib.suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode())


@contextlib.contextmanager
def temporary(path: Path) -> Iterator[Path]:
    """Yields the path of a new file next to `path`. It is removed afterwards if it still exists.

    Also removes temporary files that ended processes left. The folder must exist.
    """
    ours = f".{path.name}.{slug(socket.gethostname())}-"  # process numbers are per machine
    with contextlib.suppress(OSError):
        for name in os.listdir(path.parent):
            number = name.removeprefix(ours).removesuffix(".tmp")
            if name == f"{ours}{number}.tmp" and number.isdecimal():
                import psutil  # takes 20 ms, and is rarely needed

                if not psutil.pid_exists(int(number)):
                    path.with_name(name).unlink(missing_ok=True)
    made = path.with_name(f"{ours}{os.getpid()}.tmp")
    try:
        made.unlink(missing_ok=True)
        made.touch(exist_ok=False)  # never through a link
        yield made
    finally:
        with contextlib.suppress(OSError):
            made.unlink()


@contextlib.contextmanager
def replacing(path: Path, *, durable: bool = True) -> Iterator[Path]:
    """Yields a `temporary` path, which is renamed to `path` when the block succeeds.

    Without `durable`, a power cut may lose the new file, but not both. An OSError leaves `path`
    unchanged.
    """
    with temporary(path) as made:
        yield made
        if durable:
            flush(made)
        os.replace(made, path)
    if durable:
        flush(path.parent)


def unlinked(path: Path) -> Path:
    """`path`. InputError if it is a link, because its target may belong to somebody else."""
    if path.is_symlink():
        raise InputError(f"{path} is a link, which featbert does not follow to change its target")
    return path


def is_other(path: Path) -> bool:
    """Whether there is a link, folder or device, which no new file may replace."""
    return path.is_symlink() or (path.exists() and not path.is_file())


def check_ours(folder: Path, ours: Sequence[str]) -> None:
    """Raises InputError for a folder that is a link or has other files than `ours`.

    `ours` are patterns of the paths of regular files in it, such as "evaluations/*.json". Folders
    are checked before they are emptied, replaced or removed, so that no other file is lost.
    """
    if unlinked(folder).is_dir() and (
        names := [*_foreign(folder, [name.split("/") for name in ours])]
    ):
        raise InputError(
            f"{folder} holds what featbert did not write: {listed(names, 4)}; move it elsewhere"
        )


def _foreign(
    folder: Path, ours: Sequence[Sequence[str]], above: Sequence[str] = ()
) -> Iterator[str]:
    """Paths in a folder that match no pattern as a regular file or as one of its folders."""
    for path in sorted(folder.iterdir()):
        parts = (*above, path.name)
        fitting = [pattern for pattern in ours if all(map(fnmatchcase, parts, pattern))]
        deeper = [pattern for pattern in fitting if len(pattern) > len(parts)]
        if deeper and path.is_dir() and not path.is_symlink():
            yield from _foreign(path, deeper, parts)
            continue
        whole = any(len(pattern) == len(parts) for pattern in fitting)
        passing = any(fnmatchcase(path.name, pattern) for pattern in _PASSING)
        if not (stat.S_ISREG(path.lstat().st_mode) and (whole or passing)):
            yield "/".join(parts)


def remove_folder(folder: Path, ours: Sequence[str]) -> None:
    """Removes a folder if it exists.

    The first of `ours` marks the folder as complete, and is removed first. InputError if the folder
    has other files (`check_ours`): then nothing is removed.
    """
    check_ours(folder, ours)
    if folder.is_dir():
        (folder / ours[0]).unlink(missing_ok=True)
        shutil.rmtree(folder)


def replace_folder(folder: Path, new: Path, before: Path, ours: Sequence[str]) -> None:
    """Renames the folder `new` to `folder`. The old folder is at `before` until this is done.

    InputError if `folder` or `before` has other files (`check_ours`): then nothing is changed.
    """
    check_ours(folder, ours)
    remove_folder(before, ours)
    with contextlib.suppress(FileNotFoundError):
        os.replace(folder, before)
    os.replace(new, folder)
    with contextlib.suppress(OSError):  # not every file system can
        flush(folder.parent)
    shutil.rmtree(before, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    """Writes a whole file or nothing, and creates its folders. FeatbertError if that fails."""
    with explaining(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            temporary.write_text(text, "utf-8")


@contextlib.contextmanager
def explaining(path: Path, *further: type[Exception]) -> Iterator[None]:
    """Raises FeatbertError for an OSError, or one of `further`, of a block that writes `path`."""
    kinds: tuple[type[Exception], ...] = (OSError, *further)
    outer = sys.exception()  # perhaps a Ctrl-C that the caller handles
    try:
        yield
    except FeatbertError:
        raise
    except kinds as error:
        cause: BaseException | None = error
        while isinstance(cause, Exception):  # torch fails after Ctrl-C within its writing
            cause = cause.__context__
        if isinstance(cause, KeyboardInterrupt | SystemExit) and cause is not outer:
            raise cause from None
        raise FeatbertError(cannot_write(path, error)) from None


def cannot_write(path: Path, error: Exception, verb: str = "written") -> str:
    """Message: which file cannot be written, why, and what to do about it."""
    number = getattr(refusal := system_error(error) or error, "errno", None)
    problem = f"{path} cannot be {verb}: {getattr(refusal, 'strerror', None) or refusal}"
    help_ = next((text for numbers, text in _HELP.items() if number in numbers), "")
    return f"{problem}; {help_}" if help_ else problem


def system_error(error: BaseException) -> OSError | None:
    """The operating system's error behind an error. None if the content of a file caused it.

    HDF5 and safetensors mention it in a longer text, torch has it as the error's context.
    """
    match = re.search(r"errno = (\d+)|os error (\d+)", str(error))
    number = int(match[1] or match[2]) if match else getattr(error, "errno", None)
    if number is None and error.__context__ is not None:
        return system_error(error.__context__)
    if "lock file" in str(error) and number in _NO_LOCKS:
        number = errno.ENOLCK
    if not number or number in _OF_CONTENT:
        return None
    return OSError(number, os.strerror(number))


def regular_file(path: Path) -> Path:
    """`path`. InputError if it is a FIFO, a socket or a device, or a link to one.

    OSError if the system cannot say, such as FileNotFoundError.
    """
    if special := _SPECIAL.get(stat.S_IFMT(path.stat().st_mode)):
        raise InputError(f"{path} is a {special}; put a regular file in its place")
    return path


def check_folder(path: Path, setting: str) -> None:
    """Raises InputError if a folder to write into is a file, or is in a file."""
    place = next(place for place in (path, *path.absolute().parents) if place.exists())
    if not place.is_dir():
        raise InputError(f"needs a folder, but {place} is a file", setting=setting)


def expanded(path: str | Path) -> Path:
    """The path with a user's folder for `~`. An unknown user's stays as it is written."""
    return Path(os.path.expanduser(path))


def utf8_path(path: str | Path) -> Path:
    """The path. InputError if it is no valid UTF-8, which records cannot hold."""
    try:
        os.fspath(path).encode()
    except UnicodeEncodeError:
        raise InputError(
            f"{path} is not UTF-8; rename the file or folder, or write it again"
        ) from None
    return Path(path)


def flush(path: Path) -> None:
    """Waits until the bytes of a file, or a folder's list of names, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def slug(name: str, longest: int = 60) -> str:
    """`name` as a part of a file name: letters, digits, dot, dash and underscore.

    At most `longest` characters and 100 bytes, so that two of them fit into a file's name.
    """
    text = re.sub(r"[^\w.-]+", "_", name).strip("._-")[:longest]
    return text.encode()[:100].decode(errors="ignore") or "unnamed"


def json_hash(value: Any) -> str:
    """SHA-256 (hex) of a JSON value, independent of the order of keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def file_hash(path: Path) -> str:
    """SHA-256 (hex) of the bytes of a regular file."""
    with regular_file(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def disk(path: Path) -> int:
    """Bytes of a file or of the files in a folder. 0 if it does not exist."""
    return sum(file.stat().st_size for file in (path, *path.rglob("*")) if file.is_file())
