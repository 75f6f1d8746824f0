"""A long text on a small machine: 200,000 sentences extracted and trained on, killed on the way.

`make soak` runs it; FEATBERT_SOAK_SENTENCES gives another length.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmarks.text import Size, generated_corpus
from featbert.data.conll import write_conll
from featbert.data.corpus import Corpus, Split
from featbert.features.extraction import extract
from featbert.features.store.reader import FeatureStore
from featbert.runs.run import find_runs
from tests.faults.killing import SIGNALS, Commands, Forks
from tests.hostile.budget import SOAK
from tests.tiny_encoders import write_encoder

SENTENCES = int(os.environ.get("FEATBERT_SOAK_SENTENCES", "200000"))
SPLITS = {"train": 0.98, "dev": 0.01, "test": 0.01}
KILLS = 4  # of the extraction, and of the training
SAMPLED = 300
# Above a process that has imported torch and read the text.
EXTRACTION_BYTES = 600e6
# It says when the first block is computed: before, there is nothing to keep.
READY = "writing"
PREPARE = """
import sys
from featbert.features.store.writer import StoreWriter

plain = StoreWriter.write

def write(*arguments):
    sys.stderr.write("writing\\n")
    sys.stderr.flush()
    plain(*arguments)

StoreWriter.write = write
"""
pytestmark = pytest.mark.skipif(not SOAK, reason="takes many minutes; make soak runs it")


@pytest.fixture(scope="module")
def text() -> Corpus:
    return generated_corpus({n: Size(round(SENTENCES * s)) for n, s in SPLITS.items()}, seed=3)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, text: Corpus) -> Path:
    """A folder with the text and an encoder."""
    folder = tmp_path_factory.mktemp("long")
    (folder / "data").mkdir()
    for name, split in text.splits.items():
        write_conll(folder / "data" / f"{name}.conll", split.sentences, split.tags)
    write_encoder(folder / "bert", layers=4, hidden=64, positions=128)
    return folder


@pytest.fixture(scope="module")
def commands(forks: Forks) -> Commands:
    return Commands(forks, PREPARE, patience=3000)


def killed_through(
    commands: Commands, words: list[object], place: Path, ready: str, longest: float
) -> tuple[int, str]:
    """Kills the command again and again, then lets it end; kills, and its last words on stderr."""
    moments, kills = random.Random(5), 0
    for k in range(KILLS):
        after, by = moments.uniform(0, longest), SIGNALS[k % len(SIGNALS)]
        tried = commands.stopped(words, cwd=place, after=after, by=by, ready=ready)
        assert "Traceback" not in tried.stderr
        kills += tried.killed
    done = commands.run(words, cwd=place)
    assert done.exit_code == 0, done.stderr
    return kills, done.stderr


@pytest.fixture(scope="module")
def store(place: Path, commands: Commands) -> FeatureStore:
    """The store that an extraction left which was killed on the way."""
    words = ["extract", "--data", "data", "--model", "bert", "--cache-dir", "cache"]
    words += ["--precision", "fp32", "--layers", "0,2,4"]
    seconds = SENTENCES / 10_000  # a part of what it takes
    kills, told = killed_through(commands, words, place, READY, seconds)
    assert kills >= KILLS // 2
    assert "kept" in told
    (path,) = (place / "cache").iterdir()  # and no other file
    return FeatureStore(path)


def test_the_vectors_are_those_of_an_undisturbed_extraction(
    place: Path, text: Corpus, store: FeatureStore, record_property: Callable[..., None]
) -> None:
    assert store.verify() == []
    random_numbers = np.random.default_rng(7)
    chosen = {
        name: np.sort(random_numbers.choice(len(split), min(SAMPLED, len(split)), replace=False))
        for name, split in text.splits.items()
    }
    sampled = Corpus(
        "sampled",
        {n: Split(n, tuple(text[n].sentences[i] for i in places)) for n, places in chosen.items()},
    )
    alone = extract(
        sampled, str(place / "bert"), cache_dir=place / "alone", precision="fp32", layers=[0, 2, 4]
    )
    furthest = 0.0
    for name, places in chosen.items():
        offsets = store.offsets(name)
        words = np.concatenate([np.arange(offsets[i], offsets[i + 1]) for i in places])
        for layer in (0, 2, 4):
            found = store.read(name, [layer])[0][words].astype(np.float32)
            expected = alone.read(name, [layer])[0].astype(np.float32)
            furthest = max(furthest, float(np.abs(found - expected).max()))
    record_property("words", store.manifest.words)
    record_property("furthest from the undisturbed", furthest)
    record_property("peak memory, MB", store.manifest.peak_memory_bytes / 1e6)
    assert furthest <= 4e-3  # two steps of float16 between 2 and 4: batches change the last bits


def test_memory_stays_bounded(place: Path, store: FeatureStore, commands: Commands) -> None:
    """What extraction adds to the text in memory does not grow with the text."""
    counted = commands.run(["check", "data"], cwd=place)
    assert counted.exit_code == 0, counted.stderr
    assert store.manifest.peak_memory_bytes < counted.peak_memory + EXTRACTION_BYTES


def test_a_killed_training_reaches_the_weights_of_an_undisturbed_one(
    place: Path, store: FeatureStore, commands: Commands, record_property: Callable[..., None]
) -> None:
    words = ["train", "--cache-dir", "cache", "--layers", "last", "--hidden-size", 16]
    words += ["--batch-size", 128, "--epochs", 3, "--runs-dir"]
    undisturbed = commands.run([*words, "alone-runs"], cwd=place)
    assert undisturbed.exit_code == 0, undisturbed.stderr
    (expected,) = find_runs(place / "alone-runs")
    seconds = expected.record.cost.training_seconds
    kills, _ = killed_through(commands, [*words, "runs"], place, "training ", 0.6 * seconds)
    assert kills >= KILLS // 2
    (run,) = find_runs(place / "runs")
    for name in ("weights.safetensors", "dev.conll", "test.conll"):
        assert (run.folder / name).read_bytes() == (expected.folder / name).read_bytes()
    assert run.record.scores == expected.record.scores
    assert sorted(p.name for p in run.folder.iterdir()) == sorted(
        p.name for p in expected.folder.iterdir()
    )
    record_property("training kills", kills)
    record_property("training peak memory, MB", run.record.cost.peak_memory_bytes / 1e6)
