"""Memory does not grow with the number of sizes that batches have.

Resident megabytes after every 60 or 100 steps, in a process of its own; no two batches have as many
words, or windows of as many subwords.
"""

import json
import subprocess
import sys

import pytest

from tests.processes import ROOT

_BILSTM = """
import json, sys
import numpy as np, psutil, torch
from featbert.encoders.device import Device, autocast
from featbert.encoders.memory import freed_memory_kept
from featbert.models import bilstm
from featbert.models.bilstm import BiLSTM

bilstm.FUSED_UNITS = int(sys.argv[2])
torch.set_num_threads(1)
torch.manual_seed(0)
model = BiLSTM(128, dropout=0.1, lstm_size=64, lstm_layers=1)
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


_ENCODER = """
import json, sys
import featbert
import numpy as np, psutil, torch
from transformers import BertConfig, BertModel
from featbert.encoders.device import Device, autocast
from featbert.encoders.kernels import use_products
from featbert.encoders.memory import freed_memory_kept

torch.set_num_threads(1)
torch.manual_seed(0)
size = dict(hidden_size=64, num_attention_heads=2, intermediate_size=128, num_hidden_layers=1)
model = BertModel(BertConfig(vocab_size=9, **size), add_pooling_layer=False)
use_products(model)
parameters = list(model.parameters())
shapes = [(rows, length) for rows in range(8, 24) for length in range(10, 40)]
resident = []
with freed_memory_kept():
    for step, shape in enumerate(np.random.default_rng(0).permutation(shapes)[:300].tolist()):
        with autocast(Device("cpu", "a processor", 1), sys.argv[1]):
            states = model(torch.ones(shape, dtype=torch.long)).last_hidden_state
        torch.autograd.grad(states.float().square().sum(), parameters)
        if not (step + 1) % 100:
            resident.append(psutil.Process().memory_info().rss / 1e6)
print(json.dumps(resident))
"""


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize(
    ("steps", "fused_units"),
    [(_BILSTM, 64), (_BILSTM, 0), (_ENCODER, 0)],
    ids=["fused", "packed", "encoder"],
)
def test_training_stops_taking_memory(steps: str, fused_units: int, precision: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", steps, precision, str(fused_units)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    resident = json.loads(done.stdout)
    assert resident[-1] - resident[0] < 30
