"""One bad file among those of runs: it is named, nothing hangs, and nothing else stops."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from featbert.runs.folder import evaluation_files
from featbert.runs.record import read_notes
from featbert.runs.run import Run, find_runs
from tests.kept_records import rewrite
from tests.processes import ROOT
from tests.workspace import Workspace, error_of, ok

Put = Callable[[Path], object]


@pytest.fixture
def runs(finished: Workspace, tmp_path: Path) -> Workspace:
    """A copy of the finished runs to change."""
    shutil.copytree(finished.runs, tmp_path / "runs")
    return Workspace(tmp_path, finished.corpus, finished.model)


@pytest.fixture(autouse=True)
def nothing_hangs() -> Iterator[None]:
    def late(*_: object) -> None:
        raise AssertionError("it hangs")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def a_fifo(path: Path) -> None:
    os.mkfifo(path)


def a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def a_socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # names of sockets are short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)
    os.chdir(here)


def a_folder(path: Path) -> None:
    path.mkdir()


def damage(path: Path) -> None:
    path.write_bytes(b'{"tags": [\xff')


def another_version(path: Path) -> None:
    path.write_text('{"version": 9, "checksum": ""}', "utf-8")


BAD = [a_fifo, a_device, a_socket, a_folder, damage, another_version]


@pytest.mark.parametrize("put", BAD)
@pytest.mark.parametrize("name", ["notes.json", "speed.json", "evaluations/x--test--01234567.json"])
def test_beside_a_record(runs: Workspace, name: str, put: Put) -> None:
    run = find_runs(runs.runs).runs[0]
    (run.folder / name).parent.mkdir(exist_ok=True)
    put(run.folder / name)
    where = ("--runs-dir", runs.runs)
    listed, shown = runs.call("runs", *where), runs.call("runs", "show", run.name, *where)
    compared = runs.compare("--cost")
    assert run.id in ok(listed).stdout
    assert run.name in ok(shown).stdout
    assert len(find_runs(runs.runs).runs) == 6
    told = {"notes.json": listed, "speed.json": compared}.get(name, shown).output
    assert name in told
    if name == "notes.json":  # which is not overwritten
        assert name in error_of(runs.call("runs", "tag", run.name, "paper", *where))


@pytest.mark.parametrize("put", BAD)
@pytest.mark.parametrize("name", ["record.json", "config.json", "history.jsonl"])
def test_in_place_of_a_record(runs: Workspace, name: str, put: Put) -> None:
    run = next(run for run in find_runs(runs.runs) if run.record.tuning == "full")
    (run.folder / "record.json").unlink()
    (run.folder / name).unlink(missing_ok=True)
    put(run.folder / name)
    found = find_runs(runs.runs)
    assert len(found.runs) == 5
    assert ({*found.problems} | {*found.unfinished}) == {run.folder}
    listed, compared = ok(runs.call("runs", "--runs-dir", runs.runs)), ok(runs.compare())
    assert run.id in listed.stdout
    assert run.name in compared.output
    if put not in (damage, another_version):  # those are files, and replaced
        before = sorted(path.name for path in run.folder.iterdir())
        assert name in error_of(runs.finetune("--seeds", run.record.seed, "--quiet"))
        assert sorted(path.name for path in run.folder.iterdir()) == before


@pytest.mark.parametrize("put", [a_fifo, a_device, a_socket])
def test_in_place_of_predictions_and_weights(runs: Workspace, put: Put) -> None:
    run = next(run for run in find_runs(runs.runs) if run.record.tuning == "full")
    for name in ("weights.safetensors", "dev.conll"):
        (run.folder / name).unlink()
        put(run.folder / name)
    text = runs.folder / "words.txt"
    text.write_text("Smith said so\n", "utf-8")
    assert "weights.safetensors" in error_of(
        runs.call("predict", run.folder, text, "--runs-dir", runs.runs)
    )
    with pytest.raises(ValueError, match=r"dev\.conll"):
        run.predictions("dev")
    assert "dev.conll" in ok(runs.compare("--stats")).stdout


@pytest.mark.parametrize("put", [*BAD[:3], damage])
def test_in_place_of_what_an_experiment_keeps(workspace: Workspace, put: Put) -> None:
    workspace.runs.mkdir()
    file = workspace.experiment("seeds = [1]\n[finetune]\nepochs = 1\n")
    put(workspace.runs / "trial.experiment.json")
    assert "trial.experiment.json" in error_of(workspace.carry_out(file, "--quiet"))
    named = error_of(workspace.compare("--experiment", "trial"))
    assert "trial.experiment.json" in named
    if put is not damage:
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
    told = ok(runs.call("runs", "--runs-dir", runs.runs)).stdout
    assert run.name in told
    assert next(iter(value)) if isinstance(value, dict) else value in told
    assert run.name in ok(runs.compare()).output
    assert run.name in error_of(runs.call("runs", "show", run.name, "--runs-dir", runs.runs))
    shutil.copyfile(run.folder / "record.json", run.folder / "featbert.json")  # as if exported
    assert "featbert.json" in error_of(runs.call("predict", run.folder, "x", "-q"))


def test_an_evaluation_that_is_damaged_stops_no_other(runs: Workspace) -> None:
    run = find_runs(runs.runs).runs[0]
    other = runs.folder / "other"
    shutil.copytree(runs.corpus, other)
    ok(runs.call("evaluate", run.folder, "--data", other, "--runs-dir", runs.runs, "-q"))
    (path,) = evaluation_files(run.folder)
    shutil.copyfile(path, path.with_name("x--test--01234567.json"))
    rewrite(path.with_name("x--test--01234567.json"), lambda data: data.update(run="another"))
    words = ("--data", other, "--runs-dir", runs.runs)
    shown = ok(runs.call("runs", "show", run.name, "--runs-dir", runs.runs))
    assert "other test" in shown.stdout
    assert "01234567" in shown.stderr
    assert run.folder.name in ok(runs.call("evaluate", run.folder, *words)).stdout + shown.stdout


def test_tags_that_are_given_at_once_are_all_kept(runs: Workspace) -> None:
    run: Run = find_runs(runs.runs).runs[0]
    tags = [f"tag{n}" for n in range(8)]
    words = ("featbert", "runs", "tag")
    started = [
        subprocess.Popen(
            [sys.executable, "-m", *words, run.name, tag, "--runs-dir", runs.runs],
            stdout=subprocess.DEVNULL,
            cwd=ROOT,
        )
        for tag in tags
    ]
    assert [process.wait() for process in started] == [0] * len(tags)
    assert {*read_notes(run.folder).tags} == {*tags}
    assert not list(run.folder.glob(".*"))
