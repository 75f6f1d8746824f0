"""A language-model adaptation that is killed at random moments ends with the same encoder."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors import safe_open

from featbert.training.adapted_folder import CHECKPOINT
from tests.faults.killing import SIGNALS, Commands, Forks, soak_kills
from tests.workspace import write_corpus

PREPARE = """
import sys
from featbert.training import adaptation_loop

plain = adaptation_loop.fit_language_model

def fit(*arguments, **options):
    sys.stderr.write("training\\n")
    sys.stderr.flush()
    return plain(*arguments, **options)

adaptation_loop.fit_language_model = fit
plain_keep = adaptation_loop.Checkpoint.keep

def keep(*arguments):
    plain_keep(*arguments)
    sys.stderr.write("checkpoint written\\n")
    sys.stderr.flush()

adaptation_loop.Checkpoint.keep = keep
"""
# What the seconds until a kill count from: the first, and every later one of an adaptation.
READY = ("training\n", "checkpoint written\n")
KILLS = 2  # of one adaptation
EPOCHS = 30


@pytest.fixture(scope="module")
def commands(forks: Forks) -> Commands:
    return Commands(forks, PREPARE)


def test_killed_adaptations_end_with_the_same_encoder(
    commands: Commands, tiny_bert: Path, tmp_path: Path, record_property: Callable[..., None]
) -> None:
    corpus = write_corpus(tmp_path / "tiny", repeat=3)

    def words(folder: Path) -> list[object]:
        where = ["--model", tiny_bert, "--data", corpus, "--models-dir", folder]
        return ["adapt", *where, "--epochs", EPOCHS, "--device", "cpu", "--precision", "fp32"]

    done = commands.run(words(tmp_path / "whole"), cwd=tmp_path)
    assert done.exit_code == 0, done.stderr
    (whole,) = (tmp_path / "whole").iterdir()
    history = json.loads((whole / "adaptation.json").read_text("utf-8"))["history"]
    seconds = sum(row["seconds"] for row in history)
    moments, kills, kept = random.Random(9), 0, 0
    for number in range(max(1, soak_kills(KILLS) // KILLS)):
        models = tmp_path / f"models-{number}"
        for k in range(KILLS):
            after, by = moments.uniform(0, 0.8 * seconds / KILLS), SIGNALS[(number + k) % 3]
            ready = READY[min(k, 1)]
            tried = commands.stopped(words(models), cwd=tmp_path, after=after, by=by, ready=ready)
            assert tried.killed or tried.exit_code in (0, -by), tried
            assert "Traceback" not in tried.stderr
            if tried.exit_code in (130, 143):
                assert tried.stderr.endswith("stay; the same command goes on after them\n")
            kills += tried.exit_code != 0
            kept += kept_rows(models / f".{whole.name}.partial" / CHECKPOINT)
            if (models / whole.name).exists():
                check(models / whole.name, whole)
        done = commands.run(words(models), cwd=tmp_path)
        assert done.exit_code == 0, done.stderr
        assert [p.name for p in models.iterdir()] == [whole.name]
        check(models / whole.name, whole)
    record_property("kills", kills)
    record_property("epochs kept at kills", kept)
    assert kills > 0
    assert kept > 0


def check(folder: Path, whole: Path) -> None:
    """Whatever counts as finished is what an undisturbed one is, times aside."""
    names = sorted(p.name for p in whole.iterdir())
    # The checkpoint goes when the folder is in its place.
    assert {p.name for p in folder.iterdir()} - {CHECKPOINT} == {*names}
    for name in names:
        if name == "adaptation.json":
            assert timeless(folder / name) == timeless(whole / name)
        else:
            assert (folder / name).read_bytes() == (whole / name).read_bytes(), name


def timeless(path: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(path.read_text("utf-8"))
    for row in record["history"]:
        del row["seconds"]
    return record


def kept_rows(checkpoint: Path) -> int:
    """Rows of the history in a checkpoint that a kill left."""
    if not checkpoint.exists():
        return 0
    with safe_open(checkpoint, framework="np") as file:
        return len(json.loads(file.metadata()["state"])["history"])
