"""Carrying out an experiment: adapt and extract once, train what is missing, score elsewhere.

Finished work is skipped; failures are collected and reported at the end. Runs and stores that
another process makes are left to it, and awaited when nothing else is left to do.
"""

import dataclasses
import functools
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

from featbert.adaptation.adapt import run_adaptation
from featbert.data.corpus import Corpus
from featbert.encoders.device import find_device, use_threads
from featbert.engine import Each, here
from featbert.errors import BusyError, FeatbertError, PrunedError, reason
from featbert.experiments.plan import ExperimentPlan, Job, Resources
from featbert.features.extraction import run_extraction
from featbert.features.plan import under_way
from featbert.inference.evaluate import choose_splits, evaluate
from featbert.io import is_owned
from featbert.progress import Advance, Relay, forwarded, labelled, notice, report, stage
from featbert.runs.folder import settle
from featbert.runs.planned import PlannedRun, check_as_planned
from featbert.runs.record import write_experiment_record
from featbert.runs.run import Run, check_usable
from featbert.runs.train import train_planned

# What to do about a run that needs too much memory.
SMALLER = "lower --token-budget or --jobs"
# Seconds between two looks at the lock of another process, and those a process has to end.
LOOK_EVERY = 0.2
PATIENCE = 5.0
# How processes start: where they can be forked safely, from one that computes nothing.
METHOD = "forkserver" if sys.platform.startswith("linux") else "spawn"


def carry_out(
    plan: ExperimentPlan,
    *,
    jobs: int = 1,
    log_dir: Path | None = None,
    each: Each | None = None,
    labels: Callable[[Iterable[PlannedRun]], Mapping[str, str]] = lambda runs: {},
) -> ExperimentPlan:
    """The last plan of an experiment: its runs are finished or have failed, and its record is kept.

    There are `jobs` runs at a time, each in a process of its own, logged to `log_dir`
    (`log_folder`); or `each`, such as a cluster's, carries out all that is to be computed. `labels`
    gives what lines of progress call runs, by name, besides their seeds.
    """
    resources, name = plan.resources, plan.experiment.name
    work, engine = _Work(), each or here
    while True:
        plan = plan.renewed(failures=work.failures, at_a_time=jobs, keep=True)
        runs = {name: job.run for name, job in plan.jobs.items()}
        titles = labels(runs.values()).items()
        work.titles = {name: f"{label}, seed {runs[name].options.seed}" for name, label in titles}
        write_experiment_record(plan.runs_dir, plan.record)
        adapt = {f: (a,) for f, a in plan.adaptations.items() if f.name not in work.failures}
        ready = [job for job in plan.missing if job.name not in work.failures and job.is_ready]
        if not ready and not adapt:
            break
        begin = {folder: plans for folder, plans in adapt.items() if folder.name not in work.busy}
        if not begin and all(job.name in work.busy for job in ready):
            work.wait()
            continue
        work.make(engine, run_adaptation, begin)
        stores, readers = _stores(work.left(ready), resources)
        for extraction, *_ in stores.values():
            report(under_way(extraction))
        work.make(engine, run_extraction, stores, readers)
        ours = {job.run.folder: (job, log_dir, resources) for job in work.left(ready)}
        # The last run has no more threads than the others: it resumes only with as many.
        local = functools.partial(in_processes, at_a_time=jobs) if jobs > 1 else here
        with stage(name, "runs", len(ours)) as advance:
            work.make(each or local, _train, ours, advance=advance)
    for job in plan.jobs.values():
        settle(job.run.folder)
    if plan.experiment.keys.transfer:
        work.failures |= _evaluate_across(plan, engine)
    write_experiment_record(plan.runs_dir, plan.record)
    return plan


@dataclass
class _Work:
    """Why runs and encoders failed, what they need that another process makes, their titles."""

    failures: dict[str, str] = field(default_factory=dict)
    busy: dict[str, Path] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)

    def left(self, jobs: Iterable[Job]) -> list[Job]:
        """The jobs that neither failed nor are left to another process."""
        return [job for job in jobs if job.name not in self.failures.keys() | self.busy.keys()]

    def wait(self) -> None:
        """Until another process has left one of them; those that it has left are forgotten."""
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
        """Makes these paths; `readers`, or they, fail or wait for another process by name."""
        paths = {path.name: path for path in calls}
        titles = {name: self.titles.get(name, name) for name in paths}
        each_call = {name: (titles[name], function, *calls[paths[name]]) for name in paths}
        for name, made in each(_titled, each_call):
            advance(1)
            names = [name] if readers is None else readers[paths[name]]
            if isinstance(made, BusyError):
                self.busy |= dict.fromkeys(names, paths[name])
                notice(f"{titles[name]}: another process makes it")
            elif isinstance(made, PrunedError):
                report(f"{titles[name]}: {made}")
            elif isinstance(made, Exception):
                self.failures |= dict.fromkeys(names, why := reason(made, SMALLER))
                report(f"{titles[name]}: failed: {why}")


def _stores(
    jobs: Iterable[Job], resources: Resources
) -> tuple[dict[Path, tuple[Any, ...]], dict[Path, list[str]]]:
    """The extraction of each store that is missing for the jobs, and the jobs that read it."""
    calls, readers = dict[Path, tuple[Any, ...]](), dict[Path, list[str]]()
    for job in jobs:
        if job.extraction is not None and job.extraction.hit is None:
            asked, path = job.configuration, job.extraction.path
            text = (resources.corpus(asked), resources.encoder(asked.model))
            calls.setdefault(path, (job.extraction, *text))
            readers.setdefault(path, []).append(job.name)
    return calls, readers


def _titled(title: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Calls a function whose lines of progress begin with a title."""
    with labelled(title):
        return function(*arguments)


def _train(job: Job, log_dir: Path | None, resources: Resources) -> None:
    """Trains a run, on the device of the planned kind that this process has."""
    use_threads(job.configuration.threads)
    device = find_device(job.run.options.device.spec)  # sets what fp32 means on a GPU
    run = dataclasses.replace(
        job.run,
        signature=dataclasses.replace(job.run.signature, **device.facts),
        options=dataclasses.replace(job.run.options, device=device),
    )
    corpus = resources.corpus(job.configuration)
    store, model = job.extraction, job.configuration.model
    material = resources.encoder(model) if store is None else resources.store(store.path)
    check_as_planned(run, corpus, material)
    train_planned(run, material, corpus, log_dir=log_dir)


# Processes ----------------------------------------------------------------------------------------


def in_processes(
    function: Callable[..., Any], calls: Mapping[str, tuple[Any, ...]], *, at_a_time: int
) -> Iterator[tuple[str, Any]]:
    """See `engine.Each`: every call in a process of its own, with its share of the cores."""
    known = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if known else os.cpu_count() or 1
    waiting, running = [*calls.items()][::-1], dict[Any, tuple[BaseProcess, Relay]]()
    pipe: Any
    try:
        while waiting or running:
            while waiting and len(running) < at_a_time:
                name, arguments = waiting.pop()
                pipe, child = _begun(name, max(1, cores // at_a_time), function, arguments)
                running[pipe] = child, Relay()
            for pipe in wait([*running]):
                child, relay = running[pipe]
                try:
                    kind, *values = message = pipe.recv()
                except (EOFError, OSError):  # its end of the pipe is closed
                    kind, values = "result", []
                if kind == "result":
                    del running[pipe]
                    relay.close()
                    yield child.name, _result(child, values)
                else:
                    relay(message)
    finally:
        for child, relay in running.values():
            relay.close()
            child.kill()
            child.join()


def _begun(name: str, threads: int, *call: Any) -> tuple[Connection, BaseProcess]:
    """A process that carries out a call, and the pipe through which it tells of it."""
    context: Any = multiprocessing.get_context(METHOD)
    if METHOD == "forkserver":  # all processes come from one that has loaded the libraries
        context.set_forkserver_preload(["featbert.experiments.schedule"])
    ours, theirs = context.Pipe(duplex=False)
    how = {"target": _child, "args": (theirs, threads, *call), "daemon": True}
    child: BaseProcess = context.Process(name=name, **how)
    # The child never sees Ctrl-C: this process ends it. The resource tracker, which the first
    # child would start, unblocks the signal again.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        child.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    theirs.close()
    return ours, child


def _result(child: BaseProcess, values: Sequence[Any]) -> Any:
    """What an ending process has sent, or why it has sent nothing."""
    child.join(PATIENCE)
    child.kill()
    child.join()
    if values:
        return values[0]
    code = child.exitcode or 0
    how = f"exit code {code}" if code >= 0 else f"signal {-code} ({signal.Signals(-code).name})"
    memory = ", as when memory runs out" if code == -signal.SIGKILL else ""
    return FeatbertError(f"the process of the run died: {how}{memory}")


def _child(
    pipe: Connection, threads: int, function: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    import torch

    torch.set_num_threads(threads)
    with forwarded(pipe.send):
        ((_, result),) = here(function, {"": arguments})
    if isinstance(result, Exception) and not isinstance(result, BusyError | PrunedError):
        result = FeatbertError(reason(result, SMALLER))  # which every process can read
    pipe.send(("result", result))
    pipe.close()
    os._exit(0)  # Python's own end would walk through all of torch, for a second


def _end_with_parent() -> None:
    """Ends this process as soon as the one that started it has ended, even by SIGKILL."""
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)


# Transfer -----------------------------------------------------------------------------------------


def _evaluate_across(plan: ExperimentPlan, each: Each) -> dict[str, str]:
    """Scores finished runs on every other corpus, for transfer; reasons of failures by run name."""
    # Each is read once, but in another way for each task.
    corpora = {id(c): c for c in map(plan.resources.corpus, plan.experiment.configurations)}
    corpora_by_targets: dict[str | None, list[Corpus]] = {}
    for corpus in corpora.values():
        corpora_by_targets.setdefault(corpus.targets, []).append(corpus)
    labels, failures = plan.experiment.keys.labels, dict[str, str]()
    calls = {}
    for job in plan.rows.values():
        if (run := job.run.finished) is not None:
            own, device = plan.resources.corpus(job.configuration), job.configuration.device
            alike = corpora_by_targets[own.targets]
            calls[run.name] = (run, device, alike, labels, plan.cache_dir)
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
    usable, wrong = check_usable(run), list[str]()
    for corpus in corpora:
        try:
            (split,) = choose_splits(corpus)
            if corpus[split].text_fingerprint in texts:
                continue
            known = {*usable.task.classes_of(corpus), *usable.classes}
            mapping = {old: new for old, new in labels.items() if old in known}
            evaluate(usable, corpus, split, mapping=mapping, cache_dir=cache_dir, device=device)
        except FeatbertError as error:  # the others are scored all the same
            wrong.append(str(error))
    if wrong:
        raise FeatbertError("; ".join(wrong))
