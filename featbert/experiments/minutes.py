"""An experiment that spends a number of minutes: frozen rows, halving of tuned ones, then seeds.

1. Rows on features with a linear head or a solver are trained. They take little time.
2. Other rows on features, and tuned rows, are halved (Jamieson and Talwalkar 2016): all candidates
   train for a part of their epochs, the better half for twice as many, until one row on features
   and rows of two tunings are left, which train for all epochs. If finished runs show that there
   is time, these rows learn from more text or for more epochs. If they have fewer epochs than they
   could, the side that is behind on dev trains longer while its last epoch is its best.
3. The best row on features and the tuned rows get further seeds. Each run goes to the row with the
   largest gain per second: how much a run lowers the variance of the decisive difference.

Dev decides, so that no stopping rule depends on test. Choices follow from finished runs and from
the `TimePlan` in the experiment's record. The same command therefore resumes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from featbert.encoders.device import use_threads
from featbert.encoders.tunings import get_tuning
from featbert.errors import InputError, MissingError, spelling
from featbert.experiments.candidates import (
    FIRST_SEEDS,
    FROZEN,
    LEFT,
    REDUCTIONS,
    TUNED,
    Candidate,
    ExpectedTimes,
    Rows,
    kept_by_text,
    of_other_tunings,
    rungs,
)
from featbert.experiments.estimate import Estimates, work
from featbert.experiments.file import Configuration, every
from featbert.experiments.plan import ExperimentPlan, Job, RowOf
from featbert.features.plan import ExtractionPlan, free_bytes
from featbert.io import json_hash
from featbert.progress import report
from featbert.runs.record import (
    RECORD_NAME,
    ExperimentRecord,
    SearchRecord,
    TimePlan,
    read_experiment_record,
)
from featbert.runs.run import Run
from featbert.tasks.base import get_task
from featbert.units import duration

# Factor by which runs may take longer than expected.
MARGIN = 1.25
# Part of the minutes for short runs.
MEASURING = 0.15
# How much the next seed of the first and of the second row lowers the variance of their difference
# on dev. None if no further seed is worth its time.
Gains = Callable[[Sequence[Run], Sequence[Run]], tuple[float, float] | None]


@dataclass
class Finalist:
    """A row of the last stage: its finished runs, and the run with the next seed."""

    runs: list[Run] = field(default_factory=list)
    upcoming: Job | None = None

    @property
    def dev(self) -> float:
        return statistics.fmean(run.record.score("dev") or 0.0 for run in self.runs)

    @property
    def seconds(self) -> float:
        """Seconds of a run."""
        costs = [run.record.cost for run in self.runs]
        return statistics.fmean(c.training_seconds + c.prediction_seconds for c in costs)


class Unfinished(Exception):
    """Runs are to be trained before more is known."""


@dataclass
class MinutesPlan(ExperimentPlan):
    """An experiment's runs within its minutes, as far as they follow from finished runs.

    Without a `time_plan` the jobs are all candidates with all epochs.

    Attributes:
        gains: see `Gains`.
        clock: gives seconds.
        began: seconds of the clock when the command began.
        planned: runs of candidates, each planned once.
        candidates: rows of the first stage ("scan"), and of the second one by table.
        kept: what the candidates' stores keep, by `Configuration.stored_text`.
        impossible: candidates that cannot be planned, such as layers that the encoder lacks.
    """

    gains: Gains = lambda first, second: None
    clock: Callable[[], float] = time.monotonic
    began: float = math.nan
    time_plan: TimePlan | None = None
    planned: dict[str, Job] = field(default_factory=dict)
    candidates: dict[str, list[Candidate]] = field(default_factory=dict, init=False)
    kept: dict[str, Any] = field(default_factory=dict, init=False)
    impossible: list[tuple[Candidate, InputError]] = field(default_factory=list, init=False)
    _waiting: list[float] = field(default_factory=list, init=False)
    _trained_methods: set[str] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        if math.isnan(self.began):
            self.began = self.clock()

    def renewed(self, **changes: Any) -> MinutesPlan:
        plan = dataclasses.replace(self, **changes)
        plan._take(plan._candidates())
        if (time_plan := plan.time_plan) is None:
            scanned, slow, tuned = plan.candidates.values()
            in_order_of_measuring = (*(scanned or slow)[:1], *tuned[:1], *scanned, *slow, *tuned)
            plan.jobs = {job.name: job for job in map(plan.job_of, in_order_of_measuring)}
            return plan
        reduced = {
            kind: [
                dataclasses.replace(c.on(time_plan.share, time_plan.most_epochs), seconds=seconds)
                for c in candidates
                if (seconds := time_plan.candidates.get(plan.job_of(c).name)) is not None
            ]
            for kind, candidates in plan.candidates.items()
        }
        plan._take(reduced)  # some may have become copies
        finalists: list[Candidate] = []
        with contextlib.suppress(Unfinished):
            finalists = plan._finalists()
        trials = [*plan.jobs.values()]
        plan._add_seeds(finalists)
        plan._add_searches(trials)
        return plan

    @property
    def minutes(self) -> float:
        return self.experiment.keys.minutes or 0.0

    @property
    def spent(self) -> float:
        """Seconds that this command and those that it resumes have taken."""
        earlier = 0.0 if self.time_plan is None else self.time_plan.spent
        return earlier + self.clock() - self.began

    @property
    def seconds_left(self) -> float:
        return 60 * self.minutes - self.spent

    @property
    def record(self) -> ExperimentRecord:
        assert self.time_plan is not None
        is_done = self.time_plan.done or not self.missing
        # Methods of which no run was finished or failed.
        untrained = [m for m in self.methods if is_done and m not in self._trained_methods]
        time_plan = dataclasses.replace(
            self.time_plan, spent=self.spent, done=is_done, untrained=untrained
        )
        return dataclasses.replace(super().record, time_plan=time_plan)

    @property
    def methods(self) -> list[str]:
        """Tunings and heads of the candidates, each once."""
        candidates = itertools.chain(*self.candidates.values())
        return list(dict.fromkeys(candidate.method for candidate in candidates))

    def _candidates(self) -> dict[str, list[Candidate]]:
        """First values of searched settings come first: a shorter list has all tunings."""
        lists: dict[str, list[list[Candidate]]] = {"scan": [], "features": [], "finetune": []}
        for c in self.experiment.configurations:
            use_threads(c.threads)
            for row in self.rows_of(c):
                search = c.searched(row[0])
                points = every(search.ranges(row[0]) if search else {})
                candidates = [self._candidate(c.at(row[0], point), row) for point in points]
                lists["scan" if candidates[0].settings.is_quick else row[0]].append(candidates)
        return {
            kind: [c for column in itertools.zip_longest(*rows) for c in column if c is not None]
            for kind, rows in lists.items()
        }

    def _candidate(self, configuration: Configuration, row: RowOf) -> Candidate:
        layers = self.num_layers(configuration)
        settings = configuration.settings(row[0], layers)
        tuning = get_tuning(settings.tuning)
        for least_epochs in range(1, settings.epochs + 1):
            with contextlib.suppress(InputError):
                tuning.check(settings.model_copy(update={"epochs": least_epochs}), layers)
                break
        return Candidate(configuration, row, settings.epochs, least_epochs=least_epochs)

    def _take(self, candidates: dict[str, list[Candidate]]) -> None:
        """Takes candidates, except for copies of a run and those that cannot be planned.

        InputError if a side has no other.
        """
        self.candidates, self.kept = candidates, kept_by_text(candidates)
        possible: dict[str, dict[str, Candidate]] = {kind: {} for kind in candidates}
        for kind, of_kind in candidates.items():
            for candidate in of_kind:
                try:
                    possible[kind].setdefault(self.job_of(candidate).name, candidate)
                except InputError as error:
                    self.impossible.append((candidate, error))
        for side in (FROZEN, TUNED):
            of_side = [c for kind in side for c in candidates[kind]]
            if of_side and not any(possible[kind] for kind in side):
                raise next(error for c, error in self.impossible if c in of_side)
        self.candidates = {kind: [*by_name.values()] for kind, by_name in possible.items()}

    def job_of(self, candidate: Candidate, seed: int | None = None) -> Job:
        """A run of a candidate, by default with the first seed."""
        configuration = candidate.configuration
        if (keep := self.kept.get(configuration.stored_text)) is not None:
            configuration = configuration.model_copy(update={"keep": keep})
        kinds = ["finetune"] if candidate.row[0] == "finetune" else ["scan", "features"]
        n_tried = sum(len(self.candidates[kind]) for kind in kinds)
        seed = configuration.seeds[0] if seed is None else seed
        is_stored = candidate.row[0] == "features" and self._extraction(configuration).finished
        # Defaults depend on which settings were set.
        settings = configuration.model_dump(exclude_unset=True)
        key = repr((settings, candidate.row, seed, n_tried, bool(is_stored)))
        if key not in self.planned:
            self.planned[key] = self._job(
                configuration, candidate.row, seed, configurations_tried=n_tried
            )
        return self.planned[key]

    # Time -----------------------------------------------------------------------------------------

    def timed(self) -> MinutesPlan:
        """The plan with a `time_plan`: the one in the experiment's record, or a new one.

        InputError if the minutes are too few for the smallest plan, or see `check_record`.
        """
        plan, time_plan = self.renewed(time_plan=None), None
        plan.check_record()
        seeds = [c.seeds for c in self.experiment.configurations]
        key = json_hash([self.minutes, [*plan.jobs], seeds])
        with contextlib.suppress(MissingError):
            record = read_experiment_record(self.runs_dir, self.experiment.name)
            time_plan = record.time_plan
            is_done = time_plan is not None and time_plan.done
            # If its runs were removed since, there is something to train again.
            paths = (self.runs_dir / name / RECORD_NAME for name in record.trials)
            if is_done and not all(path.exists() for path in paths):
                time_plan = None
        if time_plan is None or time_plan.key != key:
            time_plan = plan._new_time_plan(key)
        return plan.renewed(time_plan=time_plan)

    def _new_time_plan(self, key: str) -> TimePlan:
        """A plan by short runs, which are repeated before the minutes are refused."""
        patience = 60 * self.minutes * MEASURING
        # A frozen and a tuned row are timed in any case.
        estimates = Estimates(self, measure=True, patience=patience, at_least=2)
        with contextlib.suppress(InputError):
            return self._first_draft(key, estimates)
        estimates.measure()  # other work may have slowed the short runs
        return self._first_draft(key, estimates)

    def _first_draft(self, key: str, estimates: Estimates) -> TimePlan:
        """The longest draft that the minutes allow. InputError if there is none."""
        first = self.experiment.configurations[0]
        items = get_task(first.task).items(self.resources.corpus(first)["train"])
        # Drawn examples are not divided.
        n_examples = 0.0 if first.shots is not None else first.train_share * (len(items) - 1)
        times = ExpectedTimes(self.candidates, self.job_of, estimates)
        choices = [*self._with_and_without_words(times.timed())]
        drafts = times.drafts(choices, most_seeds=len(first.seeds), n_examples=n_examples)
        seconds, seconds_of_whole = dict[str, float](), 0.0
        for rows, share, epochs, seconds in drafts:
            total = MARGIN * sum(seconds.values())
            if share == 1:
                seconds_of_whole = total
            if total <= self.seconds_left:
                candidates = itertools.chain(*rows.values())
                of_runs = {self.job_of(c).name: times.run(c.on(share, epochs)) for c in candidates}
                if share < 1:
                    needed = math.ceil((self.spent + seconds_of_whole) / 60)
                    report(f"all of train would need {spelling('minutes', needed)}")
                return TimePlan(key, share, epochs, None, of_runs, seconds, spent=0.0, done=False)
        raise InputError(self._too_few(seconds, len(items) - 1), setting="minutes")

    def _with_and_without_words(self, candidates: Rows) -> Iterator[tuple[Rows, int]]:
        """The candidates if their stores fit on the disk, and those that need no stored words.

        Each with the words that its stores lack. Vectors of whole texts take a small part of the
        disk of all their words.
        """
        light = {
            kind: [c for c in cs if kind in TUNED or c.reads_vectors]
            for kind, cs in candidates.items()
        }
        is_other = light != candidates and any(light[kind] for kind in FROZEN)
        choices = [candidates, light] if is_other else [candidates]
        for rows in choices:
            manifests = [store.manifest for store in self.missing_stores(rows)]
            n_bytes = sum(manifest.data_bytes for manifest in manifests)
            if rows is choices[-1] or n_bytes <= free_bytes(self.cache_dir):
                yield rows, sum(manifest.words for manifest in manifests)

    def missing_stores(self, candidates: Rows) -> list[ExtractionPlan]:
        """Extractions that candidates on features need and that are not finished."""
        keep_by_text = kept_by_text(candidates)
        frozen = (c.configuration for kind in FROZEN for c in candidates[kind])
        with_keep = (c.model_copy(update={"keep": keep_by_text[c.stored_text]}) for c in frozen)
        stores = {store.path: store for store in map(self._extraction, with_keep)}
        return [store for store in stores.values() if store.finished is None]

    def _too_few(self, expected: Mapping[str, float], n_sequences: int) -> str:
        """The minutes that the smallest plan needs, and for what.

        The advised limit is at most half of train's sequences: one above train changes nothing.
        """
        reserve = (MARGIN - 1) * sum(expected.values())
        parts = {"measuring": self.spent, **expected, "reserve": reserve}
        needed = math.ceil(sum(parts.values()) / 60)
        times = ", ".join(f"{name} {duration(s)}" for name, s in parts.items() if s)
        limit = spelling("limit", min(500, max(1, n_sequences // 2)))
        return (
            f"is {self.minutes:g}; the smallest plan needs {needed} here: {times}; give more, or "
            f"fewer examples, such as {limit}, which cuts dev and test, too"
        )

    # Stages ---------------------------------------------------------------------------------------

    def _finalists(self) -> list[Candidate]:
        """The best row on features and the tuned rows that are left.

        This and the steps that lead to it raise `Unfinished`.
        """
        scanned = self.candidates["scan"]
        frozen = self._ranked(scanned, at_a_time=len(scanned))
        frozen = self._by_dev([*frozen, *self._halved("features")])
        return self._trained_longer(self._larger([*frozen[:1], *self._halved("finetune")]))

    def _larger(self, rows: Sequence[Candidate]) -> list[Candidate]:
        """The rows on more text or with more epochs, if finished runs show that there is time.

        Short runs only guess the time of long ones, so the first plan may be too small.
        """
        plan = self.time_plan
        assert plan is not None
        share, most_epochs = plan.later or self._later_draft(rows)
        self.time_plan = dataclasses.replace(plan, later=(share, most_epochs))
        larger = [row.on(share / plan.share, most_epochs) for row in rows]
        expected = itertools.starmap(self._seconds, zip(rows, larger, strict=True))
        waiting = [self._add(self.job_of(c), s) for c, s in zip(larger, expected, strict=True)]
        if any(waiting):
            raise Unfinished
        finished = [self.job_of(row).run.finished for row in larger]
        return larger if all(finished) else [*rows]

    def _later_draft(self, rows: Sequence[Candidate]) -> tuple[float, int]:
        """The part of train and the most epochs that the time left allows for these rows."""
        assert self.time_plan is not None
        share_now, epochs_now = self.time_plan.share, self.time_plan.most_epochs
        for most_seeds, share, most_epochs in REDUCTIONS:
            n_runs = min(most_seeds, len(rows[0].configuration.seeds))
            n_runs -= (share, most_epochs) == (share_now, epochs_now)  # the first seed is finished
            larger = [row.on(share / share_now, most_epochs) for row in rows]
            seconds = n_runs * sum(itertools.starmap(self._seconds, zip(rows, larger, strict=True)))
            is_smaller = share < share_now or most_epochs < epochs_now
            if not is_smaller and MARGIN * seconds <= self.seconds_left:
                return share, most_epochs
        return share_now, epochs_now

    def _seconds(self, row: Candidate, longer: Candidate) -> float:
        """Expected seconds of a longer run, after a finished one of the same row."""
        run = self.job_of(row).run.finished
        assert run is not None
        record, share = run.record, longer.configuration.train_share
        words = record.train_words * share / row.configuration.train_share
        ratio = work(record.signature, words) / work(record.signature, record.train_words)
        epochs = longer.epochs / row.epochs
        return ratio * epochs * record.cost.training_seconds + record.cost.prediction_seconds

    def _trained_longer(self, rows: Sequence[Candidate]) -> list[Candidate]:
        """The rows of both sides, with more epochs for the best row of the side that is behind.

        They are doubled as long as its last epoch was its best, since the minutes may have cut it
        short.
        """
        rows = [*rows]
        n_frozen = sum(row.row[0] == "features" for row in rows)
        while 0 < n_frozen < len(rows):
            leaders = [self._by_dev(rows[:n_frozen])[0], self._by_dev(rows[n_frozen:])[0]]
            behind = self._by_dev(leaders)[1]
            run = self.job_of(behind).run.finished
            assert run is not None
            is_rising = run.record.best_epoch == len(run.record.history)
            longer = behind.with_epochs(min(2 * behind.epochs, behind.all_epochs))
            if not is_rising or longer.epochs == behind.epochs:
                break
            if self._add(self.job_of(longer), self._seconds(behind, longer)):
                raise Unfinished
            if self._by_dev([behind, longer])[0] is behind:
                break
            rows[rows.index(behind)] = longer
        return rows

    def _halved(self, kind: str) -> list[Candidate]:
        """The candidates that halving leaves, the best first."""
        ranked, trained = self.candidates[kind], list[Candidate]()
        for number, (count, divisor) in enumerate(rungs(len(ranked), LEFT[kind])):
            if number and divisor == 1:
                ranked = of_other_tunings(ranked)
            originals = {c.divided(divisor): c for c in ranked[:count]}
            finished = self._ranked([*originals], at_a_time=self.at_a_time)
            if not finished:  # the minutes are used up
                break
            trained, ranked = finished, [originals[c] for c in finished]
        return of_other_tunings(trained)[: LEFT[kind]]

    def _ranked(self, candidates: Sequence[Candidate], *, at_a_time: int) -> list[Candidate]:
        """Trained candidates, the best on dev first. `Unfinished` if some can still be trained."""
        n_waiting = 0
        for candidate in candidates:
            if n_waiting < at_a_time:
                n_waiting += self._add(job := self.job_of(candidate), candidate.seconds)
                if job.run.finished or job.name in self.failures:
                    self._trained_methods.add(candidate.method)
        if n_waiting:
            raise Unfinished
        return self._by_dev(candidates)

    def _by_dev(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """The candidates with finished runs, the best on dev first."""
        runs = ((c, self.job_of(c).run.finished) for c in candidates)
        scores = {c: run.record.score("dev") or 0.0 for c, run in runs if run is not None}
        return sorted(scores, key=lambda c: -scores[c])

    def _add(self, job: Job, seconds: float) -> bool:
        """Adds a run, and whether it is to be trained. Without time for it, it is not added."""
        assert self.time_plan is not None
        is_new = job.run.finished is None and job.name not in self.failures
        if is_new:
            self._waiting.append(seconds)
            if self.time_plan.done or MARGIN * sum(self._waiting) > self.seconds_left:
                self._waiting.pop()
                return False
        self.jobs.setdefault(job.name, job)
        return is_new

    def _add_seeds(self, candidates: Sequence[Candidate]) -> None:
        """Adds the rows with their finished seeds, and the seeds to train next."""
        rows = [self._finalist(candidate) for candidate in candidates]
        n_frozen = sum(candidate.row[0] == "features" for candidate in candidates)
        rows = [*rows[:n_frozen], *sorted(rows[n_frozen:], key=lambda row: -row.dev)]
        n_waiting = 0
        for row in rows:
            if row.upcoming and len(row.runs) < FIRST_SEEDS and n_waiting < self.at_a_time:
                n_waiting += self._add(row.upcoming, row.seconds)
        for pair in () if n_waiting else itertools.pairwise(rows):
            gains = self.gains(pair[0].runs, pair[1].runs) or (0.0, 0.0)
            worth = [gain / row.seconds for gain, row in zip(gains, pair, strict=True)]
            for number in (0, 1) if worth[0] >= worth[1] else (1, 0):
                row = pair[number]
                if worth[number] and row.upcoming and self._add(row.upcoming, row.seconds):
                    return

    def _finalist(self, candidate: Candidate) -> Finalist:
        """A row of the last stage, with its finished runs, which are added."""
        row, configuration = Finalist(), candidate.configuration
        for seed in candidate.settings.seeds_to_train(configuration.seeds):
            job = self.job_of(candidate, seed)
            if (run := job.run.finished) is None:
                row.upcoming = job
                break
            self._add(job, 0.0)
            self.rows[job.name] = job
            row.runs.append(run)
        return row

    def _add_searches(self, trials: Sequence[Job]) -> None:
        """Adds a record of each tuning's trials, with a choice if the rows are known."""
        for tuning in dict.fromkeys(job.run.tuning for job in trials):
            jobs = [job for job in trials if job.run.tuning == tuning]
            settings = [job.run.options.settings.model_dump() for job in jobs]
            layers = [job.run.layers for job in jobs]
            names = ("body", "sentence_pooling") if layers[0] else tuple(settings[0])
            varied = [name for name in names if len({s[name] for s in settings}) > 1]
            varied = varied or ([] if layers[0] else ["learning_rate"])
            trials_of_tuning, ranks = [], dict[int, tuple[bool, int, float]]()
            for number, (job, values) in enumerate(zip(jobs, settings, strict=True)):
                shown = {name: values[name] for name in varied}
                shown |= {"layers": layers[number]} if layers[number] else {}
                trial = dataclasses.replace(self._tried([job], {}), settings=shown)
                trials_of_tuning.append(trial)
                if trial.dev is not None:
                    ranks[number] = (job.name in self.rows, values["epochs"], trial.dev)
            # A row of the last stage, or the best of the trials with the most epochs.
            chosen = max(ranks, key=ranks.__getitem__) if ranks and self.rows else None
            floor = None if chosen is None else self._floor(trials_of_tuning[chosen])
            self.search_records[tuning] = SearchRecord(
                tuning,
                layers=None if chosen is None else layers[chosen],
                corpus=jobs[0].run.signature.corpus,
                configuration="",
                sampler="halving",
                tried=trials_of_tuning,
                chosen=chosen if floor is None else None,
                rows=[name for name, job in self.rows.items() if job.run.tuning == tuning],
                floor=floor,
            )
