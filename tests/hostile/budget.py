"""How many inputs each fuzzer tries: a few thousand together in the suite, many more in a soak.

FEATBERT_SOAK=1 is the soak: random inputs instead of the same ones each time, in fifty rounds of
as many. hypothesis remembers each input of a round, 12 to 45 KB of it whatever is tested, and lets
go of them at its end; in one round of all, that alone passed the bound on memory.
"""

from __future__ import annotations

import os
import resource
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from hypothesis import HealthCheck, settings

SOAK = os.environ.get("FEATBERT_SOAK", "0") not in ("", "0")
SOAK_ROUNDS = 50
# An input is small; whatever takes this long for one hangs.
DEADLINE = timedelta(seconds=10)
# What all inputs together may add to the highest memory of the process.
MOST_MEMORY = 400e6

tried: Counter[str] = Counter()


def inputs(n: int) -> Callable[[Any], Any]:
    """A decorator for a hypothesis test of `n` inputs in the suite, and in each round of a soak."""
    return settings(
        max_examples=n,
        derandomize=not SOAK,
        database=None,
        deadline=DEADLINE,
        suppress_health_check=list(HealthCheck),
    )


def peak_memory() -> int:
    """Highest resident size of this process in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
