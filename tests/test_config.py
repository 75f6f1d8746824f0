"""Settings: types, ranges, defaults, and which of them play a part."""

from __future__ import annotations

import math
import re
import statistics
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from featbert import find_runs
from featbert.config import (
    Adapt,
    Data,
    Encoding,
    Settings,
    defaults,
    epochs_on,
    validated,
)
from featbert.errors import InputError

BAD = [
    ("epochs", 1.5),
    ("epochs", "2"),
    ("learning_rate", math.nan),
    ("dropout", 1.0),
    ("schedule", "cosine"),
    ("discriminative", 0.5),
    ("unfreeze", 0),
    ("train_share", 0.0),
    ("body", "lstm"),
    ("tuning", "half"),
]


@pytest.mark.parametrize(("name", "value"), BAD)
def test_out_of_range(name, value):
    with pytest.raises(InputError) as caught:
        defaults("full").but(**{name: value})
    assert name in str(caught.value)
    assert str(value) in str(caught.value)
    assert "\n" not in str(caught.value)


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


def test_a_share_is_of_train_alone():
    with pytest.raises(InputError, match="train_share"):
        defaults("full").but(train_share=0.5, train_on="train+dev")


@given(st.floats(1e-6, 1), st.integers(1, 50))
def test_a_share_takes_at_least_the_steps_of_the_whole(share, epochs):
    found = epochs_on(share, epochs)
    assert found * share >= epochs - 1e-6
    assert (found - 1) * share < epochs


def test_a_share_of_next_to_nothing_is_refused():
    with pytest.raises(InputError, match="1e-12"):
        epochs_on(1e-12, 12)


@pytest.mark.parametrize("model", [Settings, Data, Encoding, Adapt])
def test_every_field_is_described(model):
    for name, field in model.model_fields.items():
        assert re.fullmatch(r"[A-Z].*\.", field.description or "", re.DOTALL), name


def test_masking_shares_are_at_most_everything():
    with pytest.raises(InputError, match=r"1\.2"):
        validated(Adapt, {"mask_share": 0.9, "random_share": 0.3})


@pytest.mark.parametrize("tuning", ["none", "full"])
def test_rate_and_epochs_are_those_that_the_search_found(tuning):
    """benchmarks/defaults has a record of every run of it."""
    found = defaultdict(list)
    for run in find_runs(Path(__file__).parents[1] / "benchmarks" / "defaults"):
        record = run.record
        if record.tuning == tuning:
            key = (record.settings["learning_rate"], record.settings["epochs"])
            found[key].append(record.score("dev"))
    complete = {key: statistics.mean(f1) for key, f1 in found.items() if len(f1) == 3}
    assert len(complete) >= 6  # four rates, and 3 and 12 epochs at the best of them
    settings = defaults(tuning)
    assert max(complete, key=complete.get) == (settings.learning_rate, settings.epochs)


@pytest.mark.parametrize(
    ("tuning", "body"), [("none", "linear"), ("none", "bilstm"), ("full", "linear")]
)
def test_rates_of_sentences_are_those_that_the_search_found(tuning, body):
    """Five rates each; the default is the best over both corpora, or within half a point of it."""
    found = defaultdict(lambda: defaultdict(list))
    for run in find_runs(Path(__file__).parents[1] / "benchmarks" / "defaults-sentences"):
        record = run.record
        if (record.tuning, record.settings["body"]) == (tuning, body):
            rate = record.settings["learning_rate"]
            found[rate][record.signature.corpus].append(record.score("dev"))
    assert len(found) == 5
    assert {len(dev) for by_corpus in found.values() for dev in by_corpus.values()} == {2}
    means = {
        rate: statistics.mean(statistics.mean(dev) for dev in by_corpus.values())
        for rate, by_corpus in found.items()
    }
    for task in ("classification", "regression"):
        asked = None if (tuning, body) == ("full", "linear") else body
        settings = defaults(tuning, task, asked)
        assert settings.body == body
        assert means[settings.learning_rate] >= max(means.values()) - 0.005


@pytest.mark.parametrize(
    ("tuning", "body"), [("none", "linear"), ("none", "bilstm"), ("full", "linear")]
)
def test_rates_of_labels_are_near_the_best_that_the_search_found(tuning, body):
    """They are those of entities: at least as good as the lower of the rates on both sides."""
    found = defaultdict(list)
    for run in find_runs(Path(__file__).parents[1] / "benchmarks" / "defaults-labels"):
        record = run.record
        if (record.tuning, record.settings["body"]) == (tuning, body):
            found[record.settings["learning_rate"]].append(record.score("dev"))
    assert [len(dev) for dev in found.values()] == [2] * 5
    means = {rate: statistics.mean(dev) for rate, dev in found.items()}
    default = defaults(tuning, "labels", None if tuning == "full" else body).learning_rate
    below = max(rate for rate in means if rate <= default)
    above = min(rate for rate in means if rate >= default)
    assert min(means[below], means[above]) >= max(means.values()) - 0.005
