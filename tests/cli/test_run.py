"""featbert run: what is shown of runs that differ, and why runs failed."""

from featbert.runs.run import find_runs

TEXT = 'device = "cpu"\n[variants]\ncontext = ["sentence", "document"]\n[finetune]\nepochs = 1\n'


def test_quiet_shows_the_table_alone(workspace):
    done = workspace.carry_out(workspace.experiment(TEXT), "--quiet")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout
    contexts = {r.record.signature.context for r in find_runs(workspace.runs)}
    assert contexts == {"sentence", "document"}


def test_failures_are_shown_even_if_quiet(workspace, monkeypatch):
    from featbert.runs import schedule

    def failing(*_: object, **__: object) -> None:
        raise RuntimeError("CUDA out of memory. Tried to allocate 20.00 MiB.")

    monkeypatch.setattr(schedule, "train_planned", failing)
    done = workspace.carry_out(workspace.experiment(TEXT), "--quiet")
    assert done.exit_code == 1
    assert done.stderr.count("20.00 MiB") >= 2
