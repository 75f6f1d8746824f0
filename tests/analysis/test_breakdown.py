"""Scores by facet: which rows share a breakdown."""

from pathlib import Path

from featbert.data.load import load_corpus
from featbert.runs.planned import split_identity
from tests.analysis.records import compare_runs, make_signature
from tests.report.html.judged import make_run
from tests.workspace import WORDS, write_splits


def training_text(folder: Path, words: list[str]) -> dict[str, object]:
    """Parts of the signature of runs that learned from a text in which each word is an entity."""
    path = write_splits(folder, [(word, "B-PER") for word in words], WORDS, WORDS)
    train = split_identity(load_corpus(path), "train")
    return {"source": str(path), "splits": make_signature().splits | {"train": train}}


def test_words_seen_in_train_are_counted_for_each_training_text(tmp_path) -> None:
    texts = {
        50: training_text(tmp_path / "a", [f"word{n}" for n in range(50)]),
        20: training_text(tmp_path / "b", [f"other{n}" for n in range(20)]),
    }
    runs = [
        make_run(tmp_path, f"{n}-{layers}", 1, 0.3, splits=("dev",), layers=layers, signature=text)
        for n, text in texts.items()
        for layers in ("last", "first")
    ]
    comparison = compare_runs(runs, by=["seen", "type"])
    assert [len(one.rows) for one in comparison.breakdowns if one.facet == "type"] == [4]
    by_size = {
        n: one
        for one in comparison.breakdowns
        for n in texts
        if one.facet == "seen" and f"{n} sentences" in one.meaning
    }
    assert [len(one.rows) for one in by_size.values()] == [2, 2]
    assert by_size[50].gold["seen"] > 0
    assert by_size[20].gold == {"unseen": sum(by_size[50].gold.values())}
