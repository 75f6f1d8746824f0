"""A contest of training: featbert in each precision against a plain loop, seed by seed.

Round n trains with seed n, so that the rounds are also the seeds of dev F1.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.ours import Learned
from benchmarks.record import Spread
from benchmarks.rounds import Work, in_turn, ratio

FEATBERT = "featbert"


class TrainingContest:
    """Who takes part, and what each learned.

    Attributes:
        f1: dev F1 by contestant and round, in the order of seeds.
        flops: by shape, of the work that all contestants do.
    """

    def __init__(
        self,
        baseline: str,
        plainly: Callable[[int], float],
        ours: Callable[[int, str], Learned],
        precisions: Sequence[str],
    ) -> None:
        """
        Args:
            baseline: its name.
            plainly: trains the baseline with a seed and gives dev F1.
            ours: trains featbert with a seed in a precision.
        """
        self.baseline, self.plainly, self.ours = baseline, plainly, ours
        self.precisions = precisions
        self.f1: dict[str, list[float]] = {}
        self.flops = 0.0

    def run(self, rounds: int) -> dict[str, list[float]]:
        """Seconds by contestant and round."""
        works: dict[str, Work] = {self.baseline: self._plain_round}
        works |= {f"{FEATBERT} {p}": self._our_round(p) for p in self.precisions}
        return in_turn(works, rounds)

    def rows(
        self, seconds: Mapping[str, Sequence[float]], words: int, rates: Mapping[str, float]
    ) -> dict[str, dict[str, Any]]:
        """Figures by contestant.

        Args:
            words: trained on, over all epochs.
            rates: operations a second of a product of like shape, by precision.
        """
        found = {}
        for name, each in seconds.items():
            median = statistics.median(each)
            precision = "fp32" if name == self.baseline else name.rsplit(" ", 1)[1]
            found[name] = {
                "seconds": list(each),
                "words_per_second": words / median,
                "flops_per_second": self.flops / median,
                "share_of_matmul_rate": self.flops / median / rates[precision],
                "dev_f1": self.f1[name],
            }
        return found

    def ratios(self, seconds: Mapping[str, Sequence[float]]) -> dict[str, Spread]:
        """How many times faster than the baseline featbert is."""
        names = [f"{FEATBERT} {p}" for p in self.precisions]
        return {
            f"{name} over {self.baseline}": ratio(seconds[self.baseline], seconds[name])
            for name in names
        }

    def _plain_round(self, seed: int) -> float:
        started = time.perf_counter()
        f1 = self.plainly(seed)
        seconds = time.perf_counter() - started
        self.f1.setdefault(self.baseline, []).append(f1)
        return seconds

    def _our_round(self, precision: str) -> Work:
        def work(seed: int) -> float:
            found = self.ours(seed, precision)
            self.flops = found.flops
            self.f1.setdefault(f"{FEATBERT} {precision}", []).append(found.dev_f1 or 0.0)
            return found.seconds

        return work
