"""A training that was stopped goes on to the same numbers."""

import dataclasses
import errno
import io
import os
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import torch

from featbert.errors import FeatbertError
from featbert.training import checkpoint as module
from featbert.training.checkpoint import Checkpoint, Pace
from featbert.training.fitting import Fitting
from featbert.training.loop import GoldAnswers, TrainingText
from tests.failing import failing
from tests.models.support import stored
from tests.training.test_loop import CPU, N_LABELS, N_WORDS, OFFSETS, VectorInputs, values
from tests.training.test_loop import SETTINGS as SHORT

SETTINGS = SHORT.but(epochs=5, dropout=0.3)
LABELS = np.random.default_rng(1).integers(0, N_LABELS, N_WORDS)
STATES = torch.randn(2, N_WORDS, 6, generator=torch.Generator().manual_seed(2))
TEXT = TrainingText(VectorInputs(STATES), GoldAnswers(torch.from_numpy(LABELS), OFFSETS))


@pytest.fixture(autouse=True)
def every_epoch(monkeypatch) -> None:
    """A checkpoint is due after each epoch."""
    monkeypatch.setattr(module, "COST", 1e9)


def fitting_of(path=None, settings=SETTINGS, identity="a training") -> Fitting:
    torch.manual_seed(4)
    given = {"lstm_size": 5, "lstm_layers": 1, "dropout": 0.3}
    model = stored("weighted:0-1", N_LABELS, hidden=6, layers=2, **given)
    checkpoint = None if path is None else Checkpoint(path, identity)
    return Fitting(model, TEXT, settings, CPU, seed=7, checkpoint=checkpoint)


def resumed(path, identity="a training"):
    """How far a training is that goes on from the file, and its best weights; or None."""
    fitting = fitting_of(path, identity=identity)
    return (fitting.progress, fitting.trainer.learner.best) if fitting.progress.history else None


def train(path=None, *, stop_in=None, settings=SETTINGS):
    """Weights and result of a training, which stops in an epoch's scoring where asked."""
    fitting = fitting_of(path, settings)
    for epoch in fitting.epochs():
        torch.rand(3)  # what scoring draws is part of the random state, too
        if epoch.epoch == stop_in:
            raise KeyboardInterrupt
        fitting.add(epoch, values((0.1, 0.4, 0.3, 0.2, 0.35)[epoch.epoch - 1]))
    return fitting.model.state_dict(), fitting.end()


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


class Interrupted(io.BytesIO):
    """A file whose second write is interrupted."""

    writes = 0

    def write(self, data):
        self.writes += 1
        if self.writes == 2:
            raise KeyboardInterrupt
        return super().write(data)


def test_an_interruption_while_it_is_written_is_one(path, monkeypatch) -> None:
    """torch goes on and fails for another reason."""
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", lambda *_: Interrupted())
        with pytest.raises(KeyboardInterrupt):
            train(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "error", [PermissionError(errno.EACCES, "no"), OSError(errno.EIO, "no"), MemoryError()]
)
def test_a_file_that_cannot_be_read_now_is_not_written_anew(path, error) -> None:
    before = path.read_bytes()
    kind = MemoryError if isinstance(error, MemoryError) else FeatbertError
    with failing(module, "ZipFile", error=error), pytest.raises(kind):
        resumed(path)
    assert path.read_bytes() == before
    assert resumed(path) is not None
