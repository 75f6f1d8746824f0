"""What an encoder computes on a processor in ways of its own: matrix products and dropout.

torch gives float32 products to MKL, which on processors of other makers than Intel reaches less
than half of oneDNN's rate; bfloat16 products go to oneDNN anyway where it has them, after a copy of
the bias. oneDNN compiles a product for each number of rows and keeps it, up to several MB, so rows
are padded to few sizes (`fitted`).

Dropout, in training, takes fewer random numbers and less memory:

    w = softmax(scale Q K^T),  out = (w * kept / (1 - p)) V

torch draws a number for each entry in double precision, and keeps several tensors of scores. Here
an entry takes 16 random bits, so that p is exact to 1/131,072, and what is kept of a pair of tokens
is its weight, in the precision of the vectors, and a bit in a byte. A few sequences are computed at
a time, while their scores are in the processor's cache. What is not trained, causal, or on a GPU is
left to torch.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

NAME = "featbert"
# Scores that are computed at a time.
BLOCK = 1 << 17
# Of the products that a weight is laid out for.
ROWS = 32


class Linear(nn.Linear):
    """`nn.Linear` with the same weights and, but for the last digits, the same numbers."""

    def forward(self, vectors: Tensor) -> Tensor:
        learns = torch.is_grad_enabled()
        kinds = [torch.float32] if learns else KINDS
        plain = vectors.device.type == "cpu" and vectors.dtype in kinds and vectors.numel()
        if not plain or torch.is_autocast_enabled("cpu"):
            return super().forward(vectors)
        if learns:
            found: Tensor = _Product.apply(vectors, self.weight, self.bias)  # type: ignore[no-untyped-call]
            return found
        return _product(vectors, self.weight, self.bias)


def use_products(model: nn.Module) -> None:
    """Lets every plain linear layer of a model compute so, where torch has oneDNN."""
    if not PRODUCT_FLOPS:
        return
    for module in model.modules():
        if type(module) is nn.Linear:
            module.__class__ = Linear


def _product_flops(vectors: Any, weight: Any, *_: Any, out_shape: Any = None, **__: Any) -> int:
    return 2 * int(math.prod(vectors) * weight[0])


# Operations of these products by their shapes, for torch's `FlopCounterMode`.
PRODUCT_FLOPS: dict[Any, Any] = {}
# What oneDNN multiplies on this processor: bfloat16 not on every one.
KINDS: list[torch.dtype] = []
if torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
    PRODUCT_FLOPS[torch.ops.mkldnn._linear_pointwise] = _product_flops
    KINDS.append(torch.float32)
    if torch.ops.mkldnn._is_mkldnn_bf16_supported():
        KINDS.append(torch.bfloat16)


def product(vectors: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """(..., K) and (N, K) -> (..., N), without gradients; the weight may be `laid_out`."""
    if vectors.device.type == "cpu" and vectors.dtype in KINDS and vectors.numel():
        return _product(vectors, weight, bias)
    return nn.functional.linear(vectors, weight, bias)


def fitted(rows: Tensor) -> Tensor:
    """(..., n, K) -> (..., N, K), zeros after the rows."""
    spare = _spare(rows.shape[-2])
    return nn.functional.pad(rows, (0, 0, 0, spare)) if spare else rows


def _spare(rows: int) -> int:
    """Rows to the next size: a sixteenth at most, 16 sizes an octave."""
    return -rows % (1 << max(0, rows.bit_length() - 5))


def laid_out(weight: Tensor) -> Tensor:
    """A weight (N, K) for many products of few rows each, before which oneDNN would copy it."""
    if weight.device.type != "cpu" or weight.dtype not in KINDS:
        return weight
    found: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), ROWS)
    return found


def _product(vectors: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """(..., K) and (N, K) -> (..., N)"""
    rows = vectors.numel() // vectors.shape[-1]
    spare = _spare(rows)
    if spare:
        padded = nn.functional.pad(vectors.reshape(rows, -1), (0, 0, 0, spare))
        shape = (*vectors.shape[:-1], len(weight))
        return _product(padded, weight, bias)[:rows].view(shape)
    found: Tensor = torch.ops.mkldnn._linear_pointwise(vectors, weight, bias, "none", [], "")
    return found


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, vectors: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        needs = ctx.needs_input_grad  # what is frozen keeps no vectors
        ctx.save_for_backward(vectors if needs[1] else None, weight if needs[0] else None)
        return _product(vectors, weight, bias)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = gradients
        vectors, weight = ctx.saved_tensors
        needs = ctx.needs_input_grad
        rows = gradient.reshape(-1, gradient.shape[-1])
        of_weight = None
        if needs[1]:
            inputs = vectors.reshape(-1, vectors.shape[-1])
            of_weight = _product(fitted(rows).t(), fitted(inputs).t())
        return (
            _product(gradient, weight.t()) if needs[0] else None,
            of_weight,
            rows.sum(0) if needs[2] else None,
        )


class Dropout(nn.Dropout):
    """`nn.Dropout` with random numbers of 16 bits."""

    def forward(self, values: Tensor) -> Tensor:
        if not (self.training and self.p and values.device.type == "cpu"):
            return super().forward(values)
        return values * kept(values.shape, self.p).to(values.dtype).div_(1 - self.p)


def kept(shape: torch.Size, p: float) -> Tensor:
    """Boolean, false with probability p."""
    count = math.prod(shape)
    four_each = torch.empty(-(-count // 4), dtype=torch.int64).random_(-(2**63), None)
    return four_each.view(torch.int16)[:count].view(shape) >= round(p * 2**16) - 2**15


def use_dropout(model: Any) -> None:
    """Lets an encoder of transformers drop out so."""
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
    **others: Any,
) -> tuple[Tensor, None]:
    """As `sdpa_attention_forward` of transformers: (B, heads, S, D) -> (B, S, heads, D)."""
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    plain = key.shape == query.shape == value.shape and query.device.type == "cpu"
    causal = getattr(module, "is_causal", False) if attention_mask is None else False
    if (
        not (plain and dropout and torch.is_grad_enabled())
        or causal
        or any(others.get(name) is not None for name in ("softcap", "position_bias"))
    ):
        return sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout, scaling, **others
        )
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    found: Tensor = _Attention.apply(query, key, value, attention_mask, dropout, scale)  # type: ignore[no-untyped-call]
    return found.transpose(1, 2).contiguous(), None


class _Attention(torch.autograd.Function):
    """Products in the precision of the vectors; softmax and its gradient in float32 at least."""

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
        found = torch.empty_like(query)
        weights = query.new_empty((batch, heads, tokens, tokens))
        used = torch.empty_like(weights, dtype=torch.bool)
        with torch.autocast("cpu", enabled=False):
            for part in ctx.parts:
                scores = (query[part] * scale) @ key[part].mT
                if mask is not None:
                    scores.masked_fill_(~mask[part], torch.finfo(scores.dtype).min)
                weights[part] = scores.softmax(-1, dtype=_wide(scores))
                used[part] = kept(scores.shape, p)
                found[part] = (weights[part] * used[part]) @ (value[part] / (1 - p))
        ctx.save_for_backward(query, key, value, weights, used, found)
        ctx.p, ctx.scale = p, scale
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, above: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, weights, used, found = ctx.saved_tensors
        of_query, of_key, of_value = gradients = [
            torch.empty_like(vectors) if needed else None
            for vectors, needed in zip((query, key, value), ctx.needs_input_grad, strict=False)
        ]
        for part in ctx.parts:
            upon = above[part] / (1 - ctx.p)
            if of_value is not None:
                of_value[part] = (weights[part] * used[part]).mT @ upon
            if of_query is None and of_key is None:
                continue
            mean = (above[part] * found[part]).sum(-1, keepdim=True, dtype=_wide(found))
            of_weights = (upon @ value[part].mT).to(_wide(found)) * used[part]
            of_scores = (of_weights.sub_(mean) * weights[part]).to(query.dtype)
            if of_query is not None:
                of_query[part] = of_scores @ (key[part] * ctx.scale)
            if of_key is not None:
                of_key[part] = of_scores.mT @ (query[part] * ctx.scale)
        return *gradients, None, None, None


def _wide(values: Tensor) -> torch.dtype:
    return torch.promote_types(values.dtype, torch.float32)
