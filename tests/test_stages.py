"""Long work tells how far it is, to whoever listens and to nobody else."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from featbert.data.check import check_corpus
from featbert.data.load import load_corpus
from featbert.progress import Tell, heard_by, stage, told, track
from tests.workspace import Workspace


class Ear:
    """Listens, and keeps what it heard: by stage, (unit, total, what was told)."""

    def __init__(self) -> None:
        self.heard: dict[str, tuple[str, int | None, list[int]]] = {}
        self.ended: list[str] = []

    @contextmanager
    def __call__(self, what: str, unit: str, total: int | None) -> Iterator[Tell]:
        self.heard[what] = (unit, total, [])
        try:
            yield self.heard[what][2].append
        finally:
            self.ended.append(what)


def test_who_listens_hears_and_afterwards_nobody() -> None:
    ear = Ear()
    with heard_by(ear):
        with stage("counting", "sheep", 3) as tell:
            tell(2)
            tell(1)
        with pytest.raises(KeyError), stage("failing", "sheep"):
            raise KeyError
    with stage("unheard", "sheep") as tell:
        tell(1)
    assert ear.heard == {"counting": ("sheep", 3, [2, 1]), "failing": ("sheep", None, [])}
    assert ear.ended == ["counting", "failing"]


@pytest.mark.parametrize("items", [0, 1, 99, 100, 1234])
def test_items_pass_through_and_all_of_them_are_told(items: int) -> None:
    ear = Ear()
    with heard_by(ear):
        assert list(track(range(items), "passing", "items")) == list(range(items))
    unit, total, heard = ear.heard["passing"]
    assert (unit, total, sum(heard)) == ("items", items, items)
    assert len(heard) <= 200
    calls: list[int] = []
    assert list(told("abcde", calls.append, every=2)) == list("abcde")
    assert calls == [2, 2, 1]


def test_what_takes_long_is_told_to_its_end(workspace: Workspace, tmp_path: Path) -> None:
    """Reading, checking, hashing, tokenizing, loading, comparing checksums."""
    ear = Ear()
    with heard_by(ear):
        corpus = load_corpus(workspace.corpus)
        check_corpus(corpus)
        from featbert.encoders.source import find_encoder
        from featbert.features.extraction import extract

        store = extract(
            corpus, find_encoder(str(workspace.model)), cache_dir=tmp_path, device="cpu"
        )
        store.verify()
        store.read("train")
    by_unit: dict[str, set[str]] = defaultdict(set)
    for what, (unit, total, heard) in ear.heard.items():
        by_unit[unit].add(what)
        if total is not None:
            assert sum(heard) == total, what
    assert {"reading train.conll", "reading dev.conll", "reading test.conll"} <= by_unit["lines"]
    assert "counting entities of train" in by_unit["sentences"]
    assert by_unit["distinct words"] == {"tokenizing"}
    assert {"hashing the encoder's files", "comparing checksums"} <= by_unit["bytes"]
    assert "reading vectors of train" in by_unit["layers"]
    assert by_unit[""] == {"loading tiny-bert"}
    assert set(ear.ended) == set(ear.heard)
