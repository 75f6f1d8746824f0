"""Progress on stderr: bars in a terminal, a plain line per minute elsewhere, as in a batch log.

Only work that takes longer than a second is shown. Results go to stdout.
"""

from __future__ import annotations

import functools
import logging
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from featbert.progress import SHOWN_AFTER, Advance, heard_by, logged_by
from featbert.text import printable

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import Progress

# Seconds before the first plain line (without a terminal), and between two lines.
PLAIN_AFTER, PLAIN_EVERY = 30.0, 60.0
# Columns of a terminal with room for bars and rates next to the last epoch.
ROOMY = 120


@contextmanager
def shown(*, quiet: bool = False, worded: Callable[[str], str] = str) -> Iterator[None]:
    """Shows stages, reports and warnings of the block on stderr, unless `quiet`.

    `worded` rewrites each line in the terms of the command.
    """
    terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    stages = nullcontext() if quiet else heard_by(_bar if terminal else _plain_stage)
    with (
        logged_by(lambda level, text: None if quiet else tell(worded(text)), logging.INFO),
        stages,
    ):
        yield


def tell(line: str) -> None:
    """Writes a line to stderr. Does nothing if stderr cannot be written."""
    with suppress(OSError):
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


def _numbers(
    unit: str, done: int, total: int | None, speed: float | None, seconds: float, *, rate: bool
) -> str:
    """The numbers of a stage: "12,000/301,418 words  4,600 words/s  0:01:02 left"."""
    scale, digits = 1.0, 0
    if unit == "bytes":
        unit, scale, digits = "MB", 1e6, 1
    amount = f"{done / scale:,.{digits}f}"
    if total is not None:
        amount += f"/{total / scale:,.{digits}f}"
    parts = [f"{amount} {unit}"] if unit else []
    if speed and unit and rate and speed >= scale:
        parts.append(f"{speed / scale:,.{int(speed < 10 * scale)}f} {unit}/s")
    ending = ""
    if speed and total is not None:
        seconds, ending = (total - done) / speed, " left"
    parts.append(f"{timedelta(seconds=max(0, round(seconds)))}{ending}")
    return "  ".join(parts)


@contextmanager
def _plain_stage(title: str, unit: str, total: int | None, done: int) -> Iterator[Advance]:
    first, began = done, time.monotonic()
    due = began + PLAIN_AFTER

    def advance(n: int, note: str | None = None) -> None:
        nonlocal done, due
        done += n
        now = time.monotonic()
        if now >= due:
            due = now + PLAIN_EVERY
            speed = (done - first) / (now - began)
            numbers = _numbers(unit, done, total, speed, now - began, rate=True)
            tell(printable(f"{title}  {numbers}"))

    yield advance


@contextmanager
def _bar(title: str, unit: str, total: int | None, done: int) -> Iterator[Advance]:
    progress = _display()
    if not progress.tasks:
        progress.start()
    task = progress.add_task(printable(title), total=total, completed=done, unit=unit, note="")

    def advance(n: int, note: str | None = None) -> None:
        fields: dict[str, Any] = {} if note is None else {"note": f"  {note}"}
        progress.update(task, advance=n, **fields)

    progress.advance(task, 0)  # the speed is measured from here on
    try:
        yield advance
    finally:
        progress.remove_task(task)
        if not progress.tasks:
            progress.stop()


@functools.cache
def _display() -> Progress:
    """rich's bars of the stages that take long, below the results on the same terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
    from rich.text import Text

    console = Console(stderr=True)
    roomy = console.width >= ROOMY
    bar = TextColumn("{task.description}", markup=False), BarColumn(24)

    class Numbers(ProgressColumn):
        def render(self, task: Task) -> Text:
            total = None if task.total is None else int(task.total)
            state = task.fields["unit"], int(task.completed), total, task.speed
            text = _numbers(*state, task.elapsed or 0.0, rate=roomy) + task.fields["note"]
            text = text if roomy else f"{task.description}  {text}"
            return Text(text, no_wrap=True, overflow="crop")

    class Display(Progress):
        def get_renderables(self) -> Iterator[RenderableType]:
            if long := [task for task in self.tasks if (task.elapsed or 0.0) >= SHOWN_AFTER]:
                yield self.make_tasks_table(long)

    return Display(
        *(bar if roomy else ()),
        Numbers(),
        console=console,
        refresh_per_second=8,
        speed_estimate_period=math.inf,
        transient=True,
        redirect_stdout=sys.stdout.isatty(),
    )
