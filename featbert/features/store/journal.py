"""The journal beside an unfinished store: its plan, who is writing it, and its finished blocks.

A line is a JSON value: {"plan": hash}, {"host", "process", "since"} of a writer, or [split, block,
checksums by layer, seconds so far], and behind these, where batches were halved, their padded
tokens. Lines are only ever added, so that a kill tears the last one at most; what makes no sense is
passed over, and a block's last line counts. The file is also the lock: flock is the truth, which
ends with its process; the writer's line is there to be told to others.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from featbert.errors import BusyError


class StoreBusyError(BusyError):
    """Another process is writing this store."""


@dataclass(frozen=True)
class Entry:
    """A finished block.

    Attributes:
        sums: CRC-32 by layer.
        seconds: of writing the store until then.
        halved_to: padded tokens that batches had been halved to when it was computed; 0 where they
            had not.
    """

    split: str
    block: int
    sums: list[int]
    seconds: float
    halved_to: int = 0


class Journal:
    """The journal of one store, locked for this process until it is closed."""

    def __init__(self, store: Path) -> None:
        """Opens the journal of a store, takes the lock and notes who has it.

        Raises:
            StoreBusyError: another process has the lock.
            OSError: the file cannot be made or written.
        """
        self.path = journal_path(store)
        self._file = _locked(self.path, store)
        self._lines: list[Any] = []
        self._torn = False
        try:
            self._file.seek(0)
            # A last line without its newline was cut off.
            self._lines, self._torn = _split(self._file.read())
            self._tell_owner()
        except BaseException:
            if not self._lines and not self._torn:
                with suppress(OSError):
                    self.path.unlink()
            self.close()
            raise

    @property
    def plan(self) -> str | None:
        """Hash of the plan whose blocks these are."""
        plans = [line["plan"] for line in self._lines if isinstance(line, dict) and "plan" in line]
        return str(plans[0]) if plans else None

    @property
    def halved_to(self) -> int:
        """Padded tokens that batches were halved to; 0 where they were not."""
        return min((e.halved_to for e in self.entries if e.halved_to), default=0)

    @property
    def entries(self) -> list[Entry]:
        """Finished blocks as an interrupted extraction noted them; the last line of each."""
        found: dict[tuple[str, int], Entry] = {}
        for line in self._lines:
            match line:
                case [str(split), int(block), list(sums), int() | float() as seconds, *rest]:
                    numbers = [*sums, *rest]
                    whole = all(isinstance(n, int) and not isinstance(n, bool) for n in numbers)
                    if block >= 0 and whole and len(rest) < 2 and min(rest, default=0) >= 0:
                        found[split, block] = Entry(split, block, sums, float(seconds), *rest)
        return list(found.values())

    def clear(self) -> None:
        """Forgets everything; who is writing stays known."""
        self._file.truncate(0)
        self._lines, self._torn = [], False
        self._tell_owner()

    def begin(self, plan: str) -> None:
        """What comes now are blocks of `plan`."""
        self._write({"plan": plan})

    def add(self, entry: Entry) -> None:
        """Notes a block that is on disk."""
        halved = [entry.halved_to] if entry.halved_to else []
        self._write([entry.split, entry.block, entry.sums, round(entry.seconds, 3), *halved])

    def remove(self) -> None:
        """Takes the journal away, and with it the lock."""
        self.path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Gives the lock back; the journal stays."""
        with suppress(OSError):  # a full disk: what could not be written is not there
            self._file.close()

    def _tell_owner(self) -> None:
        now = datetime.now(UTC).isoformat(sep=" ", timespec="seconds")
        self._write({"host": socket.gethostname(), "process": os.getpid(), "since": now})

    def _write(self, value: Any) -> None:
        start = "\n" if self._torn else ""
        self._torn = True  # until all of it is written
        self._file.write(f"{start}{json.dumps(value)}\n")
        self._file.flush()
        self._torn = False


def partial_path(store: Path) -> Path:
    """The file that a store is written to until it is complete."""
    return store.with_name(store.name + ".partial")


def journal_path(store: Path) -> Path:
    """The journal of a store: whoever extracts it holds its lock (flock)."""
    return store.with_name(store.name + ".journal")


def forget_finished(store: Path) -> None:
    """Removes the journal of a finished store, which a kill in its last moment may have left.

    One that somebody writes to, or that belongs to an unfinished file, stays.
    """
    partial = partial_path(store)
    if not journal_path(store).exists() or partial.exists():
        return
    with suppress(StoreBusyError, OSError):
        journal = Journal(store)
        if partial.exists():  # somebody began and stopped since
            journal.close()
        else:
            journal.remove()


def _locked(path: Path, store: Path) -> TextIO:
    try:
        return take_lock(path)
    except LockedError as error:
        raise StoreBusyError(
            f"another process is extracting into {store}{_owner(error.text)}; wait, or use another "
            "--cache-dir"
        ) from None


def _owner(text: str) -> str:
    """` (process 4711 on host, since ...)` of the last writer that a journal names, or nothing."""
    for line in reversed(_split(text)[0]):
        match line:
            case {"host": host, "process": process, "since": since}:
                return f" (process {process} on {host}, since {since})"
    return ""


def _split(text: str) -> tuple[list[Any], bool]:
    """The values of whole lines, and whether a torn one follows."""
    *lines, rest = text.split("\n")
    values = []
    for line in lines:
        with suppress(ValueError, RecursionError):
            values.append(json.loads(line))
    return values, rest != ""


_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL)
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
