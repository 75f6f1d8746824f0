"""Kept probabilities: a run's own, in whole files with a hash, and outside of what is timed."""

import shutil
import time
from pathlib import Path

import numpy as np
import pytest

from featbert.data.load import load_corpus
from featbert.errors import InputError, MissingError
from featbert.inference.evaluate import elsewhere, evaluate, evaluations
from featbert.inference.load import load
from featbert.io import file_hash
from featbert.models.logits import Softmax
from featbert.runs.run import Run, check_usable, find_run
from tests.runs.finished_runs import corpus_of, stored_run, tuned_run, write_corpus


@pytest.fixture(scope="module")
def made(tmp_path_factory, small_bert) -> dict[str, Run]:
    folder = tmp_path_factory.mktemp("probabilities")
    corpus = write_corpus(folder / "mine")
    makers = {"none": stored_run, "full": tuned_run}
    return {name: make(folder, small_bert, corpus) for name, make in makers.items()}


@pytest.mark.parametrize("tuning", ["none", "full"])
def test_a_run_keeps_the_probabilities_that_it_was_scored_on(made, tuning):
    run = made[tuning]
    assert {*run.record.probabilities} == {*run.record.scores} == {"dev", "test"}
    loaded = load(check_usable(run), "cpu")
    for split, scores in run.record.scores.items():
        shares = run.probabilities(split)
        sentences = corpus_of(run)[split]
        assert shares.dtype == np.float16
        assert shares.shape == (scores.words, len(run.record.targets.classes))
        np.testing.assert_allclose(shares.sum(axis=1), 1, atol=2e-3)
        _, again, _ = loaded.shares(loaded.inputs(sentences.sentences), sentences)
        np.testing.assert_allclose(shares, again, atol=1e-3)
        predicted = [tag for row in run.predictions(split).predicted for tag in row]
        best = [run.record.targets.classes[place] for place in again.argmax(axis=1)]
        assert best == predicted
        task, gold = run.task, run.predictions(split).gold
        floats = shares.astype(float)
        forecasts = task.forecasts(gold, floats, run.record.targets.classes, "bio")
        values = forecasts.values()
        assert scores.probabilities.values == values
        assert run.record.score(split, "ece") == values["ece"]


def test_a_changed_or_missing_file_is_refused(made, tmp_path):
    run = stored_copy(made["none"], tmp_path)
    path = run.folder / "dev.probabilities.npy"
    assert file_hash(path) == run.record.probabilities["dev"]
    path.write_bytes(path.read_bytes()[:-2] + b"\0\0")
    with pytest.raises(InputError, match=path.stem):
        run.probabilities("dev")
    path.unlink()
    with pytest.raises(MissingError, match=path.stem):
        run.probabilities("dev")
    with pytest.raises(MissingError):
        run.probabilities("train")


def stored_copy(run: Run, folder: Path) -> Run:
    return find_run(str(shutil.copytree(run.folder, folder / run.name)), folder)


def test_an_evaluation_keeps_them_too(made, tmp_path):
    run = stored_copy(made["full"], tmp_path)
    record = evaluate(run, corpus_of(run), "dev", cache_dir=tmp_path / "cache", device="cpu")
    assert record.scores == run.record.scores["dev"]
    assert record.probabilities == run.record.probabilities["dev"]
    other = elsewhere(run, evaluations(run))
    assert (other.probabilities("dev") == run.probabilities("dev")).all()
    mapping = {"PER": "ORG"}
    record = evaluate(run, corpus_of(run), "dev", mapping=mapping, cache_dir=tmp_path, device="cpu")
    assert record.probabilities == run.record.probabilities["dev"]
    assert record.scores.probabilities is None
    other = load_corpus(write_corpus(tmp_path / "other", rename=("PER", "PERSON")))
    mapping = {"PERSON": "PER"}
    record = evaluate(run, other, "dev", mapping=mapping, cache_dir=tmp_path, device="cpu")
    assert record.scores == run.record.scores["dev"]


def test_prediction_seconds_do_not_have_the_time_of_probabilities(
    small_bert, tmp_path, monkeypatch
):
    plain = Softmax.probabilities

    def slow(*args):
        time.sleep(1)
        return plain(*args)

    monkeypatch.setattr(Softmax, "probabilities", slow)
    run = stored_run(tmp_path, small_bert, write_corpus(tmp_path / "mine"))
    assert 0 < run.record.cost.prediction_seconds < 2  # of two splits
