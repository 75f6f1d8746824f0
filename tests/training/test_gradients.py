"""Clipping as torch's, and what is not finite is found, counted and named."""

import copy
import re

import pytest
import torch
from torch import nn

from featbert.training.loop import GradientWatch

CPU = torch.device("cpu")
LOSS = torch.tensor(2.5)


def layers(scale: float) -> nn.Module:
    """A module with gradients of about this size; one parameter has none."""
    torch.manual_seed(1)
    module = nn.Sequential(nn.Linear(5, 4), nn.Linear(4, 3), nn.Linear(3, 2))
    module(torch.randn(8, 5)).pow(2).sum().mul(scale).backward()
    module[1].bias.grad = None
    return module


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_it_clips_to_the_numbers_of_torch(scale):
    ours, theirs = layers(scale), layers(scale)
    GradientWatch(ours, CPU).clip(0.5, 1, LOSS)
    nn.utils.clip_grad_norm_(theirs.parameters(), 0.5)
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert (a.grad is None) == (b.grad is None)
        assert a.grad is None or torch.equal(a.grad, b.grad)


@pytest.mark.parametrize("at_once", [True, False], ids=["processor", "GPU"])
def test_steps_are_counted_and_the_first_is_named(at_once):
    module = layers(1.0)
    watch = GradientWatch(module, CPU)
    watch.is_immediate = at_once
    good = copy.deepcopy([None if p.grad is None else p.grad for p in module.parameters()])
    for step in range(1, 7):
        for parameter, gradient in zip(module.parameters(), good, strict=True):
            parameter.grad = None if gradient is None else gradient.clone()
        if step == 3:
            module[1].weight.grad[0, 0] = float("nan")
            module[2].bias.grad[1] = float("inf")
        if step == 5:
            module[0].weight.grad[0, 0] = float("inf")
        # On a GPU the weights are lost after the first such step, and every later loss with them.
        watch.clip(1.0, step, LOSS if step <= 3 else LOSS * float("nan"))
    found = watch.problem()
    assert re.search(r"\b2\b.*1\.weight.*step 3$", found)
    assert watch.problem() is None


def test_a_norm_too_large_for_float32():
    """Every gradient is finite, and so is the norm of each parameter."""
    module = layers(1.0)
    for parameter in module.parameters():
        parameter.grad = torch.full_like(parameter, 0.0)
        parameter.grad.view(-1)[0] = 1.5e19
    watch = GradientWatch(module, CPU)
    watch.clip(1.0, 1, LOSS)
    assert watch.problem().endswith("step 1")
