"""Callbacks of the library shown as stages, until it has stages everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from featbert.cli.progress import load_torch
from featbert.progress import Advance, report, stage
from featbert.text import counted

if TYPE_CHECKING:
    from featbert.runs.carrying_out import Listeners
    from featbert.training.history import Epoch


class Meter:
    """Shows what callbacks report."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet

    say = staticmethod(report)
    load_torch = staticmethod(load_torch)

    def says_log(self, folder: Path | None) -> None:
        """How to watch the epochs that are logged to a folder; nothing for None."""
        if folder is not None:
            report(f"epochs are logged; to watch them: tensorboard --logdir {folder}")

    @contextmanager
    def measure(self, what: str, unit: str, total: int | None = None) -> Iterator[Bar]:
        """A stage whose total is known at the first update."""
        with ExitStack() as stack:
            yield Bar(what, unit, total, stack)

    @contextmanager
    def training(self, what: str) -> Iterator[Watch]:
        """Watches one training run."""
        from featbert.runs.carrying_out import Listeners

        with self.measure(what, "steps") as bar:
            watch = Watch()

            def on_start() -> None:
                watch.began = True
                report(f"training {what}")

            def on_epoch(row: Epoch) -> None:
                dev = "" if row.dev_score is None else f"  dev {100 * row.dev_score:.2f}"
                bar.advance(0, f"epoch {row.epoch}  loss {row.train_loss:.3f}{dev}")

            def on_outdated(count: int) -> None:
                went = counted(count, "evaluation")
                report(f"{went} of the replaced run were deleted; featbert evaluate repeats them")

            watch.bar = bar
            watch.listeners = Listeners(on_start, bar.update, on_epoch, on_outdated)
            yield watch


class Bar:
    """What work reports to."""

    def __init__(self, what: str, unit: str, total: int | None, stack: ExitStack) -> None:
        self._stage = what, unit
        self._stack = stack
        self._advance: Advance | None = None
        self.done = 0
        self.total = total

    def update(self, done: int, total: int | None) -> None:
        """Done so far, and in all."""
        self.total = total
        if self._advance is None:
            self._advance = self._stack.enter_context(stage(*self._stage, total, done=done))
        else:
            self._advance(done - self.done)
        self.done = done

    def advance(self, n: int = 1, note: str = "") -> None:
        """More is done; does nothing before the first update."""
        if self._advance is not None:
            self._advance(n, note)


class Watch:
    """What was heard of one run."""

    listeners: Listeners
    bar: Bar
    began = False
