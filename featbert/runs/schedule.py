"""Carrying out an experiment: adapt and extract once, train what is missing, score elsewhere.

Finished work is skipped; failures are collected and reported at the end. Runs and stores that
another process makes are left to it, and awaited when nothing else is left to do.
"""

import dataclasses
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from featbert.data.corpus import Corpus
from featbert.encoders.device import find_device, use_threads
from featbert.engine import Each, here
from featbert.errors import BusyError, PrunedError, reason
from featbert.features.extraction import run_extraction
from featbert.io import is_locked, lock_beside
from featbert.progress import Message, Relay, forwarded, notice, report, stage
from featbert.runs.evaluate import choose_splits, evaluate
from featbert.runs.experiment import ExperimentPlan, Job, Resources, plan_experiment
from featbert.runs.experiment_file import Experiment
from featbert.runs.folder import settle
from featbert.runs.record import experiment_path, write_json
from featbert.runs.run import Run, check_usable
from featbert.runs.train import train_planned
from featbert.training.adapt import run_adaptation

# What to do about a run that needs too much memory.
SMALLER = "lower --token-budget or --jobs"
# Seconds between two looks at the lock of another process, and those a process has to end.
LOOK_EVERY = 0.2
PATIENCE = 5.0
# How processes start: where they can be forked safely, from one that computes nothing.
METHOD = "forkserver" if sys.platform.startswith("linux") else "spawn"


@dataclass(frozen=True)
class Outcome:
    """The last plan of an experiment, the finished runs of its rows, and why others failed."""

    plan: ExperimentPlan
    runs: tuple[Run, ...]
    failures: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Ended:
    """A run that was attempted: why it failed, if it did, or that another process trains it."""

    job: Job
    reason: str | None = None
    busy: bool = False


def carry_out(
    experiment: Experiment,
    *,
    cache_dir: Path,
    runs_dir: Path,
    jobs: int = 1,
    resources: Resources | None = None,
    log_dir: Path | None = None,
    each: Each | None = None,
) -> Outcome:
    """All runs of an experiment, finished ones as they are; failures are kept, not raised.

    What the experiment asked for and its runs are written to its record in `runs_dir`. There are
    `jobs` runs at a time, each in a process of its own, logged to `log_dir` (`log_folder`); or
    `each`, such as a cluster's, carries out all that is to be computed.
    """
    resources = resources or Resources()
    work = _Work(resources, each or here)
    failures = work.failures
    kept = experiment_path(runs_dir, experiment.name)
    while True:
        plan = plan_experiment(
            experiment, cache_dir, runs_dir, resources, failures, at_a_time=jobs, keep=True
        )
        write_json(kept, plan.record(failures))
        adapt = [a for f, a in plan.adaptations.items() if f.name not in failures]
        begin = {a.folder: (a,) for a in adapt if a.folder.name not in work.locks}
        work.make(run_adaptation, begin, {folder: [folder.name] for folder in begin})
        ready = [job for job in plan.missing if job.name not in failures and job.is_ready]
        if not ready and not adapt:
            break
        ours = [job for job in ready if job.name not in work.locks]
        if not ours and all(a.folder.name in work.locks for a in adapt):
            work.wait()
            continue
        work.extract(ours)
        ours = [job for job in ours if job.name not in failures and job.name not in work.locks]
        with stage(experiment.name, "runs", len(ours)) as advance:
            for ended in run_jobs(ours, jobs, resources, log_dir, each):
                advance(1)
                if ended.busy:
                    work.leave(ended.job.name, ended.job.run.folder)
                elif ended.reason is not None:
                    failures[ended.job.name] = ended.reason
                    report(f"failed: {ended.job.name}: {ended.reason}")
    for job in plan.jobs.values():
        settle(job.run.folder)
    if experiment.keys.transfer:
        failures |= _evaluate_across(plan, resources, cache_dir, each or here)
    write_json(kept, plan.record(failures))
    rows = [job.run.finished for job in plan.rows.values()]
    return Outcome(plan, tuple(run for run in rows if run is not None), failures)


def run_jobs(
    ready: Sequence[Job],
    at_a_time: int,
    resources: Resources,
    log_dir: Path | None,
    each: Each | None = None,
) -> Iterator[Ended]:
    """Trains runs that depend on no other missing run, and yields each as it ends."""
    if each is not None:
        jobs = {job.name: job for job in ready}
        for name, ended in each(_attempt_alone, {n: (job, log_dir) for n, job in jobs.items()}):
            failed = isinstance(ended, Exception)
            ended = Ended(jobs[name], reason(ended, SMALLER)) if failed else ended
            yield dataclasses.replace(ended, job=jobs[name])
        return
    if at_a_time > 1 and len(ready) > 1:
        yield from _in_processes(ready, min(at_a_time, len(ready)), log_dir)
        return
    for job in ready:
        yield _attempt(job, resources, log_dir)


def _attempt(job: Job, resources: Resources, log_dir: Path | None) -> Ended:
    try:
        corpus = resources.corpus(job.configuration)
        store, model = job.extraction, job.configuration.model
        material = resources.encoder(model) if store is None else resources.store(store.path)
        train_planned(job.run, material, corpus, log_dir=log_dir)
    except PrunedError as error:
        report(str(error))
    except Exception as error:
        return Ended(job, reason(error, SMALLER), isinstance(error, BusyError))
    return Ended(job)


def _attempt_alone(job: Job, log_dir: Path | None) -> Ended:
    """In a process of its own, on the device of the planned kind that it has."""
    use_threads(job.configuration.threads)
    device = find_device(job.run.options.device.kind)  # sets what fp32 means on a GPU
    run = dataclasses.replace(
        job.run,
        signature=dataclasses.replace(job.run.signature, **device.facts),
        options=dataclasses.replace(job.run.options, device=device),
    )
    return _attempt(dataclasses.replace(job, run=run), Resources(), log_dir)


def _in_processes(ready: Sequence[Job], at_a_time: int, log_dir: Path | None) -> Iterator[Ended]:
    known = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if known else os.cpu_count() or 1
    threads = max(1, cores // at_a_time)
    waiting, running = list(reversed(ready)), list[_Process]()
    try:
        while waiting or running:
            while waiting and len(running) < at_a_time:
                running.append(_Process(waiting.pop(), threads, log_dir))
            wait([pipe for process in running for pipe in (process.pipe, process.child.sentinel)])
            for process in list(running):
                if process.listen():
                    running.remove(process)
                    yield process.end()
    finally:
        for process in running:
            process.end()


class _Process:
    def __init__(self, job: Job, threads: int, log_dir: Path | None) -> None:
        self.job = job
        self.result: Ended | None = None
        self.relay = Relay(job.name)
        context: Any = multiprocessing.get_context(METHOD)
        if METHOD == "forkserver":  # all processes come from one that has loaded the libraries
            context.set_forkserver_preload(["featbert.runs.schedule"])
        self.pipe, theirs = context.Pipe(duplex=False)
        self.child: BaseProcess = context.Process(
            target=_child, args=(theirs, job, threads, log_dir), daemon=True
        )
        # The child never sees Ctrl-C: this process ends it. The resource tracker, which the first
        # child would start, unblocks the signal again.
        resource_tracker.ensure_running()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self.child.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()

    def listen(self) -> bool:
        """Takes what the process has sent; whether it has ended."""
        try:
            while self.pipe.poll():
                message: Message | Ended = self.pipe.recv()
                if isinstance(message, Ended):
                    self.result = message
                    return True
                self.relay(message)
            return not self.child.is_alive() and not self.pipe.poll()
        except (EOFError, OSError):  # its end of the pipe is closed
            return True

    def end(self) -> Ended:
        """Ends the process, if it still runs, and gives its result."""
        self.relay.close()
        if self.result is not None:
            self.child.join(PATIENCE)
        if self.child.is_alive():
            self.child.kill()
        self.child.join()
        self.pipe.close()
        if self.result is not None:
            return dataclasses.replace(self.result, job=self.job)
        code = self.child.exitcode or 0
        how = f"exit code {code}" if code >= 0 else f"signal {-code} ({signal.Signals(-code).name})"
        memory = ", as when memory runs out" if code == -signal.SIGKILL else ""
        return Ended(self.job, f"the process of the run died: {how}{memory}")


def _child(pipe: Connection, job: Job, threads: int, log_dir: Path | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    import torch

    torch.set_num_threads(threads)
    with forwarded(pipe.send):
        ended = _attempt_alone(job, log_dir)
    pipe.send(ended)
    pipe.close()
    os._exit(0)  # Python's own end would walk through all of torch, for a second


def _end_with_parent() -> None:
    """Ends this process as soon as the one that started it has ended, even by SIGKILL."""
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)


@dataclass
class _Work:
    """Progress of an experiment, by the name of a run or encoder."""

    resources: Resources
    each: Each
    failures: dict[str, str] = field(default_factory=dict)
    locks: dict[str, Path] = field(default_factory=dict)  # of what another process makes

    def leave(self, name: str, path: Path) -> None:
        """Leaves what is called so to the process that makes `path`."""
        self.locks[name] = lock_beside(path)
        notice(f"{name} is made by another process")

    def wait(self) -> None:
        """Until one of the locks is free; those that are free are forgotten."""
        with stage("waiting for another process", ""):
            while all(map(is_locked, self.locks.values())):
                time.sleep(LOOK_EVERY)
        self.locks = {n: lock for n, lock in self.locks.items() if is_locked(lock)}

    def make(
        self,
        function: Callable[..., Any],
        calls: Mapping[Path, tuple[Any, ...]],
        readers: Mapping[Path, Iterable[str]],
    ) -> None:
        """Makes these paths; their readers fail with them, or wait for another process."""
        paths = {path.name: path for path in calls}
        for name, made in self.each(function, {path.name: calls[path] for path in calls}):
            path = paths[name]
            if isinstance(made, BusyError):
                for reader in readers[path]:
                    self.leave(reader, path)
            elif isinstance(made, Exception):
                self.failures |= dict.fromkeys(readers[path], reason(made, SMALLER))

    def extract(self, ready: Sequence[Job]) -> None:
        """Makes each store that is read by one of the jobs, once."""
        readers: dict[Path, dict[str, Job]] = {}
        for job in ready:
            if job.extraction is not None and job.extraction.hit is None:
                readers.setdefault(job.extraction.path, {})[job.name] = job
        calls = {}
        for path, jobs in readers.items():
            first = next(iter(jobs.values()))
            encoder = self.resources.encoder(first.configuration.model)
            calls[path] = (first.extraction, self.resources.corpus(first.configuration), encoder)
        self.make(run_extraction, calls, readers)


def _evaluate_across(
    plan: ExperimentPlan, resources: Resources, cache_dir: Path, each: Each
) -> dict[str, str]:
    """Scores finished runs on every other corpus, for transfer; reasons of failures by run name."""
    corpora = {c.source: c for c in map(resources.corpus, plan.experiment.configurations)}
    common, failures = ([*corpora.values()], plan.experiment.keys.labels, cache_dir), {}
    runs = [(job, run) for job in plan.rows.values() if (run := job.run.finished) is not None]
    calls = {run.name: (run, job.configuration.device, *common) for job, run in runs}
    with stage("scoring on the other corpora", "runs", len(calls)) as advance:
        for name, error in each(_evaluate, calls):
            advance(1)
            if isinstance(error, Exception):
                failures[f"{name} on other corpora"] = reason(error, SMALLER)
    return failures


def _evaluate(
    run: Run, device: str, corpora: Sequence[Corpus], labels: Mapping[str, str], cache_dir: Path
) -> None:
    """Scores a run on the corpora whose text it does not know."""
    texts = {identity.text for identity in run.record.signature.splits.values()}
    usable = check_usable(run)
    for corpus in corpora:
        (split,) = choose_splits(corpus)
        if corpus[split].text_fingerprint in texts:
            continue
        known = {*usable.task.classes_of(corpus), *usable.classes}
        mapping = {old: new for old, new in labels.items() if old in known}
        evaluate(usable, corpus, split, mapping=mapping, cache_dir=cache_dir, device=device)
