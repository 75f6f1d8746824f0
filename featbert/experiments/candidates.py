"""Candidate rows of an experiment within minutes, their halving, and the time of its stages."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from typing import Any

from featbert.config import Settings, defaults
from featbert.encoders.tunings import get_tuning
from featbert.errors import InputError
from featbert.experiments.estimate import Estimates
from featbert.experiments.file import Configuration, with_kept_vectors
from featbert.experiments.plan import Job, RowOf
from featbert.models.registry import BODIES, KEPT_POOLINGS

# Candidates by kind: "scan" (quick rows on features), "features" (the others), "finetune".
Rows = Mapping[str, Sequence["Candidate"]]
# Kinds of rows on each side of the comparison.
FROZEN, TUNED = ("scan", "features"), ("finetune",)
# Rows that halving leaves: on features, and tuned ones, each of another tuning.
LEFT = {"features": 1, "finetune": 2}
# Seeds of each row before the gain of further ones decides.
FIRST_SEEDS = 3
# Seeds to plan for, part of train, and the most epochs of tuned rows: the first that the minutes
# allow is taken. A tuned row gains less from its last epochs than from more text.
REDUCTIONS = (
    *((FIRST_SEEDS, share, epochs) for share, epochs in ((1.0, 12), (1.0, 6), (1.0, 3), (0.5, 3))),
    *((1, share, 3) for share in (1.0, 0.5, 0.25, 0.125)),
)
FEWEST_EXAMPLES = 64


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

    @functools.cached_property
    def settings(self) -> Settings:
        """Settings of its runs, but for rates that depend on the encoder."""
        return self.configuration.settings(self.row[0])

    @property
    def epochs(self) -> int:
        return self.settings.epochs

    @property
    def reads_vectors(self) -> bool:
        """Whether it is a row on features that reads one stored vector for each text."""
        return self.row[0] == "features" and self.settings.reads in KEPT_POOLINGS

    @property
    def method(self) -> str:
        """A tuning, or the head of a row on features."""
        settings, task = self.settings, self.configuration.task
        if not get_tuning(settings.tuning).frozen:
            return get_tuning(settings.tuning).title
        body = BODIES[settings.body].title
        usual = defaults(settings.tuning, task, settings.body).sentence_pooling
        pooling = settings.sentence_pooling
        return body if pooling == usual else f"{body} with {pooling}"

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
        epochs = min(self.all_epochs, limit)
        return candidate if self.settings.is_quick else candidate.with_epochs(epochs)

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
            if rival.settings.tuning != self.settings.tuning:
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
        best.setdefault(candidate.settings.tuning, candidate)
    return [*best.values()]


def kept_by_text(candidates: Rows) -> dict[str, Any]:
    """What the store of each text keeps, so that all candidates can read it."""
    configurations = [c.configuration for cs in candidates.values() for c in cs]
    return {c.stored_text: c.keep for c in with_kept_vectors(configurations)}


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

    def stages(self, candidates: Rows, n_seeds: int) -> dict[str, float]:
        """The most seconds that each stage is expected to take."""
        halving = 0.0
        for kind, n_left in LEFT.items():
            trained: dict[Candidate, int] = {}
            for count, divisor in rungs(len(candidates[kind]), n_left):
                divided = {c: c.divided(divisor) for c in candidates[kind]}
                new = (d for c, d in divided.items() if d.epochs > trained.get(c, 0))
                halving += sum(nlargest(count, map(self.missing_run, new)))
                trained = {c: d.epochs for c, d in divided.items()}
        frozen = [*candidates["scan"], *candidates["features"]]
        rows = max(map(self.run, frozen), default=0.0)
        rows += sum(nlargest(LEFT["finetune"], map(self.run, candidates["finetune"])))
        scan = sum(map(self.missing_run, candidates["scan"]))
        return {"frozen rows": scan, "halving": halving, "seeds": (n_seeds - 1) * rows}

    def drafts(
        self, choices: Sequence[tuple[Rows, int]], *, most_seeds: int, n_examples: float
    ) -> Iterator[tuple[Rows, float, int, dict[str, float]]]:
        """Ways to spend the minutes, from the longest to the shortest. One may take too long.

        Later ones have fewer rows, then epochs, seeds, less text. Each is the rows that it tries,
        `share` and `most_epochs` of a `TimePlan`, and the most seconds of each stage.

        Args:
            choices: rows with the words that their stores lack.
            most_seeds: seeds of the experiment.
            n_examples: examples of train that can be divided.
        """
        n_tuned = max(len(rows["finetune"]) for rows, _ in choices)
        counts = [count for count, _ in rungs(n_tuned, LEFT["finetune"])]
        extraction = [self.extraction(words) for _, words in choices]
        for (n_seeds, share, epochs), ((rows, _), seconds), count in itertools.product(
            REDUCTIONS, zip(choices, extraction, strict=True), counts
        ):
            if share < 1 and share * n_examples < FEWEST_EXAMPLES:
                continue
            candidates = {**rows, "finetune": rows["finetune"][:count]}
            reduced = {kind: [c.on(share, epochs) for c in cs] for kind, cs in candidates.items()}
            try:
                stages = self.stages(reduced, min(n_seeds, most_seeds))
            except InputError:  # such as a text of one document, which has no parts
                if share == 1:
                    raise
                continue
            yield candidates, share, epochs, {"extraction": seconds} | stages
