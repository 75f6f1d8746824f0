"""Copies between host and GPU that make nobody wait: pinned memory, a stream of their own.

On a processor both directions give the tensor itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

# Unsigned type, all bits but the sign, and infinity, above which are the NaNs (IEEE 754).
_BITS = {
    "float16": (np.uint16, 0x7FFF, 0x7C00),
    "float32": (np.uint32, 0x7FFF_FFFF, 0x7F80_0000),
}


def to_device(tensor: Tensor, device: torch.device) -> Tensor:
    """The tensor on `device`; the host goes on while it is copied."""
    if device.type == "cuda" and not tensor.is_cuda:
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=True)


class Leaving:
    """A tensor that was just computed, on its way to the host while the device computes on.

    Made by the thread that computes; `work` and `host` may be called by another one.
    """

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.stream: torch.cuda.Stream | None = None
        if tensor.is_cuda:
            self.stream = torch.cuda.Stream(tensor.device)  # type: ignore[no-untyped-call]
            # What was computed until now, and nothing that comes after.
            self.stream.wait_stream(torch.cuda.current_stream(tensor.device))
            tensor.record_stream(self.stream)

    def is_finite(self) -> bool:
        """Whether every value is; computed beside what the device does meanwhile."""
        if self.stream is None:
            return _all_finite(self.tensor.numpy())
        with torch.cuda.stream(self.stream):
            # The largest value is several times faster to find than every one that is not finite.
            return not self.tensor.numel() or bool(self.tensor.abs().amax().isfinite())

    def on_host(self) -> Tensor:
        """The tensor in the host's memory."""
        if self.stream is None:
            return self.tensor
        with torch.cuda.stream(self.stream):
            host = torch.empty(self.tensor.shape, dtype=self.tensor.dtype, pin_memory=True)
            host.copy_(self.tensor, non_blocking=True)
        self.stream.synchronize()
        return host


def _all_finite(array: NDArray[Any]) -> bool:
    """Whether float16 or float32 values are finite, by their bits.

    One thread of numpy, a row at a time: torch would call all its threads together, and take them
    from those that compute.
    """
    kind, magnitude, infinity = _BITS[array.dtype.name]
    bits = array.view(kind)
    room = np.empty(bits.shape[1:], kind)
    return all(np.bitwise_and(row, magnitude, out=room).max(initial=0) < infinity for row in bits)
