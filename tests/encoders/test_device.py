"""Device, precision and memory are asked of the machine."""

import os
from collections import namedtuple
from pathlib import Path

import psutil
import pytest
import torch

from featbert.encoders import device, memory
from featbert.encoders.device import (
    Device,
    computing_threads,
    find_device,
    find_precision,
    has_fast_bf16,
    to_device,
    use_threads,
)
from featbert.encoders.memory import available_memory, check_memory, peak_memory, reset_peak_memory
from featbert.errors import InputError
from featbert.features.extraction import HostCopy
from tests.processes import python

CPU = Device("cpu", "a processor", 1)
POLICIES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")


@pytest.mark.parametrize("own", [{}, {POLICIES[0]: "ACTIVE"}])
def test_waiting_threads_sleep_unless_the_user_says_otherwise(own):
    """Where torch is not loaded yet: it reads the variables then."""
    code = f"import os, sys, featbert; print(*map(os.getenv, {POLICIES}), 'torch' in sys.modules)"
    env = {name: value for name, value in os.environ.items() if name not in POLICIES} | own
    expected = ("ACTIVE", "None") if own else ("PASSIVE", "1000")
    assert python(code, env=env).stdout.split() == [*expected, "False"]


def test_a_gpu_is_taken_where_there_is_one_and_by_its_number(monkeypatch):
    chosen = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Test GPU")
    assert [find_device(k).kind for k in ("auto", "cuda", "cpu")] == ["cuda", "cuda", "cpu"]
    found = find_device("cuda:1")
    assert (found.name, found.kind, found.spec, chosen) == ("Test GPU", "cuda", "cuda:1", [1])
    assert find_device("cuda").spec == "cuda"
    for wrong in ("cuda:2", "cuda:x", "cuda:", "cpu:0", "mps:1", "mps", "tpu"):
        with pytest.raises(InputError, match=wrong):
            find_device(wrong)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert find_device("auto").kind == "cpu"
    with pytest.raises(InputError, match="cuda"):
        find_device("cuda")


def test_a_number_of_threads_is_not_the_next_ones():
    with computing_threads(3):
        for n, expected in ((2, 2), (1, 1), (None, 3), (None, 3)):
            use_threads(n)
            assert torch.get_num_threads() == expected
        torch.set_num_threads(2)  # somebody else's choice
        use_threads(None)
        assert torch.get_num_threads() == 2


SAPPHIRE_RAPIDS = {"avx512_bf16", "avx512_fp16"}


@pytest.mark.parametrize(
    ("processor", "capabilities", "auto"),
    [
        ("AMD EPYC", {"avx2"}, "fp32"),
        ("AMD EPYC", {"avx512_bf16"}, "bf16"),
        ("AMD EPYC", SAPPHIRE_RAPIDS, "bf16"),  # a later one
        ("Intel(R) Xeon(R) Processor", SAPPHIRE_RAPIDS | {"amx_bf16"}, "bf16"),
        ("Intel(R) Xeon(R) Processor", SAPPHIRE_RAPIDS, "fp32"),
        ("Intel(R) Xeon(R) Platinum 8380H", {"avx512_bf16"}, "bf16"),
    ],
)
def test_auto_precision_is_bf16_where_it_is_faster(monkeypatch, processor, capabilities, auto):
    monkeypatch.setattr(device, "has_fast_bf16", has_fast_bf16)
    monkeypatch.setattr(device, "processor_name", lambda: processor)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: dict.fromkeys(capabilities, True))
    assert find_precision("auto", CPU) == auto
    for name in ("fp32", "bf16"):
        assert find_precision(name, CPU) == name
    assert find_precision("fp16", Device("cuda", "a GPU", 1)) == "fp16"
    with pytest.raises(InputError, match="fp16"):
        find_precision("fp16", CPU)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_one_value_that_is_not_finite_is_seen(dtype) -> None:
    highest = torch.finfo(dtype).max
    states = torch.tensor([highest, -highest, 0.0, -0.0] * 6, dtype=dtype).reshape(2, 3, 4)
    for value in (0.0, float("inf"), float("-inf"), float("nan")):
        states[1, 2, 0] = value
        assert HostCopy(states).fetched()[1] == (value == 0)
        assert HostCopy(states[:, :0]).fetched()[1]


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no GPU")
def test_what_leaves_is_what_was_computed() -> None:
    made = to_device(torch.arange(1 << 20, dtype=torch.float32), torch.device("cuda"))
    leaving = HostCopy(made * 2)
    assert torch.equal(leaving.fetched()[0], torch.arange(1 << 20) * 2.0)


# A process of its own: what others have left in the heap decides where the blocks come to lie.
def test_peak_memory_sees_what_was_allocated_and_given_back():
    reset_peak_memory(CPU)
    before = peak_memory(CPU)
    held = torch.ones(64 << 20, dtype=torch.uint8)
    del held
    assert peak_memory(CPU) >= before + (48 << 20)


def write(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(f"{text}\n")


def test_the_limits_of_control_groups(tmp_path):
    """Every group from the process's own up to the root counts; files that were read do not."""
    listed, root = tmp_path / "cgroup", tmp_path / "fs"
    listed.write_text("0::/outer/job\n")
    stat = "anon 5\ninactive_file 300\nactive_file 20\nslab_reclaimable 1\nslab 7"
    own = root / "outer" / "job"
    write(own, memory__max="max", memory__current="5", memory__stat=stat)
    write(own.parent, memory__max="3000", memory__current="2000", memory__stat=stat)
    write(root, memory__max="2500", memory__current="2400", memory__stat=stat)
    assert memory._free_in_groups(listed, root) == [1321, 421]
    assert memory._free_in_groups(tmp_path / "none", root) == []
    # Version 1: within a container the path is the host's, and the limit is at the top.
    listed.write_text("12:cpu,cpuacct:/d/x\n9:memory:/docker/x\n0::/other\n", "utf-8")
    stat = "cache 9\ntotal_inactive_file 300\ntotal_active_file 20\ninactive_file 7"
    sizes = {"memory__limit_in_bytes": "3000", "memory__usage_in_bytes": "2000"}
    write(tmp_path / "sys" / "memory", **sizes, memory__stat=stat)
    assert memory._free_in_groups(listed, tmp_path / "sys") == [1320]


def test_the_least_of_all_limits_is_what_is_left(monkeypatch):
    whole = available_memory()
    assert 0 < whole <= psutil.virtual_memory().total
    monkeypatch.setattr(memory, "_free_in_groups", lambda: [1 << 40, 12_345])
    assert available_memory() == 12_345
    monkeypatch.setattr(memory, "_free_in_groups", lambda: [-1])
    assert available_memory() == 0
    monkeypatch.undo()
    size = psutil.Process().memory_info().vms
    monkeypatch.setattr(memory.resource, "getrlimit", lambda kind: (size + 10**6, -1))
    assert available_memory() <= 10**6  # of the address space


def test_work_without_room_is_refused_before_it_begins(monkeypatch):
    swap = namedtuple("swap", "free")
    monkeypatch.setattr(memory, "available_memory", lambda: 1_000_000_000)
    monkeypatch.setattr(psutil, "swap_memory", lambda: swap(500_000_000))
    check_memory(1_500_000_000, CPU, what="that", less="")
    with pytest.raises(InputError, match=r"fine-tuning huge.*1\.5 GB.*5\.4 GB.*smaller encoder"):
        check_memory(5_360_000_000, CPU, what="fine-tuning huge", less="use a smaller encoder")
