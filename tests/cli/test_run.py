"""featbert run: what is shown of runs that differ, and why runs failed."""

from __future__ import annotations

import pytest

from featbert.runs.run import find_runs
from tests.workspace import Workspace

TEXT = 'device = "cpu"\n[variants]\ncontext = ["sentence", "document"]\n[finetune]\nepochs = 1\n'


def test_dry_run_then_run_then_quiet(workspace: Workspace) -> None:
    file = workspace.experiment(TEXT)
    planned = workspace.carry_out(file, "--dry-run")
    assert planned.exit_code == 0, planned.output
    assert planned.stdout.count("run    to train") == 2
    assert not workspace.runs.exists()
    done = workspace.carry_out(file)
    assert done.exit_code == 0, done.output
    contexts = {r.record.signature.context for r in find_runs(workspace.runs)}
    assert contexts == {"sentence", "document"}
    again = workspace.carry_out(file, "--quiet", "--set", "finetune.epochs=2")
    assert (again.exit_code, again.stderr) == (0, "")
    assert again.stdout


def test_failures_are_shown_even_if_quiet(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    from featbert.runs import schedule

    def failing(*_: object, **__: object) -> None:
        raise RuntimeError("CUDA out of memory. Tried to allocate 20.00 MiB.")

    monkeypatch.setattr(schedule, "train_planned", failing)
    done = workspace.carry_out(workspace.experiment(TEXT), "--quiet")
    assert done.exit_code == 1
    assert done.stderr.count("20.00 MiB") >= 2
