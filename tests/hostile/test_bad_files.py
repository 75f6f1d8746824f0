"""One bad file among those of runs: it is named, nothing hangs, and nothing else stops."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from featbert.runs.record import read_notes
from featbert.runs.run import Run, find_runs
from tests.analysis.records import rewrite
from tests.processes import ROOT
from tests.workspace import Workspace, error_of, ok

Put = Callable[[Path], object]


@pytest.fixture(autouse=True)
def nothing_hangs() -> Iterator[None]:
    def late(*_: object) -> None:
        raise AssertionError("it hangs")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def damage(path: Path) -> None:
    path.write_bytes(b'{"tags": [\xff')


def another_version(path: Path) -> None:
    path.write_text('{"version": 9, "checksum": ""}', "utf-8")


def of_another_program(path: Path) -> None:
    path.write_text('{"rows": []}', "utf-8")


BAD = [os.mkfifo, Path.mkdir, damage, another_version]


@pytest.mark.parametrize("put", BAD)
def test_beside_a_record(runs: Workspace, put: Put) -> None:
    """Notes, speeds and evaluations of three runs."""
    names = ("notes.json", "speed.json", "evaluations/x--test--01234567.json")
    damaged = dict(zip(names, find_runs(runs.runs), strict=False))
    for name, run in damaged.items():
        (run.folder / name).parent.mkdir(exist_ok=True)
        put(run.folder / name)
    where = ("--runs-dir", runs.runs)
    listed, compared = ok(runs.call("runs", *where)), runs.compare("--cost")
    assert all(run.id in listed.stdout for run in damaged.values())
    assert len(find_runs(runs.runs).runs) == 6
    for name, run in damaged.items():
        shown = ok(runs.call("runs", "show", run.name, *where))
        assert run.name in shown.stdout
        assert name in {"notes.json": listed, "speed.json": compared}.get(name, shown).output
    tag = ("runs", "tag", damaged["notes.json"].name, "paper")
    assert "notes.json" in error_of(runs.call(*tag, *where))  # which is not overwritten


@pytest.mark.parametrize("put", BAD)
@pytest.mark.parametrize("name", ["record.json", "config.json", "history.jsonl"])
def test_in_place_of_a_record(runs: Workspace, tuned_run: Run, name: str, put: Put) -> None:
    run = tuned_run
    (run.folder / "record.json").unlink()
    (run.folder / name).unlink(missing_ok=True)
    put(run.folder / name)
    found = find_runs(runs.runs)
    assert len(found.runs) == 5
    assert ({*found.problems} | {*found.unfinished}) == {run.folder}
    assert run.id in ok(runs.call("runs", "--runs-dir", runs.runs)).stdout
    assert run.name in ok(runs.compare()).output
    if put in (os.mkfifo, Path.mkdir):  # the others are files, and replaced
        before = sorted(path.name for path in run.folder.iterdir())
        assert name in error_of(runs.finetune("--seeds", run.record.seed, "--quiet"))
        assert sorted(path.name for path in run.folder.iterdir()) == before


def test_in_place_of_predictions_and_weights(runs: Workspace, tuned_run: Run) -> None:
    for name in ("weights.safetensors", "dev.conll"):
        (tuned_run.folder / name).unlink()
        os.mkfifo(tuned_run.folder / name)
    words = ("predict", tuned_run.folder, runs.corpus / "dev.conll", "--runs-dir", runs.runs)
    assert "weights.safetensors" in error_of(runs.call(*words))
    with pytest.raises(ValueError, match=r"dev\.conll"):
        tuned_run.predictions("dev")
    assert "dev.conll" in ok(runs.compare("--stats")).stdout


@pytest.mark.parametrize("put", [os.mkfifo, damage, of_another_program])
def test_in_place_of_an_experiment_and_its_record(workspace: Workspace, put: Put) -> None:
    workspace.runs.mkdir()
    file = workspace.experiment("seeds = [1]\n[finetune]\nepochs = 1\n")
    record = workspace.runs / "trial.experiment.json"
    put(record)
    before = record.stat().st_mtime_ns
    assert record.name in error_of(workspace.carry_out(file, "--quiet"))
    assert record.name in error_of(workspace.compare("--experiment", "trial"))
    assert ([*workspace.runs.iterdir()], record.stat().st_mtime_ns) == ([record], before)
    file.unlink()
    put(file)
    assert file.name in error_of(workspace.carry_out(file))


@pytest.mark.parametrize(
    ("key", "value"), [("task", "chess"), ("tuning", "osmosis"), ("settings", {"magic": 1})]
)
def test_a_run_of_an_extension_that_is_missing(runs: Workspace, key: str, value: object) -> None:
    run = find_runs(runs.runs).runs[0]
    rewrite(run.folder / "record.json", lambda data: data.update({key: value}))
    found = find_runs(runs.runs)
    assert (len(found.runs), {*found.problems}) == (5, {run.folder})
    listed = ok(runs.call("runs", "--runs-dir", runs.runs)).stdout
    assert run.name in listed
    assert ("magic" if key == "settings" else value) in listed
    assert run.name in ok(runs.compare()).output
    assert run.name in error_of(runs.call("runs", "show", run.name, "--runs-dir", runs.runs))
    shutil.copyfile(run.folder / "record.json", run.folder / "featbert.json")  # as if exported
    assert "featbert.json" in error_of(runs.call("predict", run.folder, "x", "-q"))


def test_tags_that_are_given_at_once_are_all_kept(runs: Workspace) -> None:
    run = find_runs(runs.runs).runs[0]
    tags = [f"tag{n}" for n in range(4)]
    tag = [sys.executable, "-m", "featbert", "runs", "tag", run.name, "--runs-dir", str(runs.runs)]
    started = [subprocess.Popen([*tag, t], stdout=subprocess.DEVNULL, cwd=ROOT) for t in tags]
    assert [process.wait() for process in started] == [0] * len(tags)
    assert {*read_notes(run.folder).tags} == {*tags}
    assert not list(run.folder.glob(".*"))
