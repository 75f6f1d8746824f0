"""Device and precision are asked of the machine."""

import os
import subprocess
import sys

import pytest
import torch

from featbert.encoders import device
from featbert.encoders.device import Device, find_device, find_precision, has_native_bf16, to_device
from featbert.errors import InputError
from featbert.features.extraction import HostCopy

CPU = Device("cpu", "a processor", 1)
POLICIES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")


@pytest.mark.parametrize("own", [{}, {POLICIES[0]: "ACTIVE"}])
def test_waiting_threads_sleep_unless_the_user_says_otherwise(own):
    """Where torch is not loaded yet: it reads the variables then."""
    code = f"import os, sys, featbert; print(*map(os.getenv, {POLICIES}), 'torch' in sys.modules)"
    env = {name: value for name, value in os.environ.items() if name not in POLICIES} | own
    found = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert found.stdout.split() == (["ACTIVE", "None"] if own else ["PASSIVE", "1000"]) + ["False"]


def test_auto_takes_a_gpu_where_there_is_one(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Test GPU")
    assert [find_device(k).kind for k in ("auto", "cuda", "cpu")] == ["cuda", "cuda", "cpu"]
    assert find_device().name == "Test GPU"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert find_device("auto").kind == "cpu"
    with pytest.raises(InputError, match="cuda"):
        find_device("cuda")


def test_a_gpu_is_chosen_by_its_number(monkeypatch):
    """What torch is told; no machine of the tests has two."""
    chosen = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Test GPU")
    found = find_device("cuda:1")
    assert (found.kind, found.spec, chosen) == ("cuda", "cuda:1", [1])
    assert find_device("cuda").spec == "cuda"
    for wrong in ("cuda:2", "cuda:x", "cuda:", "cpu:0", "mps:1", "mps", "tpu"):
        with pytest.raises(InputError, match=wrong):
            find_device(wrong)


def test_auto_precision_is_bf16_where_it_is_native_only(monkeypatch):
    monkeypatch.setattr(device, "has_native_bf16", has_native_bf16)
    for native, wanted in ((True, "bf16"), (False, "fp32")):
        capabilities = {"avx512_bf16": native, "avx2": True}
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda c=capabilities: c)
        assert has_native_bf16("cpu") is native
        assert find_precision("auto", CPU) == wanted
        assert find_precision("fp32", CPU) == "fp32"
        assert find_precision("bf16", CPU) == "bf16"


def test_fp16_needs_a_gpu():
    assert find_precision("fp16", Device("cuda", "a GPU", 1)) == "fp16"
    with pytest.raises(InputError, match="fp16"):
        find_precision("fp16", CPU)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_one_value_that_is_not_finite_is_seen(value, dtype) -> None:
    highest = torch.finfo(dtype).max
    states = torch.tensor([highest, -highest, 0.0, -0.0] * 6, dtype=dtype).reshape(2, 3, 4)
    assert HostCopy(states).fetched()[1]
    states[1, 2, 0] = value
    assert not HostCopy(states).fetched()[1]
    assert HostCopy(states[:, :0]).fetched()[1]


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no GPU")
def test_what_leaves_is_what_was_computed() -> None:
    made = to_device(torch.arange(1 << 20, dtype=torch.float32), torch.device("cuda"))
    leaving = HostCopy(made * 2)
    assert torch.equal(leaving.fetched()[0], torch.arange(1 << 20) * 2.0)
