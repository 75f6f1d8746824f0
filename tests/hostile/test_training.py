"""The same corpora through extraction and training: every word gets its vector and its tag."""

from __future__ import annotations

import json
from pathlib import Path

from featbert.features.store.reader import FeatureStore
from featbert.runs.run import find_runs
from tests.hostile.test_corpora import STRANGE
from tests.workspace import Workspace, error_of

WORDS = [word for words in STRANGE.values() for word in words]


def corpus(folder: Path, **splits: list[tuple[list[str], list[str]]]) -> Path:
    folder.mkdir()
    for name, sentences in splits.items():
        rows = [json.dumps({"tokens": words, "tags": tags}) for words, tags in sentences]
        (folder / f"{name}.jsonl").write_text("\n".join(rows), "utf-8")
    return folder


def every(kind: str, words: list[str]) -> tuple[list[str], list[str]]:
    return words, [f"B-{kind}"] * len(words)


def test_strange_words_get_vectors_and_tags(workspace: Workspace) -> None:
    long = ["a"] * 1000
    sentences = [every("X", WORDS), every("X", long), every("X", ["é" * 500_000, "b"])]
    space = Workspace(
        workspace.folder,
        corpus(
            workspace.folder / "strange", train=sentences[:1], dev=sentences, test=sentences[:1]
        ),
        workspace.model,
    )
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
    assert space.compare().exit_code == 0


def test_train_without_dev_is_extracted_and_not_trained_on(workspace: Workspace) -> None:
    data = corpus(workspace.folder / "half", train=[every("X", ["a", "b"])])
    space = Workspace(workspace.folder, data, workspace.model)
    assert space.call("check", data).exit_code == 0
    assert space.extract("--quiet").exit_code == 0
    for result in (space.train("--layers", "last", "--quiet"), space.finetune("--quiet")):
        line = error_of(result)
        assert "dev" in line
        assert "expected" in line


def test_types_of_dev_that_train_lacks_are_missed_and_counted(workspace: Workspace) -> None:
    seen, unseen = every("SEEN", ["a", "b"]), every("UNSEEN", ["c", "d", "e"])
    data = corpus(workspace.folder / "unseen", train=[seen] * 4, dev=[seen, unseen], test=[unseen])
    space = Workspace(workspace.folder, data, workspace.model)
    checked = space.call("check", data)
    assert "types that train lacks" in checked.stdout
    assert "UNSEEN" in checked.stdout
    assert space.extract("--quiet").exit_code == 0
    result = space.train("--layers", "last", "--quiet")
    assert result.exit_code == 0, result.stderr
    (run,) = find_runs(space.runs)
    scores = run.record.scores
    assert (
        scores["dev"].by_class["UNSEEN"]["gold"] == scores["test"].by_class["UNSEEN"]["gold"] == 3
    )
    assert scores["dev"].by_class["UNSEEN"]["recall"] == 0
