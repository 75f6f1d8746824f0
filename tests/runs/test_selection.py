"""Which epoch is kept, and what is looked at when: dev after each epoch, test once at the end."""

from __future__ import annotations

import json

import numpy as np
import pytest

from featbert.runs import carrying_out
from featbert.runs.run import Run, find_runs
from featbert.tasks.entities import TASK
from tests.workspace import Workspace

TEST = "Chelsea B-ORG\nbeat O\nHamilton B-PER\n\nsaid O\nJordan B-LOC\n.\tO\n"


@pytest.fixture
def trained(workspace: Workspace, monkeypatch) -> tuple[Workspace, list[int]]:
    """Both approaches on a corpus whose test is not its dev; what was predicted, by its words."""
    (workspace.corpus / "test.conll").write_text(TEST.replace("\t", " "), "utf-8")
    predicted: list[int] = []
    plain = carrying_out.predict

    def counting(tagger, inputs, *args, **kwargs):
        predicted.append(int(inputs.offsets[-1]))
        return plain(tagger, inputs, *args, **kwargs)

    monkeypatch.setattr(carrying_out, "predict", counting)
    assert workspace.extract().exit_code == 0
    assert workspace.train("--layers", "last", "--epochs", 4).exit_code == 0
    assert workspace.finetune("--epochs", 4, "--learning-rate", "3e-3").exit_code == 0
    return workspace, predicted


def test_dev_after_each_epoch_and_test_once(trained) -> None:
    workspace, predicted = trained
    runs = find_runs(workspace.runs).runs
    sizes = {s: runs[0].record.scores[s].words for s in ("dev", "test")}
    assert sizes["dev"] != sizes["test"]
    epochs = [sizes["dev"]] * 4
    assert predicted == [*epochs, sizes["dev"], sizes["test"]] * 2


def test_the_epoch_that_was_best_on_dev_is_the_one_that_is_scored(trained) -> None:
    workspace, _ = trained
    runs = find_runs(workspace.runs).runs
    assert {run.record.tuning for run in runs} == {"none", "full"}
    for run in runs:
        record = run.record
        by_epoch = [row.dev_score or 0.0 for row in record.history]
        assert record.best_epoch == int(np.argmax(by_epoch)) + 1
        assert record.scores["dev"].values["f1"] == max(by_epoch)
        for split in ("dev", "test"):
            found = run.predictions(split)
            assert TASK.score(found.gold, found.predicted) == record.scores[split]
    assert any(r.record.scores["dev"] != r.record.scores["test"] for r in runs)


def test_what_a_run_cost_and_was_asked(trained) -> None:
    workspace, _ = trained
    (store,) = workspace.cache.glob("*.h5")
    for run in find_runs(workspace.runs):
        cost, config = run.record.cost, config_of(run)
        assert cost.training_seconds > 0
        assert cost.prediction_seconds > 0
        assert cost.prediction_words == sum(s.words for s in run.record.scores.values())
        assert cost.run_bytes == (run.folder / "weights.safetensors").stat().st_size
        features = run.record.tuning == "none"
        assert cost.store_bytes == (store.stat().st_size if features else None)
        assert (cost.extraction_seconds or 0) > 0 or not features
        assert config["settings"] == run.record.settings
        assert config["labels"] == run.record.labels
        assert config["seed"] == run.record.seed
        assert config["signature"]["splits"]["test"]["words"] == run.record.scores["test"].words


def config_of(run: Run) -> dict:
    return json.loads((run.folder / "config.json").read_text("utf-8"))
