from collections import namedtuple
from pathlib import Path

import psutil
import pytest
import torch

from featbert.encoders import memory
from featbert.encoders.device import Device
from featbert.encoders.memory import available_memory, check_memory, peak_memory, reset_peak_memory
from featbert.errors import InputError

CPU = Device("cpu", "a processor", 1)


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


def test_limits_of_control_groups_of_version_1(tmp_path):
    """Within a container the path is the host's, and the limit is at the top."""
    listed, root = tmp_path / "cgroup", tmp_path / "sys"
    listed.write_text("12:cpu,cpuacct:/d/x\n9:memory:/docker/x\n0::/other\n", "utf-8")
    top = root / "memory"
    top.mkdir(parents=True)
    stat = "cache 9\ntotal_inactive_file 300\ntotal_active_file 20\ninactive_file 7"
    for name, text in (("limit_in_bytes", "3000"), ("usage_in_bytes", "2000"), ("stat", stat)):
        (top / f"memory.{name}").write_text(text, "utf-8")
    assert memory._free_in_groups(listed, root) == [1320]


def test_a_limit_of_the_address_space_counts(monkeypatch):
    size = psutil.Process().memory_info().vms
    monkeypatch.setattr(memory.resource, "getrlimit", lambda kind: (size + 10**6, -1))
    assert available_memory() <= 10**6


def test_the_least_of_all_limits_is_what_is_left(monkeypatch):
    whole = available_memory()
    assert 0 < whole <= psutil.virtual_memory().total
    monkeypatch.setattr(memory, "_free_in_groups", lambda: [1 << 40, 12_345])
    assert available_memory() == 12_345
    monkeypatch.setattr(memory, "_free_in_groups", lambda: [-1])
    assert available_memory() == 0


def test_work_without_room_is_refused_before_it_begins(monkeypatch):
    swap = namedtuple("swap", "free")
    monkeypatch.setattr(memory, "available_memory", lambda: 1_000_000_000)
    monkeypatch.setattr(psutil, "swap_memory", lambda: swap(500_000_000))
    check_memory(1_500_000_000, CPU, what="that", less="")
    with pytest.raises(InputError, match=r"fine-tuning huge.*1\.5 GB.*5\.4 GB.*smaller encoder"):
        check_memory(5_360_000_000, CPU, what="fine-tuning huge", less="use a smaller encoder")
