"""Memory does not grow with the number of sizes that batches have.

Resident megabytes after every 60 steps, in a process of its own; no two batches have as many
words, or windows of as many subwords.
"""

import json

import pytest

from tests.processes import python

STEPS = """
import json, sys
import featbert
import numpy as np, psutil, torch
from transformers import BertConfig, BertModel
from featbert.encoders.device import Device, autocast
from featbert.encoders.kernels import use_products
from featbert.encoders.memory import freed_memory_kept
from featbert.models import bilstm

torch.set_num_threads(1)
torch.manual_seed(0)
lstm = bilstm.BiLSTM(128, dropout=0.1, lstm_size=64, lstm_layers=1)
size = dict(hidden_size=64, num_attention_heads=2, intermediate_size=128, num_hidden_layers=1)
encoder = BertModel(BertConfig(vocab_size=9, **size), add_pooling_layer=False)
use_products(encoder)

def states_of_words(words):
    lengths = np.full(16, words // 16)
    lengths[: words % 16] += 1
    return lstm(torch.ones(words, 128), lengths)

def states_of_pieces(shape):
    return encoder(torch.ones(shape, dtype=torch.long)).last_hidden_state

words = np.arange(300, 540)
shapes = [(rows, length) for rows in range(8, 24) for length in range(10, 40)]
growth = {}
with freed_memory_kept():
    for kind, model, states_of, sizes, units in (
        ("fused", lstm, states_of_words, words, 64),
        ("packed", lstm, states_of_words, words, 0),
        ("encoder", encoder, states_of_pieces, shapes, 0),
    ):
        bilstm.FUSED_UNITS, resident = units, []
        for step, size in enumerate(np.random.default_rng(0).permutation(sizes)[:240].tolist()):
            with autocast(Device("cpu", "a processor", 1), sys.argv[1]):
                states = states_of(size)
            torch.autograd.grad(states.float().square().sum(), list(model.parameters()))
            if not (step + 1) % 60:
                resident.append(psutil.Process().memory_info().rss / 1e6)
        growth[kind] = resident[-1] - resident[0]
print(json.dumps(growth))
"""


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_training_stops_taking_memory(precision: str) -> None:
    growth = json.loads(python(STEPS, precision).stdout)
    assert max(growth.values()) < 30, growth
