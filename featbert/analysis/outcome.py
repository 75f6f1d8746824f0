"""An experiment from file to comparison."""

from __future__ import annotations

from pathlib import Path

from featbert.analysis.compare import Comparisons, compare_tasks
from featbert.errors import FeatbertError
from featbert.runs.experiment import RUNS_DIR
from featbert.runs.experiment_file import Experiment
from featbert.runs.schedule import carry_out
from featbert.text import counted


def run_experiment(
    experiment: Experiment,
    *,
    cache_dir: str | Path = "cache",
    runs_dir: str | Path = RUNS_DIR,
    jobs: int = 1,
) -> Comparisons:
    """Extracts once, trains what is missing, and compares all runs: a comparison for each task.

    Args:
        jobs: runs at a time, each in a process of its own.

    Raises:
        FeatbertError: runs failed; the others are finished and are not trained again.
    """
    outcome = carry_out(experiment, cache_dir=cache_dir, runs_dir=runs_dir, jobs=jobs)
    if outcome.failures:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in outcome.failures.items())
        raise FeatbertError(f"{counted(len(outcome.failures), 'run')} failed: {reasons}")
    return compare_tasks(outcome.runs, vary=experiment.vary)
