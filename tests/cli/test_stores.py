"""Stores in commands: which one is read or made, and the list, check and removal of all."""

import json
import shutil
from pathlib import Path

import pytest

from featbert.api import probe
from featbert.experiments.file import read_experiment
from featbert.experiments.plan import ExperimentPlan
from featbert.features.store import FeatureStore
from featbert.runs.run import find_runs
from featbert.text import scaled
from tests.corpora import write_texts
from tests.features.stores import flip
from tests.workspace import Workspace, error_of, ok

SMALL = ("--epochs", 1, "--layers", "last", "--precision", "fp32")
KINDS = {"cls", "mean", "max"}


@pytest.fixture
def pairs(tmp_path, tiny_bert) -> Workspace:
    """A workspace with pairs of texts that have classes and scores."""
    return Workspace(tmp_path, write_texts(tmp_path / "pairs", pairs=True), tiny_bert)


def stores(space: Workspace) -> list[FeatureStore]:
    """The stores of the cache, the oldest first."""
    paths = sorted(space.cache.glob("*.h5"), key=lambda path: path.stat().st_mtime_ns)
    return [FeatureStore(path) for path in paths]


def test_pairs_are_packed_as_the_option_says_whatever_is_stored(pairs):
    task = ("--task", "regression", *SMALL)
    for packing in (("--packing", "apart"), (), ("--packing", "joint")):  # the last two are one run
        done = ok(pairs.call("train", *where(pairs), *task, *packing))
        label = "last, packing=apart" if "apart" in packing else "last"
        assert f"{label}  seed 1" in done.stdout
    packings = sorted(run.record.signature.packing for run in find_runs(pairs.runs))
    assert packings == ["apart", "joint"]


def test_another_precision_than_that_of_a_named_store_is_said(pairs):
    ok(pairs.extract("--precision", "fp32", "--task", "classification"))
    (store,) = stores(pairs)
    named = ("--features", store.path, "--task", "classification", "--body", "linear")
    named += ("--layers", "last", "--epochs", 1, "--runs-dir", pairs.runs)
    for precision, times in (("bf16", 1), ("fp32", 0), ("auto", 0)):
        result = ok(pairs.call("train", *named, "--precision", precision))
        assert result.stderr.count("stay in fp32") == times


def test_one_run_for_all_seeds_is_said_once(pairs):
    several = ("--task", "classification", "--layers", "last,embeddings", "--seeds", "1-2")
    result = ok(pairs.call("train", *where(pairs), *several, "--epochs", 1))
    assert result.stderr.count("the same numbers") == 1


def where(space: Workspace) -> tuple[object, ...]:
    encoder = ("--model", space.model, "--data", space.corpus)
    return (*encoder, "--cache-dir", space.cache, "--runs-dir", space.runs)


@pytest.mark.parametrize(
    ("head", "keep"),
    [
        (("--body", "linear"), "pooled"),
        (("--sentence-pooling", "max"), "pooled"),
        (("--body", "linear", "--sentence-pooling", "attention"), "words"),
        (("--body", "bilstm", "--lstm-size", 8), "words"),
        (("--keep", "words"), "words"),
    ],
)
def test_train_keeps_what_its_head_reads(pairs, head, keep):
    done = ok(pairs.call("train", *where(pairs), "--task", "classification", *SMALL, *head))
    (store,) = stores(pairs)
    assert store.manifest.keep == keep
    assert f"; features: {store.path.name}" in done.output  # no option, though there is one
    assert scaled(store.manifest.data_bytes, "B") in done.output
    units = sum(split.units for split in store.manifest.splits.values())
    assert f"{units} mean" in done.output


@pytest.mark.parametrize(
    ("tables", "kept"),
    [
        (["[features]"], ["pooled"]),
        (['[variants.features]\nsentence_pooling = ["mean", "max"]', "[features]"], ["pooled"]),
        (['[variants.features]\nsentence_pooling = ["mean", "word_mean"]'], ["words"]),
        (['[grid.features]\nbody = ["linear", "bilstm"]', "[features]\nlstm_size = 8"], ["words"]),
        (['keep = "words"', "[features]"], ["words"]),
        (['[variants]\npacking = ["joint", "apart"]', "[features]"], ["pooled", "pooled"]),
    ],
)
def test_an_experiment_keeps_what_all_rows_of_a_store_read(pairs, tables, kept):
    rows = "epochs = 1\nlayers = 'last'"
    text = "\n".join(f"{t}\n{rows}" if t.startswith("[features]") else t for t in tables)
    if "[features]" not in text:
        text += f"\n[features]\n{rows}"
    text = f'task = "classification"\nprecision = "fp32"\n{text}\n'
    plan = ExperimentPlan(read_experiment(pairs.experiment(text)), pairs.cache, pairs.runs)
    jobs = plan.renewed().jobs.values()
    asked = {job.extraction.path: job.extraction.manifest.keep for job in jobs}
    assert [*asked.values()] == kept
    assert {job.run.signature.packing for job in jobs} == {"joint", *["apart"] * (len(kept) > 1)}


@pytest.mark.parametrize("task", [None, "regression"])
def test_pooled_vectors_are_extracted_beside_words_that_lack_them(pairs, task):
    how = ("--precision", "fp32", *(() if task is None else ("--task", task)))
    ok(pairs.extract(*how))
    ok(pairs.extract(*how, "--keep", "pooled"))
    words, *pooled = stores(pairs)
    assert words.manifest.keep == "words"
    assert bool(pooled) != ({*words.manifest.kinds} >= KINDS)
    store = pooled[0] if pooled else words
    for kind in KINDS:
        assert len(store.read("train", kind=kind)) == 5
    before = [store.path.stat().st_mtime_ns for store in stores(pairs)]
    ok(pairs.extract(*how, "--keep", "pooled"))  # all is there
    ok(pairs.call("train", *where(pairs), "--task", "regression", *SMALL))
    assert [store.path.stat().st_mtime_ns for store in stores(pairs)] == before


def test_one_file_is_train_and_advice_names_what_the_command_takes(pairs):
    text = (pairs.corpus / "train.tsv").read_text("utf-8")
    file = pairs.folder / "reviews.tsv"
    file.write_text(text, "utf-8")
    where = ("--data", file, "--model", pairs.model, "--task", "classification")
    folders = ("--cache-dir", pairs.cache, "--runs-dir", pairs.runs)
    for words in (("train", *folders), ("finetune", *folders[2:])):
        assert "--dev-share 0.1" in error_of(pairs.call(*words, *where, "-q"))
    rows = "epochs = 1\nlayers = 'last'"
    asked = pairs.experiment(f'task = "classification"\n[features]\n{rows}\n')
    asked.write_text(asked.read_text("utf-8").replace(str(pairs.corpus), str(file)), "utf-8")
    message = pairs.carry_out(asked, "--dry-run")
    assert message.exit_code == 1
    assert "--dev-share" not in message.stderr
    assert message.stderr.count("--set dev_share=0.1") == 2  # the notice and the refusal
    ok(pairs.carry_out(asked, "--set", "dev_share=0.2", "--set", "folds=4", "--set", "fold=1"))
    (run,) = find_runs(pairs.runs)
    sizes = {name: split.sentences for name, split in run.record.signature.splits.items()}
    assert sizes == {"train": 24, "dev": 6, "test": 10}
    compared = ok(pairs.compare()).stdout
    assert "dev was drawn from train" in compared
    signature = pairs.call("runs", "show", run.name, "--signature", "--runs-dir", pairs.runs)
    assert "dev_share:0.2" in ok(signature).stdout
    scored = pairs.call("evaluate", run.name, "--data", file, *folders, "--format", "json")
    assert '"split": "test"' in ok(scored).stdout


def test_quick_heads_report_their_best_epoch_and_others_each(pairs):
    """Epochs of solvers and of linear heads on features take moments.

    Each line of progress begins with its row.
    """
    words = ("train", *where(pairs), "--task", "classification", "--layers", "last")
    for body, n_lines in {"logistic": 1, "linear": 1, "bilstm --lstm-size 4": 3}.items():
        done = ok(pairs.call(*words, "--epochs", 3, "--body", *body.split()))
        lines = done.stderr.splitlines()
        assert sum(line.startswith("last") and " loss " in line for line in lines) == n_lines


def test_stores_and_what_reads_them_are_listed_and_removed(workspace: Workspace):
    ok(workspace.extract("--layers", "last", "--quiet"))
    ok(workspace.train("--layers", "last", "--epochs", 1, "--quiet"))
    ok(workspace.extract("--layers", "0", "--context", "document", "--shards", 2, "--quiet"))
    adapted = workspace.cache / "models" / "adapted"
    adapt = ("adapt", "--data", workspace.corpus, "--model", workspace.model, "--epochs", 1)
    ok(workspace.call(*adapt, "--out", adapted, "-q"))
    where = ("--cache-dir", workspace.cache)

    def listed() -> dict[str, dict]:
        it = workspace.call("cache", "ls", *where, "--runs-dir", workspace.runs, "--format", "json")
        return {one["name"]: one for one in json.loads(ok(it).stdout)}

    found = listed()
    kinds = {name: one.get("kinds") for name, one in found.items()}
    assert all(kinds[name][0] == "words" for name in kinds if name.endswith(".h5"))
    (run,) = workspace.runs.iterdir()
    readers = {name: one["runs"] for name, one in found.items()}
    assert sorted(readers.values()) == [[], [], [run.name]]
    on_disk = sum(p.stat().st_size for p in workspace.cache.rglob("*") if p.is_file())
    assert sum(one["bytes"] for one in found.values()) == on_disk
    (read,) = (name for name, runs in readers.items() if runs)
    assert "1" in ok(workspace.call("cache", "ls", *where)).stdout
    assert read in error_of(workspace.call("cache", "rm", f"{read}x", *where))
    stores = [name for name in found if name.endswith(".h5")]
    several = error_of(workspace.call("cache", "rm", "tiny", *where))
    assert all(name in several for name in stores)
    assert "models/adapted" not in several
    for name in ("ls/adapt", *(found.keys() - {"models/adapted", read})):
        assert "removed 1 item" in ok(workspace.call("cache", "rm", name, "--yes", *where)).stdout
    assert [p.name for p in workspace.cache.rglob("*") if p.is_file()] == [read]
    (workspace.cache / read).write_text("no store", "utf-8")
    assert listed()[read]["made"] == "damaged"


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
    words = ("--data", workspace.folder, "--model", workspace.model, "--quiet")
    refused = workspace.call("probe", *words, "--cache-dir", workspace.cache)
    assert "--tag-column" in error_of(refused)
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
