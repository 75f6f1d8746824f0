"""Hostile corpora: read without losing a word, or refused in one line."""

import functools
import os
import shutil
import sys
from pathlib import Path

import pytest

from featbert.data.load import load_corpus
from tests.workspace import command, error_of, ok

GOOD = "Rome B-LOC\n. O\n"


check = functools.partial(command, "check")


def test_a_name_without_a_file_is_refused_in_one_line(tmp_path):
    """A folder, a link to nothing, links in a circle."""
    places = [tmp_path / name for name in ("folder", "nothing", "circle")]
    for place in places:
        place.mkdir()
    (places[0] / "train.conll").mkdir()
    (places[1] / "dev.conll").write_text(GOOD, "utf-8")
    (places[1] / "train.conll").symlink_to("gone.conll")
    (places[2] / "train.conll").symlink_to("dev.conll")
    (places[2] / "dev.conll").symlink_to("train.conll")
    for place in places:
        line = error_of(check(place))
        assert str(place) in line
        assert ("train.conll/" if place == places[0] else "'train.conll'") in line


def test_a_word_of_a_megabyte(tmp_path):
    word = "é" * 500_000
    (tmp_path / "train.conll").write_text(f"{word} B-X\nb O\n", "utf-8")
    result = ok(check(tmp_path))
    assert len(result.stdout) < 5000
    assert load_corpus(tmp_path)["train"].sentences[0].words == (word, "b")
    (tmp_path / "dev.conll").write_text(f"b O\n{word}\n", "utf-8")
    assert len(error_of(check(tmp_path))) < 1000


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_bytes_that_are_not_utf8_cost_nothing_that_was_computed(workspace, monkeypatch):
    odd = Path(os.fsdecode(os.fsencode(workspace.folder) + b"/caf\xe9"))
    shutil.copytree(workspace.corpus, odd / "tiny")
    shutil.copytree(workspace.model, odd / "bert")
    model, data, where = workspace.model, workspace.corpus, ("--runs-dir", workspace.runs, "-q")
    for words in (
        ("extract", "--data", data, "--model", odd / "bert", "--cache-dir", workspace.cache),
        ("finetune", "--data", odd / "tiny" / "train.conll", "--model", model, *where),
        ("finetune", "--data", data, "--model", model, "--language", "d\udce9", *where),
        ("adapt", "--data", data, "--model", model, "--epochs", 1, "--out", odd / "out", "-q"),
        ("runs", "tag", "run", "tag\udce9"),
    ):
        assert "udce9" in error_of(workspace.call(*words))
        assert not list(workspace.folder.rglob("*.h5"))
        assert not workspace.runs.exists()
        assert sorted(path.name for path in odd.iterdir()) == ["bert", "tiny"]
    # Also where no argument has them.
    monkeypatch.chdir(odd)
    quick = ("--model", model, "--epochs", 1, "-q")
    for corpus in ("tiny", data):  # of which the second one's runs would be here
        assert "udce9" in error_of(workspace.call("finetune", "--data", corpus, *quick))
    ok(workspace.call("finetune", "--data", data, *quick, "--runs-dir", workspace.runs))
    (odd / "words.txt").write_text("Smith said so\n", "utf-8")
    (run,) = workspace.runs.iterdir()
    assert ok(workspace.call("predict", run, odd / "words.txt", "-q")).stdout.startswith("Smith\t")
    assert "udce9" in error_of(workspace.call("export", run, "out", "--format", "featbert"))
    assert sorted(path.name for path in odd.iterdir()) == ["bert", "tiny", "words.txt"]


@pytest.mark.parametrize(
    ("label", "words", "parts"),
    [
        ("", ("train",), ("train.tsv", "--target")),
        ("", ("finetune",), ("train.tsv", "--target")),
        ("", ("train", "--task", "multilabel"), ("train.tsv", "--target")),
        ("", ("finetune", "--task", "multilabel"), ("train.tsv", "--target")),
        ("bad", ("train", "--shots", 9), ("--shots", "4")),
        ("bad", ("finetune", "--shots", 9), ("--shots", "4")),
        ("bad", ("train", "--layers", 77), ("77", "0 to 4")),
        ("bad", ("finetune", "--tuning", "top:77"), ("77", "4")),
    ],
)
def test_texts_that_cannot_be_learned_from_are_refused_in_one_line(workspace, label, words, parts):
    good = label and "good"
    rows = "".join(f"a fine film {n}\t{good}\na long film {n}\t{label}\n" for n in range(4))
    for name in ("train", "dev"):
        (workspace.folder / f"{name}.tsv").write_text(f"text\tlabel\n{rows}", "utf-8")
    where = ("--data", workspace.folder, "--runs-dir", workspace.runs)
    task = () if "--task" in words else ("--task", "classification")
    line = error_of(workspace.call(*words, *task, *where, "--model", workspace.model, "-q"))
    assert all(part in line for part in parts), line
    assert not workspace.runs.exists()
