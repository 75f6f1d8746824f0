"""Settings: types, ranges, defaults, and which of them play a part."""

import math
import statistics
from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from featbert.config import defaults, epochs_on
from featbert.errors import InputError
from featbert.models.registry import BODIES, OUTPUTS, TRAINERS, Part, Trainer
from featbert.runs.run import find_runs
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
    solver = Trainer("a:b", "a solver", ("weight_decay",))
    monkeypatch.setitem(TRAINERS, "solver", solver)
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


SEARCHES = [
    path
    for path in sorted(ROOT.glob("*/defaults*/results.jsonl.xz"))
    if path.parent.name != "defaults-solvers"
]


def searched(path):
    """Mean dev scores by rate, of each task and method of a search. Numbers of epochs differ."""
    scores = defaultdict(lambda: defaultdict(list))
    for run in find_runs(path):
        record, settings = run.record, run.record.settings
        body = settings["body"] if record.tuning == "none" else None
        steps = settings["learning_rate"], settings["epochs"]
        scores[record.task, record.tuning, body][steps].append(record.score("dev"))
    for method, by_steps in scores.items():
        by_rate = defaultdict(float)
        for (rate, _), dev in by_steps.items():
            by_rate[rate] = max(by_rate[rate], statistics.mean(dev))
        yield method, by_rate


@pytest.mark.parametrize("path", SEARCHES, ids=lambda path: path.parent.name)
def test_a_search_finds_no_rate_that_is_clearly_better_than_the_default(path):
    """At most 2 points: the standard error of the new searches' scores on dev."""
    for (task, tuning, body), by_rate in searched(path):
        assert len(by_rate) >= 4
        default = defaults(tuning, task, body).learning_rate
        nearest = min(by_rate, key=lambda rate: abs(math.log(rate / default)))
        assert by_rate[nearest] > max(by_rate.values()) - 0.02, (task, tuning, body)


@pytest.mark.parametrize(
    "path", [p for p in SEARCHES if p.match("experiments/*/*")], ids=lambda path: path.parent.name
)
def test_the_best_rate_of_a_search_is_not_at_its_edge(path):
    for method, by_rate in searched(path):
        best = max(by_rate, key=by_rate.get)
        assert min(by_rate) < best < max(by_rate), method


@pytest.mark.parametrize("task", ["classification", "multilabel", "regression"])
def test_the_other_body_of_frozen_texts_is_not_clearly_better_on_dev_than_the_default(task):
    scores = defaultdict(list)
    for run in find_runs(ROOT / "experiments" / "defaults-solvers" / "results.jsonl.xz"):
        if run.record.task == task:
            scores[run.record.settings["body"]].append(run.record.score("dev"))
    assert len(scores) == 2
    means = {body: statistics.mean(dev) for body, dev in scores.items()}
    assert means[defaults("none", task).body] > max(means.values()) - 0.01
