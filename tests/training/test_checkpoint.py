"""A training that was stopped goes on to the same numbers."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
import torch

from featbert.encoders.layers import parse_layers
from featbert.errors import FeatbertError
from featbert.models.bilstm import BiLSTMTagger
from featbert.training import checkpoint as module
from featbert.training.checkpoint import Checkpoint
from featbert.training.history import read_epoch
from featbert.training.loop import fit
from tests.training.test_loop import CPU, LENGTHS, N_LABELS, N_WORDS, VectorInputs, dev_scores
from tests.training.test_loop import SETTINGS as SHORT

SETTINGS = dataclasses.replace(SHORT, epochs=5, dropout=0.3)
LABELS = np.random.default_rng(1).integers(0, N_LABELS, N_WORDS)
STATES = torch.randn(2, N_WORDS, 6, generator=torch.Generator().manual_seed(2))


class Stopped(Exception):
    """In place of a kill."""


def kept_at(path, identity="a training", **options) -> Checkpoint:
    return Checkpoint(path, identity, read_epoch, **options)


def tagger() -> BiLSTMTagger:
    torch.manual_seed(4)
    mix = parse_layers("weighted:0-1", 2)
    return BiLSTMTagger(mix, 6, N_LABELS, lstm_size=5, lstm_layers=1, dropout=0.3)


def train(path=None, *, f1=(0.1, 0.4, 0.3, 0.2, 0.35), stop_in=None, settings=SETTINGS, **options):
    """Weights and result of a training, which stops in an epoch's scoring where asked."""
    model, rows = tagger(), []
    scored = iter(range(len(f1)))
    checkpoint = None if path is None else kept_at(path, **{"cost": 1e9} | options)
    if path is not None and path.exists():
        begun = checkpoint.load()
        scored = iter(range(len(begun.progress.history) if begun else 0, len(f1)))

    def score_dev():
        place = next(scored)
        torch.rand(3)  # what scoring draws is part of the random state, too
        if place + 1 == stop_in:
            raise Stopped
        return dev_scores(f1[place], 0.0, 0.0)

    fitted = fit(
        model,
        VectorInputs(STATES),
        LABELS,
        settings,
        seed=7,
        score_dev=score_dev,
        device=CPU,
        on_epoch=rows.append,
        checkpoint=checkpoint,
    )
    return model.state_dict(), fitted, rows


def timeless(rows):
    return [dataclasses.replace(row, seconds=0.0) for row in rows]


@pytest.mark.parametrize("stop_in", [1, 2, 3, 5])
@pytest.mark.parametrize("bias_correction", [True, False])
def test_it_goes_on_to_the_same_weights_and_history(tmp_path, stop_in, bias_correction) -> None:
    settings = dataclasses.replace(SETTINGS, bias_correction=bias_correction)
    expected, whole, all_rows = train(settings=settings)
    path = tmp_path / "checkpoint"
    with pytest.raises(Stopped):
        train(path, stop_in=stop_in, settings=settings)
    assert path.exists() == (stop_in > 1)
    weights, fitted, rows = train(path, settings=settings)
    assert weights.keys() == expected.keys()
    assert all(torch.equal(weights[name], expected[name]) for name in expected)
    assert timeless(rows) == timeless(all_rows) == timeless(fitted.history)
    for name in ("best_epoch", "trained_parameters", "flops"):
        assert getattr(fitted, name) == getattr(whole, name)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["checkpoint"]


def test_an_epoch_that_is_kept_is_not_trained_again(tmp_path, monkeypatch) -> None:
    path = tmp_path / "checkpoint"
    with pytest.raises(Stopped):
        train(path, stop_in=4)
    drawn = []
    monkeypatch.setattr(
        "featbert.training.loop.epoch_batches",
        lambda lengths, epoch, **_: drawn.append(epoch) or [np.arange(len(LENGTHS))],
    )
    train(path)
    assert drawn == [4, 5]


def test_patience_counts_across_an_interruption(tmp_path) -> None:
    settings = dataclasses.replace(SETTINGS, patience=2)
    _, whole, _ = train(settings=settings)
    assert len(whole.history) == 4
    path = tmp_path / "checkpoint"
    with pytest.raises(Stopped):
        train(path, stop_in=4, settings=settings)
    _, fitted, _ = train(path, settings=settings)
    assert timeless(fitted.history) == timeless(whole.history)
    # Killed after the last epoch that counts: nothing is trained, the best weights are there.
    (tmp_path / "other").mkdir()
    path = tmp_path / "other" / "checkpoint"
    train(path, settings=settings)
    _, again, _ = train(path, settings=settings)
    assert timeless(again.history) == timeless(whole.history)


def test_another_training_s_or_a_damaged_file_is_not_gone_on_from(tmp_path) -> None:
    path = tmp_path / "checkpoint"
    with pytest.raises(Stopped):
        train(path, stop_in=3)
    assert kept_at(path).load() is not None
    assert kept_at(path, "another training").load() is None
    whole = path.read_bytes()
    for content in (b"", whole[:100], b"\x00" * 50, whole[: len(whole) // 2]):
        path.write_bytes(content)
        assert kept_at(path).load() is None
    path.unlink()
    assert kept_at(path).load() is None


def test_a_flipped_bit_is_noticed_wherever_it_is(tmp_path) -> None:
    path = tmp_path / "checkpoint"
    with pytest.raises(Stopped):
        train(path, stop_in=3)
    whole = path.read_bytes()
    generator = np.random.default_rng(5)
    for place in generator.integers(0, len(whole), 60):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << generator.integers(8)
        path.write_bytes(bytes(damaged))
        assert kept_at(path).load() is None, place


def test_nothing_is_pickled(tmp_path) -> None:
    path = tmp_path / "checkpoint"
    with pytest.raises(Stopped):
        train(path, stop_in=3)
    data = path.read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    assert set(header["__metadata__"]) == {"state", "checksum"}
    assert {"weights.classifier.weight", "random.cpu"} <= header.keys()


def test_it_is_written_as_often_as_it_costs_little(tmp_path, monkeypatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(module.time, "perf_counter", lambda: clock[0])
    checkpoint = kept_at(tmp_path / "checkpoint", cost=0.05)
    assert checkpoint.is_due()
    checkpoint._took = 2.0
    clock[0] = 39.0
    assert not checkpoint.is_due()
    clock[0] = 40.0
    assert checkpoint.is_due()


def test_a_full_disk_keeps_the_one_before(tmp_path, monkeypatch) -> None:
    path = tmp_path / "checkpoint"
    with pytest.raises(Stopped):
        train(path, stop_in=3)
    before = path.read_bytes()

    def full(_, name, **__):
        name.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("safetensors.torch.save_file", full)
    with pytest.raises(
        FeatbertError, match=r"checkpoint cannot be written: No space left.*make room"
    ):
        train(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["checkpoint"]


def test_tied_weights_are_kept(tmp_path) -> None:
    from featbert.training.checkpoint import Kept, Progress

    shared = torch.arange(6.0)
    progress = Progress([], None, 3, 0.0, {})
    kept = Kept({"a": shared, "b": shared}, {"state": {}, "param_groups": []}, {}, {}, progress, 1)
    kept_at(tmp_path / "checkpoint").save(kept)
    found = kept_at(tmp_path / "checkpoint").load()
    assert found is not None
    assert {name: t.tolist() for name, t in found.weights.items()} == {
        name: shared.tolist() for name in "ab"
    }
