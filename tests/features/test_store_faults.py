"""A full disk, a closed folder, another process: one line, and nothing finished is lost."""

import dataclasses
import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import h5py
import pytest

from featbert.data.load import load_corpus
from featbert.errors import FeatbertError, InputError
from featbert.features import writer as writing
from featbert.features.store import FeatureStore
from featbert.io import owning
from tests.failing import failing
from tests.features.stores import Written, datasets, usual
from tests.features.support import corpus_of, extracted
from tests.processes import python

plan = pytest.fixture(usual)


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


FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
FAULTS = {
    "vectors": (h5py.Dataset, "write_direct", hdf5_error(errno.ENOSPC)),
    "flush": (h5py.File, "flush", hdf5_error(errno.ENOSPC)),
    "quota": (h5py.File, "flush", hdf5_error(errno.EDQUOT)),
    "disk": (writing, "flush", FULL),
    "checksums": (h5py.Dataset, "__setitem__", hdf5_error(errno.ENOSPC)),
    "manifest": (h5py.AttributeManager, "__setitem__", hdf5_error(errno.ENOSPC)),
    "rename": (os, "replace", FULL),
}


def carried_out(plan: Written, path: Path) -> tuple[FeatureStore, list[tuple[str, int]]]:
    """Writes what is missing, as a command does; the store, and the blocks that were kept."""
    with owning(path), closing(plan.writer(path)) as writer:
        kept = plan.finish(writer)
    return FeatureStore(path), kept


def goes_on(plan: Written, path: Path, kept: int) -> None:
    """With room the same command finishes, and the store is what an undisturbed one is."""
    store, found = carried_out(plan, path)
    assert found == plan.todo()[:kept]
    assert store.verify() == []
    undisturbed = plan.to(path.with_name("undisturbed.h5"))
    assert datasets(store.path) == datasets(undisturbed.path)
    assert sorted(p.name for p in path.parent.iterdir()) == ["a.h5", "undisturbed.h5"]


@pytest.mark.parametrize(
    ("place", "calls", "k"),
    [
        *(("vectors", 1, 0), ("vectors", 19, 3)),  # a call for words and units of a layer
        *((place, k, k) for place in ("flush", "quota", "disk") for k in (0, 3)),
        # At the end; each of the six blocks has waited for the disk before.
        *(("checksums", 0, 6), ("manifest", 0, 6), ("disk", 6, 6), ("rename", 1, 6)),
    ],
)
def test_a_disk_that_is_full(plan, path, place, calls, k):
    *function, error = FAULTS[place]
    with failing(*function, at=calls, error=error), pytest.raises(FeatbertError) as caught:
        carried_out(plan, path)
    reason = os.strerror(errno.EDQUOT if place == "quota" else errno.ENOSPC)
    assert str(path) in str(caught.value)
    assert reason in str(caught.value)
    assert (f"{k} finished block" in str(caught.value)) == (k > 0)
    assert {p.suffix for p in path.parent.iterdir()} == {".journal", ".partial"}
    goes_on(plan, path, kept=k)


def test_a_disk_that_is_full_at_the_start_leaves_nothing(plan, path):
    with (
        failing(h5py.Group, "__setitem__", at=1, error=hdf5_error(errno.ENOSPC)),
        pytest.raises(FeatbertError, match=os.strerror(errno.ENOSPC)),
    ):
        carried_out(plan, path)
    assert not path.parent.exists()
    goes_on(plan, path, kept=0)


@pytest.fixture
def begun(plan, path) -> None:
    """Two blocks of the store are written."""
    with failing(h5py.File, "flush", at=2, error=FULL), pytest.raises(FeatbertError):
        carried_out(plan, path)


@pytest.mark.usefixtures("begun")
@pytest.mark.parametrize("number", [errno.EACCES, errno.EMFILE, errno.EIO])
def test_a_partial_file_that_cannot_be_reached_is_not_begun_anew(plan, path, number):
    with (
        failing(h5py, "File", error=hdf5_error(number)),
        pytest.raises(FeatbertError, match=os.strerror(number)),
    ):
        carried_out(plan, path)
    goes_on(plan, path, kept=2)


LOCK = "Unable to synchronously open file (unable to lock file, errno = {}, error message = '{}')"
REFUSALS = {
    "no locks": OSError(errno.ENOLCK, LOCK.format(37, "No locks available")),
    "not supported": OSError(LOCK.format(errno.ENOSYS, "Function not implemented")),
    "permission": PermissionError(errno.EACCES, "Unable to open file (errno = 13)"),
    "disk": hdf5_error(errno.EIO),
    "open files": OSError(errno.EMFILE, "Too many open files"),
    "network": RuntimeError(f"Can't read data (file read failed: errno = {errno.ESTALE}, buf = 0)"),
    "name": KeyError(f"Unable to open object (file read failed: errno = {errno.EIO}, buf = 0)"),
}


@pytest.mark.parametrize("refusal", REFUSALS)
@pytest.mark.parametrize(
    "place", [(h5py, "File"), (h5py, "is_hdf5"), (h5py.Group, "__getitem__"), (h5py.Group, "get")]
)
def test_what_the_system_refuses_is_no_damage(plan, path, place, refusal):
    store = plan.to(path)
    with failing(*place, error=REFUSALS[refusal]):
        for call in (lambda: FeatureStore(path), store.verify, lambda: store.read("train")):
            with pytest.raises(FeatbertError, match=str(path)) as caught:
                call()
            assert not isinstance(caught.value, InputError)
            assert "delete" not in str(caught.value)
            if refusal in ("no locks", "not supported"):
                assert os.strerror(errno.ENOLCK) in str(caught.value)
                assert "HDF5_USE_FILE_LOCKING=FALSE" in str(caught.value)
    assert FeatureStore(path).verify() == []


@pytest.mark.parametrize("refusal", ["no locks", "not supported", "open files", "disk"])
def test_an_extraction_that_the_system_refuses(plan, path, refusal):
    with (
        failing(h5py, "File", error=REFUSALS[refusal]),
        pytest.raises(FeatbertError, match=str(path)) as caught,
    ):
        carried_out(plan, path)
    assert ("HDF5_USE_FILE_LOCKING=FALSE" in str(caught.value)) == (refusal.startswith("no"))
    goes_on(plan, path, kept=0)


@pytest.mark.usefixtures("begun")
def test_too_little_memory_is_no_damage(plan, path):
    store = plan.to(path.with_name("whole.h5"))
    with failing(h5py.Dataset, "__getitem__", error=MemoryError()):
        calls = (lambda: FeatureStore(store.path), store.verify, lambda: carried_out(plan, path))
        for call in calls:
            with pytest.raises(MemoryError):
                call()
    assert len(carried_out(plan, path)[1]) == 2


@pytest.mark.parametrize("place", ["a.h5", ".a.h5.lock", "a.h5.journal", "a.h5.partial"])
def test_a_pipe_in_the_place_of_a_file_of_a_store(plan, path, place):
    path.parent.mkdir()
    os.mkfifo(path.with_name(place))
    if place == "a.h5":
        with pytest.raises(InputError, match=str(path)):
            FeatureStore(path)
        (path.with_name("device.h5")).symlink_to("/dev/zero")
        with pytest.raises(InputError, match="device"):
            FeatureStore(path.with_name("device.h5"))
        return
    with suppress(FeatbertError):  # it may be refused, or replaced; nothing waits for it
        carried_out(plan, path)


def test_a_manifest_of_any_length_is_kept(path):
    plan = usual()
    plan.manifest = dataclasses.replace(plan.manifest, reading={"label_names": "X" * 300_000})
    store = plan.to(path)
    assert FeatureStore(path).manifest.reading == plan.manifest.reading
    assert store.verify() == []


@pytest.mark.parametrize("where", ["c\udce9", "p\udce9/c", "漢" * 60, "𐍈" * 60])
def test_a_corpus_in_a_folder_of_any_name(encoder_folder, tmp_path, where):
    data = tmp_path / where
    data.mkdir(parents=True)
    (data / "train.conll").write_text("EU B-ORG\n\nParis B-LOC\n", "utf-8")
    corpus = load_corpus(str(data))
    store = extracted(corpus, encoder_folder("bert"), tmp_path / "cache")
    assert (store.manifest.source, store.manifest.corpus) == (str(data), corpus.name)
    assert FeatureStore(store.path).verify() == []
    assert extracted(corpus, encoder_folder("bert"), tmp_path / "cache").manifest == store.manifest
    corpus.name.encode()


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
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=10**12))
    corpus = corpus_of(train=["The quick fox jumps .", "Jordan beat Chelsea"] * 400, dev=["fox"])

    run = partial(extracted, corpus, encoder_folder("bert"))
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


def test_a_limit_of_files_is_refused_before_hdf5_writes(encoder_folder, tmp_path):
    """In a process of its own, which HDF5 would end."""
    model = encoder_folder("bert")
    code = (
        "import resource, sys\n"
        "from featbert import FeatbertError, extract\n"
        "for most in (1024, 100_000, 900_000):\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))\n"
        "    try:\n"
        f"        extract('sample', {str(model)!r}, limit=40, progress=False,\n"
        f"            cache_dir={str(tmp_path / 'cache')!r}, device='cpu', precision='fp32')\n"
        "    except FeatbertError as error:\n"
        "        print(error)\n"
    )
    done = python(code)
    assert done.stderr == ""
    assert done.stdout.count("ulimit -f") == 3
    assert not list(tmp_path.rglob("*.h5*"))


def test_a_file_in_the_place_of_the_cache(encoder_folder, tmp_path):
    (tmp_path / "cache").touch()
    for cache in (tmp_path / "cache", tmp_path / "cache" / "inner"):
        with pytest.raises(FeatbertError, match=str(tmp_path / "cache")):
            extracted(corpus_of(dev=["fox"]), encoder_folder("bert"), cache)
