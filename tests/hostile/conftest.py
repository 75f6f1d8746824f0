"""Counts what the fuzzers tried, and holds them to a bound on memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import is_hypothesis_test

from tests.hostile import budget


@pytest.fixture(scope="module")
def bounded_memory() -> Iterator[None]:
    """Fails where the tests of a module raised the highest memory by more than the bound."""
    before = budget.peak_memory()
    yield
    assert budget.peak_memory() - before < budget.MOST_MEMORY


@pytest.fixture
def soak_round() -> None:
    """What `pytest_generate_tests` hangs the rounds of a soak on."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """In a soak, each hypothesis test once for every round."""
    if budget.SOAK and is_hypothesis_test(metafunc.function):
        metafunc.fixturenames.append("soak_round")
        metafunc.parametrize("soak_round", range(budget.SOAK_ROUNDS))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """In a soak, the number of inputs by target."""
    if budget.SOAK and budget.tried:
        told = ", ".join(f"{name} {n:,}" for name, n in sorted(budget.tried.items()))
        terminalreporter.write_line(f"inputs fuzzed: {budget.tried.total():,} ({told})")
