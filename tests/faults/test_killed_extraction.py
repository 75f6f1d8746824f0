"""An extraction that is killed at random moments, again and again, loses no finished block."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

import pytest

from featbert.features.store import FeatureStore
from featbert.io import owning
from tests.faults.killing import CODES, SIGNALS, Commands, Forks, Try, soak_kills
from tests.features.stores import datasets
from tests.workspace import write_corpus

# 55 blocks, each with 20 ms of disk: a second, whatever the machine.
SLOW = """
import sys
import time
from featbert.features import plan
from featbert.features.writer import StoreWriter

plan.BLOCK_WORDS = 40
plain = StoreWriter.write

def write(*arguments):
    sys.stderr.write("writing\\n")
    sys.stderr.flush()
    plain(*arguments)
    time.sleep(0.02)

StoreWriter.write = write
"""
READY = "writing"
KILLS = 4
LONGEST = 0.3  # seconds from when it is ready


@pytest.fixture(scope="module")
def commands(forks: Forks) -> Commands:
    return Commands(forks, SLOW)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus") / "tiny", repeat=60)


def words(corpus: Path, model: Path, cache: Path) -> list[object]:
    options = ["--precision", "fp32", "--device", "cpu"]
    return ["extract", "--data", corpus, "--model", model, "--cache-dir", cache, *options]


def check_told(one: Try) -> None:
    """A try that was stopped by a signal that can be heard says what is kept."""
    assert "Traceback" not in one.stderr
    if one.killed and one.exit_code > 0:
        how = {CODES[s]: h for s, h in zip(SIGNALS[1:], ("terminated", "interrupted"), strict=True)}
        assert one.stderr.splitlines()[-1].startswith(f"{how[one.exit_code]}; ")


def test_kills_at_random_moments(
    commands: Commands, corpus: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    whole = commands.run(words(corpus, tiny_bert, tmp_path / "whole"), cwd=tmp_path)
    assert whole.exit_code == 0, whole.stderr
    (undisturbed,) = (tmp_path / "whole").iterdir()
    expected = datasets(undisturbed)

    wanted, killed, kept, extractions = soak_kills(KILLS), Counter(), [], 0
    while killed.total() < wanted:
        cache = tmp_path / f"cache{extractions}"
        tries = commands.killed_through(
            words(corpus, tiny_bert, cache),
            cwd=tmp_path,
            kills=wanted - killed.total(),
            seed=extractions,
            longest=LONGEST,
            ready=READY,
        )
        extractions += 1
        for one in tries:
            check_told(one)
            # Nothing of the first block may be finished yet, and then nothing is said.
            kept += map(int, re.findall(r"extraction: (\d+) blocks? kept", one.stderr))
        assert tries[-1].exit_code == 0, tries[-1].stderr
        killed.update(one.sent for one in tries if one.killed)
        # Every finished store is whole, and no other file stays.
        assert [p.name for p in cache.iterdir()] == [undisturbed.name]
        assert FeatureStore(cache / undisturbed.name).verify() == []
        assert datasets(cache / undisturbed.name) == expected
    assert set(killed) == set(SIGNALS)
    assert kept  # it went on
    if extractions == 1:  # no block that was kept was lost to a later kill
        assert kept == sorted(kept)


def test_a_second_command_is_told_who_is_extracting(
    commands: Commands, corpus: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    """This process extracts; a command beside it stops with one line, and goes on afterwards."""
    asked = words(corpus, tiny_bert, tmp_path / "cache")
    planned = commands.run([*asked, "--dry-run"], cwd=tmp_path)
    store = Path(planned.stdout.partition(": would hold")[0])
    with owning(store):
        second = commands.run(asked, cwd=tmp_path)
        assert second.exit_code == 1
        last = second.stderr.splitlines()[-1]
        assert last.startswith("error: ")
        assert f"{store} is in use by process {os.getpid()} on " in last
    assert commands.run(asked, cwd=tmp_path).exit_code == 0
    assert [path.name for path in store.parent.iterdir()] == [store.name]
