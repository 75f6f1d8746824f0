"""Runs of an experiment are told apart by what they differ in, and by nothing else."""

from __future__ import annotations

from featbert.runs.file import check_experiment
from featbert.runs.job_labels import job_labels
from featbert.runs.plan import plan_experiment
from tests.workspace import Workspace


def labels(space: Workspace, **keys: object) -> dict[tuple[str, int], list[dict[str, str]]]:
    """By (layers or approach, seed): the labels of the runs of an experiment."""
    base = {"name": "trial", "data": str(space.corpus), "model": str(space.model), "device": "cpu"}
    experiment = check_experiment(base | keys, where="trial.toml")
    plan = plan_experiment(experiment, cache_dir=space.cache, runs_dir=space.runs)
    made = job_labels(plan.jobs)
    found: dict[tuple[str, int], list[dict[str, str]]] = {}
    for job in plan.jobs:
        run = job.run
        found.setdefault((run.layers or run.approach, run.seed), []).append(made[job.name])
    return found


def test_a_plain_experiment_needs_no_labels(workspace: Workspace) -> None:
    found = labels(workspace, seeds=[1, 2], features={"layers": ["last", "concat_last4"]})
    assert found == {(name, n): [{}] for name in ("last", "concat_last4") for n in (1, 2)}


def test_conditions_and_settings_that_vary_are_named(workspace: Workspace) -> None:
    found = labels(
        workspace,
        seeds=[1, 2],
        variants={"context": ["sentence", "document"]},
        features={"layers": ["last"]},
        finetune={},
        grid={"seeds": [1], "finetune": {"learning_rate": [1e-4, 3e-4]}},
    )
    contexts = [{"context": "sentence"}, {"context": "document"}]
    assert found["last", 1] == found["last", 2] == contexts
    assert found["finetune", 1] == [
        {"context": context, "learning_rate": rate}
        for context in ("sentence", "document")
        for rate in ("0.0001", "0.0003")
    ]
    assert ("finetune", 2) not in found  # known when the search has ended


def test_training_on_train_and_dev_and_the_run_before_it(workspace: Workspace) -> None:
    found = labels(workspace, train_on="train+dev", finetune={"epochs": 2})
    assert found == {("finetune", 1): [{"train_on": "train"}, {"train_on": "train+dev"}]}
