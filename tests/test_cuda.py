"""The same code on a GPU: same features, same learning, the device in manifest and record.

Skipped where torch finds none; `pytest -m cuda` runs these alone.
"""

from pathlib import Path

import numpy as np
import pytest
import torch

from featbert import extract
from featbert.api import load_corpus
from featbert.config import defaults
from tests.workspace import finetune, train, write_corpus

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no GPU"),
]
GIVEN = {"batch_size": 8, "lstm_size": 16}
SMALL = GIVEN | {"epochs": 3, "learning_rate": 1e-2, "dropout": 0.1}


@pytest.fixture
def corpus(tmp_path: Path):
    return load_corpus(write_corpus(tmp_path / "tiny"))


@pytest.mark.parametrize("context", ["sentence", "document"])
def test_features_are_those_of_the_processor(corpus, tiny_bert, tmp_path, context):
    def stored(device: str, precision: str):
        return extract(
            corpus, str(tiny_bert), cache_dir=tmp_path / device, context=context,
            precision=precision, store_dtype="float32", device=device,
        )  # fmt: skip

    cpu, gpu = stored("cpu", "fp32"), stored("cuda", "fp32")
    assert gpu.manifest.device == "cuda"
    assert gpu.manifest.device_name == torch.cuda.get_device_name()
    np.testing.assert_allclose(gpu.read("train"), cpu.read("train"), atol=2e-4, rtol=1e-3)
    half = stored("cuda", "bf16").read("train")
    spread = np.abs(cpu.read("train")).mean()
    assert np.abs(half - cpu.read("train")).mean() < 0.05 * spread


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
def test_fine_tuning_learns(corpus, tiny_bert, tmp_path, precision):
    settings = defaults("full").but(**SMALL)
    options = {"runs_dir": tmp_path, "device": "cuda", "precision": precision}
    run = finetune(corpus, str(tiny_bert), settings=settings, **options)
    losses = [row.train_loss for row in run.record.history]
    assert losses[-1] < losses[0]
    assert run.record.signature.device == "cuda"
    assert run.record.cost.peak_memory_bytes > 0


@pytest.mark.parametrize("layers", ["last", "concat_last4", "weighted_all"])
def test_features_are_learnt_from(corpus, tiny_bert, tmp_path, layers):
    store = extract(corpus, str(tiny_bert), cache_dir=tmp_path, device="cuda")
    settings = defaults("none").but(**SMALL)
    on_gpu = train(store, layers, settings=settings, runs_dir=tmp_path / "gpu", device="cuda")
    losses = [row.train_loss for row in on_gpu.record.history]
    assert losses[-1] < losses[0]
    assert on_gpu.record.signature.training_precision == "fp32"
    # Without dropout both devices take the same steps but for rounding.
    still = defaults("none").but(**GIVEN, epochs=1, learning_rate=1e-3, dropout=0.0)
    gpu = train(store, layers, settings=still, runs_dir=tmp_path / "a", device="cuda")
    cpu = train(store, layers, settings=still, runs_dir=tmp_path / "b", device="cpu")
    assert gpu.record.history[0].train_loss == pytest.approx(
        cpu.record.history[0].train_loss, rel=1e-3
    )
