"""A run that is killed in the middle of training ends with the numbers of an undisturbed one."""

import dataclasses
from collections.abc import Callable
from glob import glob
from pathlib import Path

import pytest

from featbert.runs.record import RunRecord
from featbert.runs.run import find_runs
from tests.processes import killed_command
from tests.runs.questions import write_questions
from tests.runs.test_choices import write_corpus as write_choices
from tests.workspace import ok

EXPERIMENT = """
precision = "fp32"
[corpora]
questions = {{ data = "{folder}/questions", task = "spans", packing = "apart" }}
choices = {{ data = "{folder}/choices", task = "choice" }}
[features]
layers = ["last"]
epochs = 16
body = "bilstm"
lstm_size = 8
"""
TIMED = {"record.json", "history.jsonl"}


@pytest.mark.parametrize("command", ["finetune", "run"])
def test_a_killed_command_reaches_the_numbers_of_an_undisturbed_one(workspace, command):
    write_questions(workspace.folder / "questions")
    write_choices(workspace.folder / "choices")
    file = workspace.experiment(EXPERIMENT.format(folder=workspace.folder))
    words: list[object] = ["run", file, "--cache-dir", workspace.cache]
    if command == "finetune":
        words = ["finetune", "--model", workspace.model, "--data", workspace.corpus]
        words += ["--epochs", 16, "--precision", "fp32"]
    killed, undisturbed = workspace.folder / "killed", workspace.folder / "undisturbed"
    ok(workspace.call(*words, "--quiet", "--runs-dir", undisturbed))

    jobs = ("--jobs", 2) if command == "run" else ()
    again = (*words, "--quiet", "--runs-dir", killed)
    assert killed_command(*again, *jobs, cwd=workspace.folder, when=training(killed)) == -9
    assert not find_runs(killed).problems
    assert len(find_runs(killed).runs) < len(find_runs(undisturbed).runs)
    ok(workspace.call(*again))

    found, expected = find_runs(killed), find_runs(undisturbed)
    assert [run.name for run in found] == [run.name for run in expected]
    for run, other in zip(found, expected, strict=True):
        assert timeless(run.record) == timeless(other.record)
        assert files(run.folder) == files(other.folder)
        for name in {*files(run.folder)} - TIMED:
            assert (run.folder / name).read_bytes() == (other.folder / name).read_bytes(), name


def training(runs: Path) -> Callable[[], bool]:
    """Whether a run has a checkpoint, and so is in the middle of training."""
    # Not `Path.glob`, which fails where a folder goes while it looks
    return lambda: bool(glob(str(runs / "*" / "checkpoint.pt")))


def timeless(record: RunRecord) -> RunRecord:
    """The record without what the clock and the process's memory decide."""
    return dataclasses.replace(
        record,
        history=[dataclasses.replace(row, seconds=0.0) for row in record.history],
        cost=dataclasses.replace(
            record.cost, training_seconds=0.0, prediction_seconds=0.0, peak_memory_bytes=0
        ),
        started="",
    )


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())
