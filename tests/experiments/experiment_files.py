"""Experiments on the small corpus and the tiny encoder."""

from typing import Any

from featbert.analysis.comparison import Comparison
from featbert.api import run
from featbert.experiments.file import Experiment, check_experiment
from featbert.experiments.plan import ExperimentPlan, Job
from featbert.experiments.schedule import carry_out
from featbert.runs.record import RECORD_NAME, write_json
from tests.analysis.records import make_record
from tests.workspace import Workspace

# Two candidates for `run decide`, as a change of its file.
CANDIDATES = 'variant=[{features={layers=["last"],body="linear"}},{finetune={epochs=1}}]'
SMALL = {"layers": ["last"], "epochs": 1, "lstm_size": 4}


def write_made_up(job: Job, **fields: Any) -> None:
    """Writes a record of a job, with the usual numbers of made-up runs or other `fields`."""
    run = job.run
    record = make_record(
        job.name,
        layers=run.layers,
        layer_indices=None if run.layers is None else [1],
        tuning=run.tuning,
        seed=run.options.seed,
        settings=run.settings,
        configurations_tried=run.options.configurations_tried,
        mix=None,
        **fields,
    )
    object.__setattr__(record, "signature", run.signature)
    write_json(run.folder / RECORD_NAME, record)


class Lab:
    """Plans and carries out experiments in a workspace."""

    def __init__(self, space: Workspace) -> None:
        self.space = space
        self.where: dict[str, Any] = {"cache_dir": space.cache, "runs_dir": space.runs}

    def experiment(self, **keys: Any) -> Experiment:
        base = {"name": "trial", "data": str(self.space.corpus), "model": str(self.space.model)}
        return check_experiment(base | {"device": "cpu"} | keys, where="trial.toml")

    def plan(self, **keys: Any) -> ExperimentPlan:
        return ExperimentPlan(self.experiment(**keys), **self.where).renewed()

    def carry_out(self, **keys: Any) -> ExperimentPlan:
        how = {name: keys.pop(name) for name in ("jobs", "log_dir", "each") if name in keys}
        return carry_out(ExperimentPlan(self.experiment(**keys), **self.where), **how)

    def run(self, *, jobs: int = 1, **keys: Any) -> Comparison:
        (comparison,) = run(self.experiment(**keys), jobs=jobs, **self.where).comparisons
        return comparison
