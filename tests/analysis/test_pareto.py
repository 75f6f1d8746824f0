import dataclasses
import random

import pytest

from featbert.analysis.cost import CURRENCIES
from tests.analysis.records import READ, compare, compare_runs, make_run, make_signature


def fronts_of(comparison, split="test", currency="time"):
    return [f for f in comparison.fronts if (f.split, f.currency) == (split, currency)]


def front_of(runs, split="test", currency="time"):
    (comparison,) = compare(runs)
    (front,) = fronts_of(comparison, split, currency)
    return front


def test_the_front_is_what_nobody_is_both_cheaper_and_better_than():
    """Against the staircase from the cheapest row upwards, which keeps each new best."""
    draw = random.Random(3)
    for trial in range(14):
        places = [(draw.randint(1, 9), draw.randint(1, 9) / 10) for _ in range(trial % 12 + 1)]
        runs = [
            make_run(f"r{i}", layers=None, dev=f1, settings={"i": i}, cost={"training_seconds": c})
            for i, (c, f1) in enumerate(places)
        ]
        (comparison,) = compare(runs)
        (front,) = fronts_of(comparison, "dev")
        points = [p for p in front.points if p.on_front]
        best, expected = 0.0, set()
        for cost, f1 in sorted(places, key=lambda place: (place[0], -place[1])):
            if f1 > best:
                best = f1
                expected.add((cost, f1))
        assert {(p.cost, comparison.row(p.row).mean("dev")) for p in points} == expected
        # Twins are on the front together.
        assert len(points) == sum(place in expected for place in places)


def test_seconds_of_several_machines_do_not_compare():
    other = {"device_name": "Other"}
    runs = [make_run("a", layers=None), make_run("b", layers="last", signature=other)]
    front = front_of(runs, currency="operations")
    assert front.machine == ""
    assert [p.cost for p in front.points] == pytest.approx([READ * 8e11 + 6e13, 6e13])
    assert fronts_of(compare(runs)[0]) == []
    (comparison,) = compare([make_run(signature={"extraction_device": "Some GPU"})])
    assert comparison.machines == ("Some processor, threads: 2", "Some GPU (extraction)")


def test_every_cost_has_a_front_where_it_is_known():
    """The rows are the same; only what they cost, and so who is worth it, differs."""
    cost = {"trained_parameters": 5, "run_bytes": 50, "peak_memory_bytes": 900}
    runs = [make_run("a", layers=None), make_run("b", layers="last", dev=0.5, cost=cost)]
    (comparison,) = compare(runs)
    fronts = {name: fronts_of(comparison, "dev", name)[0] for name in CURRENCIES}
    costs = {name: [point.cost for point in front.points] for name, front in fronts.items()}
    assert costs == {
        "operations": pytest.approx([READ * 8e11 + 6e13, 6e13]),
        "time": pytest.approx([41 + READ * 12.5, 95.5]),
        "trained": [5, 22_600_000],
        "kept": [50, 53_000_000],
        "memory": [900, 1_260_000_000],
        "one_by_one": [],
        "batched": [],
    }
    assert [p.on_front for p in fronts["operations"].points] == [False, True]
    assert [p.on_front for p in fronts["kept"].points] == [True, True]


def test_rows_of_several_texts_have_a_front_each():
    runs = []
    for corpus, last in (("de", 0.5), ("en", 0.7)):
        splits = {
            n: dataclasses.replace(s, text=corpus + s.text)
            for n, s in make_signature().splits.items()
        }
        for layers, dev in (("last", last), (None, 0.6)):
            signature = {"corpus": corpus, "splits": splits}
            runs.append(make_run(f"{corpus}{layers}", layers=layers, dev=dev, signature=signature))
    comparison = compare_runs(runs, vary=["corpus"])
    de, en = fronts_of(comparison, "dev")
    assert (de.label, en.label) == ("de", "en")
    assert [p.name for p in de.points] == ["last", "fine-tuning"]
    assert [p.row for p in en.points] == [comparison.rows[n].name for n in (1, 3)]
    assert [p.on_front for p in de.points] == [True, True]
    # The cheaper row is the better one there, and a row of the other text does not count.
    assert [p.on_front for p in en.points] == [True, False]


def test_rows_without_score_or_cost_are_no_points():
    free = {"training_seconds": 0.0, "extraction_seconds": 0.0}
    runs = [
        make_run("a", layers="last", cost={"extraction_seconds": None}),
        make_run("b", layers=None, dev=None, trained_on=["train", "dev"]),
        make_run("c", layers="embeddings", cost=free),
    ]
    front = front_of(runs)
    assert [p.name for p in front.points] == ["fine-tuning"]
    assert front.left_out == ("embeddings", "last")
    assert front_of(runs, "dev").points == ()


def test_points_have_the_shortest_names_that_tell_their_rows_apart():
    heads = [("bilstm", "mean", 4), ("linear", "max", 4), ("linear", "max", 9)]
    runs = [
        make_run(f"r{n}", settings={"body": body, "sentence_pooling": pooling, "epochs": epochs})
        for n, (body, pooling, epochs) in enumerate(heads)
    ]
    runs.append(make_run("t", layers=None, settings={"body": "linear", "sentence_pooling": "cls"}))
    names = [point.name for point in front_of(runs, currency="operations").points]
    assert names == [
        "concat_last4 (BiLSTM)",
        "concat_last4 (linear, epochs=4)",
        "concat_last4 (linear, epochs=9)",
        "fine-tuning",
    ]
