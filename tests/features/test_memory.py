import platform
import subprocess
import sys

import pytest
import torch

from featbert.features import memory
from featbert.features.device import Device
from featbert.features.memory import (
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
from featbert.features.memory import freed_memory_kept

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


def test_the_least_of_all_limits_is_what_is_left(tmp_path, monkeypatch):
    group = tmp_path / "outer" / "job"
    group.mkdir(parents=True)
    monkeypatch.setattr(memory, "_of_machine", lambda: 8 << 30)
    monkeypatch.setattr(memory, "_groups", lambda: [group, group.parent, tmp_path])
    monkeypatch.setattr(memory, "_of_process", lambda: None)

    def limit(folder, most: str, taken: int, files: int) -> None:
        (folder / "memory.max").write_text(f"{most}\n")
        (folder / "memory.current").write_text(f"{taken}\n")
        (folder / "memory.stat").write_text(f"anon 5\ninactive_file {files}\nslab 7\n")

    assert available_memory() == 8 << 30  # no group says anything
    limit(group, "max", 5, 5)
    assert available_memory() == 8 << 30
    limit(group.parent, "3000", 2000, 300)
    assert available_memory() == 1300
    monkeypatch.setattr(memory, "_of_process", lambda: 900)
    assert available_memory() == 900
    limit(group, "100", 300, 0)
    assert available_memory() == 0


def test_work_without_room_is_refused_before_it_begins(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 1_000_000_000)
    check_memory(1_000_000_000, CPU, what="that", less="")
    with pytest.raises(NoRoomError) as refused:
        check_memory(5_360_000_000, CPU, what="fine-tuning huge", less="use a smaller encoder")
    assert str(refused.value) == (
        "5.4 GB of memory at least expected for fine-tuning huge, 1.0 GB are left; use a smaller "
        "encoder"
    )
    monkeypatch.setattr(memory, "available_memory", lambda: 0)  # nobody says
    check_memory(1 << 50, CPU, what="that", less="")
