"""Layer combinations, attention and pooling against their formulas and brute force."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import scaled_dot_product_attention

from featbert.config import RowsTable
from featbert.encoders.layers import parse_layers
from featbert.models.attention import Attention
from featbert.models.combination import CombineLayers, ScalarMix
from featbert.models.model import BatchLayout
from featbert.models.pooling import Pooling
from featbert.tasks.base import TargetSummary
from featbert.training.assembly import make_model

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


def test_each_text_attends_to_the_other() -> None:
    torch.manual_seed(0)
    attention = Attention(5, dropout=0.5).eval()
    lengths = np.array([[2, 7], [3, 1], [1, 4]])
    vectors = torch.randn(int(lengths.sum()), 5, requires_grad=True)
    pairs = torch.split(vectors, lengths.ravel().tolist())
    expected = []
    for pair in zip(pairs[::2], pairs[1::2], strict=True):
        h = [text @ attention.project.weight.T for text in pair]
        for own, others in (h, h[::-1]):
            for x in own:
                weights = torch.stack([x @ other / 16 for other in others]).softmax(0)
                a = sum(w * other for w, other in zip(weights, others, strict=True))
                expected.append(torch.cat([x, a, (x - a).abs(), x * a]))
    found = attention(vectors, lengths)
    torch.testing.assert_close(found, torch.stack(expected))
    assert attention.width == found.shape[1]
    wanted = torch.autograd.grad(torch.stack(expected).square().sum(), vectors, retain_graph=True)
    torch.testing.assert_close(torch.autograd.grad(found.square().sum(), vectors), wanted)


def test_attention_pooling_is_torch_s_attention_with_one_query() -> None:
    """The bias is the same for all words, so softmax removes it."""
    torch.manual_seed(0)
    pooling, lengths = Pooling(6, "attention"), np.array([3, 1, 5])
    vectors = torch.randn(9, 6)
    expected = [
        scaled_dot_product_attention(pooling.scores.weight, words, words, scale=1.0)
        for words in vectors.split(lengths.tolist())
    ]
    torch.testing.assert_close(pooling(vectors, lengths), torch.cat(expected))
    # scores far apart do not overflow
    large = pooling(1e4 * vectors, lengths)
    assert large.isfinite().all()


def test_what_is_asked_is_found_in_the_passage() -> None:
    """The answer is the word after the one that is asked; words are random and encoded alone."""
    torch.manual_seed(0)
    states, n = torch.randn(30, 16), 32
    table = RowsTable(lstm_size=16, lstm_layers=1, dropout=0)
    settings = table.settings_for("none", 3, "spans")
    model = make_model(
        CombineLayers(parse_layers("last", 3), 16),
        TargetSummary(("answerable",)),
        settings,
        texts=2,
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(40):
        passages = torch.rand(n, 30).argsort(1)[:, :8]
        at = torch.randint(7, (n, 1))
        words = torch.cat([torch.zeros_like(at), passages.gather(1, at), passages], dim=1)
        batch, layout = states[words.ravel()][None], BatchLayout(np.tile([2, 8], (n, 1)))
        right = (at + 3).expand(-1, 2)  # after the first piece, the question and the word asked
        if step == 39:
            break
        optimizer.zero_grad()
        model.loss(batch, layout, right).backward()
        optimizer.step()
    answers = model.output.decode(*model.eval().vectors(batch, layout))
    assert (answers[:, :2] == right).all(dim=1).float().mean() > 0.9
