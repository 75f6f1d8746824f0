"""The published BERT optimiser, with and without bias correction, against numpy step by step."""

import numpy as np
import pytest
import torch

from featbert.training.optimizer import make_optimizer, make_schedule, rate_share
from tests.models.support import settings_of, stored

GIVEN = {"body": "linear", "epochs": 1, "learning_rate": 2e-2, "weight_decay": 0.01, "warmup": 0.3}
STEPS = 12


def numpy_steps(weights, gradients, *, decay, bias_correction, rates):
    """Adam by its formula, one array, double precision."""
    w = weights.astype(np.float64)
    m, v = np.zeros_like(w), np.zeros_like(w)
    for t, (g, rate) in enumerate(zip(gradients, rates, strict=True), start=1):
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        m_hat = m / (1 - 0.9**t) if bias_correction else m
        v_hat = v / (1 - 0.999**t) if bias_correction else v
        w = w - rate * (m_hat / (np.sqrt(v_hat) + 1e-6) + decay * w)
    return w


@pytest.mark.parametrize("schedule", ["linear", "constant"])
@pytest.mark.parametrize("bias_correction", [True, False])
def test_against_numpy(bias_correction, schedule):
    settings = settings_of("none", bias_correction=bias_correction, schedule=schedule, **GIVEN)
    torch.manual_seed(0)
    model = stored("last", 3, hidden=5, **GIVEN)
    begin = {n: p.detach().numpy().copy() for n, p in model.named_parameters()}
    random = np.random.default_rng(2)
    gradients = {n: random.normal(size=(STEPS, *w.shape)) for n, w in begin.items()}
    optimizer = make_optimizer(model, settings)
    planned = make_schedule(optimizer, settings, total=STEPS)
    for t in range(STEPS):
        for name, p in model.named_parameters():
            p.grad = torch.tensor(gradients[name][t], dtype=torch.float32)
        optimizer.step()
        planned.step()
    rates = [2e-2 * rate_share(t, total=STEPS, warmup=0.3, schedule=schedule) for t in range(STEPS)]
    for name, p in model.named_parameters():
        expected = numpy_steps(
            begin[name], gradients[name], bias_correction=bias_correction, rates=rates,
            decay=0.01 if name.endswith("weight") else 0.0,
        )  # fmt: skip
        np.testing.assert_allclose(p.detach().numpy(), expected, rtol=2e-5, atol=2e-6)
        assert np.abs(expected - begin[name]).max() > 0.05
