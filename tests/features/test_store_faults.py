"""A full disk, a closed folder, another process: one line, and nothing finished is lost."""

import errno
import os
import shutil
import subprocess
from collections import namedtuple
from collections.abc import Callable, Iterator
from pathlib import Path

import h5py
import pytest

from featbert.errors import FeatbertError
from featbert.features import writer as writing
from featbert.features.extraction import extract
from featbert.features.store import FeatureStore
from tests.features.stores import Written, datasets, usual
from tests.features.support import corpus_of


@pytest.fixture
def plan() -> Written:
    return usual()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "a.h5"


def hdf5_error(number: int) -> OSError:
    """As HDF5 tells it: numbers and words in one long text."""
    return OSError(
        f"[Errno {number}] Can't synchronously write data (file write failed: time = Sat\n, "
        f"filename = 'a', file descriptor = 5, errno = {number}, error message = "
        f"'{os.strerror(number)}', buf = 0x1, total write size = 40)"
    )


Place = Callable[[pytest.MonkeyPatch, int], None]


def failing(owner: object, name: str, error: OSError) -> Place:
    """From its k-th call on a method fails."""

    def patch(monkeypatch: pytest.MonkeyPatch, k: int) -> None:
        plain, calls = getattr(owner, name), []

        def method(*args, **options):
            calls.append(args)
            if len(calls) > k:
                raise error
            return plain(*args, **options)

        monkeypatch.setattr(owner, name, method)

    return patch


FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
WHILE_WRITING = {
    "vectors": failing(h5py.Dataset, "write_direct", hdf5_error(errno.ENOSPC)),
    "flush": failing(h5py.File, "flush", hdf5_error(errno.ENOSPC)),
    "quota": failing(h5py.File, "flush", hdf5_error(errno.EDQUOT)),
    "disk": failing(writing, "flush", FULL),
}
AT_THE_END = {
    "checksums": failing(h5py.Dataset, "__setitem__", hdf5_error(errno.ENOSPC)),
    "manifest": failing(h5py.AttributeManager, "__setitem__", hdf5_error(errno.ENOSPC)),
    "fsync": failing(writing, "flush", FULL),
    "rename": failing(os, "replace", FULL),
}


def carried_out(plan: Written, path: Path) -> tuple[FeatureStore, list[tuple[str, int]]]:
    """Writes what is missing, as a command does; the store, and the blocks that were kept."""
    writer = plan.writer(path)
    kept = list(writer.finished)
    try:
        for split, k in plan.todo():
            if (split, k) not in kept:
                plan.write(writer, split, k)
        return writer.finish(plan.manifest), kept
    except BaseException:
        writer.close()
        raise


def goes_on(plan: Written, path: Path, kept: int) -> None:
    """With room the same command finishes, and the store is what an undisturbed one is."""
    store, found = carried_out(plan, path)
    assert found == plan.todo()[:kept]
    assert store.verify() == []
    undisturbed = plan.to(path.with_name("undisturbed.h5"))
    assert datasets(store.path) == datasets(undisturbed.path)
    assert sorted(p.name for p in path.parent.iterdir()) == ["a.h5", "undisturbed.h5"]


@pytest.mark.parametrize("k", [0, 3])
@pytest.mark.parametrize("place", WHILE_WRITING)
def test_a_disk_that_is_full_while_blocks_are_written(plan, path, monkeypatch, place, k):
    calls = 6 * k + 1 if place == "vectors" else k  # a call for words and units of a layer
    with monkeypatch.context() as patch:
        WHILE_WRITING[place](patch, calls)
        with pytest.raises(FeatbertError) as caught:
            carried_out(plan, path)
    reason = os.strerror(errno.EDQUOT if place == "quota" else errno.ENOSPC)
    assert str(path) in str(caught.value)
    assert reason in str(caught.value)
    assert (f"{k} finished block" in str(caught.value)) == (k > 0)
    assert {p.suffix for p in path.parent.iterdir()} == {".journal", ".partial"}
    goes_on(plan, path, kept=k)


@pytest.mark.parametrize("place", AT_THE_END)
def test_a_disk_that_is_full_at_the_end(plan, path, monkeypatch, place):
    with monkeypatch.context() as patch:
        # Each of the six blocks has waited for the disk before; the journal was renamed.
        AT_THE_END[place](patch, {"fsync": 6, "rename": 1}.get(place, 0))
        with pytest.raises(FeatbertError, match="6 finished blocks"):
            carried_out(plan, path)
    assert {p.suffix for p in path.parent.iterdir()} == {".journal", ".partial"}
    goes_on(plan, path, kept=6)


def test_a_disk_that_is_full_at_the_start_leaves_nothing(plan, path, monkeypatch):
    with monkeypatch.context() as patch:
        failing(h5py.Group, "__setitem__", hdf5_error(errno.ENOSPC))(patch, 1)
        with pytest.raises(FeatbertError, match=os.strerror(errno.ENOSPC)):
            carried_out(plan, path)
    assert not path.parent.exists()
    goes_on(plan, path, kept=0)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EMFILE, errno.EIO])
def test_a_partial_file_that_cannot_be_reached_is_not_begun_anew(plan, path, monkeypatch, number):
    with monkeypatch.context() as patch:
        WHILE_WRITING["flush"](patch, 2)
        with pytest.raises(FeatbertError):
            carried_out(plan, path)
    with monkeypatch.context() as patch:
        patch.setattr(h5py, "File", lambda *_: (_ for _ in ()).throw(hdf5_error(number)))
        with pytest.raises(FeatbertError, match=os.strerror(number)):
            carried_out(plan, path)
    goes_on(plan, path, kept=2)


# Whole extractions on a real small disk ----------------------------------------------------------


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own in memory, of 8 MB."""
    at = tmp_path / "disk"
    at.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(at)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting needs root")
    try:
        yield at
    finally:
        subprocess.run(["umount", "-l", str(at)], check=True)


def test_a_disk_that_is_really_full(disk, monkeypatch, encoder_folder, tmp_path):
    """The room is taken before anything is computed, whatever the system says is free."""
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**12, 0, 10**12))
    corpus = corpus_of(train=["The quick fox jumps .", "Jordan beat Chelsea"] * 400, dev=["fox"])

    def run(cache: Path) -> FeatureStore:
        how = {"precision": "fp32", "device": "cpu"}
        return extract(corpus, str(encoder_folder("bert")), cache_dir=cache, **how)

    (disk / "ballast").write_bytes(bytes((8 << 20) - 200_000))
    with pytest.raises(FeatbertError) as caught:
        run(disk / "cache")
    assert os.strerror(errno.ENOSPC) in str(caught.value)
    assert list((disk / "cache").iterdir()) == []
    (disk / "ballast").unlink()
    store = run(disk / "cache")
    assert store.verify() == []
    assert datasets(store.path) == datasets(run(tmp_path / "undisturbed").path)
    assert [p.name for p in (disk / "cache").iterdir()] == [store.path.name]


def test_a_file_in_the_place_of_the_cache(encoder_folder, tmp_path):
    (tmp_path / "cache").touch()
    for cache in (tmp_path / "cache", tmp_path / "cache" / "inner"):
        with pytest.raises(FeatbertError, match=str(cache)):
            extract(corpus_of(dev=["fox"]), str(encoder_folder("bert")), cache_dir=cache)
