"""Settings: types, ranges, defaults, and which of them play a part."""

import math
import statistics
from collections import defaultdict
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from featbert.config import defaults, epochs_on
from featbert.errors import InputError
from featbert.models.registry import BODIES, OUTPUTS, Part
from featbert.runs.run import find_runs
from featbert.training.trainers import TRAINERS
from featbert.training.trainers.base import Trainer
from tests.processes import ROOT


@pytest.mark.parametrize(
    ("name", "value"),
    [("epochs", 1.5), ("learning_rate", math.nan), ("dropout", 1.0), ("body", "lstm")],
)
def test_out_of_range(name, value):
    with pytest.raises(InputError, match=f"{name}.*{value}"):
        defaults("full").but(**{name: value})


def test_the_rows_differ_by_default_only_where_they_are_meant_to():
    """What the comparison does not vary is the same; the rest comes from one search each."""
    stored, tuned = defaults("none").model_dump(), defaults("full").model_dump()
    assert {name for name in stored if stored[name] != tuned[name]} == {
        *("tuning", "body", "learning_rate", "dropout")
    }


def test_settings_that_play_no_part_are_left_out():
    stored, tuned = defaults("none"), defaults("full")
    assert stored.used(weighted=True).keys() - stored.used().keys() == {"mix_learning_rate"}
    assert {"lstm_size", "lstm_layers"} <= stored.used().keys()
    assert {"lstm_size", "lstm_layers"}.isdisjoint(stored.but(body="linear").used())
    assert {"unfreeze", "freeze_to", "discriminative"} <= tuned.used().keys()
    assert {"unfreeze", "freeze_to", "discriminative"}.isdisjoint(stored.used())
    assert {"lstm_size"} <= tuned.but(body="bilstm").used().keys()
    for settings, name in ((tuned, "rank"), (tuned, "lstm_size"), (stored, "mix_learning_rate")):
        with pytest.raises(InputError, match=name):
            settings.check_given([name, "epochs", "model"])
    with pytest.raises(InputError, match=r"class_weight.*softmax"):
        stored.but(output="crf").check_given(["class_weight"])
    defaults("lora").check_given(["rank", "tuning", "class_weight", "label_smoothing"])
    solved = stored.but(body="logistic")
    solved.check_given(["class_weight"])
    with pytest.raises(InputError, match=r"label.smoothing.*logistic"):
        solved.check_given(["label_smoothing"])
    stored.check_given(["mix_learning_rate", "lstm_size"], weighted=True)


def test_settings_belong_to_the_trainer_that_reads_them(monkeypatch):
    solver = Trainer("a solver", ("weight_decay",), lambda *_: None)
    monkeypatch.setitem(TRAINERS, "solver", SimpleNamespace(load=lambda: solver))
    monkeypatch.setitem(BODIES, "solved", Part("a:b", "solved", trainer="solver"))
    settings = defaults("none").but(body="solved")
    assert settings.trainer is solver
    of_all = {"body", "output", "epochs", "patience", "token_budget", "train_on", "train_share"}
    assert settings.used(weighted=True).keys() == of_all | {"weight_decay"}
    with pytest.raises(InputError, match=r"learning_rate.*solved.*gradient steps"):
        settings.check_given(["learning_rate", "weight_decay"])
    monkeypatch.setitem(OUTPUTS, "other", Part("a:b", "other", trainer="another"))
    with pytest.raises(InputError, match=r"solved.*other"):
        _ = settings.but(output="other").trainer


@given(st.floats(1e-6, 1), st.integers(1, 50))
def test_a_share_takes_at_least_the_steps_of_the_whole(share, epochs):
    found = epochs_on(share, epochs)
    assert found * share >= epochs - 1e-6
    assert (found - 1) * share < epochs


def searched(folder, tuning, body, *names):
    """Scores on dev by settings and corpus; a benchmark's results file has every run."""
    found = defaultdict(lambda: defaultdict(list))
    for run in find_runs(ROOT / "benchmarks" / folder / "results.jsonl.xz"):
        record = run.record
        if (record.tuning, record.settings["body"]) == (tuning, body):
            key = tuple(record.settings[name] for name in names)
            found[key][record.signature.corpus].append(record.score("dev"))
    return found


@pytest.mark.parametrize(("tuning", "body"), [("none", "bilstm"), ("full", "linear")])
def test_rate_and_epochs_are_those_that_the_search_found(tuning, body):
    found = searched("defaults", tuning, body, "learning_rate", "epochs")
    f1 = {key: [dev for of in by_corpus.values() for dev in of] for key, by_corpus in found.items()}
    complete = {key: statistics.mean(dev) for key, dev in f1.items() if len(dev) == 3}
    assert len(complete) >= 6  # four rates, and 3 and 12 epochs at the best of them
    settings = defaults(tuning)
    assert max(complete, key=complete.get) == (settings.learning_rate, settings.epochs)


@pytest.mark.parametrize("task", ["classification", "multilabel", "regression"])
def test_the_default_body_of_frozen_texts_is_the_better_one_on_dev(task):
    scores = defaultdict(list)
    for run in find_runs(ROOT / "benchmarks" / "defaults-logistic" / "results.jsonl.xz"):
        if run.record.task == task:
            scores[run.record.settings["body"]].append(run.record.score("dev"))
    assert len(scores) == 2
    means = {body: statistics.mean(dev) for body, dev in scores.items()}
    assert defaults("none", task).body == max(means, key=means.get) != "linear"


@pytest.mark.parametrize("folder", ["defaults-sentences", "defaults-labels"])
@pytest.mark.parametrize(
    ("tuning", "body"), [("none", "linear"), ("none", "bilstm"), ("full", "linear")]
)
def test_rates_are_near_the_best_that_the_search_found(folder, tuning, body):
    """Five rates each. Those of sentences are the best over both corpora, or within half a point.

    Those of labels are those of entities: at least as good as the lower of the rates on both sides.
    """
    found = searched(folder, tuning, body, "learning_rate")
    assert len(found) == 5
    assert {len(dev) for by_corpus in found.values() for dev in by_corpus.values()} == {2}
    means = {
        rate: statistics.mean(map(statistics.mean, by_corpus.values()))
        for (rate,), by_corpus in found.items()
    }
    asked = None if tuning == "full" else body
    tasks = ("labels",) if folder == "defaults-labels" else ("classification", "regression")
    for settings in (defaults(tuning, task, asked) for task in tasks):
        assert settings.body == body
        rate = settings.learning_rate
        sides = [max(r for r in means if r <= rate), min(r for r in means if r >= rate)]
        near = sides if folder == "defaults-labels" else [rate]
        assert min(means[r] for r in near) >= max(means.values()) - 0.005
