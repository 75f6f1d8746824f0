"""The plan for an experiment's minutes: the drafts of it, and their expected time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from featbert.errors import InputError
from featbert.experiments.candidates import (
    FROZEN,
    LEFT,
    TUNED,
    Candidate,
    Rows,
    rungs,
    stage_seconds,
)
from featbert.experiments.estimate import Estimates
from featbert.experiments.plan import Job

# Seeds of each row before the gain of further ones decides.
FIRST_SEEDS = 3
# Seeds to plan for, part of train, and the most epochs of tuned rows: the first that the minutes
# allow is taken. A tuned row gains less from its last epochs than from more text.
REDUCTIONS = (
    *((FIRST_SEEDS, share, epochs) for share, epochs in ((1.0, 12), (1.0, 6), (1.0, 3), (0.5, 3))),
    *((1, share, 3) for share in (1.0, 0.5, 0.25, 0.125)),
)
FEWEST_EXAMPLES = 64


@dataclass(frozen=True)
class ExpectedTimes:
    """Expected seconds of candidates' runs, by kind of run.

    Attributes:
        candidates: with all epochs on all of train.
        job_of: a candidate's run with the first seed.
    """

    candidates: Rows
    job_of: Callable[[Candidate], Job]
    estimates: Estimates

    def run(self, candidate: Candidate) -> float:
        """A run's seconds. Tunings that were not timed take as long as the slowest other one.

        Infinity for other rows of a kind that was not timed, and for runs that fail.
        """
        job = self.job_of(candidate)
        if (estimate := self.estimates.run(job)) is not None:
            return estimate[0]
        if candidate.row[0] not in TUNED or self.estimates.failure(job) is not None:
            return math.inf
        jobs = map(self.job_of, candidate.with_other_tunings(self.candidates["finetune"]))
        estimated = (self.estimates.run(job) for job in jobs)
        return max((e[0] for e in estimated if e is not None), default=math.inf)

    def missing_run(self, candidate: Candidate) -> float:
        """Seconds that the run with the first seed still takes."""
        return 0.0 if self.job_of(candidate).run.finished else self.run(candidate)

    def extraction(self, words: int) -> float:
        """Seconds of extracting so many words, by any timed row on the same text."""
        jobs = (self.job_of(c) for kind in FROZEN for c in self.candidates[kind])
        estimated = (self.estimates.extraction(job, words) for job in jobs)
        return max((seconds for seconds in estimated if seconds is not None), default=0.0)

    def timed(self) -> Rows:
        """The candidates with a known time. InputError if a side has none of them."""
        timed = {
            kind: [c for c in candidates if self.missing_run(c) < math.inf]
            for kind, candidates in self.candidates.items()
        }
        for side in (FROZEN, TUNED):
            of_side = [c for kind in side for c in self.candidates[kind]]
            if of_side and not any(timed[kind] for kind in side):
                errors = (self.estimates.failure(self.job_of(c)) for c in of_side)
                reason = next(filter(None, errors), "the text is too short")
                raise InputError(
                    f"the minutes cannot be planned; no short run could be timed: {reason}"
                )
        return timed


@dataclass(frozen=True)
class Draft:
    """A way to spend the minutes. It may take too long.

    Attributes:
        candidates: rows that it tries, with all epochs on all of train.
        share, most_epochs: see `TimePlan`.
        seconds: the most that each stage is expected to take.
    """

    candidates: Rows
    share: float
    most_epochs: int
    seconds: dict[str, float]

    @property
    def reduced(self) -> Iterator[tuple[Candidate, Candidate]]:
        """Each candidate, and as the draft trains it."""
        for candidate in itertools.chain(*self.candidates.values()):
            yield candidate, candidate.on(self.share, self.most_epochs)


def drafts(
    times: ExpectedTimes,
    choices: Sequence[tuple[Rows, int]],
    *,
    most_seeds: int,
    n_examples: float,
) -> Iterator[Draft]:
    """The drafts, from the longest to the shortest: fewer rows, then epochs, seeds, less text.

    Args:
        choices: rows with the words that their stores lack.
        most_seeds: seeds of the experiment.
        n_examples: examples of train that can be divided.
    """
    n_tuned = max(len(rows["finetune"]) for rows, _ in choices)
    counts = [count for count, _ in rungs(n_tuned, LEFT["finetune"])]
    extraction = [times.extraction(words) for _, words in choices]
    for (n_seeds, share, epochs), ((rows, _), seconds), count in itertools.product(
        REDUCTIONS, zip(choices, extraction, strict=True), counts
    ):
        if share < 1 and share * n_examples < FEWEST_EXAMPLES:
            continue
        candidates = {**rows, "finetune": rows["finetune"][:count]}
        reduced = {kind: [c.on(share, epochs) for c in cs] for kind, cs in candidates.items()}
        try:
            n_planned = min(n_seeds, most_seeds)
            stages = stage_seconds(reduced, times.missing_run, times.run, n_planned)
        except InputError:  # such as a text of one document, which has no parts
            if share == 1:
                raise
            continue
        yield Draft(candidates, share, epochs, {"extraction": seconds} | stages)
