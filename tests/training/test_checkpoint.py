"""A training that was stopped goes on to the same numbers."""

import dataclasses
import errno
import os
from contextlib import nullcontext

import numpy as np
import pytest
import torch

from featbert.errors import FeatbertError
from featbert.models.model import Model
from featbert.training import checkpoint as module
from featbert.training.checkpoint import Checkpoint, Learner, Pace
from featbert.training.loop import GoldAnswers, TrainingText
from featbert.training.optimizer import make_optimizer
from tests.models.support import stored
from tests.training.test_loop import N_LABELS, N_WORDS, OFFSETS, VectorInputs, fit, values
from tests.training.test_loop import SETTINGS as SHORT

SETTINGS = SHORT.but(epochs=5, dropout=0.3)
LABELS = np.random.default_rng(1).integers(0, N_LABELS, N_WORDS)
STATES = torch.randn(2, N_WORDS, 6, generator=torch.Generator().manual_seed(2))


@pytest.fixture(autouse=True)
def every_epoch(monkeypatch) -> None:
    """A checkpoint is due after each epoch."""
    monkeypatch.setattr(module, "COST", 1e9)


def model_of() -> Model:
    torch.manual_seed(4)
    given = {"lstm_size": 5, "lstm_layers": 1, "dropout": 0.3}
    return stored("weighted:0-1", N_LABELS, hidden=6, layers=2, **given)


def resumed(path, identity="a training", settings=SETTINGS):
    """How far the checkpoint is, for a model like the one that it is of, and its best weights."""
    model = model_of()
    optimizer = make_optimizer(model, settings)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: 1.0)
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    names = [name for name, _ in model.named_parameters()]
    learner = Learner(
        model, names, {"optimizer": optimizer, "schedule": schedule, "scaler": scaler}
    )
    found = Checkpoint(path, identity).resume(learner)
    return None if found is None else (found, learner.best)


def train(path=None, *, f1=(0.1, 0.4, 0.3, 0.2, 0.35), stop_in=None, settings=SETTINGS):
    """Weights and result of a training, which stops in an epoch's scoring where asked."""
    model = model_of()
    begun = resumed(path, settings=settings) if path is not None else None
    scored = iter(range(len(begun[0].history) if begun else 0, len(f1)))

    def score_dev():
        place = next(scored)
        torch.rand(3)  # what scoring draws is part of the random state, too
        if place + 1 == stop_in:
            raise KeyboardInterrupt
        return values(f1[place])

    fitted = fit(
        model,
        TrainingText(VectorInputs(STATES), GoldAnswers(torch.from_numpy(LABELS), OFFSETS)),
        settings,
        seed=7,
        score_dev=score_dev,
        checkpoint=None if path is None else Checkpoint(path, "a training"),
    )
    return model.state_dict(), fitted


def timeless(rows):
    return [dataclasses.replace(row, seconds=0.0) for row in rows]


@pytest.fixture
def path(tmp_path):
    """A checkpoint after two epochs."""
    path = tmp_path / "checkpoint"
    with pytest.raises(KeyboardInterrupt):
        train(path, stop_in=3)
    return path


@pytest.mark.parametrize(
    ("stop_in", "given", "epochs"),
    [
        (1, {}, 5),
        (2, {"bias_correction": False}, 5),
        (5, {}, 5),
        (4, {"patience": 2}, 4),
        (None, {"patience": 2}, 4),  # killed after the last epoch: nothing is trained again
    ],
)
def test_it_goes_on_to_the_same_weights_and_history(tmp_path, stop_in, given, epochs) -> None:
    settings, path = SETTINGS.but(**given), tmp_path / "checkpoint"
    expected, whole = train(settings=settings)
    assert len(whole.history) == epochs
    with pytest.raises(KeyboardInterrupt) if stop_in else nullcontext():
        train(path, stop_in=stop_in, settings=settings)
    assert path.exists() == (stop_in != 1)
    weights, fitted = train(path, settings=settings)
    assert weights.keys() == expected.keys()
    assert all(torch.equal(weights[name], expected[name]) for name in expected)
    assert timeless(fitted.history) == timeless(whole.history)
    for name in ("best_epoch", "trained", "flops"):
        assert getattr(fitted, name) == getattr(whole, name)
    assert [*tmp_path.iterdir()] == [path]


def test_another_training_s_or_a_damaged_file_is_not_gone_on_from(path) -> None:
    intact, whole = resumed(path), path.read_bytes()
    assert intact is not None
    assert resumed(path, "another training") is None
    for content in (b"", whole[:100], b"\x00" * 50, whole[: len(whole) // 2]):
        path.write_bytes(content)
        assert resumed(path) is None
    noticed, generator = 0, np.random.default_rng(5)
    for place in generator.integers(0, len(whole), 60):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << generator.integers(8)
        path.write_bytes(bytes(damaged))
        found = resumed(path)
        noticed += found is None
        # A date or the space between parts of the archive may differ, nothing else.
        if found is not None:
            assert found[0] == intact[0], place
            torch.testing.assert_close(found[1], intact[1], rtol=0, atol=0)
    assert noticed > 30
    path.unlink()
    assert resumed(path) is None
    os.mkfifo(path)
    with pytest.raises(FeatbertError, match=str(path)):
        resumed(path)


def test_it_is_written_as_often_as_it_costs_little(monkeypatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(module.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(module, "COST", 0.05)
    pace = Pace()
    assert pace.is_due()
    clock[0] = 2.0
    pace.wrote(0.0)
    clock[0] = 41.0
    assert not pace.is_due()
    clock[0] = 42.0
    assert pace.is_due()


def test_a_full_disk_keeps_the_one_before(path, monkeypatch) -> None:
    before = path.read_bytes()

    def full(_, file):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", full)
    with pytest.raises(FeatbertError, match="checkpoint"):
        train(path)
    assert path.read_bytes() == before
    assert [*path.parent.iterdir()] == [path]


@pytest.mark.parametrize(
    "error", [PermissionError(errno.EACCES, "no"), OSError(errno.EIO, "no"), MemoryError()]
)
def test_a_file_that_cannot_be_read_now_is_not_written_anew(path, monkeypatch, error) -> None:
    before = path.read_bytes()

    def refused(*_):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(module, "ZipFile", refused)
        with pytest.raises((MemoryError, FeatbertError)) as caught:
            resumed(path)
    assert isinstance(caught.value, MemoryError) == isinstance(error, MemoryError)
    assert path.read_bytes() == before
    assert resumed(path) is not None
