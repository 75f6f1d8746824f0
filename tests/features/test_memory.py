import platform
import resource

import numpy as np
import pytest
import torch

from featbert.features.device import Device
from featbert.features.memory import freed_memory_kept, peak_memory, reset_peak_memory

CPU = Device("cpu", "a processor", 1)
LARGE = 96 << 20


def test_peak_memory_sees_what_was_allocated_and_given_back():
    reset_peak_memory(CPU)
    before = peak_memory(CPU)
    held = torch.ones(64 << 20, dtype=torch.uint8)
    del held
    assert peak_memory(CPU) >= before + (48 << 20)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another malloc")
def test_freed_blocks_serve_the_next_ones_within_and_go_back_after():
    def taken(times: int) -> int:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(times):
            # torch asks for a little more than it takes, to align it: a small block that comes
            # between would move each one on.
            np.ones(LARGE, np.uint8)
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    with freed_memory_kept():
        taken(1)
        kept = taken(8)
    assert taken(8) > 4 * max(1, kept)
