"""Counts what the fuzzers tried, and holds them to a bound on memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.hostile import budget


@pytest.fixture(scope="module")
def bounded_memory() -> Iterator[None]:
    """Fails where the tests of a module raised the highest memory by more than the bound."""
    before = budget.peak_memory()
    yield
    assert budget.peak_memory() - before < budget.MOST_MEMORY


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """In a soak, the number of inputs by target."""
    if budget.SOAK and budget.tried:
        told = ", ".join(f"{name} {n:,}" for name, n in sorted(budget.tried.items()))
        terminalreporter.write_line(f"inputs fuzzed: {budget.tried.total():,} ({told})")
