"""Training one run: the epoch that is kept, what is looked at when, and the text learned from."""

import dataclasses
import json
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from featbert.api import extract
from featbert.config import defaults
from featbert.data.load import load_corpus
from featbert.data.options import ReadingOptions
from featbert.data.share import learned_part
from featbert.errors import InputError
from featbert.features.store import FeatureStore
from featbert.io import owning
from featbert.runs import train as training
from featbert.runs.run import find_runs
from featbert.tasks.entities import TASK
from featbert.training.inputs import Inputs
from tests.runs.finished_runs import STORED, TUNED, stored_run, tuned_run
from tests.runs.finished_runs import write_corpus as write_small_corpus
from tests.runs.rows import assert_answers_again
from tests.workspace import finetune, train, write_splits

TEST = "Chelsea B-ORG\nbeat O\nHamilton B-PER\n\nsaid O\nJordan B-LOC\n. O\n"


def test_what_a_run_scores_costs_and_was_asked(workspace, monkeypatch):
    """Dev is predicted after each epoch and test once; dev and test differ in size."""
    (workspace.corpus / "test.conll").write_text(TEST, "utf-8")
    predicted: list[int] = []
    plain = training.predict

    def counting(model: Any, inputs: Inputs, *args: Any, **kwargs: Any) -> Any:
        predicted.append(int(inputs.offsets[-1]))
        return plain(model, inputs, *args, **kwargs)

    monkeypatch.setattr(training, "predict", counting)
    corpus, where = load_corpus(workspace.corpus), {"runs_dir": workspace.runs, "device": "cpu"}
    store = extract(corpus, str(workspace.model), cache_dir=workspace.cache, device="cpu")
    train(store, "last", settings=STORED.but(epochs=4), **where)
    finetune(corpus, str(workspace.model), settings=TUNED.but(epochs=4), **where)
    runs = find_runs(workspace.runs).runs
    assert {run.record.tuning for run in runs} == {"none", "full"}
    sizes = {s: runs[0].record.scores[s].words for s in ("dev", "test")}
    assert predicted == [*[sizes["dev"]] * 4, sizes["dev"], sizes["test"]] * 2
    assert any(r.record.scores["dev"] != r.record.scores["test"] for r in runs)
    for run in runs:
        record, cost = run.record, run.record.cost
        # The epoch that was best on dev is the one that is scored.
        by_epoch = [row.dev_score or 0.0 for row in record.history]
        assert record.best_epoch == int(np.argmax(by_epoch)) + 1
        assert record.score("dev") == max(by_epoch)
        for split in ("dev", "test"):
            found = run.predictions(split)
            scores = TASK.score(found.gold, found.predicted)
            assert scores == dataclasses.replace(record.scores[split], probabilities=None)
        assert min(cost.training_seconds, cost.prediction_seconds) > 0
        assert cost.prediction_words == sum(s.words for s in record.scores.values())
        assert cost.run_bytes == (run.folder / "weights.safetensors").stat().st_size
        stored = record.tuning == "none"
        assert cost.store_bytes == (store.path.stat().st_size if stored else None)
        assert (cost.extraction_seconds or 0) > 0 or not stored
        config = json.loads((run.folder / "config.json").read_text("utf-8"))
        for key in ("settings", "seed"):
            assert config[key] == getattr(record, key)
        assert config["targets"]["items"] == record.targets.items
        assert config["signature"]["splits"]["test"]["words"] == record.scores["test"].words


@pytest.mark.parametrize("make", [stored_run, tuned_run])
def test_a_finished_run_is_returned_and_an_overwritten_one_is_written_aside(
    tmp_path, small_bert, monkeypatch, make
):
    corpus = write_small_corpus(tmp_path / "mine")
    first = make(tmp_path, small_bert, corpus)
    before = {p.name: p.read_bytes() for p in first.folder.iterdir()}
    calls: list[int] = []
    plain = training.Fitting

    def watched(*args: Any, **kwargs: Any) -> Any:
        calls.append(1)
        assert {p.name: p.read_bytes() for p in first.folder.iterdir()} == before
        if len(calls) == 1:
            raise KeyboardInterrupt
        return plain(*args, **kwargs)

    monkeypatch.setattr(training, "Fitting", watched)
    assert make(tmp_path, small_bert, corpus).record == first.record
    assert not calls
    with pytest.raises(KeyboardInterrupt):
        make(tmp_path, small_bert, corpus, overwrite=True)
    assert {p.name: p.read_bytes() for p in first.folder.iterdir()} == before
    second = make(tmp_path, small_bert, corpus, overwrite=True)
    assert second.record.scores == first.record.scores
    assert second.record.weights == first.record.weights
    assert [p.name for p in (tmp_path / "runs").iterdir()] == [first.name]


# Learning from a share of train ------------------------------------------------------------------

SHARE = {"epochs": 1, "batch_size": 4, "learning_rate": 1e-3, "dropout": 0.0, "train_share": 0.4}
SHARED, SHARED_TUNED = defaults("none").but(lstm_size=4, **SHARE), defaults("full").but(**SHARE)


@pytest.mark.parametrize(("context", "seed"), [("sentence", 1), ("document", 2)])
def test_both_tunings_learn_from_the_same_documents(small_bert, tmp_path, context, seed):
    """Every document has a type of its own, and so the labels say which ones were learned."""
    rows = [("Smith said so", f"B-D{number // 3} O O") for number in range(60)]
    corpus = load_corpus(write_splits(tmp_path / "c", rows, rows[:30], rows[:9], in_document=3))
    part, other = (learned_part(corpus["train"], 0.4, seed=s)[0] for s in (seed, seed + 1))
    assert part.tag_fingerprint != other.tag_fingerprint
    where = {"seed": seed, "runs_dir": tmp_path / "runs", "device": "cpu", "precision": "fp32"}
    how = {"context": context, "precision": "fp32", "device": "cpu"}
    store = extract(corpus, str(small_bert), cache_dir=tmp_path, **how)
    for run in (
        train(store, "last", settings=SHARED, **where),
        finetune(corpus, str(small_bert), settings=SHARED_TUNED, context=context, **where),
    ):
        record = run.record
        types = {label[2:] for label in record.targets.classes if label != "O"}
        assert types == {tag[2:] for s in part for tag in s.tags if tag != "O"}
        assert (record.train_sentences, record.train_words) == (len(part), part.n_words)
        assert record.settings["train_share"] == 0.4
        # The signature identifies the whole text, of which the part can be drawn again.
        assert record.signature.splits["train"].text == corpus["train"].text_fingerprint
        # Dev, which chooses the epoch, and test stay whole.
        assert [record.scores[s].words for s in ("dev", "test")] == [90, 27]


def test_with_equal_steps_an_epoch_of_a_share_has_several_passes(small_bert, tmp_path):
    """Dev is scored once an epoch. Losses and scores are the same as with one pass in an epoch."""
    rows = [
        (f"Jordan {number} said", f"B-PER O {('O', 'B-NUM')[number % 2]}") for number in range(24)
    ]
    corpus = load_corpus(write_splits(tmp_path / "c", rows, rows[:6], rows[:6], in_document=1))
    where = {"runs_dir": tmp_path / "runs", "device": "cpu", "precision": "fp32"}
    equal, long = (
        finetune(corpus, str(small_bert), settings=SHARED_TUNED.but(**changes), **where).record
        for changes in ({"epochs": 2, "equal_steps": True}, {"epochs": 5})
    )
    assert [len(r.history) for r in (equal, long)] == [2, 5]  # 2 / 0.4 passes, 3 of them at first
    losses = [row.train_loss for row in long.history]
    means = [np.mean(losses[:3]), np.mean(losses[3:])]
    assert [row.train_loss for row in equal.history] == pytest.approx(means, rel=1e-6)
    assert [row.dev for row in equal.history] == [long.history[n - 1].dev for n in (3, 5)]
    assert equal.settings["equal_steps"]
    assert "equal_steps" not in long.settings


def test_a_type_outside_of_the_part_is_not_learned_and_counts_as_missed(small_bert, tmp_path):
    rows = [("Jordan is", "B-PER O"), ("no entity", "O O"), ("none here", "O O")]
    rare = load_corpus(write_splits(tmp_path / "rare", rows, rows, rows, in_document=1))
    parts = (learned_part(rare["train"], 0.3, seed=s)[0].sentences[0] for s in range(20))
    seed = next(s for s, first in enumerate(parts) if first.words[0] != "Jordan")
    where = {"runs_dir": tmp_path, "device": "cpu", "precision": "fp32"}
    settings = SHARED_TUNED.but(train_share=0.3)
    run = finetune(rare, str(small_bert), seed=seed, settings=settings, **where)
    assert run.record.targets.classes == ("O",)
    (person,) = run.record.scores["test"].by_class.values()
    assert (person["gold"], person["correct"], run.record.score("test")) == (1, 0, 0.0)
    assert_answers_again(run, rare["test"])
    whole = load_corpus(write_splits(tmp_path / "one", rows, rows, rows, in_document=9))
    with pytest.raises(InputError, match="train"):  # one document cannot be parted
        finetune(whole, str(small_bert), settings=settings, **where)


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
    with pytest.raises(InputError, match=store.path.name):  # other text than was extracted
        train(store, "last", limit=2, **where)


def test_a_run_that_another_process_finished_meanwhile_is_returned(
    workspace, tmp_path, monkeypatch
):
    """Planned as missing, finished by another process before this one takes the lock."""
    where = {"settings": TUNED.but(epochs=1), "device": "cpu"}
    corpus, model = load_corpus(workspace.corpus), str(workspace.model)
    done = finetune(corpus, model, runs_dir=tmp_path / "other", **where)

    @contextmanager
    def late(folder: Path):
        shutil.copytree(done.folder, folder)
        with owning(folder):
            yield

    monkeypatch.setattr(training, "claimed", late)
    monkeypatch.setattr(training, "Fitting", None)
    assert finetune(corpus, model, runs_dir=workspace.runs, **where).record == done.record
