"""AdamW's groups and the schedule, against values worked out by hand."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from featbert.encoders.encoder import load_encoder
from featbert.encoders.layers import parse_layers
from featbert.encoders.source import find_encoder
from featbert.models.bilstm import BiLSTMTagger
from featbert.models.finetuned import FineTuneTagger
from featbert.training.optimizer import (
    describe_groups,
    make_optimizer,
    make_schedule,
    rate_share,
)
from featbert.training.settings import TrainingSettings
from tests.tiny_encoders import FAMILIES

SETTINGS = TrainingSettings(
    epochs=1, batch_size=4, learning_rate=1e-3, dropout=0.0, mix_learning_rate=5e-2,
    weight_decay=0.02,
)  # fmt: skip


def groups_of(tagger):
    """{group: names of its parameters}, and the optimiser."""
    optimizer = make_optimizer(tagger, SETTINGS)
    names = {id(p): n for n, p in tagger.named_parameters()}
    return {g["name"]: {names[id(p)] for p in g["params"]} for g in optimizer.param_groups}, {
        g["name"]: (g["lr"], g["weight_decay"]) for g in optimizer.param_groups
    }


def test_groups_of_the_bilstm():
    tagger = BiLSTMTagger(parse_layers("weighted:0-3", 3), 16, 5, lstm_size=8, lstm_layers=1)
    names, rates = groups_of(tagger)
    assert names["scalar_mix"] == {"combine.mix.scores", "combine.mix.scale"}
    assert names["vectors"] == {
        "classifier.bias",
        *(f"lstm.bias_{part}_l0{way}" for part in ("ih", "hh") for way in ("", "_reverse")),
    }
    assert names["matrices"] == {
        "classifier.weight",
        *(f"lstm.weight_{part}_l0{way}" for part in ("ih", "hh") for way in ("", "_reverse")),
    }
    assert rates == {"matrices": (1e-3, 0.02), "vectors": (1e-3, 0.0), "scalar_mix": (5e-2, 0.0)}


@pytest.mark.parametrize("family", FAMILIES)
def test_layernorm_and_biases_do_not_decay_whatever_they_are_called(encoder_folder, family):
    tagger = FineTuneTagger(load_encoder(find_encoder(str(encoder_folder(family)))), 5)
    names, rates = groups_of(tagger)
    of_norms = {
        f"{module}.{name}"
        for module, m in tagger.named_modules()
        if isinstance(m, nn.LayerNorm)
        for name, _ in m.named_parameters()
    }
    biases = {n for n, _ in tagger.named_parameters() if n.endswith("bias")}
    assert of_norms
    assert names["vectors"] == of_norms | biases
    assert names["vectors"] | names["matrices"] == {n for n, _ in tagger.named_parameters()}
    assert rates == {"matrices": (1e-3, 0.02), "vectors": (1e-3, 0.0)}


def test_frozen_parameters_are_in_no_group():
    tagger = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 2))
    tagger[0].requires_grad_(False)
    names, _ = groups_of(tagger)
    assert names == {"matrices": {"1.weight"}, "vectors": {"1.bias"}}


def test_a_step_against_adamw_by_hand():
    """Loshchilov and Hutter 2019, with epsilon 1e-6; vectors do not shrink."""
    tagger = nn.Linear(1, 1)
    with torch.no_grad():
        tagger.weight.fill_(2.0)
        tagger.bias.fill_(3.0)
    optimizer = make_optimizer(tagger, SETTINGS)
    tagger.weight.grad, tagger.bias.grad = torch.tensor([[0.5]]), torch.tensor([-4e-6])
    optimizer.step()
    # After one step the corrected moments are g and g * g.
    weight = 2.0 * (1 - 1e-3 * 0.02) - 1e-3 * 0.5 / (0.5 + 1e-6)
    bias = 3.0 - 1e-3 * -4e-6 / (4e-6 + 1e-6)
    assert tagger.weight.item() == pytest.approx(weight, abs=2e-7)
    assert tagger.bias.item() - 3.0 == pytest.approx(bias - 3.0, rel=1e-3)


@pytest.mark.parametrize(
    ("total", "warmup", "shares"),
    [
        (10, 0.2, [1 / 3, 2 / 3, 1, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8, 0]),
        (4, 0.0, [1, 3 / 4, 2 / 4, 1 / 4, 0]),
        (3, 1.0, [1 / 4, 2 / 4, 3 / 4, 0]),
        (1, 0.1, [1, 0]),
        (5, 0.1, [1, 4 / 5, 3 / 5, 2 / 5, 1 / 5, 0]),
    ],
)
def test_the_schedule_by_hand(total, warmup, shares):
    found = [rate_share(step, total=total, warmup=warmup) for step in range(total + 1)]
    np.testing.assert_allclose(found, shares, atol=1e-12)


@given(st.integers(1, 500), st.floats(0, 1))
def test_no_step_is_lost_and_the_rate_rises_then_falls(total, warmup):
    shares = [rate_share(step, total=total, warmup=warmup) for step in range(total)]
    assert all(0 < share <= 1 for share in shares)
    top = int(np.argmax(shares))
    assert (np.diff(shares[: top + 1]) > 0).all()
    assert (np.diff(shares[top:]) < 0).all()
    assert abs(top - warmup * total) <= 1
    assert rate_share(total, total=total, warmup=warmup) == 0


def test_the_schedule_moves_all_groups_and_groups_are_described():
    tagger = BiLSTMTagger(parse_layers("weighted:0-3", 3), 16, 5, lstm_size=8, lstm_layers=1)
    optimizer = make_optimizer(tagger, SETTINGS)
    schedule = make_schedule(optimizer, dataclasses.replace(SETTINGS, warmup=0.5), total=4)
    rates = []
    for _ in range(4):
        rates.append({g["name"]: g["lr"] for g in optimizer.param_groups})
        optimizer.step()
        schedule.step()
    for rate, share in zip(rates, [1 / 3, 2 / 3, 1, 1 / 2], strict=True):
        assert rate == pytest.approx(
            {"matrices": 1e-3 * share, "vectors": 1e-3 * share, "scalar_mix": 5e-2 * share}
        )
    assert [g["lr"] for g in optimizer.param_groups] == [0, 0, 0]
    told = describe_groups(optimizer, 0.5)
    sizes = {g.name: g.parameters for g in told}
    matrices = 2 * (4 * 8 * 16 + 4 * 8 * 8) + 16 * 5
    assert sizes == {"matrices": matrices, "vectors": 2 * 2 * 4 * 8 + 5, "scalar_mix": 4 + 1}
    assert [g.learning_rate for g in told] == [5e-4, 5e-4, 2.5e-2]


def test_a_constant_rate_stays_after_the_warmup():
    shares = [rate_share(s, total=10, warmup=0.2, schedule="constant") for s in range(10)]
    np.testing.assert_allclose(shares, [1 / 3, 2 / 3, *[1] * 8])
    assert {rate_share(s, total=10, warmup=0.0, schedule="constant") for s in range(10)} == {1.0}
