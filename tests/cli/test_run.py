"""featbert run: what is shown of runs that differ, and why runs failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from featbert.runs.run import find_runs
from tests.workspace import Workspace


@pytest.fixture
def words(workspace: Workspace) -> tuple[object, ...]:
    path = workspace.folder / "trial.toml"
    path.write_text(
        f'data = "{workspace.corpus}"\nmodel = "{workspace.model}"\ndevice = "cpu"\n'
        '[variants]\ncontext = ["sentence", "document"]\n[finetune]\nepochs = 1\n',
        "utf-8",
    )
    return ("run", path, "--cache-dir", workspace.cache, "--runs-dir", workspace.runs)


def test_dry_run_then_run_then_quiet(workspace: Workspace, words: tuple[object, ...]) -> None:
    planned = workspace.call(*words, "--dry-run")
    assert planned.exit_code == 0, planned.output
    assert planned.stdout.count("run    to train") == 2
    assert not workspace.runs.exists()
    done = workspace.call(*words)
    assert done.exit_code == 0, done.output
    contexts = {r.record.signature.context for r in find_runs(workspace.runs)}
    assert contexts == {"sentence", "document"}
    again = workspace.call(*words, "--quiet", "--set", "finetune.epochs=2")
    assert (again.exit_code, again.stderr) == (0, "")
    assert again.stdout


def test_failures_are_shown_even_if_quiet(
    workspace: Workspace, words: tuple[object, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    from featbert.runs import schedule

    def failing(*_: object, **__: object) -> None:
        raise RuntimeError("CUDA out of memory. Tried to allocate 20.00 MiB.")

    monkeypatch.setattr(schedule, "train_planned", failing)
    done = workspace.call(*words, "--quiet")
    assert done.exit_code == 1
    assert done.stderr.count("20.00 MiB") >= 2
    assert Path(words[1]).exists()
