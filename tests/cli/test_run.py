"""featbert run: what it says of runs that differ in more than layers and seed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workspace import Workspace


@pytest.fixture
def file(workspace: Workspace) -> Path:
    path = workspace.folder / "trial.toml"
    path.write_text(
        f'data = "{workspace.corpus}"\nmodel = "{workspace.model}"\ndevice = "cpu"\n'
        '[variants]\ncontext = ["sentence", "document"]\n[finetune]\nepochs = 1\n',
        "utf-8",
    )
    return path


def test_runs_are_told_apart_and_quiet_is_quiet(workspace: Workspace, file: Path) -> None:
    where = ("--cache-dir", workspace.cache, "--runs-dir", workspace.runs)
    done = workspace.call("run", file, *where)
    assert done.exit_code == 0, done.output
    for number, context in enumerate(("sentence", "document"), 1):
        name = f"fine-tuning (context={context})"
        assert f"training {number}/2 {name}, seed 1\n" in done.stderr
        assert f"{name}  seed 1  dev " in done.stderr
    again = workspace.call("run", file, *where, "--quiet", "--set", "finetune.epochs=2")
    assert again.exit_code == 0, again.output
    assert again.stderr == ""
    assert "fine-tuning" in again.stdout


def test_why_runs_failed_is_told_even_quietly(
    workspace: Workspace, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from featbert.runs import workers

    def failing(*_: object) -> None:
        raise RuntimeError("CUDA out of memory. Tried to allocate 20.00 MiB.")

    monkeypatch.setattr(workers, "run_finetune", failing)
    where = ("--cache-dir", workspace.cache, "--runs-dir", workspace.runs)
    done = workspace.call("run", file, *where, "--quiet")
    assert done.exit_code == 1
    assert "out of memory, 20.00 MiB more could not be had; set a smaller token_budget" in (
        done.stderr
    )
