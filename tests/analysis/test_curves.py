import math
import statistics

import pytest

from featbert.analysis.compare import compare
from featbert.analysis.curves import freezing_points, layer_points, mix_points
from featbert.runs.record import Mix
from tests.analysis.records import make_run, make_seeds, usual_runs

TUNED = {"epochs": 4, "learning_rate": 3e-5}
LSTM = {"epochs": 8, "learning_rate": 1e-3, "lstm_layers": 2, "lstm_size": 768}
PROBE = {"epochs": 5, "learning_rate": 1e-2, "lstm_layers": 0}


def freezing_runs():
    runs = []
    for k, f1 in ((None, 0.95), (0, 0.94), (3, 0.93), (6, 0.90)):
        settings = TUNED if k is None else {**TUNED, "freeze_to": k}
        runs += make_seeds(f"k{k}", [f1 - 0.01, f1 + 0.01], layers=None, settings=settings)
    return runs


def single(name, index, f1, settings=LSTM, **changes):
    return make_seeds(
        name, f1, layers=changes.pop("layers"), layer_indices=[index], settings=settings, **changes
    )


def layer_runs():
    """Six layers and the embeddings, read by both taggers."""
    runs = []
    for layer in range(7):
        layers = {0: "embeddings", 6: "last"}.get(layer, f"layer:{layer}")
        runs += single(f"b{layer}", layer, [0.5 + layer / 100], layers=layers)
        runs += single(f"p{layer}", layer, [0.3 + layer / 100], PROBE, layers=layers)
    return runs


def test_freezing_goes_from_nothing_to_the_whole_encoder():
    (comparison,) = compare([*freezing_runs(), *usual_runs()[3:]])
    curve = freezing_points(comparison)
    assert [p.freeze_to for p in curve.points] == [None, 0, 3, 6]
    assert [p.whole for p in curve.points] == [False, False, False, True]
    assert [p.f1["dev"].mean for p in curve.points] == pytest.approx([0.95, 0.94, 0.93, 0.90])
    assert [p.f1["test"].mean for p in curve.points] == pytest.approx([0.90, 0.89, 0.88, 0.85])
    assert curve.points[2].f1["dev"].sd == pytest.approx(statistics.stdev([0.92, 0.94]))
    assert curve.points[2].runs == ("k3-1", "k3-2")
    assert {p.series for p in curve.points} == {""}
    assert [level.label for level in curve.features] == ["embeddings", "last", "concat_last4"]
    assert [level.f1["dev"].mean for level in curve.features] == pytest.approx([0.45, 0.615, 0.635])
    assert curve.title == "wikigold · all-MiniLM-L6-v2 · context: sentence"


def test_nothing_frozen_is_told_by_an_absent_or_an_empty_setting():
    runs = [
        make_run("a", layers=None, settings={"freeze_to": None}),
        make_run("b", layers=None, settings={"freeze_to": 2}),
    ]
    (comparison,) = compare(runs)
    assert [p.freeze_to for p in freezing_points(comparison).points] == [None, 2]
    (comparison,) = compare([make_run("a", layers=None, settings={})])
    assert [p.freeze_to for p in freezing_points(comparison).points] == [None]


def test_rows_that_differ_in_more_than_freezing_are_another_series():
    runs = [
        make_run(f"{k}{rate}", layers=None, settings={"freeze_to": k, "learning_rate": rate})
        for k in (None, 3)
        for rate in (1e-5, 3e-5)
    ]
    (comparison,) = compare(runs)
    assert [(p.series, p.freeze_to) for p in freezing_points(comparison).points] == [
        ("learning_rate=1e-05", None),
        ("learning_rate=1e-05", 3),
        ("learning_rate=3e-05", None),
        ("learning_rate=3e-05", 3),
    ]


def test_what_varies_by_declaration_is_another_series():
    runs = [
        make_run(
            f"{k}{context}",
            layers=None,
            vary=["context"],
            settings={"freeze_to": k},
            signature={"context": context},
        )
        for k in (0, 3)
        for context in ("sentence", "document")
    ]
    (comparison,) = compare(runs)
    assert [(p.series, p.freeze_to) for p in freezing_points(comparison).points] == [
        ("document", 0),
        ("document", 3),
        ("sentence", 0),
        ("sentence", 3),
    ]


def test_single_layers_are_no_level_beside_the_freezing_curve():
    (comparison,) = compare(layer_runs())
    curve = freezing_points(comparison)
    assert curve.points == ()
    labels = {level.label.partition(" ")[0] for level in curve.features}
    assert labels == {"embeddings", "last"}


def test_each_layer_is_a_point_of_its_tagger():
    (comparison,) = compare([*layer_runs(), make_run("concat"), make_run("tuned", layers=None)])
    curve = layer_points(comparison)
    assert curve.num_layers == 6
    assert [(p.series, p.layer) for p in curve.points] == [
        (tagger, layer) for tagger in ("BiLSTM", "linear probe") for layer in range(7)
    ]
    means = [p.f1["dev"].mean for p in curve.points]
    expected = [base + layer / 100 for base in (0.5, 0.3) for layer in range(7)]
    assert means == pytest.approx(expected)
    assert curve.points[7].runs == ("p0-1",)


def test_a_tagger_is_one_series_where_the_other_read_only_some_layers():
    # Only layer 3 has namesakes that differ, so only its label tells its settings.
    runs = [*single("b2", 2, [0.5], layers="layer:2"), *single("b3", 3, [0.6], layers="layer:3")]
    runs += single("p3", 3, [0.4], PROBE, layers="layer:3")
    (comparison,) = compare(runs)
    assert [(p.series, p.layer) for p in layer_points(comparison).points] == [
        ("BiLSTM", 2),
        ("BiLSTM", 3),
        ("linear probe", 3),
    ]


def test_settings_of_one_tagger_part_its_series():
    small = {**LSTM, "lstm_size": 256}
    runs = [
        *single("a2", 2, [0.5], layers="layer:2"),
        *single("a3", 3, [0.6], layers="layer:3"),
        *single("s3", 3, [0.4], small, layers="layer:3"),
        *single("p3", 3, [0.3], PROBE, layers="layer:3"),
    ]
    (comparison,) = compare(runs)
    assert [(p.series, p.layer) for p in layer_points(comparison).points] == [
        ("BiLSTM, lstm_size=256", 3),
        ("BiLSTM, lstm_size=768", 2),
        ("BiLSTM, lstm_size=768", 3),
        ("linear probe", 3),
    ]


def test_one_state_under_two_names_is_one_point():
    runs = [
        *single("last", 6, [0.6], layers="last"),
        *single("six", 6, [0.7, 0.8], layers="layer:6"),
    ]
    (comparison,) = compare(runs)
    (point,) = layer_points(comparison).points
    assert point.runs == ("six-1", "six-2")
    (comparison,) = compare(runs[:2])
    assert layer_points(comparison).points[0].runs == ("last-1",)


def test_an_older_record_without_the_setting_is_of_a_bilstm():
    (comparison,) = compare([make_run("a", layers="last", layer_indices=[6], settings={})])
    assert [(p.series, p.layer) for p in layer_points(comparison).points] == [("BiLSTM", 6)]
    (comparison,) = compare([make_run("a", layers=None)])
    assert layer_points(comparison).points == ()


def mixed(name, weights, scale=1.0, seed=1, **changes):
    layers = list(range(3, 3 + len(weights)))
    changes = {"layers": "weighted_last4", "layer_indices": layers, **changes}
    return make_run(name, seed=seed, mix=Mix(layers, weights, scale), **changes)


def test_mix_weights_over_seeds():
    runs = [
        mixed("a", [0.1, 0.2, 0.3, 0.4], 1.5, seed=1),
        mixed("b", [0.3, 0.2, 0.1, 0.4], 2.5, seed=2),
        make_run("plain", layers="last", layer_indices=[6], mix=None),
        make_run("tuned", layers=None),
    ]
    (profile,) = mix_points(runs)
    assert profile.label == "weighted_last4"
    assert profile.layers == (3, 4, 5, 6)
    assert [w.mean for w in profile.weights] == pytest.approx([0.2, 0.2, 0.2, 0.4])
    assert profile.weights[0].sd == pytest.approx(statistics.stdev([0.1, 0.3]))
    assert profile.weights[2].values == (0.3, 0.1)
    assert profile.scale.values == (1.5, 2.5)
    assert profile.runs == ("a", "b")
    assert profile.left_out == ()


def test_each_row_with_a_mix_has_a_profile():
    runs = [
        mixed("all", [0.5, 0.5], layers="weighted:3-4"),
        mixed("last4", [0.25] * 4),
        mixed("other", [0.25] * 4, signature={"context": "document"}),
    ]
    profiles = mix_points(runs)
    assert [(p.label, len(p.layers)) for p in profiles] == [
        ("weighted_last4", 4),
        ("weighted_last4", 4),
        ("weighted:3-4", 2),
    ]
    assert profiles[0].title.endswith("context: document")


def test_a_diverged_mix_is_left_out_and_named():
    good = mixed("good", [0.5, 0.5], seed=1)
    runs = [
        good,
        mixed("weights", [math.nan, 0.5], seed=2),
        mixed("scale", [0.5, 0.5], math.inf, seed=3),
    ]
    (profile,) = mix_points(runs)
    assert profile.runs == ("good",)
    assert profile.left_out == ("weights", "scale")
    assert mix_points(runs[1:]) == []
    assert mix_points([]) == []
