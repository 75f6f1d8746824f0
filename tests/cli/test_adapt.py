"""featbert adapt end to end on a tiny encoder: what it prints, writes and refuses."""

import json
import re
from pathlib import Path

from typer.testing import Result

from tests.workspace import Workspace


def adapt(space: Workspace, *words: object) -> Result:
    where = ("--models-dir", space.folder / "models", "--device", "cpu", "--precision", "fp32")
    return space.call("adapt", "--model", space.model, "--data", space.corpus, *where, *words)


def written(space: Workspace) -> list[Path]:
    folder = space.folder / "models"
    return sorted(folder.iterdir()) if folder.exists() else []


def test_losses_and_perplexity_by_epoch_then_the_folder(workspace: Workspace) -> None:
    result = adapt(workspace, "--epochs", 2)
    assert result.exit_code == 0, result.output
    _, _, second, fresh, unusual, folder = result.stdout.splitlines()
    assert "cls.seq_relationship" in fresh
    assert re.search(r"\d+ unknown words", unusual)
    (model,) = written(workspace)
    assert folder.startswith(f"{model}: ")
    assert f"featbert finetune --model {model} --data {workspace.corpus}" in result.stderr
    record = json.loads((model / "adaptation.json").read_text("utf-8"))
    assert f"MLM {record['history'][2]['train_mlm']:.4f}" in second
    assert f"perplexity {record['history'][2]['dev_perplexity']:.2f}" in second
