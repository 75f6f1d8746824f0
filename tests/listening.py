"""What is heard of stages: an ear for `heard_by`."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from featbert.progress import Advance


class Ear:
    """Keeps what it heard: by stage (unit, total), and what was done in all."""

    def __init__(self) -> None:
        self.stages: dict[str, tuple[str, int | None]] = {}
        self.done: dict[str, int] = defaultdict(int)
        self.calls: dict[str, int] = defaultdict(int)
        self.ended: list[str] = []

    @contextmanager
    def __call__(self, what: str, unit: str, total: int | None, done: int) -> Iterator[Advance]:
        self.stages[what] = (unit, total)
        self.done[what] = done

        def advance(n: int, note: str | None = None) -> None:
            self.done[what] += n
            self.calls[what] += 1

        try:
            yield advance
        finally:
            self.ended.append(what)
