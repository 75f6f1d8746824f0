"""Finished runs and folders of the user, which the tests of this folder may change."""

import shutil
from pathlib import Path

import pytest

from featbert.runs.run import Run, find_runs
from tests.workspace import Workspace


@pytest.fixture
def runs(finished: Workspace, tmp_path: Path) -> Workspace:
    """A copy of the finished runs."""
    shutil.copytree(finished.runs, tmp_path / "runs")
    return Workspace(tmp_path, finished.corpus, finished.model)


@pytest.fixture
def features_run(runs: Workspace) -> Run:
    return next(run for run in find_runs(runs.runs) if run.record.layers == "last")


@pytest.fixture
def tuned_run(runs: Workspace) -> Run:
    return next(run for run in find_runs(runs.runs) if run.record.tuning == "full")


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """A folder of the user, in which some files have names that featbert gives."""
    folder = tmp_path / "precious"
    (folder / "evaluations").mkdir(parents=True)
    for name in ("thesis.tex", "record.json", "history.jsonl", "mine.h5", "evaluations/x.json"):
        (folder / name).write_text("years of work", "utf-8")
    return folder
