"""Sets of shards: the store in one piece is the oracle, to the bit."""

import dataclasses

import numpy as np
import pytest

from featbert.data.corpus import Corpus, Sentence, Split
from featbert.encoders.encoding import EncodingOptions
from featbert.encoders.loading import load_frozen
from featbert.encoders.source import find_encoder
from featbert.errors import FeatbertError, MissingError
from featbert.features import shards
from featbert.features.extraction import run_extraction
from featbert.features.plan import plan_extraction
from featbert.features.shards import extract_shards
from featbert.features.store import FeatureStore
from tests.features.stores import datasets, flip
from tests.features.support import FP32, corpus_of, extracted
from tests.workspace import Workspace, error_of, ok, write_corpus

TRAIN = ["The quick fox", "Jordan", "EU \u200b x", "Hamilton unaffordable lamb " * 9] * 3
TEXT = corpus_of(
    train=[f"{text} {n}" for n, text in enumerate(TRAIN)],
    dev=["Jordan Smith of Chelsea", "the lazy dog", "JORDAN OF CHELSEA", "a b c d"],
    documents={"train": [n // 3 for n in range(12)], "dev": [0, 0, 1, 1]},
)
# Passages with two questions each
PAIRS = tuple(
    Sentence((*["who", "beat"], str(n), *f"Chelsea beat team {n // 2} .".split()), pair=3)
    for n in range(12)
)
OF_PAIRS = Corpus(
    "tiny", {name: Split(name, PAIRS[::step]) for name, step in {"train": 1, "dev": 5}.items()}
)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr("featbert.features.plan.BLOCK_WORDS", 12)


@pytest.fixture
def source(encoder_folder):
    return find_encoder(str(encoder_folder("bert")))


def sharded(corpus, source, cache, n=3, **options) -> FeatureStore:
    encoding = EncodingOptions(**FP32, **options)
    plan = plan_extraction(corpus, source, encoding, cache_dir=cache, shards=n)
    return plan.finished or extract_shards(plan, n)


@pytest.mark.parametrize(
    ("corpus", "options"),
    [
        (TEXT, {}),
        (TEXT, {"context": "document"}),
        (TEXT, {"casing": "truecased", "keep": "pooled"}),
        (OF_PAIRS, {"packing": "joint"}),
        (OF_PAIRS, {"packing": "apart"}),
    ],
)
def test_a_set_is_the_store_in_one_piece(corpus, options, source, tmp_path):
    whole = extracted(corpus, source.folder, tmp_path / "whole", **options)
    found = sharded(corpus, source, tmp_path / "cache", **options)
    assert (found.path.name, len(found.shards)) == (whole.path.name, 3)
    assert datasets(found.path) == datasets(whole.path)
    assert found.verify() == []
    timed = {"seconds": 0, "created": "", "peak_memory_bytes": 0, "shards": ()}
    same = [dataclasses.replace(s.manifest, **timed) for s in (found, whole)]
    assert same[0].flops == pytest.approx(same[1].flops)
    assert dataclasses.replace(same[0], flops=same[1].flops) == same[1]
    kind = found.manifest.kinds[0]
    mapped = [np.stack(part) for part in found.mapped("train", [0, 3], kind)]
    assert len(mapped) > 1
    np.testing.assert_array_equal(
        np.concatenate(mapped, axis=1), whole.read("train", [0, 3], kind=kind)
    )
    assert sharded(corpus, source, tmp_path / "cache", **options).path == found.path
    found.path.unlink()
    one = extracted(corpus, source.folder, tmp_path / "cache", **options)
    assert [*one.path.parent.iterdir()] == [found.path]


def test_a_lost_shard_alone_is_made_again(source, tmp_path, monkeypatch):
    found = sharded(TEXT, source, tmp_path)
    before, lost = datasets(found.path), found.shards[1].path
    kept = {s.path: s.path.stat().st_mtime_ns for s in found.shards if s.path != lost}
    lost.unlink()
    with pytest.raises(MissingError, match=f"{lost.name}.*--shards 3"):  # HDF5 itself reads zeros
        found.read("train", words=slice(0, 1))  # of another one, in which no block is whole
    with pytest.raises(MissingError, match=lost.name):
        FeatureStore(found.path)
    with pytest.raises(MissingError, match="--shards 3"):
        sharded(TEXT, source, tmp_path, n=1)
    made = []

    def run(plan, **options):
        made.append(plan.path)
        return run_extraction(plan, **options)

    monkeypatch.setattr(shards, "run_extraction", run)
    assert datasets(sharded(TEXT, source, tmp_path).path) == before
    assert made == [lost]
    assert {path: path.stat().st_mtime_ns for path in kept} == kept


def test_lost_shards_are_made_with_the_layers_of_the_others_and_old_ones_go(
    source, tmp_path, monkeypatch
):
    found = sharded(TEXT, source, tmp_path, n=4)
    found.shards[1].path.unlink()
    again = sharded(TEXT, source, tmp_path, n=4, layers=(1,))
    assert again.layers == found.layers
    again.path.unlink()  # as where the command ended before the set was whole
    loaded = []

    def load(*words, **options):
        loaded.append(words)
        return load_frozen(*words, **options)

    monkeypatch.setattr("featbert.features.extraction.load_frozen", load)
    fewer = sharded(TEXT, source, tmp_path, n=2)
    assert len(loaded) == 1  # once, for both
    assert {*fewer.shards[0].path.parent.iterdir()} == {shard.path for shard in fewer.shards}


def test_text_of_one_block_is_computed_where_all_is(source, tmp_path):
    def lost(function, calls):
        return ((name, OSError("no node")) for name in calls)

    small = corpus_of(train=["Jordan"])
    plan = plan_extraction(small, source, EncodingOptions(**FP32), cache_dir=tmp_path)
    with pytest.raises(OSError, match="no node"):
        extract_shards(plan, 4, lost)


def test_shards_that_fail_cost_no_others(source, tmp_path, monkeypatch):
    def failing(plan, **options):
        if "dev" in plan.texts:
            raise MemoryError
        return run_extraction(plan, **options)

    with monkeypatch.context() as patch:
        patch.setattr(shards, "run_extraction", failing)
        with pytest.raises(FeatbertError, match="1 of 3"):
            sharded(TEXT, source, tmp_path)
    (folder,) = tmp_path.iterdir()
    assert len([*folder.iterdir()]) == 2
    assert sharded(TEXT, source, tmp_path).verify() == []


def test_commands_know_sets(tmp_path, tiny_bert):
    space = Workspace(tmp_path, write_corpus(tmp_path / "tiny"), tiny_bert)
    ok(space.extract("--shards", 3, "--precision", "fp32"))
    (path,) = space.cache.glob("*.h5")
    shard = FeatureStore(path).shards[1].path
    assert str(shard.parent) in space.call("inspect", path).stdout
    ok(space.train("--layers", "last", "--epochs", 1))
    flip(shard, "train/layers/02")
    damaged = space.call("verify", path)
    error_of(damaged)
    assert str(shard) in damaged.stdout
    shard.write_bytes(shard.read_bytes()[:-9])
    assert str(shard) in error_of(space.call("verify", path))
    shard.unlink()
    ok(space.extract("--shards", 3, "--precision", "fp32"))
    ok(space.call("verify", path))
