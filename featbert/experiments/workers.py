"""Several runs at a time, each in a process of its own with its share of the cores.

Workers are spawned once and kept, since importing torch takes seconds. A worker is told a run and
says how it goes; one that dies takes its run with it and nothing else: the run is reported as
failed, and another worker takes its place.
"""

from __future__ import annotations

import contextlib
import dataclasses
import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from featbert.errors import FeatbertError
from featbert.experiments.arm import Arm
from featbert.experiments.carrying_out import Listeners, run_features, run_finetune
from featbert.experiments.plan import Job
from featbert.experiments.planning import PlannedRun
from featbert.experiments.resources import Resources
from featbert.features.device import find_device
from featbert.training.history import Epoch


@dataclass(frozen=True)
class Order:
    """A run for a worker: plain data, so that it can be sent."""

    arm: Arm
    run: PlannedRun
    store: Path | None


@dataclass(frozen=True)
class Ended:
    """How a job ended: `reason` is None where its run is finished."""

    job: Job
    reason: str | None


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
    return told if isinstance(error, FeatbertError) else f"{type(error).__name__}: {told}"


def run_in_workers(
    jobs: Sequence[Job],
    *,
    processes: int,
    threads: int,
    on_epoch: Callable[[Job, Epoch], None] | None = None,
) -> Iterator[Ended]:
    """Carries out jobs, `processes` at a time, and tells of each when it has ended.

    Args:
        threads: threads of torch in each process.
        on_epoch: called with each epoch of each run.
    """
    waiting = list(jobs)
    workers: dict[Connection, _Worker] = {}
    try:
        while waiting or workers:
            while waiting and len(workers) < processes:
                worker = _Worker(threads)
                workers[worker.pipe] = worker
                worker.give(waiting.pop(0))  # one that died before is told when it is heard
            for pipe in wait(list(workers)):
                assert isinstance(pipe, Connection)
                worker = workers[pipe]
                try:
                    heard = pipe.recv()
                except (EOFError, OSError):
                    job = worker.job
                    del workers[pipe]
                    worker.end()
                    if job is not None:
                        yield Ended(job, f"its process ended with {worker.exit}")
                    continue
                assert worker.job is not None
                if isinstance(heard, Epoch):
                    if on_epoch is not None:
                        on_epoch(worker.job, heard)
                    continue
                ended = Ended(worker.job, heard)
                worker.job = None
                if waiting:
                    worker.give(waiting.pop(0))
                else:
                    del workers[pipe]
                    worker.end()
                yield ended
    finally:
        for worker in workers.values():
            worker.stop()


class _Worker:
    """A process and the job that it works at."""

    def __init__(self, threads: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(
            target=_work, args=(theirs, threads), daemon=True
        )
        self.process.start()
        theirs.close()
        self.job: Job | None = None

    @property
    def exit(self) -> str:
        """How the process ended, for people."""
        code = self.process.exitcode
        if code is not None and code < 0:
            return f"signal {-code} ({signal.Signals(-code).name})"
        return f"exit code {code}"

    def give(self, job: Job) -> None:
        self.job = job
        store = None if job.extraction is None else job.extraction.path
        with contextlib.suppress(BrokenPipeError):  # it is dead: hearing it tells
            self.pipe.send(Order(job.arm, job.run, store))

    def end(self) -> None:
        """Lets the process end by itself."""
        self.pipe.close()
        self.process.join()

    def stop(self) -> None:
        """Ends the process now: its run has no record, so it does not count."""
        self.process.terminate()
        self.end()


def _work(pipe: Connection, threads: int) -> None:
    """A worker: one order after the other, until nobody speaks any more."""
    import torch

    # Ctrl-C reaches the whole group of processes; the one that gives orders ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(threads)
    resources = Resources()
    while True:
        try:
            order: Order = pipe.recv()
        except EOFError:
            return
        try:
            find_device(order.arm.device)  # sets what fp32 means on a GPU, here as elsewhere
            listeners = Listeners(on_epoch=pipe.send)
            run = _with_threads(order.run, threads)
            carry_out_job(order.arm, run, order.store, resources, listeners)
            pipe.send(None)
        except Exception as error:
            pipe.send(failure_of(error))


def _with_threads(run: PlannedRun, threads: int) -> PlannedRun:
    """The run as it is computed here: its signature tells the threads."""
    device = dataclasses.replace(run.options.device, threads=threads)
    return dataclasses.replace(
        run,
        signature=dataclasses.replace(run.signature, threads=threads),
        options=dataclasses.replace(run.options, device=device),
    )
