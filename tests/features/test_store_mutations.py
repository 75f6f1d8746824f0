"""A store that is changed in any way is refused, or what is read of it is what was written."""

from __future__ import annotations

import dataclasses
import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from featbert.features.store.layout import frame_checksum
from featbert.features.store.reader import FeatureStore, StoreError
from tests.features.stores import Written

LENGTHS = {"train": [3, 1, 7, 2, 9], "dev": [4, 2], "test": [5]}
EACH = 40  # mutations of a kind


def written(**options) -> Written:
    return Written(LENGTHS, block=5, hidden=64, **options)  # half of the file are vectors


@pytest.fixture(scope="module")
def intact(tmp_path_factory) -> FeatureStore:
    """A store under the name that it has in a cache."""
    plan = written()
    return plan.to(tmp_path_factory.mktemp("intact") / plan.manifest.file_name)


@pytest.fixture(scope="module")
def other(tmp_path_factory) -> bytes:
    """A store of the same sizes and of another encoder."""
    plan = written(seed=1)
    plan.manifest = dataclasses.replace(plan.manifest, encoder_weights="3" * 64)
    return plan.to(tmp_path_factory.mktemp("other") / "a.h5").path.read_bytes()


def held(store: FeatureStore) -> tuple[object, ...]:
    """Everything that can be read of a store."""
    read = {s: store.read(s).tobytes() for s in store.splits}
    mapped = {s: [a.tobytes() for a in store.mapped(s, store.layers)] for s in store.splits}
    offsets = {s: store.offsets(s).tolist() for s in store.splits}
    return store.manifest, read, mapped, offsets


def tried(path: Path) -> tuple[str, list[str], object]:
    """The refusal, or what `verify` found and what is read; no other error may come."""
    try:
        store = FeatureStore(path)
        return "", store.verify(), held(store)
    except StoreError as error:
        return str(error), [], None


def some(bytes_: bytes, r: random.Random, longest: int = 4096) -> slice:
    """A run of bytes somewhere, often at the edges of pages."""
    size = r.choice([1, 8, 64, 512, r.randint(1, longest)])
    start = r.randrange(len(bytes_))
    if r.random() < 0.3:
        start, size = start // 512 * 512, 512
    return slice(start, min(start + size, len(bytes_)))


def flipped(data: bytes, r: random.Random, _: bytes) -> bytes:
    broken = bytearray(data)
    for _ in range(r.choice([1, 1, 1, 2, 8, 64])):
        broken[r.randrange(len(data))] ^= 1 << r.randrange(8)
    return bytes(broken)


def truncated(data: bytes, r: random.Random, _: bytes) -> bytes:
    return data[: r.choice([r.randrange(len(data)), len(data) - r.randint(1, 64)])]


def zeroed(data: bytes, r: random.Random, _: bytes) -> bytes:
    at = some(data, r)
    return data[: at.start] + bytes(at.stop - at.start) + data[at.stop :]


def repeated(data: bytes, r: random.Random, _: bytes) -> bytes:
    """A run is there twice, and what follows is moved."""
    at = some(data, r)
    return data[: at.stop] + data[at] + data[at.stop :]


def lost(data: bytes, r: random.Random, _: bytes) -> bytes:
    at = some(data, r)
    return data[: at.start] + data[at.stop :]


def copied(data: bytes, r: random.Random, _: bytes) -> bytes:
    """A run of the file itself in another place, as a lost write leaves it."""
    at, to = some(data, r), r.randrange(len(data))
    return (data[:to] + data[at] + data[to + at.stop - at.start :])[: len(data)]


def mixed(data: bytes, r: random.Random, other: bytes) -> bytes:
    """A run of another store in the same place."""
    at = some(data, r)
    return data[: at.start] + other[at] + data[at.stop :]


def appended(data: bytes, r: random.Random, other: bytes) -> bytes:
    return data + r.choice([bytes(7), r.randbytes(100), data, other])


KINDS: tuple[Callable[[bytes, random.Random, bytes], bytes], ...] = (
    *(flipped, truncated, zeroed, repeated, lost, copied, mixed, appended),
)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_mutation_is_refused_or_harmless(kind, intact, other, tmp_path):
    path = tmp_path / intact.path.name
    data, expected = intact.path.read_bytes(), held(intact)
    ended = Counter()
    for seed in range(EACH):
        path.write_bytes(kind(data, random.Random(f"{kind.__name__} {seed}"), other))
        refusal, damage, read = tried(path)
        if refusal:
            assert str(path) in refusal
            assert "\n" not in refusal
            ended["refused"] += 1
        elif damage:
            ended["found by verify"] += 1
        else:
            assert read == expected, seed
            ended["harmless"] += 1
    assert ended.total() == EACH
    assert ended["harmless"] == EACH if kind is appended else ended["harmless"] < EACH


def test_another_store_under_this_name_is_found(intact, other, tmp_path):
    path = tmp_path / intact.path.name
    path.write_bytes(other)
    (line,) = FeatureStore(path).verify()
    assert line.startswith(f"name {path.name}, content of tiny--bert--")
    mine = tmp_path / "mine.h5"  # a name of one's own says nothing
    mine.write_bytes(other)
    assert FeatureStore(mine).verify() == []


def changed(intact: FeatureStore, path: Path, change: Callable[[h5py.File], object]) -> Path:
    path.write_bytes(intact.path.read_bytes())
    with h5py.File(path, "r+") as file:
        change(file)
    return path


def test_exchanged_layers_are_found(intact, tmp_path):
    def exchange(file):
        file.move("train/layers/00", "away")
        file.move("train/layers/01", "train/layers/00")
        file.move("away", "train/layers/01")

    store = FeatureStore(changed(intact, tmp_path / "a.h5", exchange))
    assert len(store.verify()) == 2 * 5
    with pytest.raises(StoreError, match="train, layer 0: block 0 does not match its checksum"):
        store.read("train", [0])
    with pytest.raises(StoreError, match="train, layer 1: block 0"):
        store.mapped("train", [1])


def test_exchanged_vectors_of_splits_are_found(tmp_path):
    store = Written({"train": [3, 4], "dev": [3, 4]}, block=5).to(tmp_path / "a.h5")
    with h5py.File(store.path, "r+") as file:
        file.move("train/layers", "away")
        file.move("dev/layers", "train/layers")
        file.move("away", "dev/layers")
    assert len(store.verify()) == 2 * 3 * 2
    with pytest.raises(StoreError, match="dev, layer 0: block 0 does not match its checksum"):
        store.read("dev", [0])


@pytest.mark.parametrize(
    ("layers", "says"),
    [
        ([0, 1], r"checksums is \(3, \d\), not \(2, \d\)"),
        ([0, 1, 3], "dataset train/layers/03 is missing"),
        ([0, 1, 2, 3], "dataset train/layers/03 is missing"),
        ([0, 2, 1], "does not match its checksum"),
        ([1, 1, 2], "does not match its checksum"),
    ],
)
def test_another_set_of_layers_in_the_manifest_is_refused(intact, tmp_path, layers, says):
    """Even where the checksum of the manifest was made to fit."""

    def change(file):
        data = json.loads(file.attrs["manifest"]) | {"layers": layers}
        text = json.dumps(data)
        offsets = {s: file[f"{s}/offsets"][:] for s in data["splits"]}
        file.attrs["manifest"] = text
        file.attrs["checksum"] = frame_checksum(text, offsets)

    path = changed(intact, tmp_path / "a.h5", change)
    with pytest.raises(StoreError, match=says):
        FeatureStore(path).read("train")


def test_a_size_that_no_memory_has_is_refused_before_room_is_made(intact, tmp_path):
    def change(file):
        del file["train/offsets"]
        file.create_dataset("train/offsets", (10**12,), np.int64)

    path = changed(intact, tmp_path / "a.h5", change)
    with pytest.raises(StoreError, match=r"train/offsets is \(1000000000000,\), not \(6,\)"):
        FeatureStore(path)
