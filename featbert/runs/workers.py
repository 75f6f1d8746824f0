"""Several runs at a time, each in a process of its own with its share of the cores.

Workers are spawned once and kept, since importing torch takes seconds. (A server that imports it
once and forks them would take those of its first start for all: its environment, its folder, and a
socket whose path may be too long.) A worker is told a run and says how it goes; one that dies takes
its run with it and nothing else: the run is reported as failed, and another worker takes its place.

Ctrl-C reaches every process of a terminal. Workers never see it, from their first moment on: the
one that gives orders ends them. Where that one is killed itself, its workers end with it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Literal

from featbert.encoders.device import find_device
from featbert.errors import FeatbertError, memory_lack, out_of_memory
from featbert.progress import notice, noticed_by
from featbert.runs.arm import Arm
from featbert.runs.carrying_out import Listeners, run_features, run_finetune
from featbert.runs.lock import RunBusyError
from featbert.runs.plan import Job
from featbert.runs.planning import PlannedRun
from featbert.runs.resources import Resources
from featbert.training.history import Epoch

# Seconds between two of a worker's reports of its steps, and those it has to end when it is told.
REPORT_EVERY = 0.5
PATIENCE = 5.0


@dataclass(frozen=True)
class Order:
    """A run for a worker: plain data, so that it can be sent."""

    arm: Arm
    run: PlannedRun
    store: Path | None
    log_dir: Path | None


@dataclass(frozen=True)
class Report:
    """What a worker says of its run.

    Attributes:
        kind: "start", "step" (with steps done and in all), "epoch" (with its row), "notice" (with
            its text), or "end".
        reason: why the run failed, at its end; None where it is finished.
        busy: another process trains it, which is the reason.
    """

    kind: Literal["start", "step", "epoch", "notice", "end"]
    done: int = 0
    total: int = 0
    epoch: Epoch | None = None
    text: str = ""
    reason: str | None = None
    busy: bool = False


@dataclass(frozen=True)
class Ended:
    """How a job ended.

    Attributes:
        reason: why it failed; None where its run is finished.
        busy: set where it did not fail: another process trains it.
    """

    job: Job
    reason: str | None
    busy: RunBusyError | None = None

    @classmethod
    def by(cls, job: Job, error: Exception) -> Ended:
        """A job that ended with an error."""
        return cls(job, failure_of(error), error if isinstance(error, RunBusyError) else None)


def carry_out_job(
    arm: Arm,
    run: PlannedRun,
    store: Path | None,
    resources: Resources,
    listeners: Listeners | None,
) -> None:
    """One run, whatever its approach."""
    corpus = resources.corpus(arm)
    if store is not None:
        run_features(run, resources.store(store), corpus, listeners)
    else:
        run_finetune(run, resources.encoder(arm.model), corpus, listeners)


def failure_of(error: Exception) -> str:
    """Why a run failed, in one line."""
    told = str(error).strip().split("\n")[0]
    if isinstance(error, FeatbertError):
        return told
    if out_of_memory(error):
        return f"{memory_lack(error)}; set a smaller token_budget, or give fewer --jobs"
    return f"{type(error).__name__}: {told}"


def run_in_workers(
    jobs: Sequence[Job],
    *,
    processes: int,
    threads: int,
    on_run: Callable[[Job, int, int], Listeners] | None = None,
    log_dir: Path | None = None,
) -> Iterator[Ended]:
    """Carries out jobs, `processes` at a time, and tells of each when it has ended.

    Args:
        threads: threads of torch in each process.
        on_run: called with each run before it begins, its number and the count of all; gives who
            listens to it.
        log_dir: folder that a worker logs the epochs of its runs to.
    """
    waiting = list(enumerate(jobs, 1))
    workers: dict[Connection, _Worker] = {}

    def give_next(worker: _Worker) -> None:
        number, job = waiting.pop(0)
        worker.give(job, Listeners() if on_run is None else on_run(job, number, len(jobs)))

    try:
        while waiting or workers:
            while waiting and len(workers) < processes:
                worker = _Worker(threads, log_dir)
                workers[worker.pipe] = worker
                give_next(worker)  # one that died before is told when it is heard
            for pipe in wait(list(workers)):
                assert isinstance(pipe, Connection)
                worker = workers[pipe]
                try:
                    heard: Report = pipe.recv()
                except (EOFError, OSError):
                    job = worker.job
                    del workers[pipe]
                    worker.end()
                    if job is not None:
                        yield Ended(job, f"its process ended with {worker.exit}")
                    continue
                assert worker.job is not None
                if heard.kind != "end":
                    _pass_on(heard, worker.job.name, worker.listeners)
                    continue
                busy = RunBusyError(heard.reason) if heard.busy else None
                ended = Ended(worker.job, heard.reason, busy)
                worker.job = None
                yield ended
                if waiting:
                    give_next(worker)
                else:
                    del workers[pipe]
                    worker.end()
    finally:
        for worker in workers.values():
            worker.process.terminate()  # its run has no record, so it does not count
        for worker in workers.values():
            worker.end()


def _pass_on(heard: Report, run: str, listeners: Listeners) -> None:
    """What a worker said, to those who listen to its run here."""
    if heard.kind == "notice":
        notice(f"{run}: {heard.text}")
    if heard.kind == "start" and listeners.on_start is not None:
        listeners.on_start()
    if heard.kind == "step" and listeners.on_step is not None:
        listeners.on_step(heard.done, heard.total)
    if heard.epoch is not None and listeners.on_epoch is not None:
        listeners.on_epoch(heard.epoch)


class _Worker:
    """A process and the job that it works at."""

    def __init__(self, threads: int, log_dir: Path | None) -> None:
        self.log_dir = log_dir
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(
            target=_work, args=(theirs, threads), daemon=True
        )
        with _interrupts_held():
            self.process.start()
        theirs.close()
        self.job: Job | None = None
        self.listeners = Listeners()

    @property
    def exit(self) -> str:
        """How the process ended, for people."""
        code = self.process.exitcode
        if code is not None and code < 0:
            killed = ", as where memory runs out" if -code == signal.SIGKILL else ""
            return f"signal {-code} ({signal.Signals(-code).name}){killed}"
        return f"exit code {code}"

    def give(self, job: Job, listeners: Listeners) -> None:
        self.job, self.listeners = job, listeners
        store = None if job.extraction is None else job.extraction.path
        with contextlib.suppress(BrokenPipeError):  # it is dead: hearing it tells
            self.pipe.send(Order(job.arm, job.run, store, self.log_dir))

    def end(self) -> None:
        """Lets the process end by itself, which it does soon, or is made to."""
        self.pipe.close()
        self.process.join(PATIENCE)
        if self.process.exitcode is None:
            self.process.kill()
            self.process.join()


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Within the block SIGINT waits, and processes that are started never get it.

    So does the alarm by which the command line brings one back that came before.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # starting it would let SIGINT through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGALRM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(pipe: Connection, threads: int) -> None:
    """A worker: one order after the other, until nobody speaks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    import torch

    torch.set_num_threads(threads)
    gc.freeze()  # what is imported stays
    resources = Resources()
    while True:
        try:
            order: Order = pipe.recv()
        except EOFError:
            gc.freeze()  # as Python ends it would look through all that is there, for a second
            return
        try:
            find_device(order.arm.device)  # sets what fp32 means on a GPU, here as elsewhere
            listeners = dataclasses.replace(_reporting(pipe), log_dir=order.log_dir)
            run = _with_threads(order.run, threads)
            with noticed_by(lambda text: pipe.send(Report("notice", text=text))):
                carry_out_job(order.arm, run, order.store, resources, listeners)
            pipe.send(Report("end"))
        except Exception as error:
            busy = isinstance(error, RunBusyError)
            pipe.send(Report("end", reason=failure_of(error), busy=busy))


def _end_with_parent() -> None:
    """Ends this process when the one that gives orders is gone."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def _reporting(pipe: Connection) -> Listeners:
    """Listeners that report through a pipe; steps from time to time."""
    told = 0.0

    def on_step(done: int, total: int) -> None:
        nonlocal told
        if done == total or time.monotonic() - told >= REPORT_EVERY:
            told = time.monotonic()
            pipe.send(Report("step", done, total))

    return Listeners(
        on_start=lambda: pipe.send(Report("start")),
        on_step=on_step,
        on_epoch=lambda row: pipe.send(Report("epoch", epoch=row)),
    )


def _with_threads(run: PlannedRun, threads: int) -> PlannedRun:
    """The run as it is computed here: its signature tells the threads."""
    device = dataclasses.replace(run.options.device, threads=threads)
    return dataclasses.replace(
        run,
        signature=dataclasses.replace(run.signature, threads=threads),
        options=dataclasses.replace(run.options, device=device),
    )
