"""Carrying out an experiment: adapt and extract once, train missing runs, score elsewhere.

Finished work is skipped. Failures are collected and reported at the end. Runs and stores that
another process makes are awaited when nothing else can be done.
"""

import dataclasses
import functools
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from featbert.adaptation.adapt import run_adaptation
from featbert.data.corpus import Corpus
from featbert.encoders.device import find_device, use_threads
from featbert.engine import Each, in_turn
from featbert.errors import BusyError, FeatbertError, PrunedError, reason
from featbert.experiments.plan import ExperimentPlan, Job, Resources
from featbert.experiments.processes import in_processes
from featbert.features.extraction import run_extraction
from featbert.features.plan import ExtractionPlan, start_line
from featbert.inference.evaluate import choose_splits, evaluate
from featbert.io import is_owned
from featbert.progress import Advance, notice, prefixed, report, stage
from featbert.runs.folder import recover
from featbert.runs.planned import PlannedRun, check_as_planned
from featbert.runs.record import ExperimentRecord, write_experiment_record
from featbert.runs.run import Run, check_usable
from featbert.runs.train import train_planned

# Seconds between two looks at the lock of another process.
LOOK_EVERY = 0.2


def carry_out(
    plan: ExperimentPlan,
    *,
    jobs: int = 1,
    log_dir: Path | None = None,
    each: Each | None = None,
    labels: Callable[[Iterable[PlannedRun]], Mapping[str, str]] = lambda runs: {},
) -> ExperimentPlan:
    """The last plan of an experiment: its runs are finished or have failed. Writes its record.

    Args:
        jobs: runs at a time, each in a process of its own.
        log_dir: folder that runs are logged to (`log_folder`).
        each: another engine for all calls, such as a cluster.
        labels: gives the names of runs in lines of progress, without their seeds.
    """
    resources, name = plan.resources, plan.experiment.name
    work, engine = _Work(), each or in_turn
    while True:
        plan = plan.renewed(failures=work.failures, at_a_time=jobs, keep=True)
        runs = {name: job.run for name, job in plan.jobs.items()}
        titles = labels(runs.values()).items()
        work.titles = {name: f"{label}, seed {runs[name].options.seed}" for name, label in titles}
        record = plan.record
        write_experiment_record(plan.runs_dir, record)
        adapt = {f: (a,) for f, a in plan.adaptations.items() if f.name not in work.failures}
        ready = [job for job in plan.missing if job.name not in work.failures and job.is_ready]
        if not ready and not adapt:
            break
        begin = {folder: plan for folder, plan in adapt.items() if folder.name not in work.busy}
        if not begin and all(job.name in work.busy for job in ready):
            work.wait()
            continue
        try:
            work.make(engine, run_adaptation, begin)
            stores: dict[Path, tuple[ExtractionPlan]] = {}
            readers: dict[Path, list[str]] = defaultdict(list)
            for job in work.left(ready):
                if (store := job.extraction) is not None and store.finished is None:
                    stores.setdefault(store.path, (store,))
                    readers[store.path].append(job.name)
            for (extraction,) in stores.values():
                report(start_line(extraction))
            work.make(engine, run_extraction, stores, readers)
            trainings = {}
            for job in work.left(ready):
                place = None if job.extraction is None else job.extraction.path
                light_job = dataclasses.replace(job, extraction=None)  # an extraction has all texts
                trainings[job.run.folder] = (light_job, place, log_dir, resources)
            # The last run has as many threads as the others, since it resumes only with as many.
            local = functools.partial(in_processes, at_a_time=jobs) if jobs > 1 else in_turn
            with stage(name, "runs", len(trainings)) as advance:
                work.make(each or local, _train, trainings, advance=advance)
        except (KeyboardInterrupt, SystemExit):  # the record names what is finished
            write_experiment_record(plan.runs_dir, _interrupted(record, plan))
            raise
    for job in plan.jobs.values():
        recover(job.run.folder)
    if plan.experiment.keys.transfer:
        work.failures |= _evaluate_across(plan, engine)
    write_experiment_record(plan.runs_dir, plan.record)
    return plan


def _interrupted(record: ExperimentRecord, plan: ExperimentPlan) -> ExperimentRecord:
    """A record of the plan before a batch, with the runs that finished since and the time spent."""
    rows, missing = [run.name for run in plan.runs], plan.missing_names
    time_plan = record.time_plan
    if time_plan is not None:
        now = plan.record.time_plan
        assert now is not None
        time_plan = dataclasses.replace(time_plan, spent=now.spent)
    return dataclasses.replace(record, rows=rows, missing=missing, time_plan=time_plan)


@dataclass
class _Work:
    """The state of runs and encoders, by name: `busy` is the path that another process makes."""

    failures: dict[str, str] = field(default_factory=dict)
    busy: dict[str, Path] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)

    def left(self, jobs: Iterable[Job]) -> list[Job]:
        """The jobs that neither failed nor wait for another process."""
        return [job for job in jobs if job.name not in self.failures.keys() | self.busy.keys()]

    def wait(self) -> None:
        """Waits until another process has released a path, and forgets released paths."""
        with stage("waiting for another process", ""):
            while all(map(is_owned, self.busy.values())):
                time.sleep(LOOK_EVERY)
        self.busy = {n: path for n, path in self.busy.items() if is_owned(path)}

    def make(
        self,
        each: Each,
        function: Callable[..., Any],
        calls: Mapping[Path, tuple[Any, ...]],
        readers: Mapping[Path, Iterable[str]] | None = None,
        advance: Advance = lambda n: None,
    ) -> None:
        """Makes paths. If that fails or another process makes a path, its `readers` are noted."""
        paths = {path.name: path for path in calls}
        titles = {name: self.titles.get(name, name) for name in paths}
        titled_calls = {name: (titles[name], function, *calls[paths[name]]) for name in paths}
        for name, result in each(_titled, titled_calls):
            advance(1)
            names = [name] if readers is None else readers[paths[name]]
            if isinstance(result, BusyError):
                self.busy |= dict.fromkeys(names, paths[name])
                notice(f"{titles[name]}: another process makes it")
            elif isinstance(result, PrunedError):
                report(f"{titles[name]}: {result}")
            elif isinstance(result, Exception):
                self.failures |= dict.fromkeys(names, failure := reason(result))
                report(f"{titles[name]}: failed: {failure}")


def _titled(title: str, function: Callable[..., Any], *arguments: Any) -> Any:
    with prefixed(title):
        return function(*arguments)


def _train(job: Job, store: Path | None, log_dir: Path | None, resources: Resources) -> None:
    """Trains a run on this process's device of the planned kind."""
    use_threads(job.configuration.threads)
    device = find_device(job.run.options.device.spec)  # sets what fp32 means on a GPU
    run = dataclasses.replace(
        job.run,
        signature=dataclasses.replace(job.run.signature, **device.facts),
        options=dataclasses.replace(job.run.options, device=device),
    )
    corpus = resources.corpus(job.configuration)
    model = job.configuration.model
    state_source = resources.encoder(model) if store is None else resources.store(store)
    check_as_planned(run, corpus, state_source)
    train_planned(run, state_source, corpus, log_dir=log_dir)


# Transfer -----------------------------------------------------------------------------------------


def _evaluate_across(plan: ExperimentPlan, each: Each) -> dict[str, str]:
    """Scores finished runs on every other corpus, for transfer. Reasons of failures by run name."""
    # A corpus is read once for each task.
    corpora = {id(c): c for c in map(plan.resources.corpus, plan.experiment.configurations)}
    corpora_by_targets: dict[str | None, list[Corpus]] = {}
    for corpus in corpora.values():
        corpora_by_targets.setdefault(corpus.targets, []).append(corpus)
    labels, failures = plan.experiment.keys.labels, dict[str, str]()
    calls = {}
    for job in plan.rows.values():
        if (run := job.run.finished) is not None:
            corpus, device = plan.resources.corpus(job.configuration), job.configuration.device
            alike = corpora_by_targets[corpus.targets]
            calls[run.name] = (run, device, alike, labels, plan.cache_dir)
    with stage("scoring on the other corpora", "runs", len(calls)) as advance:
        for name, error in each(_evaluate, calls):
            advance(1)
            if isinstance(error, Exception):
                failures[f"{name} on other corpora"] = reason(error)
    return failures


def _evaluate(
    run: Run, device: str, corpora: Sequence[Corpus], labels: Mapping[str, str], cache_dir: Path
) -> None:
    """Scores a run on the corpora that have other texts than its own."""
    texts = {identity.text for identity in run.record.signature.splits.values()}
    usable, mistakes = check_usable(run), list[str]()
    for corpus in corpora:
        try:
            (split,) = choose_splits(corpus)
            if corpus[split].text_fingerprint in texts:
                continue
            classes = {*usable.task.classes_of(corpus), *usable.classes}
            mapping = {old: new for old, new in labels.items() if old in classes}
            evaluate(usable, corpus, split, mapping=mapping, cache_dir=cache_dir, device=device)
        except FeatbertError as error:  # it is still scored on the other corpora
            mistakes.append(str(error))
    if mistakes:
        raise FeatbertError("; ".join(mistakes))
