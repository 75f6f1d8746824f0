"""Layer combinations against numpy, and the scalar mix against its formula."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from featbert.encoders.layers import parse_layers
from featbert.models.combination import CombineLayers, ScalarMix

ORACLES = {
    "layer:2": lambda h: h[0],
    "concat:0,3,1": lambda h: np.concatenate([h[0], h[1], h[2]], axis=1),
    "sum:0-3": lambda h: h.sum(0),
    "mean:1-3": lambda h: h.mean(0),
    "weighted:0-3": lambda h: h.mean(0),  # as it begins
}


@pytest.mark.parametrize("spec", ORACLES)
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_each_mode_against_numpy(spec, dtype):
    combination = parse_layers(spec, 3)
    shape = (len(combination.indices), 7, 5)
    stored = np.random.default_rng(0).normal(size=shape).astype(dtype)
    module = CombineLayers(combination, 5)
    sizes = {name: tuple(p.shape) for name, p in module.named_parameters()}
    assert sizes == ({"mix.scores": (4,), "mix.scale": ()} if "weighted" in spec else {})
    found = module(torch.from_numpy(stored))
    expected = ORACLES[spec](stored.astype(np.float64))
    assert found.dtype == torch.float32
    assert found.shape == (7, module.width) == expected.shape
    np.testing.assert_allclose(found.detach().numpy(), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("spec", ["sum:0-3", "mean:0-3", "weighted:0-3"])
def test_sums_of_float16_are_taken_in_float32(spec):
    """Four states of 40,000 exceed what float16 can hold, and small ones are not lost in them."""
    states = torch.tensor([40000.0, 40000.0, 40000.0, 1.0]).half().reshape(4, 1, 1)
    found = CombineLayers(parse_layers(spec, 3), 1)(states).item()
    assert found == pytest.approx(120001.0 if spec.startswith("sum") else 30000.25, rel=1e-6)


@settings(max_examples=50)
@given(st.lists(st.floats(-6, 6, width=32), min_size=1, max_size=13), st.floats(-3, 3, width=32))
def test_the_formula_of_the_scalar_mix(scores, scale):
    """gamma * sum_j softmax(s)_j h_j (Peters et al. 2018, equation 1)"""
    mix = ScalarMix(len(scores))
    with torch.no_grad():
        mix.scores.copy_(torch.tensor(scores))
        mix.scale.fill_(scale)
    states = np.random.default_rng(1).normal(size=(len(scores), 4, 3))
    exponentials = np.exp(np.array(scores, dtype=np.float64))
    weights = exponentials / exponentials.sum()
    expected = scale * sum(w * h for w, h in zip(weights, states, strict=True))
    with torch.no_grad():
        found = mix(torch.from_numpy(states))
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-5, rtol=1e-5)
    np.testing.assert_allclose(mix.weights.detach().numpy(), weights, atol=1e-6)
    assert float(mix.weights.detach().sum()) == pytest.approx(1.0, abs=1e-6)
