"""Candidate rows of an experiment within minutes, their halving, and the time of its stages."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from featbert.experiments.file import Configuration, with_kept_vectors
from featbert.experiments.plan import RowOf
from featbert.models.registry import KEPT_POOLINGS

# Candidates by kind: "scan" (quick rows on features), "features" (the others), "finetune".
Rows = Mapping[str, Sequence["Candidate"]]
# Kinds of rows on each side of the comparison.
FROZEN, TUNED = ("scan", "features"), ("finetune",)
# Rows that halving leaves: on features, and tuned ones, each of another tuning.
LEFT = {"features": 1, "finetune": 2}


@dataclass(frozen=True, eq=False)
class Candidate:
    """A row of a configuration. `seconds` are expected of a run.

    Its tuning needs `least_epochs`, and it has `all_epochs` if the minutes allow them.
    """

    configuration: Configuration
    row: RowOf
    all_epochs: int
    seconds: float = math.inf
    least_epochs: int = 1

    @property
    def epochs(self) -> int:
        return self.configuration.settings(self.row[0]).epochs

    @property
    def reads_vectors(self) -> bool:
        """Whether it is a row on features that reads one stored vector for each text."""
        table = self.row[0]
        return table == "features" and self.configuration.settings(table).reads in KEPT_POOLINGS

    @property
    def is_quick(self) -> bool:
        """Whether it is a row on features with a linear head or a solver."""
        table = self.row[0]
        return table == "features" and not self.configuration.settings(table).reads_words

    def on(self, share: float, most_epochs: int) -> Candidate:
        """The candidate on a part of train, with at most `most_epochs` if it is tuned and halved.

        A frozen row that is halved has at most twice as many: an epoch costs it less.
        """
        configuration = self.configuration
        if share != 1:
            share *= configuration.train_share
            configuration = configuration.model_copy(update={"train_share": share})
        candidate = dataclasses.replace(self, configuration=configuration)
        limit = 2 * most_epochs if self.row[0] == "features" else most_epochs
        return candidate if self.is_quick else candidate.with_epochs(min(self.epochs, limit))

    def with_epochs(self, epochs: int) -> Candidate:
        """The candidate with so many epochs, or as many as its tuning needs."""
        epochs = max(epochs, self.least_epochs)
        configuration, seconds = self.configuration, self.seconds * epochs / self.epochs
        if epochs != self.epochs:
            configuration = configuration.at(self.row[0], {"epochs": epochs})
        return dataclasses.replace(self, configuration=configuration, seconds=seconds)

    def divided(self, divisor: int) -> Candidate:
        """The candidate with a part of its epochs."""
        return self.with_epochs(math.ceil(self.epochs / divisor))

    def with_other_tunings(self, tuned: Iterable[Candidate]) -> Iterator[Candidate]:
        """Tuned candidates of other tunings, on this one's part of train, with as many epochs."""
        share = self.configuration.train_share
        for rival in tuned:
            tuning = rival.configuration.settings("finetune").tuning
            if tuning != self.configuration.settings("finetune").tuning:
                configuration = rival.configuration.model_copy(update={"train_share": share})
                candidate = dataclasses.replace(rival, configuration=configuration)
                yield candidate.with_epochs(self.epochs)


def rungs(n: int, left: int) -> list[tuple[int, int]]:
    """Numbers of candidates to train, and the divisors of their epochs: (8, 4), (4, 2), (2, 1)."""
    counts = [n]
    while counts[-1] > left:
        counts.append(max(left, math.ceil(counts[-1] / 2)))
    return [
        (count, 2**power) for power, count in zip(range(len(counts))[::-1], counts, strict=True)
    ]


def of_other_tunings(ranked: Iterable[Candidate]) -> list[Candidate]:
    """The best candidate of each tuning."""
    best: dict[str, Candidate] = {}
    for candidate in ranked:
        best.setdefault(candidate.configuration.settings(candidate.row[0]).tuning, candidate)
    return [*best.values()]


def kept_by_text(candidates: Rows) -> dict[str, Any]:
    """What the store of each text keeps, so that all candidates can read it."""
    configurations = [c.configuration for cs in candidates.values() for c in cs]
    return {c.stored_text: c.keep for c in with_kept_vectors(configurations)}


def stage_seconds(
    candidates: Mapping[str, Sequence[Candidate]],
    seconds: Callable[[Candidate], float],
    seconds_of_seed: Callable[[Candidate], float],
    n_seeds: int,
) -> dict[str, float]:
    """The most seconds that each stage is expected to take.

    A run with the first seed takes `seconds`, one with another seed `seconds_of_seed`.
    """

    def slowest(times: Iterable[float], count: int | None = None) -> list[float]:
        return sorted(times, reverse=True)[:count]

    halving = 0.0
    for kind, n_left in LEFT.items():
        trained: dict[Candidate, int] = {}
        for count, divisor in rungs(len(candidates[kind]), n_left):
            divided = {c: c.divided(divisor) for c in candidates[kind]}
            new = (seconds(d) for c, d in divided.items() if d.epochs > trained.get(c, 0))
            halving += sum(slowest(new, count))
            trained = {c: d.epochs for c, d in divided.items()}
    frozen = [*candidates["scan"], *candidates["features"]]
    rows = max(map(seconds_of_seed, frozen), default=0.0)
    rows += sum(slowest(map(seconds_of_seed, candidates["finetune"]), LEFT["finetune"]))
    scan = sum(map(seconds, candidates["scan"]))
    return {"frozen rows": scan, "halving": halving, "seeds": (n_seeds - 1) * rows}
