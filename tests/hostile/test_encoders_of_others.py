"""Encoder folders from anywhere: their files are data, and nothing in them is run."""

import json
import os
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from featbert.data.corpus import Sentence
from featbert.encoders.loading import load_encoder
from featbert.encoders.source import find_encoder
from featbert.errors import InputError
from tests.workspace import Workspace, error_of


class Payload:
    """Makes a folder when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.marker),)


def vectors_of(model: Path) -> torch.Tensor:
    """(4, H) the last layer's vectors of four words."""
    encoder = load_encoder(find_encoder(str(model)))
    alignment = encoder.align([Sentence(("EU", "rejects", "German", "call"))])
    with torch.inference_mode():
        return encoder.hidden_states(encoder.batcher.windows(alignment, np.zeros(1, np.int64)))[-1]


@pytest.fixture
def copied(workspace: Workspace, tmp_path: Path) -> Workspace:
    """The workspace with an encoder folder of its own."""
    folder = tmp_path / "encoder"
    shutil.copytree(workspace.model, folder)
    return Workspace(workspace.folder, workspace.corpus, folder)


def plain_pickle(value: object, path: Path) -> None:
    path.write_bytes(pickle.dumps(value, protocol=2))


@pytest.mark.parametrize("save", [torch.save, plain_pickle])
def test_a_pickle_among_the_weights_is_not_run(copied, tmp_path, save):
    marker = tmp_path / "was here"
    state = load_file(copied.model / "model.safetensors") | {"payload": Payload(marker)}
    (copied.model / "model.safetensors").unlink()
    save(state, copied.model / "pytorch_model.bin")
    adapt = ("adapt", "--model", copied.model, "--data", copied.corpus, "--epochs", 1)
    for call in (
        lambda: copied.extract("--quiet"),
        lambda: copied.finetune("--quiet"),
        lambda: copied.call(*adapt, "--models-dir", tmp_path / "models", "--quiet"),
    ):
        assert str(copied.model) in error_of(call())
        assert not marker.exists()
    pickle.loads(pickle.dumps(Payload(marker)))  # the test can fail
    assert marker.exists()


@pytest.mark.parametrize("model_type", ["bert", "of-my-own"])
def test_code_beside_the_weights_is_not_run(copied, tmp_path, model_type, monkeypatch):
    marker = tmp_path / "was here"
    code = f"import os\nos.mkdir({str(marker)!r})\n"
    code += "from transformers import BertConfig as C, BertModel as M, BertTokenizerFast as T\n"
    (copied.model / "mine.py").write_text(code, "utf-8")
    monkeypatch.setattr("builtins.input", lambda *_: "y")  # transformers may ask
    model = {"AutoConfig": "mine.C", "AutoModel": "mine.M"}
    changed_json(copied.model / "config.json", auto_map=model, model_type=model_type)
    tokenizer = {"AutoTokenizer": ["mine.T", "mine.T"]}
    changed_json(copied.model / "tokenizer_config.json", auto_map=tokenizer)
    result = copied.extract("--quiet")
    if model_type == "bert":
        assert result.exit_code == 0, result.stderr
    else:
        error_of(result)
    assert not marker.exists()


def test_no_file_beside_the_encoder_is_applied_or_imported(copied, tmp_path, monkeypatch):
    """Whatever transformers would look at: only what is hashed is read."""
    before = vectors_of(copied.model)
    marker = tmp_path / "was here"
    (tmp_path / "c").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for package in ("megatron", "evil"):
        (tmp_path / package).mkdir()
        for name in ("__init__", "evil"):
            code = f"import os\nos.makedirs({str(marker)!r}, exist_ok=True)\n"
            (tmp_path / package / f"{name}.py").write_text(code, "utf-8")
    generation = {"_from_model_config": 5, "custom_generate": "evil.evil"}
    (copied.model / "generation_config.json").write_text(json.dumps(generation), "utf-8")
    (copied.model / "chat_template.jinja").write_text("{{ 1 / 0 }}", "utf-8")
    (copied.model / "modules.json").write_text('[{"type": "evil.evil"}]', "utf-8")
    (copied.model / "config.4.0.0.json").write_text("{}", "utf-8")
    (copied.model / "extra.safetensors").write_bytes(b"nothing")
    os.mkfifo(copied.model / "generation.json")
    assert torch.equal(vectors_of(copied.model), before)
    folder = copied.model.rename(tmp_path / "c" / "megatron")
    adapter = {"peft_type": "LORA", "megatron_config": {"x": 1}, "megatron_core": "megatron.evil"}
    (folder / "adapter_config.json").write_text(json.dumps(adapter), "utf-8")
    with pytest.raises(InputError, match=str(folder)):
        vectors_of(folder)
    assert not marker.exists()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.json", "[" * 100_000),
        ("config.json", {"hidden_size": "wide"}),
        ("config.json", {"hidden_act": "\x1b[31m"}),
        ("tokenizer.json", "{}"),
        ("tokenizer.json", {"model": {"type": "WordPiece", "vocab": {"a": 0}, "unk_token": "b"}}),
        ("config.json", {"hidden_size": 32}),
        ("model.safetensors", b"\xff" * 64),
    ],
)
def test_files_of_no_encoder_are_refused_in_one_line(copied, name, content):
    path = copied.model / name
    if isinstance(content, dict):  # the encoder's own file with other values
        changed_json(path, **content)
    else:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    error_of(copied.extract("--quiet"))


def changed_json(path: Path, **values: Any) -> None:
    data = json.loads(path.read_text("utf-8")) if path.exists() else {}
    path.write_text(json.dumps(data | values), "utf-8")


@pytest.mark.parametrize("end", ["safetensors", "old bin"])
def test_shards_are_loaded_by_what_they_hold(copied, end):
    """Whatever a config says of computing layers in parts."""
    before, weights = vectors_of(copied.model), load_file(copied.model / "model.safetensors")
    (copied.model / "model.safetensors").unlink()
    for k in (1, 2):
        part = {name: weights[name] for name in sorted(weights)[k - 1 :: 2]}
        if end == "safetensors":
            save_file(part, copied.model / f"model-0000{k}-of-00002.safetensors", {"format": "pt"})
        else:
            path = copied.model / f"pytorch_model-0000{k}-of-00002.bin"
            torch.save(part, path, _use_new_zipfile_serialization=False)
    changed_json(copied.model / "config.json", chunk_size_feed_forward=7, return_dict=False)
    assert torch.equal(vectors_of(copied.model), before)


@pytest.mark.parametrize("named_in", ["tokenizer_config.json", "config.json"])
def test_a_slow_tokenizer_is_refused_by_its_name(copied, named_in):
    for path in copied.model.glob("tokenizer*"):
        path.unlink()
    (copied.model / "vocab.txt").write_text("[UNK]\n[CLS]\n[SEP]\n[PAD]\n[MASK]\na\n", "utf-8")
    slow = {"tokenizer_class": "BertJapaneseTokenizer", "word_tokenizer_type": "mecab"}
    changed_json(copied.model / named_in, **slow)
    error = error_of(copied.extract("--quiet"))
    assert slow["tokenizer_class"] in error
    assert "pip install" not in error
