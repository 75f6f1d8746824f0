"""Progress of long work, reports of its results, and warnings.

    with stage("reading train.conll", "lines", 300_000) as advance:
        advance(1000)

Stages go to the callers of `heard_by`, reports and warnings to the logger "featbert". Python users
see both in notebooks and terminals (`shown`).
"""

import itertools
import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from featbert.text import printable

T = TypeVar("T")
LOG = logging.getLogger("featbert")
# Seconds of work before its bar is shown.
SHOWN_AFTER = 1.0
# Seconds between two messages about the same stage from another process.
INTERVAL = 0.1
# Gets the number of units done since the last call, and perhaps a note on the state of the work.
Advance = Callable[..., None]
# Shows a stage. Gets its title, unit, number of units (or None) and units done before.
Listener = Callable[[str, str, int | None, int], AbstractContextManager[Advance]]
_listener: ContextVar[Listener | None] = ContextVar("featbert_stages", default=None)
_label: ContextVar[str] = ContextVar("featbert_label", default="")


@contextmanager
def stage(title: str, unit: str, total: int | None = None, *, done: int = 0) -> Iterator[Advance]:
    """Announces work that may take a while. Yields the function that reports its progress.

    Stages nest: an experiment counts its runs, a run its steps. `done` units were finished earlier
    and do not count for the speed.
    """
    listener = _listener.get()
    if listener is None:
        yield lambda n, note=None: None
        return
    with listener(title, unit, total, done) as advance:
        yield advance


def track(items: Sequence[T], title: str, unit: str) -> Iterator[T]:
    """Yields the items as a stage, with about a hundred reports."""
    with stage(title, unit, len(items)) as advance:
        every = max(1, len(items) // 100)
        for number, item in enumerate(items, 1):
            yield item
            if number % every == 0 or number == len(items):
                advance((number - 1) % every + 1)


def report(text: str) -> None:
    """Logs a line about the work (INFO), such as the scores of an epoch.

    Control characters and surrogates are escaped.
    """
    LOG.info("%s", printable(f"{_label.get()}{text}"))


def notice(text: str) -> None:
    """Logs a line that the user should know (WARNING), escaped as by `report`."""
    LOG.warning("%s", printable(f"{_label.get()}{text}"))


@contextmanager
def labelled(name: str) -> Iterator[None]:
    """Puts `name: ` before each report and notice of the block."""
    before = _label.set(f"{name}: ")
    try:
        yield
    finally:
        _label.reset(before)


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """Within the block, `listener` shows every stage that begins in this thread."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


# Messages between processes are plain tuples, so that a pipe or a queue can carry them.
Message = tuple[Any, ...]


@contextmanager
def forwarded(send: Callable[[Message], None]) -> Iterator[None]:
    """Sends stages, reports and warnings of the block to another process (`Relay`)."""
    numbers = itertools.count()

    @contextmanager
    def listen(title: str, unit: str, total: int | None, done: int) -> Iterator[Advance]:
        number, waiting, sent = next(numbers), 0, 0.0
        send(("begin", number, title, unit, total, done))

        def advance(n: int, note: str | None = None) -> None:
            nonlocal waiting, sent
            waiting += n
            if note or time.monotonic() - sent >= INTERVAL:
                send(("advance", number, waiting, note))
                waiting, sent = 0, time.monotonic()

        try:
            yield advance
        finally:
            send(("end", number, waiting, None))

    with heard_by(listen), logged_by(lambda level, text: send(("log", level, text)), logging.INFO):
        yield


class Relay:
    """Shows each message of `forwarded`, from another process."""

    def __init__(self) -> None:
        self._open: dict[int, tuple[ExitStack, Advance]] = {}

    def __call__(self, message: Message) -> None:
        kind, *values = message
        if kind == "log":
            LOG.log(values[0], "%s", values[1])
        elif kind == "begin":
            number, title, unit, total, done = values
            context = ExitStack()
            advance = context.enter_context(stage(title, unit, total, done=done))
            self._open[number] = context, advance
        else:
            number, *done = values
            self._open[number][1](*done)
            if kind == "end":
                self._open.pop(number)[0].close()

    def close(self) -> None:
        """Ends the stages that are still open, as after the death of the process."""
        for number in reversed(tuple(self._open)):
            self._open.pop(number)[0].close()


@contextmanager
def logged_by(write: Callable[[int, str], None], level: int) -> Iterator[None]:
    """Within the block, `write` gets (level, text) of each of featbert's log lines from `level`."""

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            write(record.levelno, record.getMessage())

    before, handler = LOG.level, Handler(level)
    LOG.addHandler(handler)
    LOG.setLevel(min(level, before or level))
    try:
        yield
    finally:
        LOG.removeHandler(handler)
        LOG.setLevel(before)


@contextmanager
def shown(wanted: bool) -> Iterator[None]:
    """Shows stages of the block as bars and reports as lines, in a notebook or a terminal.

    Shows nothing elsewhere, if not `wanted`, or if stages have a listener already.
    """
    visible = sys.stderr.isatty() or "ipykernel" in sys.modules
    if not wanted or not visible or _listener.get() is not None:
        yield
        return
    from tqdm.auto import tqdm

    @contextmanager
    def bar(title: str, unit: str, total: int | None, done: int) -> Iterator[Advance]:
        options = {"total": total, "initial": done, "leave": False, "file": sys.stderr}
        options |= {} if unit else {"bar_format": "{desc}  {elapsed}"}
        with tqdm(desc=title, unit=f" {unit}", delay=SHOWN_AFTER, **options) as shown_bar:

            def advance(n: int, note: str | None = None) -> None:
                if note is not None:
                    shown_bar.set_postfix_str(note, refresh=False)
                shown_bar.update(n)

            yield advance

    with heard_by(bar), logged_by(lambda _, text: tqdm.write(text, sys.stderr), logging.INFO):
        yield
