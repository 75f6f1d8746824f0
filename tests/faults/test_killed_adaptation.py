"""An adaptation that is killed in the middle of training ends with the encoder of a whole one."""

import json
from pathlib import Path
from typing import Any

from featbert.training.language_model import COMPUTATION
from tests.processes import killed_command
from tests.workspace import Workspace, ok


def test_a_killed_adaptation_ends_with_the_same_encoder(workspace: Workspace) -> None:
    where = ("--model", workspace.model, "--data", workspace.corpus, "--epochs", 10)
    words = ("adapt", *where, "--device", "cpu", "--precision", "fp32", "--quiet")
    killed, undisturbed = workspace.folder / "killed", workspace.folder / "undisturbed"
    code = killed_command(
        *words, "--models-dir", killed, cwd=workspace.folder, when=lambda: bool(checkpoints(killed))
    )
    assert code == -9
    assert not list(killed.glob("*/adaptation.json"))
    (kept,) = checkpoints(killed)
    steps = json.loads((kept.parent / "trainer_state.json").read_text("utf-8"))["global_step"]
    assert steps > 0

    for folder in (killed, undisturbed):
        ok(workspace.call(*words, "--models-dir", folder))
    (found,), (expected,) = killed.iterdir(), undisturbed.iterdir()
    assert found.name == expected.name
    assert [p.name for p in sorted(found.iterdir())] == [p.name for p in sorted(expected.iterdir())]
    for path in expected.iterdir():
        if path.name == "adaptation.json":
            assert timeless(found / path.name) == timeless(path)
        else:
            assert (found / path.name).read_bytes() == path.read_bytes(), path.name


def checkpoints(models: Path) -> list[Path]:
    """What marks the complete checkpoints of an unfinished adaptation."""
    try:
        return list(models.glob(f".*.partial/checkpoint-*/{COMPUTATION}"))
    except FileNotFoundError:  # the folder got its final name meanwhile
        return []


def timeless(path: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(path.read_text("utf-8"))
    del record["seconds"]
    for row in record["history"]:
        del row["seconds"]
    return record
