"""Two processes on one runs directory: a run is trained by one of them, and by no one twice."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from featbert.errors import FeatbertError
from featbert.io import is_locked
from featbert.runs.lock import RunBusyError, lock_path, owned
from featbert.runs.run import find_runs
from tests.processes import ROOT
from tests.workspace import Workspace, error_of

OWNER = """
import sys, time
from pathlib import Path
from featbert.runs.lock import owned
with owned(Path(sys.argv[1])):
    print("owned", flush=True)
    while not (len(sys.argv) > 2 and Path(sys.argv[2]).exists()):
        time.sleep(0.02)
    time.sleep(0.3)
"""
WRITER = """
import sys, time
from pathlib import Path
from featbert.io import owning
with owning(Path(sys.argv[1])):
    print("owned", flush=True)
    while not Path(sys.argv[2]).exists():
        time.sleep(0.02)
    time.sleep(0.3)
"""
EXPERIMENT = """
data = {corpus!r}
model = {model!r}
precision = "fp32"
seeds = [1, 2]
[features]
layers = ["last"]
epochs = 3
lstm_size = 8
[finetune]
epochs = 2
"""


@contextmanager
def second_process(code: str, *words: object) -> Iterator[subprocess.Popen[str]]:
    """A process that has the lock when the block begins."""
    started = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert started.stdout is not None
    try:
        assert started.stdout.readline() == "owned\n"
        yield started
    finally:
        started.kill()
        started.wait()
        started.stdout.close()


@pytest.fixture
def file(workspace: Workspace) -> Path:
    path = workspace.folder / "trial.toml"
    text = EXPERIMENT.format(corpus=str(workspace.corpus), model=str(workspace.model))
    path.write_text(text, "utf-8")
    return path


def run_words(workspace: Workspace, file: Path) -> list[object]:
    return ["run", file, "--cache-dir", workspace.cache, "--runs-dir", workspace.runs]


def planned(workspace: Workspace, file: Path) -> tuple[list[str], Path]:
    """Names of an experiment's runs, fine-tuned ones last, and its store."""
    told = workspace.call(*run_words(workspace, file), "--dry-run").stdout
    names = re.findall(r"to train +(\S+)", told)
    (store,) = re.findall(r"(\S+\.h5)", told)
    return sorted(names, key=lambda name: ("finetune" in name, name)), Path(store)


def hidden(folder: Path) -> list[str]:
    return [p.name for p in folder.iterdir() if p.name.startswith(".")]


def test_who_has_the_lock_is_told_and_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "one"
    with second_process(OWNER, folder) as other:
        assert is_locked(lock_path(folder))
        who = f"process {other.pid} on {socket.gethostname()}"
        with pytest.raises(RunBusyError, match=re.escape(who)), owned(folder):
            pass
        other.send_signal(signal.SIGKILL)
        other.wait()
        assert lock_path(folder).exists()
        assert not is_locked(lock_path(folder))
        with owned(folder):
            assert lock_path(folder).read_text().startswith(f"process {os.getpid()} ")
    assert not lock_path(folder).exists()


def test_a_lock_that_was_taken_away_meanwhile_is_none(tmp_path: Path, monkeypatch) -> None:
    """Between opening the file and locking it, its owner may have ended and removed it."""
    real, removed = fcntl.flock, []

    def flock(file, how):
        if not removed:
            removed.append(lock_path(tmp_path / "one"))
            removed[0].unlink()
        real(file, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    with owned(tmp_path / "one"):
        assert removed[0].exists()
        assert is_locked(removed[0])


def test_a_lock_that_a_kill_left_beside_a_finished_run_is_taken_away(workspace: Workspace) -> None:
    assert workspace.finetune("--quiet").exit_code == 0
    (run,) = find_runs(workspace.runs)
    lock_path(run.folder).write_text("process 1 on elsewhere\n")
    assert "finished before" in workspace.finetune().stdout
    assert hidden(workspace.runs) == []


def test_a_runs_directory_that_cannot_be_written_to(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    told = r"\.one\.lock cannot be written"
    with pytest.raises(FeatbertError, match=told), owned(tmp_path / "file" / "one"):
        pass


def test_train_and_finetune_say_who_trains_the_run(workspace: Workspace) -> None:
    other = Workspace(workspace.folder / "other", workspace.corpus, workspace.model)
    assert other.finetune("--quiet").exit_code == 0
    (run,) = find_runs(other.runs)
    with second_process(OWNER, workspace.runs / run.name) as owner:
        told = error_of(workspace.finetune("--quiet"))
        assert f"{run.name} is in use by process {owner.pid} on " in told
        assert find_runs(workspace.runs).runs == ()
        # Another seed is another run.
        assert workspace.finetune("--quiet", "--seeds", "2").exit_code == 0
    assert workspace.finetune("--quiet").exit_code == 0
    assert hidden(workspace.runs) == []
    again = next(r for r in find_runs(workspace.runs) if r.name == run.name)
    assert again.record.scores == run.record.scores


def test_a_run_that_was_finished_meanwhile_is_not_trained_again(
    workspace: Workspace, monkeypatch
) -> None:
    """Planned as missing, finished by another process before this one takes the lock."""
    from featbert.runs import carrying_out

    other = Workspace(workspace.folder / "other", workspace.corpus, workspace.model)
    assert other.finetune("--quiet").exit_code == 0
    (run,) = find_runs(other.runs)

    @contextmanager
    def late(folder: Path) -> Iterator[None]:
        shutil.copytree(run.folder, folder)
        with owned(folder):
            yield

    monkeypatch.setattr(carrying_out, "owned", late)
    done = workspace.finetune()
    assert done.exit_code == 0, done.output
    assert "finished before" in done.stdout
    assert "training" not in done.stderr


def test_run_goes_on_with_the_others_and_waits_at_the_end(workspace: Workspace, file: Path) -> None:
    names, _ = planned(workspace, file)
    last = workspace.runs / names[-1] / "record.json"
    with second_process(OWNER, workspace.runs / names[0], last) as owner:
        done = workspace.call(*run_words(workspace, file))
    assert done.exit_code == 0, done.output
    lines = done.stderr.splitlines()
    left = next(i for i, line in enumerate(lines) if line.startswith("left to another process: "))
    waiting = next(i for i, line in enumerate(lines) if line.startswith("waiting: "))
    assert left < waiting
    assert lines[waiting].endswith(
        f"{names[0]} is in use by process {owner.pid} on {socket.gethostname()}"
    )
    # It ended without finishing the run, so the run was trained here in the end.
    assert sum(line.startswith("training ") for line in lines[:waiting]) == 3
    assert sum(line.startswith("training ") for line in lines[waiting:]) == 1
    assert {run.name for run in find_runs(workspace.runs)} == set(names)
    assert hidden(workspace.runs) == []


def test_run_waits_for_the_store_that_another_process_extracts(
    workspace: Workspace, file: Path
) -> None:
    names, store = planned(workspace, file)
    store.parent.mkdir()
    with second_process(WRITER, store, workspace.runs / names[-1] / "record.json"):
        done = workspace.call(*run_words(workspace, file))
    assert done.exit_code == 0, done.output
    assert "waiting: " in done.stderr
    assert {run.name for run in find_runs(workspace.runs)} == set(names)


def test_run_waits_for_the_encoder_that_another_process_adapts(
    workspace: Workspace, file: Path
) -> None:
    head = f"data = {str(workspace.corpus)!r}\nmodel = {str(workspace.model)!r}\nseeds = [1]\n"
    arms = (
        "[finetune]\nepochs = 1\n[[variant]]\n[[variant]]\nadapt = {epochs = 1, max_length = 32}\n"
    )
    file.write_text(head + arms, "utf-8")
    told = workspace.call(*run_words(workspace, file), "--dry-run").stdout
    (folder,) = re.findall(r"adapt +to train +(\S+)", told)
    (plain,) = re.findall(r"run +to train +(\S+)", told)
    with second_process(OWNER, folder, workspace.runs / plain / "record.json") as owner:
        done = workspace.call(*run_words(workspace, file))
    assert done.exit_code == 0, done.output
    lines = done.stderr.splitlines()
    waiting = next(i for i, line in enumerate(lines) if line.startswith("waiting: "))
    assert f"is in use by process {owner.pid} on " in lines[waiting]
    # Its owner ended without an encoder, so that it was trained here, after what could be before.
    trained = [n for n, line in enumerate(lines) if line.startswith("training ")]
    adapted = [n for n in trained if lines[n].endswith("as a language model")]
    assert (len(trained), len(adapted)) == (3, 1)
    assert trained[0] < waiting < adapted[0]
    assert (Path(folder) / "adaptation.json").is_file()
    assert len(find_runs(workspace.runs).runs) == 2
    assert hidden(Path(folder).parent) == hidden(workspace.runs) == []


def test_two_runs_of_one_experiment_share_its_work(workspace: Workspace, file: Path) -> None:
    words = [*run_words(workspace, file), "--format", "json", "--set", "features.epochs=25"]
    other = subprocess.Popen(
        [sys.executable, "-m", "featbert", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    try:
        assert other.stderr is not None
        first = []
        while not first or not first[-1].startswith("training "):
            first.append(other.stderr.readline())
            assert first[-1], first
        done = workspace.call(*words)
        stdout, stderr = other.communicate(timeout=60)
    finally:
        other.kill()
        other.wait()
    assert done.exit_code == other.returncode == 0, done.output + stderr
    assert done.stdout == stdout
    lines = [*first, *stderr.splitlines(), *done.stderr.splitlines()]
    assert sum(line.startswith("training ") for line in lines) == 4
    assert any(line.startswith("left to another process: ") for line in lines)
    assert hidden(workspace.runs) == []
    assert len(find_runs(workspace.runs).runs) == 4
