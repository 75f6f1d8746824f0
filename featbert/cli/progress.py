"""Progress on stderr: a bar at a terminal, nothing where nobody looks, nothing in the results."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from featbert.experiments import Listeners
    from featbert.training import Epoch


class Meter:
    """Tells how work goes on.

    Attributes:
        quiet: say nothing at all.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        self._bar = not quiet and sys.stderr.isatty()

    def say(self, line: str) -> None:
        """A line on stderr."""
        if not self.quiet:
            sys.stderr.write(line + "\n")
            sys.stderr.flush()

    @contextmanager
    def measure(self, what: str, unit: str) -> Iterator[_Bar]:
        """A bar with rate and time left, for work of a known size."""
        if not self._bar:
            yield _Bar()
            return
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        with Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn(unit),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(compact=True, elapsed_when_finished=True),
            TextColumn("{task.fields[note]}"),
            console=Console(stderr=True),
            transient=True,
        ) as progress:
            task = progress.add_task(what, total=None, rate="", note="")

            def show(done: int, total: int, note: str) -> None:
                speed = progress.tasks[0].finished_speed or progress.tasks[0].speed
                rate = f"{speed:,.0f} {unit}/s" if speed else ""
                progress.update(task, completed=done, total=total, rate=rate, note=note)

            yield _Bar(show)

    @contextmanager
    def training(self, what: str) -> Iterator[Watch]:
        """Watches one training run: a bar over its steps, the last epoch's scores beside it."""
        from featbert.experiments import Listeners

        with self.measure(what, "steps") as bar:
            watch = Watch()

            def on_start() -> None:
                watch.began = True
                self.say(f"training {what}")

            def on_epoch(row: Epoch) -> None:
                bar.note = f"epoch {row.epoch}: loss {row.train_loss:.3f}" + (
                    "" if row.dev_f1 is None else f", dev F1 {100 * row.dev_f1:.2f}"
                )

            watch.listeners = Listeners(on_start=on_start, on_step=bar.update, on_epoch=on_epoch)
            yield watch


class Watch:
    """What was heard of one run.

    Attributes:
        listeners: for the run to report to.
        began: whether it was trained, not found finished.
    """

    listeners: Listeners
    began = False


class _Bar:
    """What work reports to."""

    def __init__(self, show: object = None) -> None:
        self._show = show
        self.note = ""

    def update(self, done: int, total: int) -> None:
        """Done so far, and in all."""
        if callable(self._show):
            self._show(done, total, self.note)
