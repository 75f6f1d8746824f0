"""featbert inspect, verify and probe: what is damaged is named, the rest passes."""

import json
import shutil
from pathlib import Path

import pytest

from featbert.api import probe
from featbert.features.store import FeatureStore
from tests.features.stores import flip
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
    shown = finished.call("inspect", store).stdout
    assert "0, 1, 2, 3, 4 of 0 to 4" in shown
    assert "words, cls" in shown


def test_probe_scores_layers_and_one_by_class(finished):
    words = ("probe", "--data", finished.corpus, "--model", finished.model)
    words += ("--cache-dir", finished.cache, "--layers")
    lines = ok(finished.call(*words, "last")).stdout.splitlines()
    assert lines[0].startswith("last  dev entity F1 ")
    accuracy = next(line.split()[1] for line in lines if line.split()[:1] == ["accuracy"])
    assert abs(float(lines[0].split()[-1]) / 100 - float(accuracy)) <= 0.005
    scored = ok(finished.call(*words, "0-2,concat_last4,mean:1-3")).stdout.splitlines()
    names = ["embeddings", "layer:1", "layer:2", "concat_last4", "mean:1,2,3"]
    assert [line.split("  ")[0] for line in scored] == names
    assert "weighted_all" in error_of(finished.call(*words, "weighted_all"))
    assert "0 to 4" in error_of(finished.call(*words, "5"))
    lines = ok(finished.call(*words, "last", "--task", "labels")).stdout.splitlines()
    assert lines[0].startswith("last  dev accuracy ")
    assert "spans" in error_of(finished.call(*words, "last", "--task", "spans"))
    where = {"model": str(finished.model), "cache_dir": finished.cache}
    (probed,) = probe(data=str(finished.corpus), layers="last", **where)
    assert repr(probed).startswith(f"<Probed: last · f1 {100 * probed.scores['f1']:.2f} · ")
    assert len(repr(probed)) < 150


def test_probe_makes_the_store_that_it_lacks(workspace):
    assert "0 to 4" in error_of(workspace.extract("--layers", "3-5"))
    ok(workspace.extract("--pooling", "mean", "--layers", "last,1-2"))
    (other,) = workspace.cache.glob("*.h5")
    assert FeatureStore(other).layers == (1, 2, 4)
    where = ("--data", workspace.corpus, "--model", workspace.model)
    result = ok(workspace.call("probe", *where, "--cache-dir", workspace.cache))
    assert len(result.stdout.splitlines()) == 5
    (made,) = {*workspace.cache.glob("*.h5")} - {other}
    assert FeatureStore(made).manifest.pooling == "first"
    result = ok(workspace.call("probe", "--features", other))
    assert len(result.stdout.splitlines()) == 3


def test_probe_of_one_tag_is_refused_before_anything_is_extracted(workspace):
    for split in ("train", "dev"):
        (workspace.folder / f"{split}.conll").write_text("a O\nb O\n\nc O\n", "utf-8")
    where = ("--data", workspace.folder, "--model", workspace.model)
    assert "--tag-column" in error_of(
        workspace.call("probe", *where, "--cache-dir", workspace.cache, "--quiet")
    )
    assert not workspace.cache.exists()


def test_each_store_has_its_line_and_what_is_damaged_is_named(finished, store, tmp_path):
    done = finished.call("verify", store)
    assert (done.exit_code, done.stderr, done.stdout.count("\n")) == (0, "", 1)
    renamed = Path(shutil.copy(store, store.with_name(f"{store.stem[:-8]}00000000.h5")))
    flip(store, "dev/layers/02", 3)
    (tmp_path / "text.h5").write_text("no store", "utf-8")
    stores = [tmp_path / "text.h5", store, tmp_path / "none.h5", renamed]
    done = finished.call("verify", *stores)
    lines = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert [*lines] == [str(path) for path in stores]
    assert "layer 2" in lines[str(store)]
    assert store.name in lines[str(renamed)]
    assert "4 of 4" in error_of(done)
