"""The store: what is written is read, and what is damaged is refused."""

import dataclasses
import json
import mmap
import tempfile
from collections import Counter
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from featbert.errors import InputError
from featbert.features.store import FeatureStore
from tests.features.stores import Written, flip, usual

plan = pytest.fixture(usual)


@pytest.fixture
def store(plan, tmp_path) -> FeatureStore:
    return plan.to(tmp_path / "tiny.h5")


@pytest.fixture
def interrupted(plan, tmp_path):
    """The path of a store of which three blocks are written."""
    path = tmp_path / "a.h5"
    writer = plan.writer(path)
    for split, k in plan.todo()[:3]:
        plan.write(writer, split, k)
    writer.close()
    return path


LENGTHS = st.dictionaries(
    st.sampled_from(["train", "dev", "test"]),
    st.lists(st.integers(1, 9), max_size=8),
    min_size=1,
    max_size=3,
)


@settings(max_examples=40)
@given(
    lengths=LENGTHS,
    block=st.integers(1, 20),
    layers=st.sets(st.integers(0, 12), min_size=1, max_size=4).map(sorted),
    hidden=st.integers(1, 6),
    dtype=st.sampled_from(["float16", "float32"]),
    data=st.data(),
)
def test_what_is_written_is_read(lengths, block, layers, hidden, dtype, data):
    written = Written(lengths, block, layers=layers, hidden=hidden, dtype=dtype)
    for states in written.states.values():
        states.reshape(-1)[:4] = [-0.0, np.inf, np.nan, 1e-7][: states.size]
    with tempfile.TemporaryDirectory() as folder:
        store = written.to(Path(folder) / "a.h5")
        assert [p.name for p in Path(folder).iterdir()] == ["a.h5"]
        assert store.manifest == written.manifest
        assert store.splits == tuple(lengths)
        assert store.layers == tuple(layers)
        assert store.verify() == []
        for split, states in written.states.items():
            assert store.offsets(split).tolist() == written.offsets[split].tolist()
            found = store.read(split)
            assert (found.dtype, found.shape) == (np.dtype(dtype), states.shape)
            assert found.tobytes() == states.tobytes()
            wanted = data.draw(st.lists(st.sampled_from(layers), max_size=4))
            start, stop = (data.draw(st.integers(-25, 75)) for _ in range(2))
            rows = [layers.index(layer) for layer in wanted]
            np.testing.assert_array_equal(
                store.read(split, wanted, words=slice(start, stop)), states[rows][:, start:stop]
            )


def test_layers_splits_and_steps_not_held_are_refused(store):
    for layers, numbers in {"mean:0,2": [0, 2], "0-1,2": None, "last": [2], 2: [2]}.items():
        assert (store.read("train", layers) == store.read("train", numbers)).all()
    for beyond in ([1, 3], [-1], "8", "1-3", "layer:7", "concat:1,3"):
        with pytest.raises(InputError, match="layers 0 to 2"):
            store.read("train", beyond)
    with pytest.raises(InputError, match="keep='pooled'"):
        store.read("train", kind="mean")
    with pytest.raises(InputError, match="means"):
        store.read("train", kind="means")
    for read in (store.read, store.offsets):
        with pytest.raises(InputError, match="test"):
            read("test")
    with pytest.raises(InputError, match="2"):
        store.read("train", words=slice(0, 4, 2))


def test_a_layer_costs_a_layer(store, monkeypatch):
    """Only the datasets of the layers asked for are read, and only the words asked for."""
    touched = Counter()
    plain, direct = h5py.Dataset.__getitem__, h5py.Dataset.read_direct

    def getitem(self, key):
        found = plain(self, key)
        touched[self.name] += np.size(found)
        return found

    def read_direct(self, to, *args):
        touched[self.name] += np.size(to)
        return direct(self, to, *args)

    monkeypatch.setattr(h5py.Dataset, "__getitem__", getitem)
    monkeypatch.setattr(h5py.Dataset, "read_direct", read_direct)
    store.read("train", [1], words=slice(2, 6))
    assert {n: s for n, s in touched.items() if "layers" in n} == {"/train/layers/01": 4 * 4}
    assert all(size < 40 for size in touched.values())


def root_of(array):
    """What owns an array's bytes."""
    while isinstance(array, np.ndarray | memoryview):
        array = array.base if isinstance(array, np.ndarray) else array.obj
    return array


@pytest.mark.parametrize("layers", [[2], [2, 0], [0, 1, 2]])
def test_mapped_is_what_is_read(store, layers):
    for split in store.splits:
        (mapped,) = store.mapped(split, layers)
        np.testing.assert_array_equal(np.stack(mapped), store.read(split, layers))
        assert {a.dtype for a in mapped} == {np.dtype(store.manifest.dtype)}
        assert all(isinstance(root_of(a), mmap.mmap) for a in mapped)  # no copy in memory


def test_a_foreign_truncated_or_partial_file_is_refused(store, interrupted):
    data, part = store.path.read_bytes(), interrupted.with_name("a.h5.partial").read_bytes()
    assert not interrupted.exists()
    for content in (b"", b"no HDF5" * 200, data[:-1], data[: len(data) // 2], data[:100], part):
        store.path.write_bytes(content)
        with pytest.raises(InputError, match=str(store.path)):
            FeatureStore(store.path)


def test_damaged_vectors_are_found_by_verify_and_named(store):
    flip(store.path, "train/layers/01", word=12)
    flip(store.path, "dev/layers/02")
    damaged = ["train, layer 1, words 10 to 14", "dev, layer 2, words 0 to 3"]
    assert FeatureStore(store.path).verify() == damaged


@pytest.mark.parametrize("word", [0, 12, 21])
def test_reading_finds_damage_in_the_first_a_middle_and_the_last_block(store, plan, word):
    flip(store.path, "train/layers/01", word)
    damaged, block = FeatureStore(store.path), slice(word // 5 * 5, word // 5 * 5 + 5)
    for read in (
        lambda: damaged.read("train", [0, 1]),
        lambda: damaged.mapped("train", [0, 1]),
        lambda: damaged.read("train", [1], words=block),
    ):
        with pytest.raises(InputError, match="train, layer 1"):
            read()
    for intact in (damaged.mapped("train", [0])[0], damaged.read("train", [0])):
        np.testing.assert_array_equal(intact[0], plan.states["train"][0])


def remanifest(file, change):
    data = json.loads(file.attrs["manifest"])
    change(data)
    file.attrs["manifest"] = np.bytes_(json.dumps(data).encode())


def reshaped(shape, fill=None, **options):
    def change(file):
        del file["train/layers/01"]
        made = file.create_dataset("train/layers/01", shape, np.float16, **options)
        if fill:
            made[...] = fill

    return change


def elsewhere(how):
    """Puts the vectors of a layer into another file, which never ends."""

    def change(file):
        name, shape = "train/layers/01", file["train/layers/01"].shape
        del file["train" if how == "group" else name]
        if how == "external":
            place = ("/dev/zero", 0, h5py.h5f.UNLIMITED)
            file.create_dataset(name, shape, np.float16, external=[place])
        elif how == "virtual":
            layout = h5py.VirtualLayout(shape, np.float16)
            layout[...] = h5py.VirtualSource("/dev/zero", name, shape)
            file.create_virtual_dataset(name, layout)
        elif how == "soft":
            file[name] = h5py.SoftLink("/dev/layers/01")
        else:
            name = "train" if how == "group" else name
            file[name] = h5py.ExternalLink("/dev/zero", name)

    return change


@pytest.mark.parametrize(
    "change",
    [
        lambda f: f["train/offsets"].__setitem__(1, 2),
        lambda f: remanifest(f, lambda d: d.update(context="document")),
        lambda f: f.attrs.__setitem__("format_version", 1),
        lambda f: remanifest(f, lambda d: d.pop("layers")),
        lambda f: f.attrs.__setitem__("manifest", np.bytes_(b"[]")),
        lambda f: f.attrs.__setitem__("manifest", 7),
        lambda f: f.attrs.__delitem__("manifest"),
        lambda f: f.attrs.__setitem__("complete", False),
        lambda f: f.__delitem__("train/offsets"),
        lambda f: f.__delitem__("train/layers/01"),
        *(reshaped(shape, fill=1) for shape in ((21, 4), (22, 5))),
        *(reshaped((22, 4), **given) for given in ({}, {"chunks": (2, 4)})),  # never allocated
        *(elsewhere(how) for how in ("external", "virtual", "soft", "link", "group")),
        # Blocks that leave words unchecked
        *(lambda f, n=n: f["train/blocks"].__setitem__(1, n) for n in (-3, 0, 10, 11, 10**9)),
    ],
)
def test_a_damaged_frame_is_refused(store, change):
    with h5py.File(store.path, "r+") as file:
        change(file)
    with pytest.raises(InputError, match=str(store.path)):
        FeatureStore(store.path)


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory):
    path = tmp_path_factory.mktemp("fuzz") / "tiny.h5"
    usual().to(path)
    return path, path.read_bytes()


@settings(max_examples=200)
@given(data=st.data())
def test_whatever_byte_is_damaged_nothing_false_is_read(fuzzed, data):
    path, intact = fuzzed
    broken = bytearray(intact)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(intact) - 1))
        broken[at] ^= data.draw(st.integers(1, 255))
    path.write_bytes(bytes(broken))
    plan = usual()
    try:
        store = FeatureStore(path)
        if store.verify():
            return
        states = {split: store.read(split) for split in ("train", "dev")}
        offsets = {split: store.offsets(split) for split in ("train", "dev")}
    except InputError:
        return
    for split in states:
        assert states[split].tobytes() == plan.states[split].tobytes()
        assert offsets[split].tolist() == plan.offsets[split].tolist()


def resumed(plan, path) -> list[tuple[str, int]]:
    """Resumes, finishes and compares with what was to be written; the blocks that were kept."""
    kept, store = plan.finish(plan.writer(path)), FeatureStore(path)
    assert store.verify() == []
    for split in store.splits:
        np.testing.assert_array_equal(store.read(split), plan.states[split])
    return kept


def torn(cut):
    return lambda journal, _: journal.write_bytes(journal.read_bytes()[:-cut])


def added(line):
    return lambda journal, _: journal.write_text(journal.read_text("utf-8") + line, "utf-8")


def replaced(text):
    return lambda journal, _: journal.write_text(text, "utf-8")


def partial(content):
    return lambda _, file: file.unlink() if content is None else file.write_bytes(content)


@pytest.mark.parametrize(
    ("damage", "blocks"),
    [
        *((torn(cut), [0, 1]) for cut in (1, 5, 20)),
        *((replaced(t), []) for t in ("", "{", '{"plan": "another"}\n', "[]\n", "\x00" * 50)),
        *((added(t), [0, 1, 2]) for t in ("x\n", '["train", 99, [1], 0]\n')),
        *((added(t), [0, 1, 2]) for t in ('["train", 0, 7, 0]\n', '["train", 0, [1, 2, 3], 0]\n')),
        *((partial(content), []) for content in (None, b"", b"not HDF5" * 100)),
        (lambda _, file: flip(file, "train/layers/02", word=7), [0, 2]),  # it reached no disk
    ],
)
def test_only_what_is_whole_is_gone_on_from(plan, interrupted, damage, blocks):
    damage(interrupted.with_name("a.h5.journal"), interrupted.with_name("a.h5.partial"))
    assert resumed(plan, interrupted) == [plan.todo()[k] for k in blocks]


@pytest.mark.parametrize(
    "change", [{"layers": (0, 1)}, {"token_budget": 65}, {"threads": 2}, {"precision": "bf16"}]
)
def test_another_plan_does_not_continue(plan, interrupted, change):
    plan.manifest = dataclasses.replace(plan.manifest, **change)
    writer = plan.writer(interrupted)
    assert writer.finished == {}
    writer.close()
