"""Memory does not grow with the number of sizes that batches have."""

import json
import subprocess
import sys

import pytest

from tests.processes import ROOT

# Resident megabytes after every 60 steps; no two batches have as many words.
_STEPS = """
import json, sys
import numpy as np, psutil, torch
from featbert.config import Settings
from featbert.encoders.device import Device, autocast
from featbert.encoders.memory import freed_memory_kept
from featbert.models.bilstm import BiLSTM

torch.set_num_threads(1)
torch.manual_seed(0)
model = BiLSTM(128, Settings(lstm_size=64, lstm_layers=1))
parameters = list(model.parameters())
sizes = np.random.default_rng(0).permutation(np.arange(300, 540)).tolist()
resident = []
with freed_memory_kept():
    for step, words in enumerate(sizes):
        lengths = np.full(16, words // 16)
        lengths[: words % 16] += 1
        with autocast(Device("cpu", "a processor", 1), sys.argv[1]):
            states = model(torch.ones(words, 128), lengths)
        torch.autograd.grad(states.square().sum(), parameters)
        if not (step + 1) % 60:
            resident.append(psutil.Process().memory_info().rss / 1e6)
print(json.dumps(resident))
"""


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_training_stops_taking_memory(precision: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _STEPS, precision],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    resident = json.loads(done.stdout)
    assert resident[-1] - resident[0] < 30
