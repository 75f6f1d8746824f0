"""Progress on stderr, never in the results.

At a terminal a line for each piece of work that takes longer than a second, with rate and time
left. Elsewhere, as in a batch job's log, a plain line after half a minute and then every minute.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from featbert.cli.lines import EMPTY, FULL, Line
from featbert.cli.text import printable
from featbert.lazy import load_for_good
from featbert.progress import Advance
from featbert.text import counted

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

    from featbert.runs.carrying_out import Listeners
    from featbert.training.history import Epoch

# Seconds of work before its line is shown at a terminal.
SHOWN_AFTER = 1.0
# Seconds before the first plain line where there is no terminal, and between two of them.
PLAIN_AFTER, PLAIN_EVERY = 30.0, 60.0


class Meter:
    """Tells how work goes on.

    Attributes:
        quiet: say nothing at all.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        dumb = os.environ.get("TERM") == "dumb"
        self._terminal = not quiet and sys.stderr.isatty() and not dumb

    def say(self, line: str) -> None:
        """A line on stderr."""
        if not self.quiet:
            sys.stderr.write(printable(line) + "\n")
            sys.stderr.flush()

    def says_log(self, folder: Path | None) -> None:
        """How to watch the epochs that are logged to a folder; nothing for None."""
        if folder is not None:
            self.say(f"epochs are logged; to watch them: tensorboard --logdir {folder}")

    def load_torch(self) -> None:
        """Imports torch, which takes seconds, and shows that it does."""
        with self.measure("loading torch", ""):
            load_for_good("torch")

    @contextmanager
    def measure(self, what: str, unit: str, total: int | None = None) -> Iterator[Bar]:
        """A line with rate and time left, for work of a size that is told with its updates."""
        line = Line(printable(what), unit, time.monotonic(), total)
        if self.quiet:
            yield Bar(line)
            return
        if not self._terminal:
            yield _PlainBar(line, self)
            return
        _BOARD.add(line)
        try:
            yield Bar(line)
        finally:
            _BOARD.remove(line)

    @contextmanager
    def stage(self, what: str, unit: str, total: int | None, done: int) -> Iterator[Advance]:
        """Listens to the library's stages (`featbert/progress.py`)."""
        with self.measure(what, unit, total) as bar:
            if total is not None:
                bar.update(done, total)

            def advance(n: int = 1, note: str = "") -> None:
                bar.line.note = note or bar.line.note
                bar.update(bar.line.done + n, total)

            yield advance

    @contextmanager
    def training(self, what: str) -> Iterator[Watch]:
        """Watches one training run: a line over its steps, the last epoch's scores beside it."""
        from featbert.runs.carrying_out import Listeners

        with self.measure(what, "steps") as bar:
            watch = Watch()

            def on_start() -> None:
                watch.began = True
                self.say(f"training {what}")

            def on_epoch(row: Epoch) -> None:
                bar.line.note = f"epoch {row.epoch}: loss {row.train_loss:.3f}" + (
                    "" if row.dev_score is None else f", dev {100 * row.dev_score:.2f}"
                )

            def on_outdated(count: int) -> None:
                went = counted(count, "evaluation")
                self.say(
                    f"{went} of the run before went with it; featbert evaluate makes them anew"
                )

            watch.bar = bar
            watch.listeners = Listeners(on_start, bar.update, on_epoch, on_outdated)
            yield watch


class Bar:
    """What work reports to."""

    def __init__(self, line: Line) -> None:
        self.line = line

    def update(self, done: float, total: int | None) -> None:
        """Done so far, and in all."""
        self.line.update(done, total, time.monotonic())


class Watch:
    """What was heard of one run.

    Attributes:
        listeners: for the run to report to.
        bar: the line of its steps.
        began: whether it was trained, not found finished.
    """

    listeners: Listeners
    bar: Bar
    began = False


class _PlainBar(Bar):
    """Where there is no terminal: a plain line from time to time."""

    def __init__(self, line: Line, meter: Meter) -> None:
        super().__init__(line)
        self._meter = meter
        self._next = line.began + PLAIN_AFTER

    def update(self, done: float, total: int | None) -> None:
        super().update(done, total)
        now = time.monotonic()
        if now >= self._next:
            self._next = now + PLAIN_EVERY
            self._meter.say(self.line.text(now, bars=()))


class _Board:
    """The lines at the bottom of the terminal; there is one terminal, so there is one board."""

    def __init__(self) -> None:
        self._lines: list[Line] = []
        self._lock = threading.RLock()
        self._timer: threading.Timer | None = None
        self._live: Live | None = None

    def add(self, line: Line) -> None:
        """Shows a line from when it is worth it."""
        with self._lock:
            self._lines.append(line)
            if self._live is None and self._timer is None:
                self._timer = threading.Timer(SHOWN_AFTER, self._show)
                self._timer.daemon = True
                self._timer.start()

    def remove(self, line: Line) -> None:
        """Takes a line away, and the display with the last one."""
        with self._lock:
            if line in self._lines:
                self._lines.remove(line)
            if self._lines:
                return
            live, timer = self._live, self._timer
            self._live = self._timer = None
        if timer is not None:
            timer.cancel()
        if live is not None:
            live.stop()

    def clear(self) -> None:
        """Takes all lines away: work that failed may have left some."""
        for line in tuple(self._lines):
            self.remove(line)

    def _show(self) -> None:
        from rich.console import Console
        from rich.live import Live

        with self._lock:
            self._timer = None
            if not self._lines or self._live is not None:
                return
            console = Console(stderr=True)
            self._live = Live(
                console=console,
                get_renderable=lambda: self._text(console.width),
                refresh_per_second=8,
                transient=True,
                # A result on the same terminal goes above the lines; elsewhere it is none of ours.
                redirect_stdout=sys.stdout.isatty(),
            )
            self._live.start()

    def _text(self, width: int) -> RenderableType:
        from rich.text import Text

        now = time.monotonic()
        shown = [line for line in tuple(self._lines) if now - line.began >= SHOWN_AFTER]
        lines = [line.text(now, width - 1) for line in shown]
        if not (sys.stderr.encoding or "").lower().startswith("utf"):
            lines = [line.replace(FULL, "#").replace(EMPTY, ".") for line in lines]
        return Text("\n".join(lines), no_wrap=True, overflow="crop", end="")


_BOARD = _Board()


def clear_display() -> None:
    """Gives the terminal back."""
    _BOARD.clear()
