"""Training settings: all that is out of range is told together."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from featbert import find_runs
from featbert.training.settings import (
    DEFAULTS,
    LATER_SETTINGS,
    SettingsError,
    TrainingSettings,
    named_settings,
    used_settings,
)

GOOD = {"epochs": 1, "batch_size": 16, "learning_rate": 1e-3, "dropout": 0.1}
BAD = {
    "epochs": [0, -1],
    "batch_size": [0],
    "learning_rate": [0.0, -1e-3, 10.0, math.nan, math.inf],
    "mix_learning_rate": [0.0, 10.0],
    "dropout": [-0.1, 1.0, math.nan],
    "warmup": [-0.1, 1.1, math.nan],
    "weight_decay": [-0.1, 10.0],
    "clip_norm": [0.0, -1.0, math.nan],
    "patience": [0, -1],
    "token_budget": [0],
    "lstm_size": [0],
    "lstm_layers": [-1],
    "schedule": ["cosine"],
    "train_on": ["dev"],
    "discriminative": [0.5, 100.0, math.nan],
    "unfreeze": [0],
    "freeze_to": [-1],
    "train_share": [0.0, -0.1, 1.5, math.nan],
}


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, vs in BAD.items() for v in vs])
def test_out_of_range(name, value):
    with pytest.raises(SettingsError) as caught:
        TrainingSettings(**(GOOD | {name: value}))
    assert str(caught.value).startswith(f"{name} ")
    assert str(caught.value).endswith(f"expected, found {value!r}")
    assert ";" not in str(caught.value)


def test_every_setting_has_a_range():
    names = {f.name for f in dataclasses.fields(TrainingSettings)}
    assert set(BAD) == names - {"bias_correction"}  # on or off


@given(st.sets(st.sampled_from(sorted(BAD)), min_size=1))
def test_all_of_them_are_told_together(names):
    with pytest.raises(SettingsError) as caught:
        TrainingSettings(**(GOOD | {name: BAD[name][0] for name in names}))
    told = str(caught.value).split("; ")
    assert {line.split(" ")[0] for line in told} == names
    assert len(told) == len(names)


@pytest.mark.parametrize(
    ("name", "value"),
    [("warmup", 0.0), ("warmup", 1.0), ("dropout", 0.0), ("patience", None), ("patience", 1),
     ("weight_decay", 0.0), ("epochs", 1), ("token_budget", 1), ("train_share", 1.0),
     ("train_share", 1e-9)],
)  # fmt: skip
def test_the_edges_are_in_range(name, value):
    assert getattr(TrainingSettings(**(GOOD | {name: value})), name) == value


def test_a_share_is_of_train_alone():
    both = GOOD | {"train_on": "train+dev"}
    assert TrainingSettings(**both).trained_splits == ("train", "dev")
    with pytest.raises(
        SettingsError, match=r"^train_share of 1 expected with train_on train\+dev,"
    ):
        TrainingSettings(**both, train_share=0.5)


def test_the_approaches_differ_by_default_only_where_they_are_meant_to():
    features, finetune = (dataclasses.asdict(DEFAULTS[k]) for k in ("features", "finetune"))
    differ = {name for name in features if features[name] != finetune[name]}
    assert differ <= {"learning_rate", "epochs", "batch_size", "dropout"}
    assert set(DEFAULTS) == {"features", "finetune"}


def test_a_run_at_the_former_ways_keeps_its_name():
    """Settings that came later are named only where they are not as runs were before."""
    plain = used_settings(DEFAULTS["finetune"], "finetune")
    assert named_settings(plain).keys() == plain.keys() - LATER_SETTINGS.keys()
    slower = dataclasses.replace(DEFAULTS["finetune"], discriminative=2.6)
    assert named_settings(used_settings(slower, "finetune"))["discriminative"] == 2.6


def test_settings_that_play_no_part_are_not_told():
    assert "freeze_to" not in used_settings(DEFAULTS["features"], "features")
    assert "lstm_size" not in used_settings(DEFAULTS["finetune"], "finetune")
    probe = dataclasses.replace(DEFAULTS["features"], lstm_layers=0)
    assert used_settings(probe, "features")["body"] == "linear"
    assert not {"lstm_size", "lstm_layers"} & used_settings(probe, "features").keys()
    assert "mix_learning_rate" in used_settings(probe, "features", weighted=True)


@pytest.mark.parametrize("approach", ["features", "finetune"])
def test_what_runs_are_trained_with_unless_told(approach):
    """Devlin et al. 2019: warmup over a tenth, linear decay, clipping at 1, decay 0.01."""
    settings = DEFAULTS[approach]
    assert (settings.warmup, settings.schedule, settings.clip_norm) == (0.1, "linear", 1.0)
    assert (settings.weight_decay, settings.patience, settings.train_on) == (0.01, None, "train")
    assert settings.dropout == {"features": 0.5, "finetune": 0.1}[approach]
    assert (settings.lstm_size, settings.lstm_layers) == (768, 2)


def test_learning_rate_and_epochs_are_those_that_the_search_found():
    """benchmarks/defaults holds a record of every run of it."""
    for approach, settings in DEFAULTS.items():
        found = defaultdict(list)
        for run in find_runs(Path(__file__).parents[2] / "benchmarks" / "defaults"):
            record = run.record
            if record.tuning == {"features": "none", "finetune": "full"}[approach]:
                key = (record.settings["learning_rate"], record.settings["epochs"])
                found[key].append(record.score("dev"))
        complete = {key: statistics.mean(f1) for key, f1 in found.items() if len(f1) == 3}
        assert len(complete) >= 6  # four rates, and 3 and 12 epochs at the best of them
        assert max(complete, key=lambda key: complete[key]) == (
            settings.learning_rate,
            settings.epochs,
        )
