"""featbert inspect, verify and probe: what is damaged or foreign is named, the rest passes."""

import json
import shutil
from pathlib import Path

import pytest

from tests.features.stores import flip
from tests.tiny_encoders import write_encoder
from tests.workspace import Workspace, error_of, ok


@pytest.fixture
def store(finished: Workspace, tmp_path: Path) -> Path:
    """A copy of a finished store under its name."""
    (found,) = finished.cache.glob("*.h5")
    return Path(shutil.copy(found, tmp_path))


def test_inspect_shows_the_manifest_and_sizes(finished, store):
    shown = json.loads(finished.call("inspect", store, "--format", "json").stdout)
    assert shown["file_bytes"] == store.stat().st_size
    assert (shown["hidden_size"], shown["splits"]["train"]["sentences"]) == (16, 24)
    assert "0, 1, 2, 3, 4 of 0 to 4" in finished.call("inspect", store).stdout


def test_an_intact_store_of_its_text_and_encoder(finished, store):
    words = ("verify", store, "--data", finished.corpus, "--model", finished.model)
    done = finished.call(*words)
    assert (done.exit_code, done.stderr, done.stdout.count("\n")) == (0, "", 1)
    assert str(store) in done.stdout
    flip(store, "dev/layers/02", 3)
    damaged = finished.call(*words)
    assert "layer 2" in damaged.stdout
    error_of(damaged)


def test_each_store_has_its_line(finished, store, tmp_path):
    (tmp_path / "text.h5").write_text("no store", "utf-8")
    stores = [tmp_path / "text.h5", store, tmp_path / "none.h5"]
    done = finished.call("verify", *stores)
    assert [line.split(": ")[0] for line in done.stdout.splitlines()] == [str(s) for s in stores]
    assert "2 of 3" in error_of(done)


def test_another_text_and_another_encoder(finished, store, tmp_path):
    shutil.copytree(finished.corpus, tmp_path / "corpus")
    (dev,) = (tmp_path / "corpus").glob("dev*")
    dev.write_text(dev.read_text("utf-8").replace("Chelsea", "Arsenal", 1), "utf-8")
    next((tmp_path / "corpus").glob("test*")).unlink()
    model = write_encoder(tmp_path / "other", layers=4, seed=1)
    done = finished.call("verify", store, "--data", tmp_path / "corpus", "--model", model)
    error_of(done)
    assert [line.split()[2] for line in done.stdout.splitlines()] == ["dev", "test", "weights"]
    missing = finished.call("verify", store, "--data", tmp_path / "nowhere")
    assert "nowhere" in error_of(missing)


def test_a_store_under_the_name_of_another(finished, store):
    renamed = store.with_name(f"{store.stem[:-8]}00000000.h5")
    store.rename(renamed)
    done = finished.call("verify", renamed)
    error_of(done)
    assert store.name in done.stdout


def test_probe_scores_single_layers(finished):
    words = ("probe", "--cache-dir", finished.cache, "--layers")
    assert ok(finished.call(*words, "last")).stdout.startswith("last  dev F1 ")
    assert "concat_last4" in error_of(finished.call(*words, "concat_last4"))
