"""A command that is killed in the middle makes, asked again, what an undisturbed one has made."""

import contextlib
import json
import os
from glob import glob
from pathlib import Path
from typing import Any

import pytest

from featbert.adaptation.language_model import COMPUTATION
from tests.corpora import write_choices, write_questions
from tests.features.stores import datasets
from tests.processes import killed_command
from tests.workspace import ok

# Stores have many small blocks, each with 20 ms of disk.
SLOW = """
import time
from featbert.features import plan
from featbert.features.writer import StoreWriter

plan.BLOCK_WORDS = 5
plain = StoreWriter.write

def write(*arguments):
    plain(*arguments)
    time.sleep(0.02)

StoreWriter.write = write
"""
EXPERIMENT = """
precision = "fp32"
threads = 1
[corpora]
choices = {{ data = "{folder}/choices", task = "choice" }}
questions = {{ data = "{folder}/questions", task = "spans", packing = "apart" }}
[[variant]]
corpora = ["choices"]
finetune.epochs = 4
[[variant]]
features = {{ layers = ["last"], epochs = 6, body = "bilstm", lstm_size = 8 }}
"""
# Options, where it writes, a file of its work in the middle, and from which size on it is killed.
COMMANDS = {
    "extract": ((), "--cache-dir", "*.journal", 500),
    "adapt": (("--epochs", 5), "--models-dir", f".*.partial/checkpoint-*/{COMPUTATION}", 0),
    "finetune": (("--epochs", 4), "--runs-dir", "*/checkpoint.pt", 0),
    "run": (("--jobs", 2), "--runs-dir", "*--full--*/checkpoint.pt", 0),
}
# What the clock and a process's memory decide, and the checksum of a record that has it.
TIMED = (
    *("seconds", "training_seconds", "prediction_seconds", "started", "resumed_after"),
    *("peak_memory_bytes", "checksum"),
)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_killed_command_makes_what_an_undisturbed_one_has_made(workspace, monkeypatch, command):
    prepare = SLOW if command == "extract" else ""
    if prepare:
        monkeypatch.setattr("featbert.features.plan.BLOCK_WORDS", 5)
    options, where, unfinished, least = COMMANDS[command]
    given = ("--model", workspace.model, "--data", workspace.corpus, "--precision", "fp32")
    words = [command, *given, "--device", "cpu", *options, "--quiet"]
    write_questions(workspace.folder / "questions")
    if command == "finetune":
        words += ["--data", workspace.folder / "questions", "--task", "spans"]
    if command == "run":
        write_choices(workspace.folder / "choices")
        file = workspace.experiment(EXPERIMENT.format(folder=workspace.folder))
        words = ["run", file, "--cache-dir", workspace.cache, "--quiet"]
    killed, undisturbed = workspace.folder / "killed", workspace.folder / "undisturbed"
    ok(workspace.call(*words, where, undisturbed))

    def is_half() -> bool:
        with contextlib.suppress(FileNotFoundError):  # it got its final name meanwhile
            return any(os.path.getsize(at) >= least for at in glob(f"{killed}/{unfinished}"))
        return False

    jobs = options if command == "run" else ()
    again = (*words, where, killed)
    how = {"cwd": workspace.folder, "when": is_half, "prepare": prepare}
    exit_code, n_children = killed_command(*again, *jobs, **how)
    assert (exit_code, n_children > 1) == (-9, command == "run")
    assert not files(undisturbed).keys() <= files(killed).keys()
    ok(workspace.call(*again))
    found, expected = files(killed), files(undisturbed)
    assert found.keys() == expected.keys()
    for name, path in found.items():
        assert held(path) == held(expected[name]), name


def files(folder: Path) -> dict[str, Path]:
    return {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}


def held(path: Path) -> Any:
    """What a file holds, but for times."""
    if path.suffix == ".h5":
        return datasets(path)
    if path.suffix in (".json", ".jsonl"):
        rows = (
            path.read_text("utf-8").splitlines() if path.suffix == ".jsonl" else [path.read_text()]
        )
        return [json.loads(row, object_hook=timeless) for row in rows]
    return path.read_bytes()


def timeless(record: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key not in TIMED}
