"""Matrix products and dropout on a processor.

Products. torch multiplies fp32 matrices with MKL, which reaches half of oneDNN's speed on AMD's
processors with AVX-512. There encoders use oneDNN. oneDNN lays out a weight for each product. The
weights of a frozen encoder and of an LSTM's steps are laid out once. oneDNN compiles a product for
each number of rows and keeps it, up to several MB, so rows are padded to few sizes (`fitted`). A
frozen encoder does not pad: its extraction would take up to a fifth longer.

Dropout in training takes fewer random numbers and less memory:

    w = softmax(scale Q K^T),  out = (w * mask / (1 - p)) V

torch draws a number per entry in double precision, and keeps several tensors of scores. Here an
entry takes 16 random bits, so p is exact to 1/131,072. The backward pass needs the weight of each
pair of tokens, in the precision of the vectors, and a bit of the mask in a byte. A few sequences
are computed at a time, while their scores are in the processor's cache. torch computes everything
that is not trained, causal, or on a GPU.

benchmarks/README.md has the measured ratios to torch.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from featbert.encoders.device import processor_name

# Name of the attention for transformers.
NAME = "featbert"
# Scores that are computed at a time.
BLOCK = 1 << 17
# Rows of products that oneDNN lays a weight out for: of an LSTM, and of a frozen encoder.
PACKED_ROWS, ENCODER_ROWS = 32, 512


def _product_flops(vectors: Any, weight: Any, *_: Any, out_shape: Any = None, **__: Any) -> int:
    return 2 * int(math.prod(vectors) * weight[0])


# Operations of these products by their shapes, for torch's `FlopCounterMode`.
PRODUCT_FLOPS: dict[Any, Any] = {}
# Precisions that oneDNN multiplies on this processor.
ONEDNN_DTYPES: list[torch.dtype] = []
if torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
    PRODUCT_FLOPS[torch.ops.mkldnn._linear_pointwise] = _product_flops
    ONEDNN_DTYPES.append(torch.float32)
    if torch.ops.mkldnn._is_mkldnn_bf16_supported():
        ONEDNN_DTYPES.append(torch.bfloat16)


def use_products(model: nn.Module) -> None:
    """Replaces each nn.Linear by oneDNN's, where its fp32 products are faster than torch's."""
    if _fp32_is_faster():
        for module in model.modules():
            if type(module) is nn.Linear:
                module.__class__ = Linear


def _fp32_is_faster() -> bool:
    """Whether oneDNN multiplies fp32 matrices faster than torch's library."""
    capability = torch.backends.cpu.get_cpu_capability()
    return torch.float32 in ONEDNN_DTYPES and capability == "AVX512" and "AMD" in processor_name()


class Linear(nn.Linear):
    """`nn.Linear` with the same weights and, up to rounding, the same fp32 numbers."""

    def forward(self, vectors: Tensor) -> Tensor:
        is_fp32 = vectors.device.type == "cpu" and vectors.dtype == torch.float32
        if not is_fp32 or torch.is_autocast_enabled("cpu"):
            return super().forward(vectors)
        output: Tensor = _Product.apply(vectors, self.weight, self.bias)  # type: ignore[no-untyped-call]
        return output


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, vectors: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        needs = ctx.needs_input_grad  # a frozen weight keeps no vectors
        ctx.save_for_backward(vectors if needs[1] else None, weight if needs[0] else None)
        return product(vectors, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = gradients
        vectors, weight = ctx.saved_tensors
        needs = ctx.needs_input_grad
        rows = gradient.reshape(-1, gradient.shape[-1])
        weight_gradient = None
        if needs[1]:
            inputs = vectors.reshape(-1, vectors.shape[-1])
            multiply = _pointwise if len(rows) else nn.functional.linear
            weight_gradient = multiply(fitted(rows).t(), fitted(inputs).t(), None)
        return (
            product(gradient, weight.t()) if needs[0] else None,
            weight_gradient,
            rows.sum(0) if needs[2] else None,
        )


class FrozenLinear(nn.Linear):
    """`nn.Linear` without gradients, with its weight in oneDNN's layout."""

    laid_out: Tensor

    def forward(self, vectors: Tensor) -> Tensor:
        return _pointwise(vectors, self.laid_out, self.bias)

    @property
    def weight(self) -> Tensor:  # type: ignore[override]
        """The weight as torch lays it out, for layers that read it themselves."""
        return self.laid_out.to_dense()


def lay_out_products(model: nn.Module) -> None:
    """Lays out the weights of an encoder that is not trained, in their place.

    Weights that oneDNN does not multiply stay, and weights in fp32 where torch is as fast.
    """
    module: Any
    for module in model.modules():
        is_bf16 = type(module) is nn.Linear and module.weight.dtype == torch.bfloat16
        if not is_bf16 and type(module) is not Linear:
            continue
        packed = laid_out(module.weight.detach(), ENCODER_ROWS)
        if packed.is_mkldnn:
            del module.weight
            module.__class__ = FrozenLinear
            module.register_buffer("laid_out", packed)


def product(vectors: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """(..., K) and (N, K) -> (..., N), without gradients. The weight may be `laid_out`."""
    if vectors.device.type != "cpu" or vectors.dtype not in ONEDNN_DTYPES or not vectors.numel():
        return nn.functional.linear(vectors, weight, bias)
    rows = vectors.numel() // vectors.shape[-1]
    if not _spare(rows):
        return _pointwise(vectors, weight, bias)
    padded = _pointwise(fitted(vectors.reshape(rows, -1)), weight, bias)
    # Not a view, which autograd would not let the caller change.
    return padded.resize_(*vectors.shape[:-1], len(weight))


def _pointwise(vectors: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    output: Tensor = torch.ops.mkldnn._linear_pointwise(vectors, weight, bias, "none", [], "")
    return output


def fitted(rows: Tensor) -> Tensor:
    """(..., n, K) -> (..., N, K), padded with zeros."""
    spare = _spare(rows.shape[-2])
    return nn.functional.pad(rows, (0, 0, 0, spare)) if spare else rows


def _spare(rows: int) -> int:
    """Rows to the next size: a sixteenth at most, 16 sizes an octave."""
    return -rows % (1 << max(0, rows.bit_length() - 5))


def laid_out(weight: Tensor, rows: int = PACKED_ROWS) -> Tensor:
    """A weight (N, K) for many products of `rows` rows. oneDNN would else copy it each time."""
    if weight.device.type != "cpu" or weight.dtype not in ONEDNN_DTYPES:
        return weight
    packed: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), rows)
    return packed


class Dropout(nn.Dropout):
    """`nn.Dropout` with random numbers of 16 bits."""

    def forward(self, values: Tensor) -> Tensor:
        if not (self.training and self.p and values.device.type == "cpu"):
            return super().forward(values)
        return values * kept(values.shape, self.p).to(values.dtype).div_(1 - self.p)


def kept(shape: torch.Size, p: float) -> Tensor:
    """Boolean mask, false with probability p."""
    count = math.prod(shape)
    fours = torch.empty(-(-count // 4), dtype=torch.int64).random_(-(2**63), None)
    return fours.view(torch.int16)[:count].view(shape) >= round(p * 2**16) - 2**15


def use_dropout(model: Any) -> None:
    """Replaces dropout, also of attention, in an encoder of transformers."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    for module in model.modules():
        if type(module) is nn.Dropout:
            module.__class__ = Dropout
    if model.config._attn_implementation == "sdpa":
        AttentionInterface.register(NAME, _attention)
        AttentionMaskInterface.register(NAME, sdpa_mask)
        model.set_attn_implementation(NAME)


def _attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **options: Any,
) -> tuple[Tensor, None]:
    """As `sdpa_attention_forward` of transformers: (B, heads, S, D) -> (B, S, heads, D)."""
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    plain = key.shape == query.shape == value.shape and query.device.type == "cpu"
    causal = attention_mask is None and getattr(module, "is_causal", False)
    biased = any(options.get(name) is not None for name in ("softcap", "position_bias"))
    if not (plain and dropout and torch.is_grad_enabled()) or causal or biased:
        return sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout, scaling, **options
        )
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    output: Tensor = _Attention.apply(query, key, value, attention_mask, dropout, scale)  # type: ignore[no-untyped-call]
    return output.transpose(1, 2).contiguous(), None


class _Attention(torch.autograd.Function):
    """Products in the precision of the vectors. Softmax and its gradient in float32 at least."""

    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        p: float,
        scale: float,
    ) -> Tensor:
        batch, heads, tokens, _ = query.shape
        step = max(1, BLOCK // (heads * tokens**2))
        ctx.parts = [slice(start, start + step) for start in range(0, batch, step)]
        output = torch.empty_like(query)
        weights = query.new_empty((batch, heads, tokens, tokens))
        used = torch.empty_like(weights, dtype=torch.bool)
        with torch.autocast("cpu", enabled=False):
            for part in ctx.parts:
                scores = (query[part] * scale) @ key[part].mT
                if mask is not None:
                    scores.masked_fill_(~mask[part], torch.finfo(scores.dtype).min)
                weights[part] = scores.softmax(-1, dtype=_wide(scores))
                used[part] = kept(scores.shape, p)
                output[part] = (weights[part] * used[part]) @ (value[part] / (1 - p))
        ctx.save_for_backward(query, key, value, weights, used, output)
        ctx.p, ctx.scale = p, scale
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, weights, used, output = ctx.saved_tensors
        d_query, d_key, d_value = gradients = [
            torch.empty_like(vectors) if needed else None
            for vectors, needed in zip((query, key, value), ctx.needs_input_grad, strict=False)
        ]
        for part in ctx.parts:
            scaled = gradient[part] / (1 - ctx.p)
            if d_value is not None:
                d_value[part] = (weights[part] * used[part]).mT @ scaled
            if d_query is None and d_key is None:
                continue
            mean = (gradient[part] * output[part]).sum(-1, keepdim=True, dtype=_wide(output))
            d_weights = (scaled @ value[part].mT).to(_wide(output)) * used[part]
            d_scores = (d_weights.sub_(mean) * weights[part]).to(query.dtype)
            if d_query is not None:
                d_query[part] = d_scores @ (key[part] * ctx.scale)
            if d_key is not None:
                d_key[part] = d_scores.mT @ (query[part] * ctx.scale)
        return *gradients, None, None, None


def _wide(values: Tensor) -> torch.dtype:
    return torch.promote_types(values.dtype, torch.float32)
