"""Carrying out an experiment: extract once, train what is missing, compare.

What is finished is skipped, so that the same command goes on after an interruption. A run that
fails does not stop the others; it is told at the end, and the same command tries it again. What
another process trains or extracts is left to it, and waited for when nothing else is left.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from featbert.errors import BusyError
from featbert.features.extraction import run_extraction
from featbert.io import lock_beside
from featbert.runs.carrying_out import Listeners
from featbert.runs.elsewhere import Elsewhere
from featbert.runs.experiment_record import write_experiment
from featbert.runs.file import Experiment
from featbert.runs.folder import settle
from featbert.runs.lock import lock_path
from featbert.runs.plan import (
    RUNS_DIR,
    Adaptation,
    ExperimentPlan,
    Job,
    plan_experiment,
)
from featbert.runs.resources import Resources
from featbert.runs.run import Run
from featbert.runs.summary import experiment_record
from featbert.runs.transfer import evaluate_across
from featbert.runs.workers import Ended, carry_out_job, failure_of, run_in_workers
from featbert.training.adapt import run_adaptation, settle_adapted


@dataclass(frozen=True)
class Watchers:
    """Who wants to hear how an experiment goes on.

    Attributes:
        on_plan: whenever it is known anew which runs there are.
        on_extraction: words done, words in all.
        on_adaptation: when an encoder begins to be trained as a language model: its name; gives
            who listens to its steps, done and in all.
        on_run: before each run, with its number among those missing now and their count; gives
            who listens to it, also where a worker carries it out.
        on_end: each run when it has ended.
        on_evaluation: runs scored on the other corpora, and runs in all.
        on_wait: what another process does, before it is waited for.
        log_dir: folder that the epochs of all runs are logged to (`log_folder`).
    """

    on_plan: Callable[[ExperimentPlan], None] | None = None
    on_extraction: Callable[[int, int], None] | None = None
    on_adaptation: Callable[[str], Callable[[int, int], None]] | None = None
    on_run: Callable[[Job, int, int], Listeners] | None = None
    on_end: Callable[[Ended], None] | None = None
    on_evaluation: Callable[[int, int], None] | None = None
    on_wait: Callable[[str], None] | None = None
    log_dir: Path | None = None


@dataclass(frozen=True)
class Outcome:
    """What came of an experiment.

    Attributes:
        plan: as it stands now.
        runs: finished runs of its rows.
        failures: reasons by the name of the run that failed.
    """

    plan: ExperimentPlan
    runs: tuple[Run, ...]
    failures: Mapping[str, str] = field(default_factory=dict)


def carry_out(
    experiment: Experiment,
    *,
    cache_dir: str | Path = "cache",
    runs_dir: str | Path = RUNS_DIR,
    jobs: int = 1,
    watchers: Watchers | None = None,
    resources: Resources | None = None,
) -> Outcome:
    """All runs of an experiment, finished ones as they are; failures are kept, not raised.

    What the experiment asked for and its runs are written to its record in `runs_dir`.
    """
    watchers = watchers or Watchers()
    resources = resources or Resources()
    failures: dict[str, str] = {}
    elsewhere = Elsewhere(watchers.on_wait)
    while True:
        plan = plan_experiment(
            experiment,
            cache_dir=cache_dir,
            runs_dir=runs_dir,
            resources=resources,
            failed=failures,
        )
        write_experiment(Path(runs_dir), experiment_record(plan, failures))
        if watchers.on_plan is not None:
            watchers.on_plan(plan)
        adapt = [a for a in plan.adaptations if a.plan.folder.name not in failures]
        for adaptation in adapt:
            _adapt(adaptation, resources, watchers, failures, elsewhere)
        ready = [job for job in plan.missing if job.name not in failures and _is_ready(job)]
        if not ready and not adapt:
            break
        ours = [job for job in ready if job.name not in elsewhere]
        if not ours and all(a.plan.folder.name in elsewhere for a in adapt):
            elsewhere.wait()
            continue
        _extract_missing(ours, resources, watchers, failures, elsewhere)
        ours = [job for job in ours if job.name not in failures and job.name not in elsewhere]
        failures |= _train(ours, jobs, resources, watchers, elsewhere)
    for job in plan.jobs:
        settle(job.run.folder)
    for folder in plan.adapted:
        settle_adapted(folder)
    if experiment.transfer:
        failures |= evaluate_across(
            plan,
            resources,
            cache_dir=Path(cache_dir),
            on_evaluation=watchers.on_evaluation,
            on_extraction=watchers.on_extraction,
        )
    write_experiment(Path(runs_dir), experiment_record(plan, failures))
    rows = [job.run.finished for job in plan.rows]
    return Outcome(plan, tuple(run for run in rows if run is not None), failures)


def _adapt(
    adaptation: Adaptation,
    resources: Resources,
    watchers: Watchers,
    failures: dict[str, str],
    elsewhere: Elsewhere,
) -> None:
    """Trains one encoder as a language model, unless another process does."""
    arm, plan = adaptation.arm, adaptation.plan
    if plan.folder.name in elsewhere:
        return
    listening: list[Callable[[int, int], None]] = []

    def on_step(done: int, total: int) -> None:
        if watchers.on_adaptation is not None and not listening:
            listening.append(watchers.on_adaptation(plan.folder.name))
        for tell in listening:
            tell(done, total)

    try:
        run_adaptation(
            plan,
            resources.corpus(arm),
            resources.encoder(arm.model),
            on_step=on_step,
        )
    except BusyError as error:
        elsewhere.add(plan.folder.name, error, lock_beside(plan.folder))
    except Exception as error:
        failures[plan.folder.name] = failure_of(error)


def _is_ready(job: Job) -> bool:
    return job.run.base is None or job.run.base.finished is not None


def _extract_missing(
    ready: Sequence[Job],
    resources: Resources,
    watchers: Watchers,
    failures: dict[str, str],
    elsewhere: Elsewhere,
) -> None:
    """Each store that is read by one of the jobs, once."""
    for path in dict.fromkeys(j.extraction.path for j in ready if j.extraction is not None):
        readers = [j for j in ready if j.extraction is not None and j.extraction.path == path]
        extraction, arm = readers[0].extraction, readers[0].arm
        assert extraction is not None
        if extraction.hit is not None:
            continue
        try:
            run_extraction(
                extraction,
                resources.corpus(arm),
                resources.encoder(arm.model),
            )
        except BusyError as error:
            for job in readers:
                elsewhere.add(job.name, error, lock_beside(path))
        except Exception as error:
            failures |= dict.fromkeys((j.name for j in readers), failure_of(error))


def _train(
    ready: Sequence[Job],
    jobs: int,
    resources: Resources,
    watchers: Watchers,
    elsewhere: Elsewhere,
) -> dict[str, str]:
    """Reasons of those that failed, by name."""
    failures: dict[str, str] = {}

    def note(ended: Ended) -> None:
        if ended.busy is not None:
            elsewhere.add(ended.job.name, ended.busy, lock_path(ended.job.run.folder))
        elif ended.reason is not None:
            failures[ended.job.name] = ended.reason
        if watchers.on_end is not None:
            watchers.on_end(ended)

    if jobs > 1 and len(ready) > 1:
        threads = max(1, _cores() // min(jobs, len(ready)))
        for ended in run_in_workers(
            ready,
            processes=jobs,
            threads=threads,
            on_run=watchers.on_run,
            log_dir=watchers.log_dir,
        ):
            note(ended)
        return failures
    for number, job in enumerate(ready, 1):
        listeners = watchers.on_run(job, number, len(ready)) if watchers.on_run else Listeners()
        listeners = dataclasses.replace(listeners, log_dir=watchers.log_dir)
        store = None if job.extraction is None else job.extraction.path
        try:
            carry_out_job(job.arm, job.run, store, resources, listeners)
        except Exception as error:
            note(Ended.by(job, error))
        else:
            note(Ended(job, None))
    return failures


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
