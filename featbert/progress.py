"""Progress of long work, reports of its results, and warnings.

    with stage("reading train.conll", "lines", 300_000) as advance:
        advance(1000)

A stage sends messages to the listener of `heard_by`. They are plain tuples, which pipes and queues
can carry: ("begin", key, title, unit, total, done), ("advance", key, n, note) and ("end", key).
Reports and warnings go to the logger "featbert". `shown` shows all of them on stderr.
"""

from __future__ import annotations

import functools
import logging
import os
import sys
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import timedelta
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

from featbert.text import printable

if TYPE_CHECKING:
    from rich.console import Group
    from rich.live import Live

T = TypeVar("T")
LOG = logging.getLogger("featbert")
# Seconds of work before its bar is shown, before its first plain line (without a terminal), between
# two plain lines, and between two messages about one stage from another process.
SHOWN_AFTER, PLAIN_AFTER, PLAIN_EVERY, INTERVAL = 1.0, 30.0, 60.0, 0.1
# Columns of a terminal with room for bars and rates next to the last epoch.
ROOMY = 120
Message = tuple[Any, ...]
Listener = Callable[[Message], None]
# Gets the number of units done since the last call, and perhaps a note on the state of the work.
Advance = Callable[..., None]
_listener: ContextVar[Listener | None] = ContextVar("featbert_stages", default=None)
_label: ContextVar[str] = ContextVar("featbert_label", default="")


@contextmanager
def stage(title: str, unit: str, total: int | None = None, *, done: int = 0) -> Iterator[Advance]:
    """Announces work that may take a while. Yields the function that reports its progress.

    Stages nest: an experiment counts its runs, a run its steps. `done` units were finished earlier
    and do not count for the speed.
    """
    send, key = _listener.get(), uuid.uuid4().hex
    if send is None:
        yield lambda n, note=None: None
        return
    send(("begin", key, title, unit, total, done))
    try:
        yield lambda n, note=None: send(("advance", key, n, note))
    finally:
        send(("end", key))


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
def silent() -> Iterator[None]:
    """Drops the reports and notices of the block, and warnings that libraries log."""
    level = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(level)


@contextmanager
def set_within(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Gives a variable a value for the block."""
    before = variable.set(value)
    try:
        yield
    finally:
        variable.reset(before)


def prefixed(name: str) -> AbstractContextManager[None]:
    """Puts `name: ` before each report and notice of the block."""
    return set_within(_label, f"{name}: ")


def heard_by(listener: Listener) -> AbstractContextManager[None]:
    """Within the block, `listener` gets the messages of stages that begin in this thread."""
    return set_within(_listener, listener)


@contextmanager
def forwarded(send: Listener) -> Iterator[None]:
    """Sends stages, reports and warnings of the block to another process (`Relay`)."""
    waiting, due = Counter[str](), defaultdict[str, float](float)

    def listen(message: Message) -> None:
        kind, key, *values = message
        if kind == "advance":
            waiting[key] += values[0]
            if time.monotonic() < due[key] and not values[1]:
                return
            message = (kind, key, waiting.pop(key), values[1])
            due[key] = time.monotonic() + INTERVAL
        elif key in waiting:
            send(("advance", key, waiting.pop(key), None))
        send(message)

    with heard_by(listen), logged_by(lambda level, text: send(("log", level, text)), logging.INFO):
        yield


class Relay:
    """Passes on each message of `forwarded`, from another process."""

    def __init__(self) -> None:
        self._open: dict[str, Listener] = {}

    def __call__(self, message: Message) -> None:
        kind, key, *values = message
        if kind == "log":
            LOG.log(key, "%s", *values)
        elif kind == "begin" and (listener := _listener.get()):
            self._open[key] = listener
        if key in self._open:
            listener = self._open.pop(key) if kind == "end" else self._open[key]
            listener(message)

    def close(self) -> None:
        """Ends the stages that are still open, as after the death of the process."""
        for key in reversed(tuple(self._open)):
            self(("end", key))


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
def shown(*, quiet: bool = False) -> Iterator[None]:
    """Shows stages, reports and warnings of the block on stderr, unless `quiet`.

    Stages are bars in a terminal or notebook, and a plain line per minute elsewhere. A notebook
    without ipywidgets shows stages and reports in one line, which changes, and keeps warnings.
    """
    display = _Display()

    def write(level: int, text: str) -> None:
        if not quiet:
            display.tell(text, brief=level < logging.WARNING)

    with logged_by(write, logging.INFO), heard_by((lambda message: None) if quiet else display):
        try:
            yield
        finally:
            display.end_line()


def shown_in_python(progress: bool) -> AbstractContextManager[None]:
    """`shown` in a notebook or a terminal. Nothing elsewhere, or if stages have a listener."""
    visible = sys.stderr.isatty() or "ipykernel" in sys.modules
    return shown() if progress and visible and _listener.get() is None else nullcontext()


def tell(line: str) -> None:
    """Writes a line to stderr. Does nothing if stderr cannot be written."""
    with suppress(OSError):
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


@dataclass
class _ShownStage:
    title: str
    unit: str
    total: int | None
    done: int
    note: str = ""
    began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.first, self.due = self.done, self.began + PLAIN_AFTER

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    def line(self, *, rate: bool = True) -> str:
        """Numbers and note: "12,000/301,418 words  4,600 words/s  0:01:02 left  epoch 3"."""
        unit, scale, digits = ("MB", 1e6, 1) if self.unit == "bytes" else (self.unit, 1.0, 0)
        amounts = [n / scale for n in (self.done, self.total) if n is not None]
        speed = (self.done - self.first) / max(self.seconds, 1e-9)
        seconds, ending = self.seconds, ""
        if speed and self.total is not None and self.done < self.total:
            seconds, ending = (self.total - self.done) / speed, " left"
        parts = [f"{timedelta(seconds=round(seconds))}{ending}", self.note]
        if unit and rate and speed >= scale:
            parts.insert(0, f"{speed / scale:,.{int(speed < 10 * scale)}f} {unit}/s")
        if unit:
            parts.insert(0, f"{'/'.join(f'{n:,.{digits}f}' for n in amounts)} {unit}")
        return "  ".join(filter(None, parts))


class _Display:
    """A listener that draws the stages as bars, or writes plain lines."""

    def __init__(self) -> None:
        self.stages: dict[str, _ShownStage] = {}
        terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        in_notebook = "ipykernel" in sys.modules
        # rich draws in notebooks with ipywidgets.
        self.has_bars = terminal or (in_notebook and bool(find_spec("ipywidgets")))
        self.has_one_line = in_notebook and not self.has_bars
        self.width = 0  # of the line that changes

    def tell(self, text: str, *, brief: bool) -> None:
        """Writes a line. In a notebook without bars a brief one takes the place of the last one."""
        if not (self.has_one_line and brief):
            self.end_line()
            tell(text)
            return
        self.width = max(self.width, len(text))
        with suppress(OSError):
            sys.stderr.write(f"\r{text:{self.width}}")
            sys.stderr.flush()

    def end_line(self) -> None:
        if self.width:
            self.width = 0
            tell("")

    def __call__(self, message: Message) -> None:
        kind, key, *values = message
        if kind == "advance":
            shown_stage, (n, note) = self.stages[key], values
            shown_stage.done += n
            shown_stage.note = shown_stage.note if note is None else note
            if not self.has_bars and time.monotonic() >= shown_stage.due:
                shown_stage.due = time.monotonic() + (1 if self.has_one_line else PLAIN_EVERY)
                self.tell(printable(f"{shown_stage.title}  {shown_stage.line()}"), brief=True)
            return
        if kind == "begin":
            self.stages[key] = _ShownStage(*values)
        else:
            del self.stages[key]
        if self.has_bars:
            (self.live.start if self.stages else self.live.stop)()

    @functools.cached_property
    def live(self) -> Live:
        """rich's lines below the results on the same terminal."""
        from rich.console import Console
        from rich.live import Live

        console = Console(stderr=True)
        return Live(
            console=console,
            get_renderable=lambda: self.lines(roomy=console.width >= ROOMY),
            refresh_per_second=8,
            transient=True,
            redirect_stdout=sys.stdout.isatty(),
        )

    def lines(self, *, roomy: bool) -> Group:
        """The stages that take long, one per line."""
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 1))
        for long_stage in [s for s in [*self.stages.values()] if s.seconds >= SHOWN_AFTER]:
            parts = [printable(long_stage.title), long_stage.line(rate=roomy)]
            texts = parts if roomy else ["  ".join(parts)]
            *title, line = (Text(text, no_wrap=True, overflow="crop") for text in texts)
            bar = ProgressBar(long_stage.total, long_stage.done, width=24)
            table.add_row(*title, *[bar] * roomy, line)
        return Group(*[table] * bool(table.row_count))
