"""Functions that fail at certain calls: what is killed, full or refused on the way."""

import errno
import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


@contextmanager
def failing(
    place: Any,
    name: str,
    when: Callable[..., object] | None = None,
    *,
    at: int = 0,
    error: BaseException | type[BaseException] = KeyboardInterrupt,
) -> Iterator[None]:
    """In the block, a function raises an error.

    Args:
        when: says for the arguments of a call whether it fails. If None, call number `at` fails
            and those after it.
    """
    plain, calls = getattr(place, name), itertools.count()

    def call(*arguments: Any, **options: Any) -> Any:
        if next(calls) >= at if when is None else when(*arguments, **options):
            raise error
        return plain(*arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(place, name, call)
        yield


@contextmanager
def full_disk(name: str) -> Iterator[None]:
    """In the block, there is no room when a file gets this name, or is opened under it to write."""

    def opened(path: Path, mode: str = "r", *_: Any, **__: Any) -> bool:
        return path.name == name and mode[0] in "aw"

    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name)
    renamed = failing(os, "replace", lambda _, new: Path(new).name == name, error=full)
    with renamed, failing(Path, "open", opened, error=full):
        yield
