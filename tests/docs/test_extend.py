"""The examples of docs/how-to/extend.md: one file and one registration each."""

import sys
from pathlib import Path

import pytest

from featbert.encoders.tunings import TUNINGS
from featbert.models.registry import BODIES, OUTPUTS, Part
from featbert.registry import Entry
from featbert.runs.run import find_runs
from featbert.tasks.base import TASKS
from tests.docs.pages import DOCS, blocks
from tests.workspace import Workspace, ok


@pytest.fixture
def extended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's files as modules of their own, registered as the page says."""
    for block in blocks(DOCS / "how-to" / "extend.md"):
        if block.language == "python":
            assert block.file is not None
            (tmp_path / f"extended_{Path(block.file).name}").write_text(block.text, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(TUNINGS, "attention", Entry("extended_attention:TUNING"))
    monkeypatch.setitem(
        OUTPUTS,
        "robust",
        Part("extended_robust:Robust", "robust softmax", answers=("class", "tags")),
    )
    monkeypatch.setitem(BODIES, "hidden", Part("extended_hidden:Hidden", "hidden layer"))
    monkeypatch.setitem(TASKS, "mentions", Entry("extended_mentions:TASK"))
    yield
    for name in [name for name in sys.modules if name.startswith("extended_")]:
        del sys.modules[name]


def test_each_part_trains_is_compared_and_predicts(extended: None, workspace: Workspace) -> None:
    file = workspace.experiment("""
        [features]
        layers = ["last"]
        epochs = 1
        [finetune]
        epochs = 1
        tuning = "attention"
        [[variant]]
        features = { output = "robust", lstm_size = 8 }
        [[variant]]
        features.body = "hidden"
        """)
    ok(workspace.carry_out(file))
    runs = find_runs(workspace.runs)
    assert {run.record.tuning for run in runs} == {"none", "attention"}
    assert {run.record.settings["body"] for run in runs} == {"bilstm", "hidden", "linear"}
    tuned = next(run for run in runs if run.record.tuning == "attention")
    # 16 dimensions: in each of 4 layers four projections and a norm, and the classifier.
    classifier = 17 * len(tuned.record.targets.classes)
    assert tuned.record.cost.trained_parameters == 4 * (4 * 17 * 16 + 2 * 16) + classifier
    table = workspace.compare().output
    for title in ("robust softmax", "hidden layer", "attention"):
        assert title in table
    text = workspace.folder / "words.txt"
    text.write_text("Smith said so\n", "utf-8")
    for run in runs:
        ok(workspace.call("predict", run.folder, text, "--runs-dir", workspace.runs))


def test_a_task_brings_its_measure(extended: None, workspace: Workspace) -> None:
    file = workspace.experiment('task = "mentions"\n[finetune]\nepochs = 1\n')
    ok(workspace.carry_out(file))
    (run,) = find_runs(workspace.runs)
    assert run.record.task == "mentions"
    assert set(run.record.scores["dev"].by_class) <= {"mention"}
    assert "mention F1" in workspace.compare().output
