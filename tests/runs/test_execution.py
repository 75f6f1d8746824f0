"""`featbert run`: plans, skips what is finished, goes on after an interruption, compares."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from featbert.runs import carrying_out
from featbert.runs.run import find_runs
from tests.workspace import Workspace

TEXT = """
data = {corpus!r}
model = {model!r}
seeds = [1, 2]
[features]
layers = ["embeddings", "concat_last4"]
epochs = 2
lstm_size = 8
[finetune]
epochs = 2
"""


@pytest.fixture
def file(workspace: Workspace) -> Path:
    path = workspace.folder / "trial.toml"
    path.write_text(TEXT.format(corpus=str(workspace.corpus), model=str(workspace.model)), "utf-8")
    return path


def run(workspace: Workspace, *words: object) -> object:
    where = ("--cache-dir", workspace.cache, "--runs-dir", workspace.runs)
    return workspace.call("run", *words, *where)


def test_run_plans_trains_and_compares(workspace: Workspace, file: Path) -> None:
    plan = run(workspace, file, "--dry-run")
    assert plan.stdout.count("to train") == 6
    assert "to extract" in plan.stdout
    assert not workspace.cache.exists()
    assert not workspace.runs.exists()

    done = run(workspace, file, "--format", "json")
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)["rows"]
    assert [(r["tuning"], r["layers"], r["dev"]["f1"]["n"]) for r in rows] == [
        ("none", "embeddings", 2),
        ("none", "concat_last4", 2),
        ("full", None, 2),
    ]
    assert len(list(workspace.cache.glob("*.h5"))) == 1
    assert {r.record.experiment for r in find_runs(workspace.runs)} == {"trial"}

    before = {r.name: r.record.started for r in find_runs(workspace.runs)}
    again = run(workspace, file, "--format", "json")
    assert again.stdout == done.stdout
    assert "0 of 6 runs to train" in again.stderr
    assert {r.name: r.record.started for r in find_runs(workspace.runs)} == before


def test_an_interrupted_experiment_goes_on(
    workspace: Workspace, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    write_record = carrying_out.write_record

    def interrupted(folder: Path, record: object) -> None:
        if len(calls) == 3:
            raise KeyboardInterrupt
        calls.append(folder.name)
        write_record(folder, record)

    monkeypatch.setattr(carrying_out, "write_record", interrupted)
    stopped = run(workspace, file)
    assert stopped.exit_code == 130
    assert "interrupted; " in stopped.stderr
    assert len(find_runs(workspace.runs).runs) == 3
    assert len(find_runs(workspace.runs).unfinished) == 1
    monkeypatch.undo()
    done = run(workspace, file)
    assert "3 of 6 runs to train" in done.stderr
    assert len(find_runs(workspace.runs).runs) == 6
    assert not find_runs(workspace.runs).unfinished


def test_same_seed_same_numbers(workspace: Workspace, file: Path) -> None:
    first = run(workspace, file, "--format", "json").stdout
    other = Workspace(workspace.folder / "again", workspace.corpus, workspace.model)
    second = run(other, file, "--format", "json").stdout

    def scores(text: str) -> list[object]:
        return [(r["dev"], r["test"]) for r in json.loads(text)["rows"]]

    assert scores(first) == scores(second)
    for a in find_runs(workspace.runs):
        weights = (a.folder / "weights.safetensors").read_bytes()
        assert weights == (other.runs / a.name / "weights.safetensors").read_bytes()


def test_layers_the_model_lacks_are_refused_before_any_work(
    workspace: Workspace, file: Path
) -> None:
    result = run(workspace, file, "--set", 'features.layers=["layer:9"]')
    assert result.exit_code == 1
    assert "0 to 4" in result.stderr
    assert not workspace.cache.exists()
