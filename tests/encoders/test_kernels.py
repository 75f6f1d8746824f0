"""Dropout, attention and products on a processor against torch's, forward and backward."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional

from featbert.encoders import kernels
from featbert.encoders.kernels import (
    NAME,
    ONEDNN_DTYPES,
    Dropout,
    FrozenLinear,
    Linear,
    _Attention,
    kept,
    laid_out,
    lay_out_products,
    product,
    use_products,
)
from featbert.encoders.loading import load_encoder
from featbert.encoders.source import find_encoder

SCALE = 0.3


def vectors(*shape: int) -> list[torch.Tensor]:
    torch.manual_seed(0)
    return [torch.randn(shape, dtype=torch.float64, requires_grad=True) for _ in range(3)]


def padding() -> torch.Tensor:
    mask = torch.ones(3, 1, 4, 4, dtype=torch.bool)
    mask[1, :, :, 2:] = False
    return mask


@pytest.mark.parametrize("mask", [None, padding()])
@pytest.mark.parametrize("block", [1, 1 << 17])
def test_without_drops_it_is_torchs_attention(monkeypatch, mask, block) -> None:
    monkeypatch.setattr(kernels, "BLOCK", block)
    given = vectors(3, 2, 4, 5)
    expected = functional.scaled_dot_product_attention(*given, attn_mask=mask, scale=SCALE)
    found = _Attention.apply(*given, mask, 0.0, SCALE)
    torch.testing.assert_close(found, expected)
    above = torch.randn_like(expected)
    gradients = [torch.autograd.grad(out, given, above) for out in (found, expected)]
    torch.testing.assert_close(*gradients)


def test_gradients_are_those_of_what_was_kept(monkeypatch) -> None:
    monkeypatch.setattr(kernels, "BLOCK", 32)

    def attended(*given: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(1)
        out: torch.Tensor = _Attention.apply(*given, padding(), 0.4, SCALE)
        return out

    given = vectors(3, 2, 4, 5)
    assert torch.autograd.gradcheck(attended, given)
    assert not torch.equal(attended(*given), _Attention.apply(*given, padding(), 0.0, SCALE))


def test_entries_are_kept_at_random_and_the_mean_stays() -> None:
    torch.manual_seed(0)
    mask = kept(torch.Size([1000, 1001]), 0.1)
    rows, columns = mask.float().mean(1), mask.float().mean(0)
    assert float(mask.float().mean()) == pytest.approx(0.9, abs=0.002)  # six standard errors
    for means in (rows, columns):
        assert float(means.std()) == pytest.approx((0.09 / 1000) ** 0.5, rel=0.15)
    layer = Dropout(0.1)
    assert float(layer(torch.ones(10**6)).mean()) == pytest.approx(1, abs=0.002)
    assert torch.equal(layer.eval()(rows), rows)


def test_an_encoder_in_training_attends_so_and_in_use_as_torch_does(encoder_folder) -> None:
    encoder = load_encoder(find_encoder(str(encoder_folder("bert"))))
    model = encoder.model
    assert model.config._attn_implementation == NAME
    assert "featbert" not in model.config.to_json_string()
    ids = torch.arange(5, 25).view(2, 10)
    called = []
    with pytest.MonkeyPatch.context() as patch:
        apply = _Attention.apply
        patch.setattr(_Attention, "apply", lambda *a: called.append(1) or apply(*a))
        in_use = model(ids).last_hidden_state
        assert not called
        model.train()(ids)
    assert len(called) == encoder.num_layers
    model.eval().set_attn_implementation("sdpa")
    assert torch.equal(model(ids).last_hidden_state, in_use)


@pytest.fixture
def _fast_fp32(monkeypatch: pytest.MonkeyPatch) -> None:
    """An encoder has the layers that it has on AMD's processors with AVX-512."""
    monkeypatch.setattr(kernels, "_fp32_is_faster", lambda: torch.float32 in ONEDNN_DTYPES)


def replaced(plain: nn.Linear) -> nn.Module:
    """A copy of a layer as an encoder has it."""
    model = nn.Sequential(copy.deepcopy(plain))
    use_products(model)
    return model[0]


@pytest.mark.usefixtures("_fast_fp32")
@pytest.mark.parametrize("shape", [(0, 6), (1, 6), (3, 5, 6), (67, 6), (7, 19, 6)])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("frozen", ["", "weight", "bias"])
def test_outputs_and_gradients_are_those_of_torch(bias, shape, frozen) -> None:
    torch.manual_seed(1)
    plain = nn.Linear(6, 4, bias=bias)
    ours = replaced(plain)
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


@pytest.mark.usefixtures("_fast_fp32")
def test_an_output_can_be_changed_in_place() -> None:
    """As Longformer and DeBERTa do."""
    ours, inputs = replaced(nn.Linear(6, 4)), torch.randn(67, 6, requires_grad=True)
    out = ours(inputs)
    out *= 2
    out.sum().backward()
    torch.testing.assert_close(inputs.grad, 2 * ours.weight.sum(0).expand(67, 6))


@pytest.mark.usefixtures("_fast_fp32")
def test_bf16_is_left_to_torch() -> None:
    plain = nn.Linear(6, 4)
    ours, vectors = replaced(plain), torch.randn(3, 6)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(ours(vectors), plain(vectors))
    half = vectors.bfloat16()
    assert torch.equal(ours.bfloat16()(half), plain.bfloat16()(half))


@pytest.mark.parametrize(
    ("dtype", "fp32_is_faster"),
    [(torch.float32, False), (torch.float32, True), (torch.bfloat16, False)],
)
@pytest.mark.parametrize("bias", [True, False])
def test_weights_that_are_laid_out_give_equal_products(
    monkeypatch, dtype, fp32_is_faster, bias
) -> None:
    monkeypatch.setattr(kernels, "_fp32_is_faster", lambda: fp32_is_faster)
    plain = nn.Linear(48, 20, bias=bias, dtype=dtype)
    model = nn.Sequential(replaced(plain))
    vectors = torch.randn(3, 11, 48, dtype=dtype)
    is_laid_out = (dtype == torch.bfloat16 or fp32_is_faster) and dtype in ONEDNN_DTYPES
    with torch.inference_mode():
        lay_out_products(model)
        assert type(model[0]) is (FrozenLinear if is_laid_out else nn.Linear)
        torch.testing.assert_close(model(vectors), plain(vectors))
    assert torch.equal(model[0].weight, plain.weight)
    names = ["0.bias"] * bias if is_laid_out else ["0.weight", *["0.bias"] * bias]
    assert [name for name, _ in model.named_parameters()] == names


@pytest.mark.parametrize("dtype", ONEDNN_DTYPES)
@pytest.mark.parametrize("shape", [(0, 6), (1, 6), (3, 5, 6), (67, 6), (7, 19, 6)])
@pytest.mark.parametrize("bias", [True, False])
def test_products_of_any_number_of_rows_are_those_of_torch(dtype, shape, bias) -> None:
    torch.manual_seed(1)
    plain, vectors = nn.Linear(6, 4, bias=bias, dtype=dtype), torch.randn(shape, dtype=dtype)
    with torch.no_grad():
        for weight in (plain.weight, laid_out(plain.weight))[: 1 + (0 not in shape)]:
            torch.testing.assert_close(product(vectors, weight, plain.bias), plain(vectors))
