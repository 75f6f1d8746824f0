"""Operations of an encoder in matrix products, a multiply-add as two.

torch counts them in a few small windows. From these follow, for other windows:

    operations = a + b windows + c tokens + d pairs of tokens

Padding does not count, nor layers above the highest one that is read, nor work that a pass does
once for all windows. Encoders of one architecture have the same coefficients, which are counted
once in a process.
"""

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from featbert.encoders.batches import PieceBatch
from featbert.encoders.batching import Ints
from featbert.encoders.encoder import Encoder
from featbert.encoders.kernels import PRODUCT_FLOPS

Floats = NDArray[np.float64]

# By architecture and computation.
_counted: dict[Hashable, Floats] = {}


def forward_flops(encoder: Encoder, window_lengths: Ints, *, highest: int | None = None) -> float:
    """Operations of a forward pass over windows of these lengths, specials included.

    `highest` is the last layer that is computed. By default that is L, and then the pooler, if any.
    """

    def forward(batch: PieceBatch) -> None:
        with torch.no_grad():
            encoder(batch) if highest is None else encoder.hidden_states(batch, [highest])

    return float(_terms(window_lengths)[1:] @ _coefficients(encoder, highest, forward)[1:])


def training_flops(encoder: Encoder, window_lengths: Ints) -> float:
    """Operations of a training step over windows of these lengths: forward and backward.

    If all is trained, that is three forward passes. Else it depends on where gradients pass.
    """
    trained = tuple(p.requires_grad for p in encoder.model.parameters())
    if all(trained):
        return 3 * forward_flops(encoder, window_lengths)

    def step(batch: PieceBatch) -> None:
        states = encoder(batch)
        if states.requires_grad:
            parameters = [p for p in encoder.model.parameters() if p.requires_grad]
            torch.autograd.grad(states.sum(), parameters, allow_unused=True)

    return float(_terms(window_lengths) @ _coefficients(encoder, trained, step))


def _terms(lengths: Ints) -> Floats:
    """(4,) passes, windows, tokens, and pairs of tokens."""
    squares = lengths.astype(np.float64) ** 2
    return np.array([1.0, len(lengths), lengths.sum(), squares.sum()])


def _coefficients(
    encoder: Encoder, name: Hashable, compute: Callable[[PieceBatch], None]
) -> Floats:
    """(4,) operations of `compute`, which `name` tells from others, for each of `_terms`."""
    # What the operations depend on: modules, their sizes and their config.
    config: Any = encoder.model.config
    modules = tuple(type(module) for module in encoder.model.modules())
    shapes = tuple(parameter.shape for parameter in encoder.model.parameters())
    key = modules, shapes, encoder.pooler, config.to_json_string(), name
    if key in _counted:
        return _counted[key]
    device, terms, counts = next(encoder.parameters()).device, [], []
    for rows, length in ((1, 2), (2, 2), (1, 3), (1, 4)):
        numbers = torch.arange(rows * length, device=device)
        positions = numbers[:rows] if encoder.pooler else numbers
        ids, n_read = numbers.view(rows, length), len(positions)
        batch = PieceBatch(ids, None, None, positions, None, n_read)
        # Fused attention is counted as the products it is made of. Random states are restored.
        with (
            torch.random.fork_rng([device] if device.type == "cuda" else []),
            sdpa_kernel(SDPBackend.MATH),
            FlopCounterMode(display=False, custom_mapping=PRODUCT_FLOPS) as counter,
        ):
            compute(batch)
        terms.append(_terms(np.full(rows, length)))
        counts.append(counter.get_total_flops())
    solution: Floats = np.linalg.solve(terms, counts).round().astype(np.float64)
    _counted[key] = solution
    return solution
