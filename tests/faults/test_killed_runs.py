"""Runs that are killed at random moments: nothing that was finished is lost, and the same command
reaches the numbers of a run that nobody disturbed.
"""

from __future__ import annotations

import dataclasses
import json
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from safetensors import safe_open

from featbert.runs.record import RunRecord, read_record
from featbert.runs.run import find_runs
from tests.faults.killing import SIGNALS, Commands, Forks, Try, soak_kills
from tests.workspace import Workspace

# Kills of one round: the command is killed so often, then ends by itself and is compared.
KILLS = 2
MARK = "FEATBERT_TEST_COMMANDS"
PREPARE = """
import os
# Two runs at a time have a core each, as one has alone: threads are part of what a run is.
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
"""
EXPERIMENT = """
data = {corpus!r}
model = {model!r}
[features]
layers = ["last"]
epochs = 12
lstm_size = 8
[finetune]
epochs = 8
"""


@pytest.fixture(scope="module")
def mark(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the workers of these commands alone have in their environment."""
    return str(tmp_path_factory.mktemp("mark"))


@pytest.fixture(scope="module")
def commands(forks: Forks, mark: str) -> Commands:
    return Commands(forks, PREPARE, env={MARK: mark})


@dataclasses.dataclass(frozen=True)
class Killed:
    """A command with a runs directory, and what came of it where nobody disturbed it.

    Attributes:
        words: of the command, with a runs directory.
        seconds: that it trained.
        first: the first signal that it gets.
    """

    words: Callable[[Path], list[object]]
    expected: Path
    seconds: float
    first: int


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Workspace:
    """A corpus with its store."""
    from tests.workspace import write_corpus

    folder = tmp_path_factory.mktemp("killed")
    space = Workspace(folder, write_corpus(folder / "tiny"), tiny_bert)
    assert space.extract().exit_code == 0
    return space


@pytest.fixture(scope="module", params=["train", "finetune", "run"])
def killed(request: pytest.FixtureRequest, space: Workspace, commands: Commands) -> Killed:
    """A command and its undisturbed runs."""
    file = space.folder / "trial.toml"
    file.write_text(EXPERIMENT.format(corpus=str(space.corpus), model=str(space.model)), "utf-8")
    by_name: dict[str, list[object]] = {
        "train": [
            *("train", "--cache-dir", space.cache, "--layers", "last", "--seeds", "1,2"),
            *("--hidden-size", 8, "--epochs", 10),
        ],
        "finetune": [
            *("finetune", "--model", space.model, "--data", space.corpus, "--epochs", 8),
        ],
        "run": ["run", file, "--cache-dir", space.cache, "--jobs", 2],
    }

    def words(runs: Path) -> list[object]:
        return [*by_name[request.param], "--runs-dir", runs]

    expected = space.folder / f"{request.param}-undisturbed"
    alone = [*words(expected), *(["--jobs", 1] if request.param == "run" else [])]
    done = commands.run(alone, cwd=space.folder)
    assert done.exit_code == 0, done.stderr
    seconds = sum(run.record.cost.training_seconds for run in find_runs(expected))
    first = [*by_name].index(request.param)
    return Killed(words, expected, seconds / (2 if request.param == "run" else 1), first)


def test_killed_runs_reach_the_numbers_of_undisturbed_ones(
    killed: Killed,
    space: Workspace,
    commands: Commands,
    mark: str,
    record_property: Callable[..., None],
) -> None:
    moments = random.Random(6)
    rounds = max(1, soak_kills(KILLS) // KILLS)
    kills, kept = 0, 0
    for number in range(rounds):
        runs = space.folder / f"runs-{number}"
        for k in range(KILLS):
            after = moments.uniform(0, 0.8 * killed.seconds / KILLS)
            by = SIGNALS[(killed.first + k) % len(SIGNALS)]
            words = killed.words(runs)
            tried = commands.stopped(words, cwd=space.folder, after=after, by=by, ready="training ")
            # An interrupt within what Python evaluates from text ends it by the signal in the end.
            assert tried.killed or tried.exit_code in (0, -by), tried
            kills += tried.exit_code != 0
            kept += kept_epochs(runs)
            check_finished(runs, killed.expected)
            check_told(tried)
        done = commands.run(killed.words(runs), cwd=space.folder)
        assert done.exit_code == 0, done.stderr
        check_finished(runs, killed.expected)
        assert names(runs) == names(killed.expected)
        assert no_worker_is_left(mark)
        shutil.rmtree(runs)
    record_property("kills", kills)
    record_property("epochs kept at kills", kept)
    assert kills >= rounds


def test_killed_tests_of_significance_are_kept_whole(
    commands: Commands, finished: Workspace, tmp_path: Path
) -> None:
    undisturbed = shutil.copytree(finished.runs, tmp_path / "undisturbed")
    words = ["compare", "--stats", "--runs-dir"]
    assert commands.run([*words, undisturbed], cwd=tmp_path).exit_code == 0
    shutil.rmtree(undisturbed / ".statistics")
    clock = time.perf_counter()
    expected = commands.run([*words, undisturbed], cwd=tmp_path)
    seconds = time.perf_counter() - clock
    assert expected.exit_code == 0, expected.stderr
    moments = random.Random(8)
    kills = 0
    for number in range(max(1, soak_kills(KILLS) // KILLS)):
        runs = shutil.copytree(finished.runs, tmp_path / f"runs-{number}")
        for k in range(KILLS):
            after = moments.uniform(0, 0.5 * seconds)
            by = SIGNALS[k % len(SIGNALS)]
            tried = commands.stopped([*words, runs], cwd=tmp_path, after=after, by=by)
            kills += tried.exit_code != 0
            for path in (runs / ".statistics").glob("*.json"):
                assert path.read_bytes() == (undisturbed / ".statistics" / path.name).read_bytes()
        done = commands.run([*words, runs], cwd=tmp_path)
        assert done.exit_code == 0, done.stderr
        assert done.stdout == expected.stdout
        assert names(runs) == names(undisturbed)
    assert kills > 0


def kept_epochs(runs: Path) -> int:
    """Epochs in the checkpoints that a kill left."""
    found = 0
    for path in runs.glob("*/checkpoint.safetensors"):
        with safe_open(path, framework="np") as file:
            found += len(json.loads(file.metadata()["state"])["history"])
    return found


def check_finished(runs: Path, expected: Path) -> None:
    """Whatever counts as finished is whole, and what it would be anyway."""
    if not runs.exists():
        return
    found = find_runs(runs)
    assert not found.problems
    for run in found:
        for split in ("dev", "test"):
            run.predictions(split)
        other = expected / run.name
        assert timeless(run.record) == timeless(read_record(other))
        for name in ("weights.safetensors", "dev.conll", "test.conll"):
            assert (run.folder / name).read_bytes() == (other / name).read_bytes(), name


def check_told(tried: Try) -> None:
    """A command that could say something said it in one line."""
    if tried.exit_code in (130, 143, -signal.SIGINT):
        assert "the same command goes on after them" in tried.stderr.splitlines()[-1]
    assert "Traceback" not in tried.stderr, tried.stderr


def timeless(record: RunRecord) -> RunRecord:
    """The record without times, and the memory that a process had at most."""
    seconds = {"training_seconds": 0.0, "prediction_seconds": 0.0, "peak_memory_bytes": 0}
    return dataclasses.replace(
        record,
        history=[dataclasses.replace(row, seconds=0.0) for row in record.history],
        cost=dataclasses.replace(record.cost, **seconds),
        started="",
    )


def names(folder: Path) -> set[str]:
    """Everything below a folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def no_worker_is_left(mark: str) -> bool:
    """Whether no process has the mark any more, or soon."""
    for _ in range(200):
        if not marked(mark):
            return True
        time.sleep(0.05)
    return False


def marked(mark: str) -> list[int]:
    wanted = f"{MARK}={mark}".encode()
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except (OSError, ValueError):
            continue
    return found
