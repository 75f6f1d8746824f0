"""How an experiment is watched: a line for each run under way, one over all, a word at each end."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING, Self, TypeVar

from featbert.cli.meter import Bar, Meter
from featbert.cli.text import printable, run_line
from featbert.text import called

if TYPE_CHECKING:
    from featbert.runs.carrying_out import Listeners
    from featbert.runs.execution import Watchers
    from featbert.runs.plan import ExperimentPlan, Job
    from featbert.runs.workers import Ended

T = TypeVar("T")


class ExperimentWatch:
    """Hears an experiment and shows it on a meter; use it as a context."""

    def __init__(self, meter: Meter) -> None:
        self.meter = meter
        # Of what goes on now: runs by name, other work by its kind.
        self._open: dict[str, ExitStack] = {}
        self._bars: dict[str, Bar] = {}
        self._labels: Mapping[str, Mapping[str, str]] = {}
        self._ended = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    @property
    def watchers(self) -> Watchers:
        """What `carry_out` tells."""
        from featbert.runs.execution import Watchers

        return Watchers(
            on_plan=self._plan,
            on_extraction=lambda done, total: self._work("extracting", "words", done, total),
            on_adaptation=self._adaptation,
            on_run=self._run,
            on_end=self._end,
            on_evaluation=lambda done, total: self._work(
                "scoring on other corpora", "runs", done, total
            ),
            on_wait=lambda told: self.meter.say(printable(f"waiting: {told}")),
        )

    def called(self, job: Job) -> str:
        """A run of the experiment, told from the others."""
        name = called(job.run.layers, job.run.settings)
        return f"{name}{self._differing(job)}, seed {job.run.seed}"

    def _differing(self, job: Job) -> str:
        label = self._labels.get(job.name, {})
        # The part of train that a run learned from stands in what it is called.
        told = ", ".join(f"{key}={v}" for key, v in label.items() if key != "train_share")
        return f" ({told})" if told else ""

    def _plan(self, plan: ExperimentPlan) -> None:
        from featbert.runs.job_labels import job_labels

        self._labels = job_labels(plan.jobs)
        self._close()
        self._ended = 0

    def _work(self, what: str, unit: str, done: int, total: int) -> None:
        if what not in self._bars:
            self._bars[what] = self._enter(what, self.meter.measure(what, unit))
        self._bars[what].update(done, total)
        if done == total:
            self._close(what)

    def _adaptation(self, name: str) -> Callable[[int, int], None]:
        self._close()
        self.meter.say(f"training {name} as a language model")
        return self._enter(name, self.meter.measure(f"adapting {name}", "steps")).update

    def _run(self, job: Job, number: int, total: int) -> Listeners:
        if total > 1 and "all" not in self._bars:
            self._bars["all"] = self._enter("all", self.meter.measure("all of them", "runs"))
            self._bars["all"].update(0, total)
        watch = self._enter(job.name, self.meter.training(f"{number}/{total} {self.called(job)}"))
        self._bars[job.name] = watch.bar

        def on_step(done: int, steps: int) -> None:
            watch.bar.update(done, steps)
            self._tell_all()

        return dataclasses.replace(watch.listeners, on_step=on_step)

    def _end(self, ended: Ended) -> None:
        self._close(ended.job.name)
        self._ended += 1
        self._tell_all()
        if ended.busy is not None:
            told = str(ended.busy).rpartition("; ")[0]
            self.meter.say(printable(f"left to another process: {told}"))
        elif ended.reason is not None:
            self.meter.say(printable(f"{self.called(ended.job)} failed: {ended.reason}"))
        elif (done := ended.job.run.finished) is not None:
            self.meter.say(run_line(done, was_there=False, told=self._differing(ended.job)))

    def _tell_all(self) -> None:
        """The runs that have ended, and the parts of those under way."""
        if "all" not in self._bars:
            return
        everything = self._bars["all"]
        everything.update(self._ended, everything.total)

    def _enter(self, name: str, context: AbstractContextManager[T]) -> T:
        self._open[name] = ExitStack()
        return self._open[name].enter_context(context)

    def _close(self, *names: str) -> None:
        """Ends the lines of those named, or all."""
        for name in names or tuple(self._open):
            self._bars.pop(name, None)
            if name in self._open:
                self._open.pop(name).close()
