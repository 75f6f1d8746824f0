"""The process that all commands which are to be killed are forked from."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults.killing import Forks


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    with Forks() as started:
        yield started
