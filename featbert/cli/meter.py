"""Callbacks of the library shown as stages, until it has stages everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from featbert.cli.progress import load_torch
from featbert.progress import Advance, report, stage


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
