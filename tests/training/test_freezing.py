"""Frozen layers, gradual unfreezing and rates by layer, read from the history."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from featbert.encoders.alignment import align
from featbert.encoders.device import Device
from featbert.encoders.encoder import load_encoder
from featbert.encoders.layers import parse_layers
from featbert.encoders.source import find_encoder
from featbert.models.bilstm import BiLSTMTagger
from featbert.models.finetuned import FineTuneTagger
from featbert.training.freezing import lowest_trained
from featbert.training.inputs import PieceInputs
from featbert.training.loop import fit
from featbert.training.optimizer import make_optimizer
from featbert.training.settings import SettingsError, TrainingSettings, check_layers
from tests.features.support import sentences_of
from tests.tiny_encoders import FAMILIES

CPU = Device("cpu", "a processor", 1)
SETTINGS = TrainingSettings(epochs=4, batch_size=4, learning_rate=1e-2, dropout=0.0)
TEXTS = ["The fox said", "Jordan beat the Herald", "EU", "lazy dog near Hamilton"] * 2


def tagger_of(folder) -> FineTuneTagger:
    torch.manual_seed(0)
    return FineTuneTagger(load_encoder(find_encoder(str(folder))), 2)


def trained(tagger, settings):
    sentences = sentences_of(TEXTS)
    labels = np.array([w[0].isupper() for s in sentences for w in s.words]).astype(np.int64)
    inputs = PieceInputs(
        align(sentences, tagger.encoder.wordpieces, positions=40), tagger.encoder, CPU.torch
    )
    return fit(tagger, inputs, labels, settings, seed=1, score_dev=None, device=CPU)


def sizes(tagger) -> dict[str, int]:
    """Parameters by name of their depth, from names alone."""
    found: dict[str, int] = {}
    for name, p in tagger.named_parameters():
        if "classifier" in name:
            key = "classifier"
        elif ".layer." in name:
            key = f"layer {int(name.split('.layer.')[1].split('.')[0]) + 1}"
        else:
            key = "embeddings"
        found[key] = found.get(key, 0) + p.numel()
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_every_parameter_of_a_family_has_its_depth(encoder_folder, family):
    tagger = tagger_of(encoder_folder(family))
    depths = tagger.parameter_depths()
    assert depths.keys() == {n for n, _ in tagger.named_parameters()}
    assert set(depths.values()) == set(range(tagger.num_layers + 2))
    for name, depth in depths.items():
        number = [part for part in name.split(".") if part.isdigit()]
        if number:  # every family numbers its layers from 0
            assert depth == int(number[0]) + 1, name
        elif "embedding" in name:
            assert depth == 0, name
    assert {n for n, d in depths.items() if d == tagger.num_layers + 1} == {
        "classifier.weight",
        "classifier.bias",
    }


def test_gradual_unfreezing_by_hand():
    """Baumann 2019: twelve layers in groups of three take five epochs."""
    settings = dataclasses.replace(SETTINGS, epochs=6, unfreeze=3)
    assert [lowest_trained(settings, 12, epoch) for epoch in range(1, 7)] == [13, 10, 7, 4, 0, 0]
    uneven = dataclasses.replace(settings, unfreeze=5)
    assert [lowest_trained(uneven, 12, epoch) for epoch in range(1, 6)] == [13, 8, 3, 0, 0]
    held = dataclasses.replace(settings, freeze_to=4)
    assert [lowest_trained(held, 12, epoch) for epoch in range(1, 6)] == [13, 10, 7, 5, 5]
    assert lowest_trained(SETTINGS, 12, 1) == 0
    assert lowest_trained(dataclasses.replace(SETTINGS, freeze_to=0), 12, 1) == 1


def test_the_history_tells_what_was_trained_and_how_fast(encoder_folder):
    tagger = tagger_of(encoder_folder("bert"))
    expected = sizes(tagger)
    settings = dataclasses.replace(
        SETTINGS, unfreeze=1, discriminative=2.0, warmup=0.0, schedule="constant"
    )
    history = trained(tagger, settings).history
    told = [{g.name: (g.parameters, g.learning_rate) for g in row.groups} for row in history]
    rates = {"classifier": 1e-2, "layer 3": 5e-3, "layer 2": 2.5e-3, "layer 1": 1.25e-3,
             "embeddings": 6.25e-4}  # fmt: skip
    by_epoch = [
        {"classifier"},
        {"classifier", "layer 3"},
        {"classifier", "layer 3", "layer 2"},
        {"classifier", "layer 3", "layer 2", "layer 1", "embeddings"},
    ]
    assert [row.keys() for row in told] == by_epoch
    for row in told:
        assert row == {name: (expected[name], pytest.approx(rates[name])) for name in row}


def moved(tagger, before) -> set[str]:
    return {n for n, p in tagger.named_parameters() if not torch.equal(p, before[n])}


@pytest.mark.parametrize("freeze_to", [0, 1, 3])
def test_frozen_layers_keep_their_weights_and_the_rest_moves(encoder_folder, freeze_to):
    tagger = tagger_of(encoder_folder("bert"))
    before = {n: p.detach().clone() for n, p in tagger.named_parameters()}
    fitted = trained(tagger, dataclasses.replace(SETTINGS, freeze_to=freeze_to))
    depths = tagger.parameter_depths()
    free = {n for n, d in depths.items() if d > freeze_to}
    # A key's bias moves no softmax, so it has no gradient to speak of.
    assert moved(tagger, before) | {n for n in free if "key.bias" in n} == free
    assert fitted.trained_parameters == sum(
        p.numel() for n, p in tagger.named_parameters() if n in free
    )


def test_frozen_layers_run_without_dropout(encoder_folder):
    """They give the states that frozen features hold, while the others drop out."""
    tagger = tagger_of(encoder_folder("bert"))
    alignment = align(sentences_of(TEXTS[:2]), tagger.encoder.wordpieces, positions=40)
    batch = PieceInputs(alignment, tagger.encoder, CPU.torch).batch(np.arange(2))
    still = [s.clone() for s in tagger.eval().encoder.hidden_states(batch)]
    tagger.freeze_below(3)  # layer 3 and the classifier are trained
    tagger.train()
    states = tagger.encoder.hidden_states(batch)
    for layer in range(3):
        torch.testing.assert_close(states[layer], still[layer])
    assert not torch.allclose(states[3], still[3], atol=1e-3)


def test_rates_by_layer_alone(encoder_folder):
    tagger = tagger_of(encoder_folder("bert"))
    optimizer = make_optimizer(tagger, dataclasses.replace(SETTINGS, discriminative=2.6))
    rates = {g["name"]: g["lr"] for g in optimizer.param_groups}
    decays = {g["name"]: g["weight_decay"] for g in optimizer.param_groups}
    for depth, name in enumerate(["embeddings", "layer 1", "layer 2", "layer 3", "classifier"]):
        assert rates[f"{name} matrices"] == pytest.approx(1e-2 / 2.6 ** (4 - depth))
        assert rates[f"{name} vectors"] == rates[f"{name} matrices"]
        assert (decays[f"{name} matrices"], decays[f"{name} vectors"]) == (0.01, 0.0)
    everything = {id(p) for g in optimizer.param_groups for p in g["params"]}
    assert everything == {id(p) for p in tagger.parameters()}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"freeze_to": 4}, "a layer from 0 to 3 expected for freeze_to, found 4"),
        ({"unfreeze": 4}, "groups of at most 3 layers expected for unfreeze, found 4"),
        ({"unfreeze": 1, "epochs": 3}, "at least 4 epochs expected to unfreeze 3 layers"),
        ({"unfreeze": 2, "epochs": 2}, "at least 3 epochs expected to unfreeze 3 layers"),
    ],
)
def test_what_an_encoder_cannot_do_is_refused(settings, message):
    with pytest.raises(SettingsError, match=message):
        check_layers(dataclasses.replace(SETTINGS, **settings), 3)


def test_what_it_can_do_is_not():
    held = {"unfreeze": 1, "freeze_to": 2, "epochs": 2}
    for settings in ({"freeze_to": 3}, {"unfreeze": 3, "epochs": 2}, {"unfreeze": 1}, held):
        check_layers(dataclasses.replace(SETTINGS, **settings), 3)


def test_a_tagger_on_frozen_features_has_no_layers_to_freeze():
    tagger = BiLSTMTagger(parse_layers("last", 3), 16, 5, lstm_size=8)
    with pytest.raises(SettingsError, match="fine-tuned tagger expected"):
        make_optimizer(tagger, dataclasses.replace(SETTINGS, unfreeze=1))
