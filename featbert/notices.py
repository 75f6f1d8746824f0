"""What long work has to say beside its result: one line, to whoever listens.

    notice("a batch of 4,096 tokens does not fit ...")

The command line shows it on stderr (`cli/app.py`), a worker of `featbert run --jobs` sends it to
the process that gives orders. Where nobody listens it is a warning of the logger "featbert".
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

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
