"""Encoder folders from anywhere: their files are data, and nothing in them is run."""

import json
import os
import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.workspace import Workspace, error_of


class Payload:
    """Makes a folder when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.marker),)


@pytest.fixture
def copied(workspace: Workspace, tmp_path: Path) -> Workspace:
    """The workspace with an encoder folder of its own."""
    folder = tmp_path / "encoder"
    shutil.copytree(workspace.model, folder)
    return Workspace(workspace.folder, workspace.corpus, folder)


@pytest.mark.parametrize("plain", [False, True], ids=["torch file", "plain pickle"])
def test_a_pickle_among_the_weights_is_not_run(copied, tmp_path, plain):
    marker = tmp_path / "was here"
    state = load_file(copied.model / "model.safetensors")
    (copied.model / "model.safetensors").unlink()
    path, state = copied.model / "pytorch_model.bin", state | {"payload": Payload(marker)}
    if plain:
        path.write_bytes(pickle.dumps(state, protocol=2))
    else:
        torch.save(state, path)
    for call in (
        lambda: copied.extract("--quiet"),
        lambda: copied.finetune("--quiet"),
        lambda: copied.call(
            *("adapt", "--model", copied.model, "--data", copied.corpus),
            *("--models-dir", tmp_path / "models", "--epochs", 1, "--quiet"),
        ),
    ):
        assert str(copied.model) in error_of(call())
        assert not marker.exists()
    # It would have: the test can fail.
    if plain:
        pickle.loads(path.read_bytes())
    else:
        torch.load(path, weights_only=False)
    assert marker.exists()


@pytest.mark.parametrize("model_type", ["bert", "of-my-own"])
def test_code_beside_the_weights_is_not_run(copied, tmp_path, model_type, monkeypatch):
    marker = tmp_path / "was here"
    code = f"import os\nos.mkdir({str(marker)!r})\n"
    code += "from transformers import BertConfig as C, BertModel as M, BertTokenizerFast as T\n"
    (copied.model / "mine.py").write_text(code, "utf-8")
    monkeypatch.setattr("builtins.input", lambda *_: "y")  # transformers may ask
    for name, auto in {
        "config.json": {"AutoConfig": "mine.C", "AutoModel": "mine.M"},
        "tokenizer_config.json": {"AutoTokenizer": ["mine.T", "mine.T"]},
    }.items():
        data = json.loads((copied.model / name).read_text("utf-8"))
        data["auto_map"] = auto
        if name == "config.json":
            data["model_type"] = model_type
        (copied.model / name).write_text(json.dumps(data), "utf-8")
    result = copied.extract("--quiet")
    if model_type == "bert":
        assert result.exit_code == 0, result.stderr
    else:
        error_of(result)
    assert not marker.exists()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.json", "[" * 100_000),
        ("config.json", {"hidden_size": "wide"}),
        ("config.json", {"hidden_act": "\x1b[31m"}),
        ("config.json", {"quantization_config": {"quant_method": "gptq"}}),
        ("config.json", '{"model_type": ["bert"]}'),
        ("tokenizer.json", "{}"),
        ("model.safetensors", b"\xff" * 64),
    ],
)
def test_files_of_no_encoder_are_refused_in_one_line(copied, name, content):
    path = copied.model / name
    if isinstance(content, dict):  # the encoder's own file with other values
        content = json.dumps(json.loads(path.read_text("utf-8")) | content)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    error_of(copied.extract("--quiet"))
