"""Device and precision: asked of the machine, not assumed."""

from __future__ import annotations

import contextlib
import platform
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

import torch

from featbert.errors import InputError

Precision = Literal["fp32", "bf16", "fp16"]
PRECISIONS = ("auto", "fp32", "bf16", "fp16")
DEVICES = ("auto", "cpu", "cuda")
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


class DeviceError(InputError):
    """A device or precision that this machine does not have."""


@dataclass(frozen=True)
class Device:
    """Where tensors live and how they are called in signatures.

    Attributes:
        kind: "cpu" or "cuda".
        name: processor or GPU name.
        threads: threads torch computes with on the processor.
    """

    kind: str
    name: str
    threads: int

    @property
    def torch(self) -> torch.device:
        return torch.device(self.kind)


def find_device(wanted: str = "auto") -> Device:
    """The device to compute on; "auto" takes a GPU when there is one.

    Raises:
        DeviceError: "cuda" without a usable GPU, or an unknown name.
    """
    if wanted not in DEVICES:
        raise DeviceError(f"device auto, cpu or cuda expected, found {wanted!r}")
    gpu = torch.cuda.is_available()
    if gpu:  # fp32 means fp32, in the LSTM (cuDNN) as in the encoder
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cuda.matmul.allow_tf32 = False
    if wanted == "cuda" and not gpu:
        raise DeviceError("a GPU expected for --device cuda, torch finds none; use auto or cpu")
    if gpu and wanted != "cpu":
        return Device("cuda", torch.cuda.get_device_name(), torch.get_num_threads())
    return Device("cpu", _processor(), torch.get_num_threads())


def has_native_bf16(device: Device) -> bool:
    """Whether the hardware multiplies bfloat16 matrices itself; emulated it is slower than fp32."""
    if device.kind == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return processor_has_bf16()


def processor_has_bf16() -> bool:
    """Whether the processor multiplies bfloat16 matrices itself."""
    capabilities: dict[str, bool] = getattr(torch.cpu, "get_capabilities", dict)()
    return any(capabilities.get(k, False) for k in ("avx512_bf16", "amx_bf16", "bf16", "arm_bf16"))


@contextlib.contextmanager
def without_onednn() -> Iterator[None]:
    """torch's own kernels in place of oneDNN's within the block, on a processor."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # setting it tells of Intel GPUs that are not there
        with torch.backends.mkldnn.flags(enabled=False):
            yield


def find_precision(wanted: str, device: Device) -> Precision:
    """The precision to compute in; "auto" is bf16 where it is native, fp32 elsewhere.

    Raises:
        DeviceError: an unknown name, or fp16 on a processor.
    """
    if wanted not in PRECISIONS:
        raise DeviceError(f"precision {', '.join(PRECISIONS)} expected, found {wanted!r}")
    if wanted == "auto":
        return "bf16" if has_native_bf16(device) else "fp32"
    if wanted == "fp16" and device.kind == "cpu":
        raise DeviceError(
            "fp16 computes on a GPU only; use --precision fp32 or auto on a processor"
        )
    return cast(Precision, wanted)


def autocast(device: Device, precision: Precision) -> AbstractContextManager[None]:
    """Products of fp32 weights computed in `precision`; nothing at all for fp32."""
    if precision == "fp32":
        return contextlib.nullcontext()
    return torch.autocast(device.kind, dtype=DTYPES[precision])


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text("utf-8").split("\n"):
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
