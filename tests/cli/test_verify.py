"""`featbert verify`: what is damaged is named, what is intact passes."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import h5py
import pytest

from tests.tiny_encoders import write_encoder
from tests.workspace import Workspace, error_of


@pytest.fixture
def store(finished: Workspace, tmp_path: Path) -> Path:
    """A copy of a finished store under its name."""
    (found,) = finished.cache.glob("*.h5")
    return Path(shutil.copy(found, tmp_path))


def flip(path: Path, dataset: str, word: int) -> None:
    with h5py.File(path, "r") as file:
        found = file[dataset]
        at = found.id.get_offset() + word * found.shape[1] * found.dtype.itemsize
    data = bytearray(path.read_bytes())
    data[at] ^= 64
    path.write_bytes(bytes(data))


def test_an_intact_store_is_told_in_one_line(finished: Workspace, store: Path) -> None:
    done = finished.call("verify", store)
    assert (done.exit_code, done.stderr) == (0, "")
    with h5py.File(store, "r") as file:
        words = sum(file[split]["layers/00"].shape[0] for split in file)
        n_bytes = sum(d.nbytes for split in file for d in file[f"{split}/layers"].values())
    assert done.stdout == (
        f"{store}: intact; 5 layers x {words} words, {n_bytes / 1e3:.1f} kB match their checksums\n"
    )


def test_damage_is_named_by_split_layer_and_words(finished: Workspace, store: Path) -> None:
    flip(store, "train/layers/02", 7)
    flip(store, "test/layers/04", 0)
    done = finished.call("verify", store)
    with h5py.File(store, "r") as file:
        words = {split: file[split]["layers/00"].shape[0] for split in file}
    assert done.stdout.splitlines() == [
        f"{store}: damaged: train, layer 2, words 0 to {words['train'] - 1}",
        f"{store}: damaged: test, layer 4, words 0 to {words['test'] - 1}",
    ]
    assert "1 of 1 cannot be used" in error_of(done)


def test_each_store_is_told_of(finished: Workspace, store: Path, tmp_path: Path) -> None:
    (tmp_path / "text.h5").write_text("no store", "utf-8")
    stores = [tmp_path / "text.h5", store, tmp_path / "none.h5"]
    done = finished.call("verify", *stores)
    told = done.stdout.splitlines()
    assert [line.split(": ")[0] for line in told] == [str(path) for path in stores]
    assert "is no HDF5 file" in told[0]
    assert ": intact; " in told[1]
    assert "is no file" in told[2]
    assert "2 of 3 cannot be used" in error_of(done)


def test_text_and_encoder(finished: Workspace, store: Path) -> None:
    done = finished.call("verify", store, "--data", finished.corpus, "--model", finished.model)
    assert done.exit_code == 0, done.output
    assert done.stdout.endswith(
        f"; of the text of {finished.corpus}; of the encoder {finished.model.name}\n"
    )


def test_another_text_and_another_encoder(finished: Workspace, store: Path, tmp_path: Path) -> None:
    shutil.copytree(finished.corpus, tmp_path / "corpus")
    (dev,) = (tmp_path / "corpus").glob("dev*")
    dev.write_text(dev.read_text("utf-8").replace("Chelsea", "Arsenal", 1), "utf-8")
    next((tmp_path / "corpus").glob("test*")).unlink()
    model = write_encoder(tmp_path / "other", layers=4, seed=1)
    done = finished.call("verify", store, "--data", tmp_path / "corpus", "--model", model)
    assert "1 of 1 cannot be used" in error_of(done)
    dev, test, weights = done.stdout.splitlines()
    assert dev.startswith(f"{store}: foreign: dev is not the text of {tmp_path / 'corpus'} (")
    assert test == f"{store}: foreign: test is no split of {tmp_path / 'corpus'}"
    assert f"{store}: foreign: weights are of {finished.model.name}, not those of other" in weights


def test_a_store_under_the_name_of_another(finished: Workspace, store: Path) -> None:
    renamed = store.with_name(f"{store.stem[:-8]}00000000.h5")
    store.rename(renamed)
    done = finished.call("verify", renamed)
    assert done.stdout == (f"{renamed}: damaged: name {renamed.name}, content of {store.name}\n")
    error_of(done)


def test_whatever_is_changed_there_is_no_traceback(finished: Workspace, store: Path) -> None:
    intact = store.read_bytes()
    moments = random.Random(5)
    for _ in range(12):
        data = bytearray(intact)
        for _ in range(moments.choice([1, 4, 200])):
            data[moments.randrange(len(data))] ^= 1 << moments.randrange(8)
        store.write_bytes(data[: moments.choice([len(data), moments.randrange(len(data))])])
        done = finished.call("verify", store)
        assert done.exit_code in (0, 1)
        assert done.exit_code == 0 or error_of(done)
        assert "Traceback" not in done.output
        assert str(store) in (error_of(done) if done.exit_code and not done.stdout else done.stdout)


def test_a_text_that_is_not_there_is_no_fault_of_the_store(
    finished: Workspace, store: Path, tmp_path: Path
) -> None:
    told = error_of(finished.call("verify", store, "--data", tmp_path / "nowhere"))
    assert "nowhere does not exist" in told
    assert "delete" not in told


def test_one_store_that_is_not_there_is_told_as_that(finished: Workspace, tmp_path: Path) -> None:
    done = finished.call("verify", tmp_path / "nowhere.h5")
    assert "is no file" in error_of(done)
    assert done.stdout == ""
