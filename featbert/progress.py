"""Progress of long work and one-line notices, for whoever shows them.

    with stage("reading train.conll", "bytes", size) as advance:
        advance(1024)

The command line shows them (`cli/`); otherwise stages are silent and notices are log warnings.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TypeVar

# Told how much more is done.
Tell = Callable[[int], None]
# Given what is done, in which unit, and how much there is of it (None: nobody knows).
Listener = Callable[[str, str, int | None], AbstractContextManager[Tell]]
T = TypeVar("T")

_listener: ContextVar[Listener | None] = ContextVar("featbert_stages", default=None)


@contextmanager
def stage(what: str, unit: str, total: int | None = None) -> Iterator[Tell]:
    """A piece of work that may take a while; gives the function to tell its progress to."""
    listener = _listener.get()
    if listener is None:
        yield _unheard
        return
    with listener(what, unit, total) as tell:
        yield tell


def told(items: Iterable[T], tell: Tell, *, every: int = 1) -> Iterator[T]:
    """The items as they are; `tell` hears of every `every`th one, and of the rest at the end."""
    untold = 0
    for item in items:
        yield item
        untold += 1
        if untold == every:
            tell(untold)
            untold = 0
    if untold:
        tell(untold)


def track(items: Sequence[T], what: str, unit: str) -> Iterator[T]:
    """The items as they are, as a stage of their own; told of about a hundred times."""
    with stage(what, unit, len(items)) as tell:
        yield from told(items, tell, every=max(1, len(items) // 100))


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """Within the block, `listener` hears every stage that begins."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


def _unheard(_: int) -> None:
    """Nobody listens."""


_reader: ContextVar[Callable[[str], None] | None] = ContextVar("featbert_notices", default=None)


def notice(text: str) -> None:
    """Tells one line."""
    reader = _reader.get()
    if reader is None:
        logging.getLogger("featbert").warning("%s", text)
    else:
        reader(text)


@contextmanager
def noticed_by(reader: Callable[[str], None]) -> Iterator[None]:
    """Within the block, `reader` is given every notice."""
    before = _reader.set(reader)
    try:
        yield
    finally:
        _reader.reset(before)
