"""Experiments on the small corpus and the tiny encoder."""

from pathlib import Path
from typing import Any

from featbert.analysis.compare import Comparison, run_experiment
from featbert.runs.experiment import ExperimentPlan, Resources, plan_experiment
from featbert.runs.experiment_file import Experiment, check_experiment
from featbert.runs.schedule import Outcome, carry_out
from tests.workspace import Workspace

SMALL = {"layers": ["last"], "epochs": 1, "lstm_size": 4}


class Lab:
    """Plans and carries out experiments in a workspace."""

    def __init__(self, space: Workspace) -> None:
        self.space = space
        self.where: dict[str, Any] = {"cache_dir": space.cache, "runs_dir": space.runs}

    def experiment(self, **keys: Any) -> Experiment:
        base = {"name": "trial", "data": str(self.space.corpus), "model": str(self.space.model)}
        return check_experiment(base | {"device": "cpu"} | keys, where="trial.toml")

    def plan(self, **keys: Any) -> ExperimentPlan:
        return plan_experiment(self.experiment(**keys), resources=Resources(), **self.where)

    def carry_out(self, *, jobs: int = 1, log_dir: Path | None = None, **keys: Any) -> Outcome:
        return carry_out(self.experiment(**keys), jobs=jobs, log_dir=log_dir, **self.where)

    def run(self, *, jobs: int = 1, **keys: Any) -> Comparison:
        (comparison,) = run_experiment(self.experiment(**keys), jobs=jobs, **self.where)
        return comparison
