"""Device and precision are asked of the machine."""

from __future__ import annotations

import pytest
import torch

from featbert.encoders import device
from featbert.encoders.device import (
    Device,
    DeviceError,
    find_device,
    find_precision,
    has_native_bf16,
)

CPU = Device("cpu", "a processor", 1)


def test_the_processor():
    found = find_device("cpu")
    assert found.kind == "cpu"
    assert found.name
    assert found.threads == torch.get_num_threads()
    assert found.torch == torch.device("cpu")


def test_auto_takes_a_gpu_where_there_is_one(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Test GPU")
    assert [find_device(k).kind for k in ("auto", "cuda", "cpu")] == ["cuda", "cuda", "cpu"]
    assert find_device().name == "Test GPU"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert find_device("auto").kind == "cpu"
    with pytest.raises(DeviceError, match="a GPU expected for --device cuda, torch finds none"):
        find_device("cuda")


def test_unknown_names():
    with pytest.raises(DeviceError, match="device auto, cpu or cuda expected, found 'tpu'"):
        find_device("tpu")
    with pytest.raises(DeviceError, match="precision auto, fp32, bf16, fp16 expected, found 'f8'"):
        find_precision("f8", CPU)


def test_auto_precision_is_bf16_where_it_is_native_only(monkeypatch):
    monkeypatch.setattr(device, "has_native_bf16", has_native_bf16)
    for native, wanted in ((True, "bf16"), (False, "fp32")):
        capabilities = {"avx512_bf16": native, "avx2": True}
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda c=capabilities: c)
        assert has_native_bf16(CPU) is native
        assert find_precision("auto", CPU) == wanted
        assert find_precision("fp32", CPU) == "fp32"
        assert find_precision("bf16", CPU) == "bf16"


def test_fp16_needs_a_gpu():
    assert find_precision("fp16", Device("cuda", "a GPU", 1)) == "fp16"
    with pytest.raises(DeviceError, match="fp16 computes on a GPU only"):
        find_precision("fp16", CPU)
