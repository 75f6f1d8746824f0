"""An experiment from file to comparison."""

from __future__ import annotations

from pathlib import Path

from featbert.analysis.compare import Comparison, compare_runs
from featbert.errors import FeatbertError
from featbert.runs.execution import Outcome, Watchers, carry_out
from featbert.runs.file import Experiment
from featbert.runs.plan import RUNS_DIR
from featbert.text import counted


class FailedRunsError(FeatbertError):
    """Runs of an experiment that failed; the message tells each with its reason."""


def comparison_of(outcome: Outcome) -> Comparison:
    """The rows of an experiment side by side.

    Raises:
        FailedRunsError: no run of a row was finished.
    """
    if not outcome.runs:
        told = "; ".join(f"{name}: {reason}" for name, reason in outcome.failures.items())
        raise FailedRunsError(f"finished runs to compare expected, all failed: {told}")
    return compare_runs(outcome.runs, vary=outcome.plan.experiment.vary)


def run_experiment(
    experiment: Experiment,
    *,
    cache_dir: str | Path = "cache",
    runs_dir: str | Path = RUNS_DIR,
    jobs: int = 1,
    watchers: Watchers | None = None,
) -> Comparison:
    """Extracts once, trains what is missing, and compares all runs of the experiment.

    Args:
        jobs: runs at a time, each in a process of its own.

    Raises:
        FailedRunsError: runs failed; the others are finished and are not trained again.
    """
    outcome = carry_out(
        experiment, cache_dir=cache_dir, runs_dir=runs_dir, jobs=jobs, watchers=watchers
    )
    if outcome.failures:
        told = "; ".join(f"{name}: {reason}" for name, reason in outcome.failures.items())
        raise FailedRunsError(f"{counted(len(outcome.failures), 'run')} failed: {told}")
    return comparison_of(outcome)
