"""How many inputs each property test of this folder tries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, settings


def inputs(n: int) -> Callable[[Any], Any]:
    """A decorator for a hypothesis test of `n` inputs."""
    return settings(max_examples=n, suppress_health_check=list(HealthCheck))
