"""The front door of the Python API."""

from pathlib import Path

from featbert.analysis.compare import compare_tasks
from featbert.analysis.comparison import Comparisons
from featbert.analysis.labels import run_labels
from featbert.errors import FeatbertError
from featbert.experiments.file import Experiment
from featbert.progress import shown
from featbert.text import counted


def run_experiment(
    experiment: Experiment,
    *,
    cache_dir: str | Path = "cache",
    runs_dir: str | Path = "experiments/runs",
    jobs: int = 1,
    progress: bool = True,
) -> Comparisons:
    """Extracts once, trains what is missing, and compares all runs: a comparison for each task.

    There are `jobs` runs at a time, each in a process of its own. FeatbertError where runs failed;
    the others are finished and are not trained again.
    """
    from featbert.experiments.plan import ExperimentPlan
    from featbert.experiments.schedule import carry_out

    plan = ExperimentPlan(experiment, Path(cache_dir), Path(runs_dir))
    with shown(progress):
        plan = carry_out(plan, jobs=jobs, labels=run_labels)
    if plan.failures:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in plan.failures.items())
        raise FeatbertError(f"{counted(len(plan.failures), 'run')} failed: {reasons}")
    return compare_tasks(plan.runs, vary=experiment.vary)
