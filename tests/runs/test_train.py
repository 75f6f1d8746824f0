"""Training one run: the epoch that is kept, what is looked at when, and the text learned from."""

import json
import shutil
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from featbert.api import extract
from featbert.config import defaults
from featbert.data.corpus import Corpus
from featbert.data.load import load_corpus
from featbert.data.options import ReadingOptions
from featbert.data.share import learned_part
from featbert.encoders.device import find_device
from featbert.encoders.encoding import EncodingOptions
from featbert.encoders.source import find_encoder
from featbert.errors import InputError
from featbert.features.store import FeatureStore
from featbert.inference.load import load
from featbert.io import owning
from featbert.runs import train as training
from featbert.runs.planned import RunOptions, plan_stored_run, plan_tuned_run
from featbert.runs.run import Run, find_runs
from featbert.tasks.entities import TASK
from featbert.training.inputs import Inputs
from tests.runs.finished_runs import STORED, TUNED, stored_run, tuned_run
from tests.runs.finished_runs import write_corpus as write_small_corpus
from tests.single_runs import finetune, train
from tests.workspace import Workspace, write_corpus, write_splits

TEST = "Chelsea B-ORG\nbeat O\nHamilton B-PER\n\nsaid O\nJordan B-LOC\n. O\n"


@pytest.fixture
def trained(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> tuple[Workspace, list[int]]:
    """Both tunings on a corpus whose test is not its dev; what was predicted, by its words."""
    (workspace.corpus / "test.conll").write_text(TEST, "utf-8")
    predicted: list[int] = []
    plain = training.predict

    def counting(model: Any, inputs: Inputs, *args: Any, **kwargs: Any) -> Any:
        predicted.append(int(inputs.offsets[-1]))
        return plain(model, inputs, *args, **kwargs)

    monkeypatch.setattr(training, "predict", counting)
    corpus = load_corpus(workspace.corpus)
    where = {"runs_dir": workspace.runs, "device": "cpu"}
    store = extract(corpus, str(workspace.model), cache_dir=workspace.cache, device="cpu")
    train(store, "last", settings=STORED.but(epochs=4), **where)
    finetune(corpus, str(workspace.model), settings=TUNED.but(epochs=4), **where)
    return workspace, predicted


def test_what_a_run_scores_costs_and_was_asked(trained):
    """Dev is predicted after each epoch and test once."""
    workspace, predicted = trained
    runs = find_runs(workspace.runs).runs
    assert {run.record.tuning for run in runs} == {"none", "full"}
    sizes = {s: runs[0].record.scores[s].words for s in ("dev", "test")}
    assert sizes["dev"] != sizes["test"]
    assert predicted == [*[sizes["dev"]] * 4, sizes["dev"], sizes["test"]] * 2
    # The epoch that was best on dev is the one that is scored.
    for run in runs:
        record = run.record
        by_epoch = [row.dev_score or 0.0 for row in record.history]
        assert record.best_epoch == int(np.argmax(by_epoch)) + 1
        assert record.score("dev") == max(by_epoch)
        for split in ("dev", "test"):
            found = run.predictions(split)
            assert TASK.score(found.gold, found.predicted) == record.scores[split]
    assert any(r.record.scores["dev"] != r.record.scores["test"] for r in runs)
    (store,) = workspace.cache.glob("*.h5")
    for run in find_runs(workspace.runs):
        cost = run.record.cost
        config = json.loads((run.folder / "config.json").read_text("utf-8"))
        assert min(cost.training_seconds, cost.prediction_seconds) > 0
        assert cost.prediction_words == sum(s.words for s in run.record.scores.values())
        assert cost.run_bytes == (run.folder / "weights.safetensors").stat().st_size
        stored = run.record.tuning == "none"
        assert cost.store_bytes == (store.stat().st_size if stored else None)
        assert (cost.extraction_seconds or 0) > 0 or not stored
        assert config["settings"] == run.record.settings
        assert config["labels"] == run.record.labels
        assert config["seed"] == run.record.seed
        assert config["signature"]["splits"]["test"]["words"] == run.record.scores["test"].words


@pytest.mark.parametrize("make", [stored_run, tuned_run])
def test_a_finished_run_is_returned_and_an_overwritten_one_is_written_aside(
    tmp_path, small_bert, monkeypatch, make
):
    corpus = write_small_corpus(tmp_path / "mine")
    first = make(tmp_path, small_bert, corpus)
    before = {p.name: p.read_bytes() for p in first.folder.iterdir()}
    calls: list[int] = []
    plain = training.fit

    def again() -> Run:
        read = load_corpus(corpus)
        where = {"runs_dir": tmp_path / "runs", "device": "cpu", "precision": "fp32"}
        if make is tuned_run:
            return finetune(read, str(small_bert), settings=TUNED, overwrite=True, **where)
        (store,) = (tmp_path / "cache").glob("*.h5")
        return train(store, "sum:1,2", data=read, settings=STORED, overwrite=True, **where)

    def watched(*args: Any, **kwargs: Any) -> Any:
        calls.append(1)
        assert {p.name: p.read_bytes() for p in first.folder.iterdir()} == before
        if len(calls) == 1:
            raise KeyboardInterrupt
        return plain(*args, **kwargs)

    monkeypatch.setattr(training, "fit", watched)
    assert make(tmp_path, small_bert, corpus).record == first.record
    assert not calls
    with pytest.raises(KeyboardInterrupt):
        again()
    assert {p.name: p.read_bytes() for p in first.folder.iterdir()} == before
    second = again()
    assert second.record.scores == first.record.scores
    assert second.record.weights == first.record.weights
    assert second.folder == first.folder
    assert [p.name for p in (tmp_path / "runs").iterdir()] == [first.name]


# Learning from a share of train ------------------------------------------------------------------

SHARE = {"epochs": 1, "batch_size": 4, "learning_rate": 1e-3, "dropout": 0.0, "train_share": 0.4}
SHARED, SHARED_TUNED = defaults("none").but(lstm_size=4, **SHARE), defaults("full").but(**SHARE)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """60 training sentences in 20 documents."""
    return load_corpus(str(write_corpus(tmp_path_factory.mktemp("data") / "ten", repeat=10)))


@pytest.fixture(scope="module", params=["sentence", "document"])
def store(
    request: pytest.FixtureRequest,
    corpus: Corpus,
    small_bert: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> FeatureStore:
    return extract(
        corpus,
        str(small_bert),
        cache_dir=tmp_path_factory.mktemp("cache"),
        context=request.param,
        precision="fp32",
        store_dtype="float32",
        device="cpu",
    )


def prepared(
    store: FeatureStore, corpus: Corpus, model: Path, folder: Path, seed: int
) -> list[SimpleNamespace]:
    """What runs on the store's states and on the tuned encoder would train on."""
    device, m = find_device("cpu"), store.manifest
    source = find_encoder(str(model))
    options = [RunOptions(seed, s, folder, device, "fp32") for s in (SHARED, SHARED_TUNED)]
    plans = (
        plan_stored_run(m, store.path, corpus, "last", options[0]),
        plan_tuned_run(
            source, corpus, options[1], EncodingOptions(context=m.context, pooling=m.pooling)
        ),
    )
    found = []
    for plan, material in zip(plans, (store, source), strict=True):
        run = training._Training(plan, None, material, corpus, None)
        run.states.model(run.classes)
        found.append(SimpleNamespace(train=run.train, inputs=run._inputs()))
    return found


@pytest.mark.parametrize("seed", [1, 2])
def test_both_tunings_learn_from_the_same_sentences(store, corpus, small_bert, tmp_path, seed):
    stored, tuned = prepared(store, corpus, small_bert, tmp_path, seed)
    expected = learned_part(corpus["train"], 0.4, seed=seed)[0]
    other = learned_part(corpus["train"], 0.4, seed=seed + 1)[0]
    assert expected.text_fingerprint != other.text_fingerprint
    assert 24 <= len(expected) < 27
    assert stored.train.sentences == tuned.train.sentences == expected.sentences
    ours, theirs = stored.inputs["train"], tuned.inputs["train"]
    assert ours.offsets.tolist() == theirs.offsets.tolist()
    assert ours.offsets[-1] == expected.n_words
    assert len({s.document for s in expected}) * 3 == len(expected)  # every document whole
    # Dev, which chooses the epoch, and test stay whole.
    for name in ("dev", "test"):
        assert stored.inputs[name].offsets[-1] == corpus[name].n_words


def test_the_record_says_what_was_learned_from(corpus, small_bert, tmp_path):
    """Also of a type outside of the part, which is not learned and counts as missed."""
    where = {"runs_dir": tmp_path, "device": "cpu", "precision": "fp32"}
    record = finetune(corpus, str(small_bert), settings=SHARED_TUNED, **where).record
    part = learned_part(corpus["train"], 0.4, seed=1)[0]
    assert (record.train_sentences, record.train_words) == (len(part), part.n_words)
    assert record.settings["train_share"] == 0.4
    # The signature identifies the whole text, of which the part can be drawn again.
    assert record.signature.splits["train"].text == corpus["train"].text_fingerprint
    rows = [("Jordan is", "B-PER O"), ("no entity", "O O"), ("none here", "O O")]
    rare = load_corpus(write_splits(tmp_path / "rare", rows, rows, rows, in_document=1))
    parts = (learned_part(rare["train"], 0.3, seed=s)[0].sentences[0] for s in range(20))
    seed = next(s for s, first in enumerate(parts) if first.words[0] != "Jordan")
    settings = SHARED_TUNED.but(train_share=0.3)
    run = finetune(rare, str(small_bert), seed=seed, settings=settings, **where)
    assert run.record.labels == ["O"]
    (person,) = run.record.scores["test"].by_class.values()
    assert (person["gold"], person["correct"], run.record.score("test")) == (1, 0, 0.0)
    loaded = load(run, device="cpu")
    assert loaded.answers(loaded.inputs(rare["test"].sentences), rare["test"]) == [["O", "O"]] * 3


def test_the_corpus_that_was_extracted_is_learned_also_from_a_store_of_another(workspace):
    """Its labels and how it was read, although another corpus of the same words was there first."""
    other = workspace.folder / "other"
    shutil.copytree(workspace.corpus, other)
    for path in other.iterdir():
        path.write_text(path.read_text("utf-8").replace("-PER", "-HUMAN"), "utf-8")
    how = {"cache_dir": workspace.cache, "precision": "fp32"}
    settings = defaults("none").but(body="linear", epochs=1)
    where = {"settings": settings, "runs_dir": workspace.runs, "precision": "fp32"}
    first = extract(load_corpus(workspace.corpus), str(workspace.model), **how)
    for corpus in (load_corpus(other), str(other)):
        store = extract(corpus, str(workspace.model), **how)
        assert store.path == first.path
        run = train(store, "last", **where)
        assert run.record.signature.corpus == "other"
        assert "HUMAN" in run.record.signature.entity_types
    assert "PER" in train(FeatureStore(first.path), "last", **where).record.signature.entity_types
    limited = load_corpus(other, ReadingOptions(limit=3))
    run = train(extract(limited, str(workspace.model), **how), "last", **where)
    assert run.record.reading == limited.reading == {"limit": 3}
    assert load_corpus(limited.source, ReadingOptions(**limited.reading)) == limited


def test_one_document_cannot_be_parted(small_bert, tmp_path):
    rows = [("a", "O"), ("b", "O")]
    folder = write_splits(tmp_path / "one", rows, rows, rows, in_document=2)
    with pytest.raises(InputError, match=r"train\.conll"):
        finetune(
            str(folder), str(small_bert), settings=SHARED_TUNED, runs_dir=tmp_path, device="cpu"
        )


def test_a_run_that_another_process_finished_meanwhile_is_returned(
    corpus, small_bert, tmp_path, monkeypatch
):
    """Planned as missing, finished by another process before this one takes the lock."""
    where = {"settings": TUNED.but(epochs=1), "device": "cpu"}
    done = finetune(corpus, str(small_bert), runs_dir=tmp_path / "other", **where)

    @contextmanager
    def late(folder: Path):
        shutil.copytree(done.folder, folder)
        with owning(folder):
            yield

    monkeypatch.setattr(training, "owning", late)
    monkeypatch.setattr(training, "fit", None)
    assert finetune(corpus, str(small_bert), runs_dir=tmp_path, **where).record == done.record
