"""Products through oneDNN are those of torch, forward and backward."""

import copy
import itertools

import pytest
import torch
from torch import nn

from featbert.encoders.kernels import Linear, use_products


def both(bias: bool) -> tuple[nn.Linear, nn.Linear]:
    torch.manual_seed(1)
    plain = nn.Linear(6, 4, bias=bias)
    ours = copy.deepcopy(plain)
    model = nn.Sequential(ours)
    use_products(model)
    assert isinstance(model[0], Linear)
    assert model.state_dict().keys() == nn.Sequential(plain).state_dict().keys()
    return plain, ours


@pytest.mark.parametrize("shape", [(0, 6), (1, 6), (3, 5, 6), (67, 6), (7, 19, 6)])
@pytest.mark.parametrize("bias", [True, False])
def test_outputs_and_gradients_are_those_of_torch(bias: bool, shape: tuple[int, ...]) -> None:
    plain, ours = both(bias)
    vectors = torch.randn(shape)
    with torch.no_grad():
        torch.testing.assert_close(ours(vectors), plain(vectors))
    for frozen in itertools.chain(([], ["weight"]), [["bias"]] if bias else []):
        found = []
        for layer in (plain, ours):
            layer.zero_grad()
            for name, parameter in layer.named_parameters():
                parameter.requires_grad_(name not in frozen)
            given = vectors.clone().requires_grad_()
            out = layer(given.transpose(0, -2) if len(shape) > 2 else given)
            (out * torch.arange(out.numel()).view(out.shape)).sum().backward()
            found.append([given.grad, *(p.grad for p in layer.parameters())])
        for one, other in zip(*found, strict=True):
            assert (one is None) == (other is None)
            if one is not None:
                torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


def test_other_precisions_are_left_to_torch() -> None:
    plain, ours = both(True)
    vectors = torch.randn(3, 6)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(ours(vectors), plain(vectors))
    half = vectors.bfloat16()
    assert torch.equal(ours.bfloat16()(half), plain.bfloat16()(half))
