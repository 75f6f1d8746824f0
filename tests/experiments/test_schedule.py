"""Several processes: runs side by side, deaths, interruptions, and work that another one does."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from featbert.api import run
from featbert.errors import FeatbertError
from featbert.experiments import processes
from featbert.experiments.file import read_experiment
from featbert.experiments.plan import ExperimentPlan
from featbert.experiments.schedule import carry_out
from featbert.io import lock_beside
from featbert.progress import heard_by
from featbert.runs import train
from featbert.runs.folder import TESTS
from featbert.runs.record import read_experiment_record
from featbert.runs.run import find_runs
from tests.experiments.experiment_files import SMALL
from tests.listening import Ear
from tests.processes import ROOT, holding, still_alive
from tests.workspace import Workspace, error_of, ok

THREE = {"seeds": [1, 2, 3], "features": SMALL}


def hidden(folder: Path) -> list[str]:
    """What is left of unfinished work; tests of a comparison are kept."""
    return [p.name for p in folder.iterdir() if p.name.startswith(".") and p.name != TESTS]


# Runs in processes of their own ------------------------------------------------------------------


def test_several_at_a_time_give_the_same_and_a_failure_stops_no_other(lab, monkeypatch):
    """Neither one that cannot write nor one whose process dies."""
    # A folder in the place of the weights: this run cannot be written.
    broken = [*lab.plan(**THREE).rows.values()][2]
    (broken.run.folder / "weights.safetensors" / "x").mkdir(parents=True)
    begun: list[tuple[str, int]] = []
    killed: list[str] = []
    plain = processes._start

    def killing(name: str, threads: int, *rest: Any) -> Any:
        begun.append((name, threads))
        pipe, child = plain(name, threads, *rest)
        if not killed and name != broken.name:
            killed.append(name)
            child.kill()
        return pipe, child

    monkeypatch.setattr(processes, "_start", killing)
    logs = lab.space.folder / ".tensorboard"
    ear = Ear()
    with heard_by(ear):
        outcome = lab.carry_out(jobs=2, log_dir=logs, **THREE)
    assert outcome.failures.keys() == {broken.name, *killed}
    assert "\n" not in outcome.failures[broken.name]
    assert "SIGKILL" in outcome.failures[killed[0]]
    assert len(outcome.runs) == 1
    assert ear.stages["trial"][1] == ear.done["trial"] == 3
    for done in outcome.runs:
        assert f"training {done.record.layers}, seed {done.record.seed}" in ear.stages
    assert {run.name for run in outcome.runs} <= {folder.name for folder in logs.iterdir()}
    assert {run.record.signature.threads for run in outcome.runs} == {
        max(1, len(os.sched_getaffinity(0)) // 2)
    }
    lab.run(jobs=2, **THREE | {"seeds": [1]})  # one alone has the threads of two, to resume
    assert begun[-1] == (killed[0], max(1, len(os.sched_getaffinity(0)) // 2))
    with pytest.raises(FeatbertError, match=broken.name):
        lab.run(**THREE)
    (broken.run.folder / "weights.safetensors" / "x").rmdir()
    (broken.run.folder / "weights.safetensors").rmdir()
    lab.run(**THREE)  # does only what is missing, in this process
    again = lab.space.folder / "again"
    run(lab.experiment(**THREE), cache_dir=lab.space.cache, runs_dir=again)
    expected = {run.name: run.record.scores for run in find_runs(again)}
    assert {run.name: run.record.scores for run in find_runs(lab.space.runs)} == expected
    for done in find_runs(lab.space.runs):
        weights = (done.folder / "weights.safetensors").read_bytes()
        assert weights == (again / done.name / "weights.safetensors").read_bytes()
    assert hidden(lab.space.runs) == []


def test_the_processes_of_runs_end_with_an_interrupted_command(workspace, file):
    """No run is finished by then. `tests/faults/test_killed.py` has commands that are killed."""
    file.write_text(file.read_text("utf-8").partition("[finetune]")[0], "utf-8")
    ok(workspace.extract("--precision", "fp32"))
    words = ["run", file, "--cache-dir", workspace.cache, "--runs-dir", workspace.runs]
    words += ["--jobs", 2, "--set", "features.epochs=100000"]
    process = subprocess.Popen(
        [sys.executable, "-m", "featbert", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=True,  # a group of its own, as a terminal's foreground is one
    )
    try:
        wait_for(
            lambda: len([*workspace.runs.glob("*/checkpoint.pt")]) > 1,
            lambda: process.poll() is None,
        )
        children = psutil.Process(process.pid).children(recursive=True)
        assert len(children) >= 2
        os.killpg(process.pid, signal.SIGINT)  # what Ctrl-C does
        stdout, stderr = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, stdout) == (130, ""), stderr
    assert stderr.splitlines()[-1].startswith("interrupted; ")
    assert "Traceback" not in stderr
    assert still_alive(children) == []
    assert find_runs(workspace.runs).unfinished
    assert not find_runs(workspace.runs).problems


# Two processes on one folder of runs -------------------------------------------------------------


def wait_for(holds: Callable[[], bool], is_running: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 120
    while not holds():
        assert is_running()
        assert time.monotonic() < give_up
        time.sleep(0.02)


@pytest.fixture
def file(workspace: Workspace) -> Path:
    return workspace.experiment(
        'precision = "fp32"\nseeds = [1, 2]\n'
        '[features]\nlayers = ["last"]\nepochs = 3\nlstm_size = 8\n[finetune]\nepochs = 2\n'
    )


def test_a_single_run_names_the_process_that_trains_it(workspace):
    other = Workspace(workspace.folder / "other", workspace.corpus, workspace.model)
    assert other.finetune("--quiet").exit_code == 0
    (run,) = find_runs(other.runs)
    with holding(workspace.runs / run.name) as owner:
        message = error_of(workspace.finetune("--quiet"))
        assert run.name in message
        assert str(owner.pid) in message
        assert find_runs(workspace.runs).runs == ()
        # Another seed is another run.
        assert workspace.finetune("--quiet", "--seeds", "2").exit_code == 0
    assert workspace.finetune("--quiet").exit_code == 0
    assert hidden(workspace.runs) == []
    again = next(r for r in find_runs(workspace.runs) if r.name == run.name)
    assert again.record.scores == run.record.scores
    # A lock that a kill left next to a finished run is removed.
    lock_beside(again.folder).write_text("process 1 on elsewhere\n")
    assert workspace.finetune("--quiet").exit_code == 0
    assert hidden(workspace.runs) == []


@pytest.mark.parametrize("awaited", ["run", "store", "encoder"])
def test_what_another_process_makes_is_awaited_at_the_end(workspace, file, awaited):
    """It ends without finishing, and the work is done here after all that could be before."""
    if awaited == "encoder":
        adapt = "adapt = {epochs = 1, max_length = 32}"
        file = workspace.experiment(f"[finetune]\nepochs = 1\n[[variant]]\n[[variant]]\n{adapt}\n")
    plan = ExperimentPlan(read_experiment(file), workspace.cache, workspace.runs).renewed()
    names = sorted(plan.jobs, key=lambda name: ("--full--" in name, name))
    stores = [job.extraction.path for job in plan.jobs.values() if job.extraction]
    paths = {"run": [workspace.runs / names[0]], "store": stores, "encoder": [*plan.adaptations]}
    (path := paths[awaited][0]).parent.mkdir(parents=True, exist_ok=True)
    with holding(path, workspace.runs / names[-1] / "record.json"):
        ok(workspace.carry_out(file))
    records = sorted(workspace.runs.glob("*/record.json"), key=lambda path: path.stat().st_mtime_ns)
    order = [record.parent.name for record in records]
    if awaited == "encoder":
        assert (len(order), order[0]) == (2, names[0])
        assert (path / "adaptation.json").is_file()
    else:
        assert {*order} == {*names}
        assert order[-1] == names[0] if awaited == "run" else {*order[:2]} == {*names[2:]}
    assert hidden(path.parent) == hidden(workspace.runs) == []


def test_two_processes_share_the_work_of_one_experiment(workspace, file, monkeypatch):
    trained: list[str] = []
    plain = train._Training.run

    def counting(self: Any, log_dir: Path | None) -> Any:
        trained.append(self.plan.name)
        return plain(self, log_dir)

    monkeypatch.setattr(train._Training, "run", counting)
    experiment = read_experiment(file, ["features.epochs=40"])
    plan = ExperimentPlan(experiment, workspace.cache, workspace.runs)
    context: Any = multiprocessing.get_context(processes.METHOD)
    other = context.Process(target=carry_out, args=(plan,), daemon=True)
    other.start()
    wait_for(lambda: any(workspace.runs.glob("*/checkpoint.pt")), other.is_alive)
    done = carry_out(plan)
    other.join(120)
    assert (other.exitcode, done.missing, done.failures) == (0, [], {})
    assert read_experiment_record(workspace.runs, "trial") == done.record
    assert 0 < len(trained) < 4
    assert hidden(workspace.runs) == []
    assert len(find_runs(workspace.runs).runs) == len(done.runs) == 4
