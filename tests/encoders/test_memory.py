import platform
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from featbert.encoders import memory
from featbert.encoders.device import Device
from featbert.encoders.memory import (
    NoRoomError,
    available_memory,
    check_memory,
    peak_memory,
    reset_peak_memory,
)

CPU = Device("cpu", "a processor", 1)
# A process of its own: what others have left in the heap decides where the blocks come to lie.
FAULTS = """
import resource
import numpy as np
from featbert.encoders.memory import freed_memory_kept

def taken(times):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(times):
        # torch asks for a little more than it takes, to align it: a small block that comes between
        # would move each one on.
        np.ones(96 << 20, np.uint8)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

with freed_memory_kept():
    taken(1)
    kept = taken(8)
print(kept, taken(8))
"""


def test_peak_memory_sees_what_was_allocated_and_given_back():
    reset_peak_memory(CPU)
    before = peak_memory(CPU)
    held = torch.ones(64 << 20, dtype=torch.uint8)
    del held
    assert peak_memory(CPU) >= before + (48 << 20)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another malloc")
def test_freed_blocks_serve_the_next_ones_within_and_go_back_after():
    words = [sys.executable, "-c", FAULTS]
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    kept, otherwise = map(int, told.split())
    assert otherwise > 4 * max(1, kept)


def test_the_least_of_all_limits_is_what_is_left(monkeypatch):
    for limits, expected in (
        ([8, None, None], 8),
        ([8, 3, 5], 3),
        ([8, 3, -1], 0),  # nothing is left
        ([None, None, None], None),  # nobody says
    ):
        machine, group, process = limits
        monkeypatch.setattr(memory, "_of_machine", lambda of=machine: of)
        monkeypatch.setattr(memory, "_groups", lambda: ["outer", "inner"])
        monkeypatch.setattr(memory, "_of_group", lambda name, of=group: {"inner": of}.get(name))
        monkeypatch.setattr(memory, "_of_process", lambda of=process: of)
        assert available_memory() == expected


def write(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(f"{text}\n")


def test_control_groups_of_version_2(tmp_path):
    listed, root = tmp_path / "cgroup", tmp_path / "fs"
    listed.write_text("0::/outer/job\n")
    groups = memory._groups(listed, root)
    assert groups == [root / "outer" / "job", root / "outer", root]
    stat = "anon 5\ninactive_file 300\nactive_file 20\nslab_reclaimable 1\nslab 7"
    write(groups[0], memory__max="max", memory__current="5", memory__stat=stat)
    write(groups[1], memory__max="3000", memory__current="2000", memory__stat=stat)
    assert [memory._of_group(group) for group in groups] == [None, 1321, None]


def test_control_groups_of_version_1(tmp_path):
    listed, root = tmp_path / "cgroup", tmp_path / "fs"
    listed.write_text("5:cpu,cpuacct:/other\n4:memory:/job\n")
    groups = memory._groups(listed, root)
    assert groups == [root / "memory" / "job", root / "memory"]
    group, stat = groups[0], "cache 9\ntotal_inactive_file 30\ntotal_active_file 2"
    write(group, memory__limit_in_bytes="500", memory__usage_in_bytes="400", memory__stat=stat)
    assert memory._of_group(group) == 132


def test_the_limit_of_addresses(monkeypatch):
    infinity = resource.RLIM_INFINITY
    monkeypatch.setattr(resource, "getrlimit", lambda _: (infinity, infinity))
    assert memory._of_process() is None
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + (1 << 30)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, infinity))
    assert abs(memory._of_process() - (1 << 30)) < 64 << 20


def test_work_without_room_is_refused_before_it_begins(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 1_000_000_000)
    monkeypatch.setattr(memory, "_of_machine", lambda name: {"SwapFree:": 500_000_000}[name])
    check_memory(1_500_000_000, CPU, what="that", less="")
    with pytest.raises(NoRoomError) as refused:
        check_memory(5_360_000_000, CPU, what="fine-tuning huge", less="use a smaller encoder")
    assert str(refused.value) == (
        "5.4 GB of memory at least expected for fine-tuning huge, 1.5 GB are left; use a smaller "
        "encoder"
    )
    monkeypatch.setattr(memory, "available_memory", lambda: None)  # nobody says
    check_memory(1 << 50, CPU, what="that", less="")
