"""Matrix products of an encoder on a processor, through oneDNN.

torch gives float32 products to MKL, which on processors of other makers than Intel reaches less
than half of oneDNN's rate; bfloat16 products go to oneDNN anyway, after a copy of the bias.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn


class Linear(nn.Linear):
    """`nn.Linear` with the same weights and, but for the last digits, the same numbers."""

    def forward(self, vectors: Tensor) -> Tensor:
        learns = torch.is_grad_enabled()
        kinds = (torch.float32,) if learns else (torch.float32, torch.bfloat16)
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
if torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
    PRODUCT_FLOPS[torch.ops.mkldnn._linear_pointwise] = _product_flops


def _product(vectors: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """(..., K) and (N, K) -> (..., N)"""
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
            of_weight = _product(rows.t(), vectors.reshape(-1, vectors.shape[-1]).t())
        return (
            _product(gradient, weight.t()) if needs[0] else None,
            of_weight,
            rows.sum(0) if needs[2] else None,
        )
