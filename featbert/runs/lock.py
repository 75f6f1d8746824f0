"""One process trains a run at a time: `.<run>.lock` in the runs directory says which."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from featbert.errors import BusyError
from featbert.io import lock_beside, owning


class RunBusyError(BusyError):
    """Another process trains this run."""


def lock_path(folder: Path) -> Path:
    """The lock of the run in a folder."""
    return lock_beside(folder)


def owned(folder: Path) -> AbstractContextManager[None]:
    """Within the block no other process trains the run in `folder`.

    Raises:
        RunBusyError: another one does; says which.
        FeatbertError: the runs directory cannot be written to.
    """
    return owning(folder, RunBusyError)
