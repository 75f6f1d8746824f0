"""Locks, files that appear whole or not at all, hashes, and file names.

A lock (filelock) is free as soon as its process ends; its text names the process, for messages.
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
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from featbert.errors import BusyError, FeatbertError, InputError
from featbert.text import listed

# Seconds that a lock is tried for: `is_owned` of another process may hold it for a moment.
_PATIENCE, _POLL = 0.1, 0.01
_RETRIES = 5
# A file system without locks; work continues there without them.
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL)
# What a damaged file may lead to, by a place that it names.
_OF_CONTENT = (errno.EINVAL, errno.EFAULT, errno.EOVERFLOW)
# What helps where the system refuses to open, read or write a file.
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
# Temporary files, also of safetensors, and locks; macOS adds its own.
_PASSING = (".*.tmp", ".tmp*", ".*.lock", ".DS_Store")
# What may never end when it is read, or stop a program when it is opened.
_SPECIAL = {
    stat.S_IFIFO: "FIFO",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}


@contextlib.contextmanager
def owning(path: Path, patience: float = _PATIENCE) -> Iterator[None]:
    """Within the block no other process writes `path`; BusyError where another one does.

    It is waited for `patience` seconds. Holds the lock file next to it, which is deleted
    afterwards. The parent folder is made, and removed again where it stays empty.
    """
    from filelock import FileLock, Timeout

    lock = lock_beside(path)
    made = not lock.parent.exists()
    held = FileLock(lock, patience, poll_interval=_POLL, thread_local=False, on_acquired=_sign)
    try:
        for retry in range(_RETRIES + 1):
            lock.parent.mkdir(parents=True, exist_ok=True)
            try:
                held.acquire()
                break
            except FileNotFoundError:  # the process that made the folder just removed it
                if retry == _RETRIES:
                    raise
    except Timeout:
        holder = ""
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
            held.release(force=True)
        if made:
            with contextlib.suppress(OSError):
                lock.parent.rmdir()


def lock_beside(folder: Path) -> Path:
    """Path of the lock file of a folder or file."""
    return folder.with_name(f".{folder.name}.lock")


def is_owned(path: Path) -> bool:
    """Whether a process is `owning` the path; False where the system cannot say."""
    try:
        with owning(path):
            return False
    except BusyError:
        return True


def _sign(descriptor: int) -> None:
    """Writes into a lock file which process holds it; a full disk leaves it empty."""
    with contextlib.suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode())


@contextlib.contextmanager
def temporary(path: Path) -> Iterator[Path]:
    """Yields the path of a new file beside `path`, which is removed afterwards if it is there.

    Those of processes that no longer run are removed. The folder must exist.
    """
    ours = f".{path.name}.{slug(socket.gethostname())}-"  # a machine has numbers of its own
    with contextlib.suppress(OSError):
        for name in os.listdir(path.parent):
            number = name.removeprefix(ours).removesuffix(".tmp")
            if name == f"{ours}{number}.tmp" and number.isdecimal():
                import psutil  # 20 ms, which are rarely needed

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
    """Yields a temporary path that takes the name `path` when the block succeeds; see `temporary`.

    Without `durable`, a power cut may lose the new file (never both). An OSError leaves `path`
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
    """`path`, to be changed; InputError if it is a link, whose target is somebody else's."""
    if path.is_symlink():
        raise InputError(f"{path} is a link, which featbert does not follow to change its target")
    return path


def check_ours(folder: Path, ours: Sequence[str]) -> None:
    """Raises InputError for a folder that is a link or holds something else than `ours`.

    `ours` are patterns of the paths of regular files in it, such as "evaluations/*.json". Whatever
    is emptied, replaced or removed is checked first, so no file of anybody else's is lost.
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
    """Paths in a folder that are neither regular files of these patterns nor folders of them."""
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
    """Removes a folder that is there, first the file that makes it whole, the first of `ours`.

    InputError, and nothing is removed, if it holds something else; see `check_ours`.
    """
    check_ours(folder, ours)
    if folder.is_dir():
        (folder / ours[0]).unlink(missing_ok=True)
        shutil.rmtree(folder)


def replace_folder(folder: Path, new: Path, before: Path, ours: Sequence[str]) -> None:
    """Gives `new` the name `folder`; what has it now is at `before` until that is done.

    InputError, and nothing is changed, if one of them holds something else; see `check_ours`.
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
    """Writes a whole file, or nothing, and folders above it; FeatbertError where it cannot be."""
    with explaining(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            temporary.write_text(text, "utf-8")


@contextlib.contextmanager
def explaining(path: Path, *further: type[Exception]) -> Iterator[None]:
    """Raises FeatbertError for an OSError, or one of `further`, of a block that writes `path`."""
    kinds: tuple[type[Exception], ...] = (OSError, *further)
    try:
        yield
    except FeatbertError:
        raise
    except kinds as error:
        raise FeatbertError(cannot_write(path, error)) from None


def cannot_write(path: Path, error: Exception, what: str = "written") -> str:
    """Message: which file cannot be written, why, and what to do about it."""
    number = getattr(refusal := system_error(error) or error, "errno", None)
    problem = f"{path} cannot be {what}: {getattr(refusal, 'strerror', None) or refusal}"
    help_ = next((text for numbers, text in _HELP.items() if number in numbers), "")
    return f"{problem}; {help_}" if help_ else problem


def system_error(error: BaseException) -> OSError | None:
    """The refusal of the operating system behind an error; None if content is at fault.

    HDF5 and safetensors hide it in a longer text, torch in the error before.
    """
    told = re.search(r"errno = (\d+)|os error (\d+)", str(error))
    number = int(told[1] or told[2]) if told else getattr(error, "errno", None)
    if number is None and error.__context__ is not None:
        return system_error(error.__context__)
    if "lock file" in str(error) and number in _NO_LOCKS:
        number = errno.ENOLCK
    if not number or number in _OF_CONTENT:
        return None
    return OSError(number, os.strerror(number))


def regular_file(path: Path) -> Path:
    """`path`, to be opened; InputError if it is a FIFO, a socket or a device, links followed.

    OSError if the system cannot say, such as FileNotFoundError.
    """
    if special := _SPECIAL.get(stat.S_IFMT(path.stat().st_mode)):
        raise InputError(f"{path} is a {special}; put a regular file in its place")
    return path


def check_folder(path: Path, option: str) -> None:
    """Raises InputError where a folder to write into is a file, or is in one."""
    place = next(place for place in (path, *path.absolute().parents) if place.exists())
    if not place.is_dir():
        raise InputError(f"{option}: {place} is a file; name a folder")


def utf8_path(path: str | Path) -> Path:
    """`path`, or what may be one; InputError where a byte is no UTF-8, which no record can hold."""
    try:
        os.fspath(path).encode()
    except UnicodeEncodeError:
        raise InputError(
            f"{path} is not UTF-8; rename the file or folder, or write it anew"
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
    """SHA-256 (hex) of a JSON value; the order of keys plays no part."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def file_hash(path: Path) -> str:
    """SHA-256 (hex) of the bytes of a regular file."""
    with regular_file(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
