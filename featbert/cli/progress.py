"""Progress on stderr: bars at a terminal, a plain line a minute elsewhere, such as a batch log.

Only work that takes longer than a second is shown. Results go to stdout.
"""

from __future__ import annotations

import gc
import importlib
import logging
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from featbert.progress import INTERVAL, Advance, heard_by, logged_by, stage
from featbert.text import printable

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import Progress

# Seconds of work before its bar is shown.
SHOWN_AFTER = 1.0
# Seconds before the first plain line where there is no terminal, and between two of them.
PLAIN_AFTER, PLAIN_EVERY = 30.0, 60.0
# Columns of a terminal from which on rates have room.
ROOMY = 100


@contextmanager
def shown(*, quiet: bool = False) -> Iterator[None]:
    """Within the block stages, reports and warnings are shown on stderr; if quiet, none are."""
    terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    bars = _Bars()
    with logged_by(lambda level, text: None if quiet else _write(text), logging.INFO):
        if quiet:
            yield
            return
        with heard_by(bars.stage if terminal else _plain_stage):
            yield


def load_torch() -> None:
    """Imports torch as a stage. It makes half a million objects that garbage collection skips."""
    if "torch" not in sys.modules:
        with stage("loading torch", ""):
            gc.disable()
            importlib.import_module("torch")
            gc.enable()
            gc.freeze()


def _write(line: str) -> None:
    sys.stderr.write(printable(line) + "\n")
    sys.stderr.flush()


class _Stage:
    """A stage under way: its numbers, and `publish`, called at most ten times a second."""

    def __init__(self, what: str, unit: str, total: int | None, done: int) -> None:
        self.what, self.unit, self.total = printable(what), unit, total
        self.first = self.done = done
        self.began = self._published = time.monotonic()
        self.publish: Callable[[], None] = lambda: None

    def advance(self, n: int) -> None:
        self.done += n
        now = time.monotonic()
        if now - self._published >= INTERVAL or self.done == self.total:
            self._published = now
            self.publish()

    def numbers(self, speed: float | None, *, rate: bool = True) -> str:
        """Such as "12,000/301,418 words  4,600 words/s  1:02 left"."""
        unit, scale, digits = self.unit, 1.0, 0
        if unit == "bytes":
            unit, scale, digits = "MB", 1e6, 1
        amount = f"{self.done / scale:,.{digits}f}"
        if self.total is not None:
            amount += f"/{self.total / scale:,.{digits}f}"
        parts = [f"{amount} {unit}"] if unit else []
        if speed and unit and rate:
            fast = speed >= scale
            value = (speed if fast else 60 * speed) / scale
            parts.append(f"{value:,.{int(value < 10)}f} {unit}/{'s' if fast else 'min'}")
        if speed and self.total is not None:
            parts.append(f"{_clock((self.total - self.done) / speed)} left")
        else:
            parts.append(_clock(time.monotonic() - self.began))
        return "  ".join(parts)


def _clock(seconds: float) -> str:
    """62.4 -> 1:02; 3723 -> 1:02:03"""
    minutes, rest = divmod(round(max(0.0, seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@contextmanager
def _plain_stage(what: str, unit: str, total: int | None, done: int) -> Iterator[Advance]:
    one = _Stage(what, unit, total, done)
    due = one.began + PLAIN_AFTER

    def publish() -> None:
        nonlocal due
        now = time.monotonic()
        if now >= due:
            due = now + PLAIN_EVERY
            _write(f"{one.what}  {one.numbers((one.done - one.first) / (now - one.began))}")

    one.publish = publish
    yield one.advance


class _Bars:
    """A bar for each open stage at the bottom of the terminal, drawn by rich."""

    def __init__(self) -> None:
        self._progress: Progress | None = None

    @contextmanager
    def stage(self, what: str, unit: str, total: int | None, done: int) -> Iterator[Advance]:
        """Shows a stage while the block runs."""
        one = _Stage(what, unit, total, done)
        progress = self._progress = self._progress or _display()
        if not progress.tasks:
            progress.start()
        task = progress.add_task(one.what, total=total, completed=done, stage=one)
        progress.advance(task, 0)  # the speed is measured from here on
        one.publish = lambda: progress.update(task, completed=one.done)
        try:
            yield one.advance
        finally:
            progress.remove_task(task)
            if not progress.tasks:
                progress.stop()


def _display() -> Progress:
    """rich's display of the stages that take long; a result on the same terminal is above it."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
    from rich.text import Text

    console = Console(stderr=True)
    roomy = console.width >= ROOMY

    class Numbers(ProgressColumn):
        def render(self, task: Task) -> Text:
            stage: _Stage = task.fields["stage"]
            return Text(stage.numbers(task.speed, rate=roomy), no_wrap=True, overflow="crop")

    class Display(Progress):
        def get_renderables(self) -> Iterator[RenderableType]:
            if long := [task for task in self.tasks if (task.elapsed or 0.0) >= SHOWN_AFTER]:
                yield self.make_tasks_table(long)

    return Display(
        TextColumn("{task.description}", markup=False),
        BarColumn(24 if roomy else 8),
        Numbers(),
        console=console,
        refresh_per_second=8,
        speed_estimate_period=math.inf,
        transient=True,
        redirect_stdout=sys.stdout.isatty(),
    )
