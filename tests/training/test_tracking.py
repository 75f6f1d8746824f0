"""Epochs logged for TensorBoard, in CSV and to services; that nothing else changes."""

import dataclasses
import sys
from importlib.machinery import ModuleSpec
from unittest import mock

import pandas
import pytest

from featbert.runs.run import find_runs
from featbert.training.history import Epoch, ParameterGroup
from featbert.training.tracking import epoch_log, log_folder, scalars
from tests.workspace import ok

EPOCH = Epoch(
    epoch=1,
    train_loss=0.5,
    dev={"f1": 0.25, "precision": 0.5, "recall": 0.125},
    seconds=2.0,
    groups=[ParameterGroup("layer 7", 100, 1e-5), ParameterGroup("classifier", 3, 2e-3)],
)


def logged(folder):
    """By name the (epoch, value) points of the one event file of a folder."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    (file,) = folder.iterdir()
    events = EventAccumulator(str(file)).Reload()
    return {
        name: [(point.step, point.value) for point in events.Scalars(name)]
        for name in events.Tags()["scalars"]
    }


def test_the_points_of_an_epoch():
    assert scalars(EPOCH) == {
        "train/loss": 0.5,
        "train/seconds": 2.0,
        "train/parameters": 103,
        "dev/f1": 25.0,
        "dev/precision": 50.0,
        "dev/recall": 12.5,
        "learning_rate/layer_7": 1e-5,
        "learning_rate/classifier": 2e-3,
    }
    without = dataclasses.replace(EPOCH, dev=None)
    assert not any(name.startswith("dev/") for name in scalars(without))


def test_points_are_on_disk_while_the_run_goes_on_and_after_it_failed(tmp_path):
    def fails():
        with epoch_log(folder, "a run") as log:
            log(EPOCH)
            assert logged(folder / "a run")["train/loss"] == [(1, 0.5)]
            raise RuntimeError

    folder = log_folder("tensorboard", tmp_path)

    with pytest.raises(RuntimeError):
        fails()
    # The same run again: its log is its own, not that of the attempt before.
    second = dataclasses.replace(EPOCH, train_loss=0.4)
    with epoch_log(folder, "a run") as log:
        log(second)
    found = logged(folder / "a run")
    assert found == {name: [(1, pytest.approx(v))] for name, v in scalars(second).items()}


def test_a_file_has_a_line_an_epoch(tmp_path):
    folder = log_folder("csv", tmp_path)
    for _ in range(2):  # the same run again replaces its log
        with epoch_log(folder, "a run") as log:
            log(EPOCH)
            log(dataclasses.replace(EPOCH, epoch=2, dev=None))
            grown = [*EPOCH.groups, ParameterGroup("layer 1", 9, 0.5)]
            log(dataclasses.replace(EPOCH, epoch=3, groups=grown))
    found = pandas.read_csv(folder / "a run.csv")
    assert found.pop("learning_rate/layer_1").fillna(0).tolist() == [0, 0, 0.5]
    first, second, _ = found.to_dict("records")
    assert first == {"epoch": 1, **scalars(EPOCH)}
    known = {name: value for name, value in first.items() if not name.startswith("dev/")}
    assert {name: value for name, value in second.items() if value == value} == known | {"epoch": 2}


@pytest.mark.parametrize("name", ["wandb", "mlflow"])
def test_points_go_where_accelerate_sends_them(tmp_path, monkeypatch, name):
    """With a stand-in for the service, which the tests do not install."""
    service = mock.MagicMock(__spec__=ModuleSpec(name, None))
    monkeypatch.setitem(sys.modules, name, service)
    with epoch_log(log_folder(name, tmp_path), "a run") as log:
        log(EPOCH)
    if name == "wandb":
        begun, logs, end = service.init, service.init().log, service.init().finish
        assert begun.call_args_list[0].kwargs["project"] == "featbert"
    else:
        begun, logs, end = service.start_run, service.log_metrics, service.end_run
    assert begun.call_args_list[0].kwargs["name" if name == "wandb" else "run_name"] == "a run"
    (sent,) = logs.call_args_list
    assert (sent.args[0], sent.kwargs["step"]) == (scalars(EPOCH), 1)
    end.assert_called_once()


def test_runs_that_are_logged_are_the_runs_that_are_not(workspace):
    ok(workspace.extract())
    words = ("--layers", "last", "--train-on", "train+dev")
    ok(workspace.train(*words))
    before = {run.name: run.record for run in find_runs(workspace.runs)}
    again = ok(workspace.train(*words, "--log-with", "tensorboard", "--overwrite"))
    logs = workspace.runs / ".tensorboard"
    assert f"tensorboard --logdir {logs}\n" in again.stderr
    after = {run.name: run.record for run in find_runs(workspace.runs)}
    assert len(after) == 2  # on train alone, which says the epochs, and on both
    assert {name: record.weights for name, record in before.items()} == {
        name: record.weights for name, record in after.items()
    }
    # The finished run on train alone is not trained again.
    (trained,) = (name for name, record in after.items() if record.trained_on == ["train", "dev"])
    assert [path.name for path in logs.iterdir()] == [trained]
    losses = [(row.epoch, pytest.approx(row.train_loss)) for row in after[trained].history]
    assert logged(logs / trained)["train/loss"] == losses
