"""Products through oneDNN are those of torch, forward and backward."""

import copy

import pytest
import torch
from torch import nn

from featbert.encoders import kernels
from featbert.encoders.kernels import Linear, use_products


def replaced(plain: nn.Linear, monkeypatch: pytest.MonkeyPatch, processor: str) -> nn.Module:
    """A copy of a layer as an encoder on a processor has it."""
    monkeypatch.setattr(kernels, "processor_name", lambda: processor)
    model = nn.Sequential(copy.deepcopy(plain))
    use_products(model)
    return model[0]


@pytest.mark.parametrize("shape", [(0, 6), (1, 6), (3, 5, 6), (67, 6), (7, 19, 6)])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("frozen", ["", "weight", "bias"])
def test_outputs_and_gradients_are_those_of_torch(monkeypatch, bias, shape, frozen) -> None:
    torch.manual_seed(1)
    plain = nn.Linear(6, 4, bias=bias)
    ours = replaced(plain, monkeypatch, "AMD EPYC")
    assert type(ours) is Linear
    vectors = torch.randn(shape)
    with torch.no_grad():
        torch.testing.assert_close(ours(vectors), plain(vectors))
    gradients = []
    for layer in (plain, ours):
        for name, parameter in layer.named_parameters():
            parameter.requires_grad_(name != frozen)
        inputs = vectors.clone().requires_grad_()
        out = layer(inputs.transpose(0, -2) if len(shape) > 2 else inputs)
        (out * torch.arange(out.numel()).view(out.shape)).sum().backward()
        gradients.append([inputs.grad, *(p.grad for p in layer.parameters() if p.requires_grad)])
    torch.testing.assert_close(*gradients, atol=1e-5, rtol=1e-5)


def test_other_processors_and_precisions_are_left_to_torch(monkeypatch) -> None:
    plain = nn.Linear(6, 4)
    assert type(replaced(plain, monkeypatch, "Intel Xeon")) is nn.Linear
    ours, vectors = replaced(plain, monkeypatch, "AMD EPYC"), torch.randn(3, 6)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(ours(vectors), plain(vectors))
    half = vectors.bfloat16()
    assert torch.equal(ours.bfloat16()(half), plain.bfloat16()(half))
