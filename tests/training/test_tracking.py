"""Epochs logged for TensorBoard: what stands in the event files, and that nothing else changes."""

from __future__ import annotations

import dataclasses

import pytest

from featbert.errors import InputError
from featbert.runs.record import read_record
from featbert.training.history import Epoch, ParameterGroup
from featbert.training.tracking import epoch_log, log_folder, scalars
from tests.workspace import error_of

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


def expected(history):
    """The same from a history, put together otherwise."""
    points = {"train/loss": [], "train/seconds": [], "train/parameters": []}
    for row in history:
        points["train/loss"].append((row.epoch, row.train_loss))
        points["train/seconds"].append((row.epoch, row.seconds))
        points["train/parameters"].append((row.epoch, sum(g.parameters for g in row.groups)))
        for name in ("f1", "precision", "recall"):
            if row.dev is not None:
                value = 100 * row.dev[name]
                points.setdefault(f"dev/{name}", []).append((row.epoch, value))
        for group in row.groups:
            name = "learning_rate/" + "_".join(group.name.split())
            points.setdefault(name, []).append((row.epoch, group.learning_rate))
    return points


def assert_is_history(points, history):
    wanted = expected(history)
    assert points.keys() == wanted.keys()
    for name, rows in wanted.items():
        assert [step for step, _ in points[name]] == [step for step, _ in rows]
        values = [value for _, value in rows]  # event files keep 32 bits
        assert [value for _, value in points[name]] == pytest.approx(values, rel=1e-6), name


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
        with epoch_log(tmp_path, "a run") as log:
            log(EPOCH)
            assert_is_history(logged(tmp_path / "a run"), [EPOCH])
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails()
    # The same run again: its log is its own, not that of the attempt before.
    second = dataclasses.replace(EPOCH, train_loss=0.4)
    with epoch_log(tmp_path, "a run") as log:
        log(second)
    assert_is_history(logged(tmp_path / "a run"), [second])


def test_without_a_folder_nothing_is_logged(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with epoch_log(None, "a run") as log:
        log(EPOCH)
    assert not list(tmp_path.iterdir())


def test_runs_that_are_logged_are_the_runs_that_are_not(workspace):
    assert workspace.extract().exit_code == 0
    plain = workspace.train("--layers", "last", "--train-on", "train+dev")
    assert plain.exit_code == 0, plain.stderr
    before = {p.name: read_record(p) for p in workspace.runs.iterdir()}
    again = workspace.train(
        "--layers", "last", "--train-on", "train+dev", "--log-with", "tensorboard", "--overwrite"
    )
    assert again.exit_code == 0, again.stderr
    logs = workspace.runs / ".tensorboard"
    assert f"tensorboard --logdir {logs}\n" in again.stderr
    after = {p.name: read_record(p) for p in workspace.runs.iterdir() if p != logs}
    assert after.keys() == before.keys()
    assert len(after) == 2  # on train alone, which says the epochs, and on both
    for name, record in after.items():
        assert record.scores == before[name].scores
        assert [row.train_loss for row in record.history] == [
            row.train_loss for row in before[name].history
        ]
    trained = [name for name, record in after.items() if record.trained_on == ["train", "dev"]]
    for name in trained:  # the finished run on train alone is not trained anew
        assert_is_history(logged(logs / name), after[name].history)
    assert {p.name for p in logs.iterdir()} == set(trained)
    compared = workspace.compare()
    assert compared.exit_code == 0, compared.stderr
    assert "tensorboard" not in compared.output


def test_an_unknown_tracker(workspace):
    told = error_of(workspace.finetune("--log-with", "tensorbord"))
    assert "(did you mean 'tensorboard'?)" in told
    with pytest.raises(InputError, match="tensorboard expected"):
        log_folder("wandb", workspace.runs)


def test_without_the_package(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(match=r"pip install 'featbert\[tensorboard\]'"):
        log_folder("tensorboard", tmp_path)
