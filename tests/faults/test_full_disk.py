"""A disk that is full at each file of a run: one line, nothing half finished, and the same command
ends well afterwards.
"""

import errno
import os

from featbert.runs.run import find_runs
from tests.failing import full_disk
from tests.workspace import error_of, ok

# In the order in which they are written.
FILES = (
    *("config.json", "history.jsonl", "checkpoint.pt", "dev.conll", "test.conll"),
    *("dev.probabilities.npy", "test.probabilities.npy", "weights.safetensors", "record.json"),
)
FULL = os.strerror(errno.ENOSPC)


def test_each_file_of_a_run(workspace):
    """What one failure leaves does not stop the next command."""
    for name in FILES:
        with full_disk(name):
            refusal = error_of(workspace.finetune("--quiet"))
        assert name in refusal
        assert FULL in refusal
        assert find_runs(workspace.runs).runs == ()
        assert not list(workspace.runs.rglob("*.tmp"))
        assert not list(workspace.runs.glob(".*"))
    ok(workspace.finetune("--quiet"))
    (run,) = find_runs(workspace.runs)
    assert {p.name for p in run.folder.iterdir()} == set(FILES) - {"checkpoint.pt"}


def test_an_experiment(workspace):
    """Its record, and a run of it that finds no room, which is named with its reason."""
    words = (workspace.experiment("seeds = [1]\n[finetune]\nepochs = 1\n"), "--quiet")
    for name in ("trial.experiment.json", "weights.safetensors"):
        with full_disk(name):
            failed = workspace.carry_out(*words)
        assert failed.exit_code == 1
        assert name in failed.stderr
        assert FULL in failed.stderr
        assert "Traceback" not in failed.stderr
        assert not find_runs(workspace.runs).runs
    ok(workspace.carry_out(*words))
