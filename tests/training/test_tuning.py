"""What of an encoder is trained, in which epoch and how fast, read from the history."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from featbert.data.load import load_corpus
from featbert.encoders.alignment import align
from featbert.encoders.device import Device
from featbert.encoders.encoding import Encoding
from featbert.encoders.source import find_encoder
from featbert.encoders.tunings import TUNINGS
from featbert.errors import InputError
from featbert.models.model import Model
from featbert.runs.planned import RunOptions, check_layers, plan_tuned_run
from featbert.training.inputs import PieceInputs
from featbert.training.loop import fit
from featbert.training.optimizer import make_optimizer
from featbert.training.step import Compute, Targets
from tests.features.support import sentences_of
from tests.models.support import settings_of, tuned
from tests.tiny_encoders import FAMILIES

CPU = Compute(Device("cpu", "a processor", 1))
SETTINGS = settings_of("full", epochs=4, batch_size=4, learning_rate=1e-2, dropout=0.0)
TEXTS = ["The fox said", "Jordan beat the Herald", "EU", "lazy dog near Hamilton"] * 2
HEAD = {"output.classifier.weight", "output.classifier.bias"}


def model_of(folder) -> Model:
    torch.manual_seed(0)
    return tuned(folder, 2, dropout=0.0)


def inputs_of(model, texts=TEXTS) -> PieceInputs:
    alignment = align(sentences_of(texts), model.encoder.wordpieces, positions=40)
    return PieceInputs(alignment, model.encoder, torch.device("cpu"))


def trained(model, settings):
    words = [w for s in sentences_of(TEXTS) for w in s.words]
    labels = torch.tensor([w[0].isupper() for w in words]).long()
    inputs = inputs_of(model)
    return fit(model, inputs, Targets(labels, inputs.offsets), settings, CPU, seed=1)


def sizes(model) -> dict[str, int]:
    """Parameters by name of their depth, from names alone."""
    found: dict[str, int] = {}
    for name, p in model.named_parameters():
        if "classifier" in name:
            key = "head"
        elif ".layer." in name:
            key = f"layer {int(name.split('.layer.')[1].split('.')[0]) + 1}"
        else:
            key = "embeddings"
        found[key] = found.get(key, 0) + p.numel()
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_every_parameter_of_a_family_has_its_depth(encoder_folder, family):
    model = model_of(encoder_folder(family))
    depths, layers = model.parameter_depths(), model.encoder.num_layers
    assert depths.keys() == {n for n, _ in model.named_parameters()}
    shared = family == "albert"  # its layers have one depth, the last
    assert set(depths.values()) == ({0, 3, 4} if shared else set(range(layers + 2)))
    for name, depth in depths.items():
        number = [part for part in name.split(".") if part.isdigit()]
        if number and shared:
            assert depth == layers, name
        elif number:  # every family numbers its layers from 0
            assert depth == int(number[0]) + 1, name
        elif "embedding" in name:
            assert depth == 0, name
    assert {n for n, d in depths.items() if d == layers + 1} == HEAD


def test_layers_that_share_weights_are_trained_together(encoder_folder, tmp_path):
    source, corpus = find_encoder(str(encoder_folder("albert"))), load_corpus("sample")

    def planned(**given):
        options = RunOptions(1, SETTINGS.but(**given), tmp_path, Device("cpu", "", 1))
        return plan_tuned_run(source, corpus, options, Encoding())

    for given in ({"freeze_to": 1}, {"unfreeze": 1, "epochs": 4}, {"discriminative": 2.0}):
        with pytest.raises(InputError, match="albert"):
            planned(**given)
    for given in ({}, {"freeze_to": 0}, {"freeze_to": 3}, {"tuning": "bitfit"}):
        assert planned(**given).signature.pooling == "first"


def test_gradual_unfreezing_by_hand():
    """Baumann 2019: twelve layers in groups of three take five epochs."""

    def lowest(epochs, **given):
        asked, trains = SETTINGS.but(epochs=9, **given), TUNINGS["full"].trains
        depths = ([d for d in range(13) if trains("", d, asked, 12, e + 1)] for e in range(epochs))
        return [min(trained, default=13) for trained in depths]

    assert lowest(6, unfreeze=3) == [13, 10, 7, 4, 0, 0]
    assert lowest(5, unfreeze=5) == [13, 8, 3, 0, 0]
    assert lowest(5, unfreeze=3, freeze_to=4) == [13, 10, 7, 5, 5]
    assert lowest(1) == [0]
    assert lowest(1, freeze_to=0) == [1]


def test_the_history_says_what_was_trained_and_how_fast(encoder_folder):
    model = model_of(encoder_folder("bert"))
    expected = sizes(model)
    settings = SETTINGS.but(unfreeze=1, discriminative=2.0, warmup=0.0, schedule="constant")
    history = trained(model, settings).history
    found = [{g.name: (g.parameters, g.learning_rate) for g in row.groups} for row in history]
    rates = {"head": 1e-2, "layer 3": 5e-3, "layer 2": 2.5e-3, "layer 1": 1.25e-3}
    rates["embeddings"] = 6.25e-4
    by_epoch = [
        {"head"},
        {"head", "layer 3"},
        {"head", "layer 3", "layer 2"},
        {"head", "layer 3", "layer 2", "layer 1", "embeddings"},
    ]
    assert [row.keys() for row in found] == by_epoch
    for row in found:
        assert row == {name: (expected[name], pytest.approx(rates[name])) for name in row}


TUNED = [name for name, tuning in TUNINGS.items() if not tuning.frozen]
CASES = [*((name, {}) for name in TUNED), *(("full", {"freeze_to": k}) for k in (0, 1, 3))]


@pytest.mark.parametrize(("tuning", "given"), CASES)
def test_exactly_what_is_trained_moves(encoder_folder, tuning, given):
    settings = SETTINGS.but(tuning=tuning, **given)
    model = model_of(encoder_folder("bert"))
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    fitted = trained(model, settings)
    depths, trains = model.encoder.parameter_depths, TUNINGS[tuning].trains
    free = HEAD | {
        f"states.model.{n}" for n, d in depths.items() if trains(n, d, settings, 3, settings.epochs)
    }
    moved = {n for n, p in model.named_parameters() if not torch.equal(p, before[n])}
    # A key's bias moves no softmax, so it has next to no gradient.
    assert moved | {n for n in free if "key.bias" in n} == free
    assert set(fitted.trained) == free


def test_frozen_layers_run_without_dropout(encoder_folder):
    """They give the states that frozen features hold, while the others drop out."""
    model = model_of(encoder_folder("bert"))
    batch = inputs_of(model, TEXTS[:2]).batch(np.arange(2))
    still = [s.clone() for s in model.eval().encoder.hidden_states(batch)]
    model.train()
    model.set_trained(SETTINGS.but(freeze_to=2), 1)  # layer 3 and the head are trained
    states = model.encoder.hidden_states(batch)
    for layer in range(3):
        torch.testing.assert_close(states[layer], still[layer])
    assert not torch.allclose(states[3], still[3], atol=1e-3)


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ({"freeze_to": 4}, "freeze_to is 4"),
        ({"unfreeze": 4}, "unfreeze is 4"),
        ({"unfreeze": 1, "epochs": 3}, "epochs is 3; 4 "),
        ({"unfreeze": 2, "epochs": 2}, "epochs is 2; 3 "),
    ],
)
def test_what_an_encoder_cannot_do_is_refused(given, value):
    with pytest.raises(InputError, match=value):
        check_layers(SETTINGS.but(**given), 3)


def test_what_it_can_do_is_not():
    held = {"unfreeze": 1, "freeze_to": 2, "epochs": 2}
    for given in ({"freeze_to": 3}, {"unfreeze": 3, "epochs": 2}, {"unfreeze": 1}, held):
        check_layers(SETTINGS.but(**given), 3)


GROUPS = {"epochs": 1, "learning_rate": 1e-3, "mix_learning_rate": 5e-2, "weight_decay": 0.02}


def groups_of(model, settings):
    """Names of the parameters of each group, and its rate and decay."""
    optimizer = make_optimizer(model, settings)
    names = {id(p): n for n, p in model.named_parameters()}
    return {g["name"]: {names[id(p)] for p in g["params"]} for g in optimizer.param_groups}, {
        g["name"]: (g["lr"], g["weight_decay"]) for g in optimizer.param_groups
    }


@pytest.mark.parametrize("family", FAMILIES)
def test_layernorm_and_biases_do_not_decay_whatever_they_are_called(encoder_folder, family):
    model = model_of(encoder_folder(family))
    names, rates = groups_of(model, settings_of("full", **GROUPS))
    of_norms = {
        f"{module}.{name}"
        for module, m in model.named_modules()
        if "Norm" in type(m).__name__
        for name, _ in m.named_parameters()
    }
    biases = {n for n, _ in model.named_parameters() if n.endswith("bias")}
    assert of_norms
    assert names["vectors"] == of_norms | biases
    assert names["vectors"] | names["matrices"] == {n for n, _ in model.named_parameters()}
    assert rates == {"matrices": (1e-3, 0.02), "vectors": (1e-3, 0.0)}
