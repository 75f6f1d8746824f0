"""Copies between host and GPU that make nobody wait: pinned memory, a stream of their own.

On a processor both directions give the tensor itself.
"""

from __future__ import annotations

import torch
from torch import Tensor


def to_device(tensor: Tensor, device: torch.device) -> Tensor:
    """The tensor on `device`; the host goes on while it is copied."""
    if device.type == "cuda":
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
