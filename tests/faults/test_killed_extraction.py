"""An extraction that is killed loses no finished block; a second process is told who writes."""

from pathlib import Path

import pytest

from featbert.features.store import FeatureStore
from tests.features.stores import datasets
from tests.processes import killed_command
from tests.workspace import Workspace, write_corpus

# 55 blocks of 40 words, each with 20 ms of disk.
SLOW = """
import time
from featbert.features import plan
from featbert.features.writer import StoreWriter

plan.BLOCK_WORDS = 40
plain = StoreWriter.write

def write(*arguments):
    plain(*arguments)
    time.sleep(0.02)

StoreWriter.write = write
"""


@pytest.fixture
def space(tmp_path: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setattr("featbert.features.plan.BLOCK_WORDS", 40)
    return Workspace(tmp_path, write_corpus(tmp_path / "tiny", repeat=60), tiny_bert)


def words(space: Workspace, cache: Path) -> list[object]:
    options = ["--precision", "fp32", "--device", "cpu", "--quiet"]
    where = ["--data", space.corpus, "--model", space.model, "--cache-dir", cache]
    return ["extract", *where, *options]


def test_an_extraction_that_is_killed_gives_the_store_of_an_undisturbed_one(space):
    whole, cache = space.folder / "whole", space.folder / "cache"
    assert space.call(*words(space, whole)).exit_code == 0
    (expected,) = whole.glob("*.h5")
    journal = cache / f"{expected.name}.journal"

    def finished() -> list[str]:
        """Lines of the journal: one for the plan, one for each finished block."""
        return journal.read_text("utf-8").splitlines() if journal.exists() else []

    def reached() -> bool:
        return len(finished()) > 5

    command = words(space, cache)
    assert killed_command(*command, cwd=space.folder, when=reached, prepare=SLOW) == -9
    assert 5 < len(finished()) < 50
    assert space.call(*command).exit_code == 0

    assert [path.name for path in cache.iterdir()] == [expected.name]
    store = cache / expected.name
    assert FeatureStore(store).verify() == []
    assert datasets(store) == datasets(expected)
