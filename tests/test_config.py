"""Settings: types, ranges, defaults, and which of them play a part."""

import json
import math
import statistics
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docs.rates import SEARCHES, gain, scores_by_method
from featbert.analysis.interval import difference_estimate
from featbert.config import defaults
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
        *("tuning", "body", "learning_rate", "head_learning_rate", "dropout")
    }


def test_settings_that_play_no_part_are_left_out():
    stored, tuned = defaults("none", "labels"), defaults("full")
    assert stored.used(weighted=True).keys() - stored.used().keys() == {"mix_learning_rate"}
    assert {"lstm_size", "lstm_layers"} <= stored.used().keys()
    assert {"lstm_size", "lstm_layers"}.isdisjoint(stored.but(body="linear").used())
    assert {"unfreeze", "freeze_to", "layer_decay"} <= tuned.used().keys()
    assert {"unfreeze", "freeze_to", "layer_decay"}.isdisjoint(stored.used())
    assert {"lstm_size"} <= tuned.but(body="bilstm").used().keys()
    for settings, name in ((tuned, "rank"), (tuned, "lstm_size"), (stored, "mix_learning_rate")):
        with pytest.raises(InputError, match=name):
            settings.check_given([name, "epochs", "model"])
    with pytest.raises(InputError, match=r"class_weight.*softmax"):
        stored.but(output="crf").check_given(["class_weight"])
    defaults("lora", "labels").check_given(["rank", "tuning", "class_weight", "label_smoothing"])
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
    settings = defaults("full").but(train_share=share)
    assert settings.passes_until(epochs) == epochs
    found = settings.but(equal_steps=True).passes_until(epochs)
    assert found * share >= epochs - 1e-6
    assert (found - 1) * share < epochs


def dev_score(runs):
    return statistics.mean(run.record.score("dev") for run in runs)


def is_clearly_better(runs, others):
    """More than a point on dev, with p below 0.01."""
    counts = [np.stack([run.counts("dev").units for run in row]) for row in (others, runs)]
    estimate = difference_estimate(*counts, runs[0].task.measure.of)
    return estimate.value > 0.01 and estimate.p_value < 0.01


def test_no_multiple_of_a_default_rate_is_better_over_all_searches():
    """By less than a point on dev. A tuning has one default for every task and text."""
    for method, searches in scores_by_method().items():
        factors = {factor for scores in searches for factor in scores}
        assert len(factors) >= 5
        for factor in factors:
            assert statistics.fmean(gain(scores, factor) for scores in searches) < 0.01, method


def test_gains_are_of_the_seeds_that_both_rates_have():
    first, second = (1, "bf16"), (2, "fp32")
    scores = {0.5: {first: 0.5}, 1.0: {first: 0.6, second: 0.9}, 4.0: {first: 0.4, second: 0.8}}
    gains = [gain(scores, factor) for factor in (0.25, 1, 2.5, 9)]
    assert gains == pytest.approx([-0.1, 0, -0.15, -0.15])


@pytest.mark.parametrize("name", ["results", "base"])
def test_the_search_of_outputs_finds_no_frozen_head_that_is_clearly_better_than_the_default(name):
    by_method = defaultdict(lambda: defaultdict(list))
    for run in find_runs(ROOT / "experiments" / "defaults-outputs" / f"{name}.jsonl.xz"):
        record = run.record
        if record.layers:
            method = record.signature.model, record.layers, record.settings["body"]
            by_method[method][json.dumps(record.settings, sort_keys=True)].append(run)
    for method, by_settings in by_method.items():
        record = next(iter(by_settings.values()))[0].record
        usual = defaults("none", record.task, record.settings["body"]).but(lstm_size=256)
        used = usual.used(weighted=record.layers == "weighted_all")
        chosen = by_settings.pop(json.dumps(used, sort_keys=True))
        for runs in by_settings.values():
            settings = runs[0].record.settings
            assert not is_clearly_better(runs, chosen), (method, settings)
            if {n for n in used if settings[n] != used[n]} == {"output"}:
                assert is_clearly_better(chosen, runs), (method, settings)


@pytest.mark.parametrize("name", ["results", "base", "tuned"])
def test_the_search_of_outputs_finds_no_tuned_head_that_is_clearly_better_than_the_default(name):
    by_method = defaultdict(lambda: defaultdict(list))
    for run in find_runs(ROOT / "experiments" / "defaults-outputs" / f"{name}.jsonl.xz"):
        record, settings = run.record, dict(run.record.settings)
        if not record.layers:
            head = settings.pop("output"), settings.pop("head_learning_rate", None)
            others = json.dumps(settings, sort_keys=True)
            by_method[record.signature.model, record.tuning, others][head].append(run)
    assert by_method
    for method, by_head in by_method.items():
        usual = defaults(method[1])
        chosen = by_head.pop((usual.output, usual.head_learning_rate))
        for head, runs in by_head.items():
            assert not is_clearly_better(runs, chosen), (method, head)


def test_the_default_output_of_fine_tuning_is_clearly_better_on_test_than_a_softmax():
    by_output = defaultdict(list)
    usual = defaults("full").but(epochs=6).used()
    rates = {usual["output"]: usual["head_learning_rate"], "softmax": None}
    for run in find_runs(ROOT / "experiments" / "defaults-outputs" / "tuned.jsonl.xz"):
        tuning, settings = run.record.tuning, run.record.settings
        if tuning == "full" and settings.get("head_learning_rate") == rates[settings["output"]]:
            by_output[settings["output"]].append(run)
    assert all(run.record.settings == usual for run in by_output[usual["output"]])
    rows = by_output["softmax"], by_output[usual["output"]]
    counts = [np.stack([run.counts("test").units for run in row]) for row in rows]
    estimate = difference_estimate(*counts, rows[0][0].task.measure.of)
    assert min(map(len, rows)) == 3
    assert estimate.value > 0.02
    assert estimate.p_value < 0.001


def searched(path):
    """Runs by rate, of each task and method of a search, with the best number of epochs."""
    by_method = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for run in find_runs(path):
        record, settings = run.record, run.record.settings
        method = record.task, record.tuning, settings["body"] if record.tuning == "none" else None
        by_method[method][settings["learning_rate"]][settings["epochs"]].append(run)
    for method, by_rate in by_method.items():
        yield method, {rate: max(runs.values(), key=dev_score) for rate, runs in by_rate.items()}


@pytest.mark.parametrize("folder", SEARCHES[:-1])
def test_no_rate_of_a_frozen_head_is_clearly_better_than_the_default_of_its_task(folder):
    for (task, tuning, body), runs in searched(ROOT / "experiments" / folder / "results.jsonl.xz"):
        if tuning == "none":
            default = defaults(tuning, task, body).learning_rate
            nearest = min(runs, key=lambda rate: abs(math.log(rate / default)))
            best = max(runs.values(), key=dev_score)
            assert not is_clearly_better(best, runs[nearest]), (task, body)


@pytest.mark.parametrize("folder", SEARCHES[:-1])
def test_the_best_rate_of_a_search_is_not_at_its_edge(folder):
    for method, runs in searched(ROOT / "experiments" / folder / "results.jsonl.xz"):
        best = max(runs, key=lambda rate: dev_score(runs[rate]))
        assert min(runs) < best < max(runs), method


def test_the_best_rate_of_each_method_text_and_encoder_is_not_at_the_edge_of_its_search():
    """In the experiment of README's first table, by the seed that chose."""
    by_rate = defaultdict(dict)
    for run in find_runs(ROOT / "experiments" / "frozen-or-tuned-base" / "results.jsonl.xz"):
        record, rate = run.record, run.record.settings.get("learning_rate")
        if rate is not None and record.seed == 1:
            way = record.tuning, record.settings["body"], record.signature.model
            by_rate[(record.task, record.signature.corpus, *way)][rate] = record.score("dev")
    assert len(by_rate) == 2 * (3 * 4 + 3)
    for method, scores in by_rate.items():
        assert len(scores) >= 5, method
        assert min(scores) < max(scores, key=lambda rate: scores[rate]) < max(scores), method


@pytest.mark.parametrize("task", ["classification", "multilabel", "regression"])
def test_the_other_body_of_frozen_texts_is_not_clearly_better_on_dev_than_the_default(task):
    scores = defaultdict(list)
    for run in find_runs(ROOT / "experiments" / "defaults-solvers" / "results.jsonl.xz"):
        if run.record.task == task:
            scores[run.record.settings["body"]].append(run.record.score("dev"))
    assert len(scores) == 2
    means = {body: statistics.mean(dev) for body, dev in scores.items()}
    assert means[defaults("none", task).body] > max(means.values()) - 0.01
