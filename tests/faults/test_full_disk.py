"""A disk that is full at each file of a run: one line, nothing half finished, and the same command
ends well afterwards.
"""

import errno
import os
from pathlib import Path

import pytest

from featbert.runs.run import find_runs
from tests.workspace import error_of

FILES = (
    *("config.json", "history.jsonl", "checkpoint.pt", "dev.conll", "test.conll"),
    *("weights.safetensors", "record.json"),
)
FULL = os.strerror(errno.ENOSPC)


def refuse_to_name(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """What would get this name does not: the disk is full when its folder is written."""
    real = os.replace

    def replace(old, new):
        if Path(new).name == name:
            raise OSError(errno.ENOSPC, FULL, os.fspath(old), None, os.fspath(new))
        real(old, new)

    monkeypatch.setattr(os, "replace", replace)


def refuse_to_flush(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A history has no other name first: adding to it fails."""
    real = Path.open

    def opened(self, mode="r", *rest, **options):
        if self.name == name and mode[0] in "aw":
            raise OSError(errno.ENOSPC, FULL, str(self))
        return real(self, mode, *rest, **options)

    monkeypatch.setattr(Path, "open", opened)


@pytest.mark.parametrize("name", FILES)
def test_each_file_of_a_run(name, workspace, monkeypatch):
    refuse = refuse_to_flush if name == "history.jsonl" else refuse_to_name
    with monkeypatch.context() as patched:
        refuse(patched, name)
        told = error_of(workspace.finetune("--quiet"))
    assert name in told
    assert FULL in told
    assert find_runs(workspace.runs).runs == ()
    assert not list(workspace.runs.rglob("*.tmp"))
    assert not list(workspace.runs.glob(".*"))
    assert workspace.finetune("--quiet").exit_code == 0
    (run,) = find_runs(workspace.runs)
    left = {p.name for p in run.folder.iterdir()}
    assert left == set(FILES) - {"checkpoint.pt"}


def test_an_experiment(workspace, monkeypatch):
    words = (workspace.experiment("seeds = [1]\n[finetune]\nepochs = 1\n"), "--quiet")
    with monkeypatch.context() as patched:
        refuse_to_name(patched, "trial.experiment.json")
        told = error_of(workspace.carry_out(*words))
    assert "trial.experiment.json" in told
    assert FULL in told
    assert [p.name for p in workspace.runs.iterdir()] == []
    # A run that finds no room is named with its reason.
    with monkeypatch.context() as patched:
        refuse_to_name(patched, "weights.safetensors")
        failed = workspace.carry_out(*words)
    assert failed.exit_code == 1
    assert "weights.safetensors" in failed.stderr
    assert FULL in failed.stderr
    assert "Traceback" not in failed.stderr
    assert workspace.carry_out(*words).exit_code == 0
