"""Strange words and tags through extraction and training: every word has its vector and its tag."""

from __future__ import annotations

import json
from pathlib import Path

from featbert import FeatureStore, find_runs
from tests.hostile.test_corpora import STRANGE
from tests.workspace import Workspace

WORDS = [word for words in STRANGE.values() for word in words]
Tagged = tuple[list[str], list[str]]


def in_folder(space: Workspace, **splits: list[Tagged]) -> Workspace:
    """The workspace with a corpus of these sentences."""
    folder: Path = space.folder / "strange"
    folder.mkdir()
    for name, sentences in splits.items():
        rows = [json.dumps({"tokens": words, "tags": tags}) for words, tags in sentences]
        (folder / f"{name}.jsonl").write_text("\n".join(rows), "utf-8")
    return Workspace(space.folder, folder, space.model)


def every(kind: str, words: list[str]) -> Tagged:
    return words, [f"B-{kind}"] * len(words)


def test_strange_words_get_vectors_and_tags(workspace: Workspace) -> None:
    long = ["a"] * 1000
    sentences = [every("X", WORDS), every("X", long), every("X", ["é" * 500_000, "b"])]
    space = in_folder(workspace, train=sentences[:1], dev=sentences, test=sentences[:1])
    assert space.extract("--layers", "4", "--quiet").exit_code == 0
    (store,) = map(FeatureStore, space.cache.glob("*.h5"))
    n = sum(len(words) for words, _ in sentences)
    assert store.offsets("dev").tolist() == [0, len(WORDS), len(WORDS) + len(long), n]
    assert store.read("dev", (4,)).shape == (1, n, 16)
    result = space.train("--layers", "last", "--quiet")
    assert result.exit_code == 0, result.stderr
    (run,) = find_runs(space.runs)
    for split, there in (("dev", sentences), ("test", sentences[:1])):
        found = run.predictions(split)
        assert found.words == [words for words, _ in there]
        assert found.gold == [tags for _, tags in there]
