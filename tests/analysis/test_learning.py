"""Learning curves: lines by way of training, and points by share."""

import itertools
from dataclasses import replace

import pytest

from featbert.analysis.comparison import Comparison
from featbert.analysis.curves import learning_lines
from featbert.report.figures.registry import plot
from tests.analysis.records import compare, compare_runs, make_run, make_seeds

SHARES = (0.1, 0.25, 1.0)
# Features win with little text, fine-tuning with more.
FEATURES, TUNED = (0.40, 0.50, 0.60), (0.20, 0.49, 0.70)


def learned(name, f1, share, *, settings=None, **changes):
    """Runs on a share; seed n learned from n sentences more than the share has."""
    own = {"epochs": 4, "train_share": share, **(settings or {})}
    runs = make_seeds(name, f1, settings=own, **changes)
    sizes = [round(600 * share) + run.record.seed for run in runs]
    return [
        replace(run, record=replace(run.record, train_sentences=size))
        for run, size in zip(runs, sizes, strict=True)
    ]


def crossing(**changes):
    """A row of features and one of fine-tuning for each share, with two seeds."""
    runs = []
    for share, ours, theirs in zip(SHARES, FEATURES, TUNED, strict=True):
        runs += learned(f"c{share}", [ours, ours + 0.02], share, **changes)
        runs += learned(f"t{share}", [theirs, theirs + 0.02], share, layers=None, **changes)
    return runs


def one(runs) -> Comparison:
    (comparison,) = compare(runs)
    return comparison


def places(runs) -> list[tuple[str, float]]:
    lines = learning_lines(one(runs).rows).items()
    return [(name, row.train_share) for name, rows in lines for row in rows]


def test_a_line_has_a_point_for_each_share():
    assert places(crossing()) == [
        (series, share) for series in ("concat_last4", "fine-tuning") for share in SHARES
    ]
    comparison = one(crossing())
    rows = [comparison.row(name) for name in comparison.learning["concat_last4"]]
    assert [row.train_sentences.values for row in rows] == [(61, 62), (151, 152), (601, 602)]
    assert rows[0].label == "concat_last4 (train_share=0.1)"
    assert rows[0].mean("dev") == pytest.approx(0.41)
    assert rows[0].baseline == "fine-tuning (train_share=0.1)"
    # A run that learned from dev, too, is no part of it.
    own = {"dev": None, "trained_on": ["train", "dev"], "settings": {"train_on": "train+dev"}}
    lines = learning_lines(compare_runs([*crossing(), make_run("both", **own)]).rows).values()
    assert "both" not in {run.name for rows in lines for row in rows for run in row.runs}


def test_parts_may_be_examples_of_each_class():
    runs = []
    for shots, ours, theirs in zip((8, 64, None), FEATURES, TUNED, strict=True):
        settings = {"train_share": 1.0} | ({} if shots is None else {"shots": shots})
        size = (shots or 100) / 100
        runs += learned(f"c{shots}", [ours], size, settings=settings)
        runs += learned(f"t{shots}", [theirs], size, layers=None, settings=settings)
    rows = one(runs).rows
    lines = {name: [row.part_name for row in line] for name, line in learning_lines(rows).items()}
    parts = ["8 examples of each class", "64 examples of each class", ""]
    assert lines == {"concat_last4": parts, "fine-tuning": parts}
    assert {row.baseline for row in rows if not row.frozen} == {
        r.name for r in rows if not r.frozen
    }
    (note,) = (n for n in one(runs[:2]).notes if "all rows learned" in n)
    assert "8 examples of each class" in note

    axes = plot(one(runs), "learning").axes[0]
    ticks = [label.get_text() for label in axes.get_xticklabels()]
    assert ticks == ["601\n100%", "49\n8", "385\n64"]
    # The answer is about the largest part and says so, if there are others.
    largest = [[c.about for c in one(part).contests] for part in (runs, runs[:-2], runs[-2:])]
    assert largest == [["all of train"], ["64 examples of each class"], [""]]


def test_settings_part_lines_unless_a_grid_chose_them():
    """By hand, other epochs are another way; chosen on dev for each share, they are its best."""
    runs = [*learned("a", [0.4], 0.1), *learned("b", [0.6], 1.0, settings={"epochs": 9})]
    assert places(runs) == [("concat_last4 (epochs=4)", 0.1), ("concat_last4 (epochs=9)", 1.0)]
    searched = [*learned("a", [0.4], 0.1, configurations_tried=2), *runs[1:]]
    assert places(searched) == [("concat_last4", 0.1), ("concat_last4", 1.0)]
    # Two sizes at each share, and epochs that the grid chose for each of them.
    epochs, runs = iter((3, 4, 4, 5, 4, 3)), []
    for share, size in itertools.product((0.1, 0.5, 1.0), (8, 16)):
        settings = {"lstm_size": size, "epochs": next(epochs)}
        name = f"{share}-{size}"
        runs += learned(name, [share], share, settings=settings, configurations_tried=3)
    assert places(runs) == [
        (f"concat_last4 (lstm_size={size})", share) for size in (8, 16) for share in (0.1, 0.5, 1.0)
    ]


def test_as_many_steps_of_each_share_are_one_line():
    """Two numbers of epochs, with several passes over a share in each."""
    runs = []
    for share, n in itertools.product((0.1, 0.3, 1.0), (4, 9)):
        settings = {"epochs": n} | ({"equal_steps": True} if share < 1 else {})
        runs += learned(f"{share}-{n}", [share], share, settings=settings)
    one_way = [run for run in runs if run.record.settings["epochs"] == 4]
    assert not any("equal_steps" in row.name for row in one(one_way).rows)
    assert places(one_way) == [("concat_last4", share) for share in (0.1, 0.3, 1.0)]
    assert places(runs) == [
        (f"concat_last4 (epochs={n})", share) for n in (4, 9) for share in (0.1, 0.3, 1.0)
    ]


def test_what_varies_by_declaration_parts_lines():
    contexts = ("document", "sentence")
    runs = [
        replace(run, folder=run.folder / context)
        for context in contexts
        for run in crossing(vary=["context"], signature={"context": context})
    ]
    assert learning_lines(one(runs).rows).keys() == {
        f"{way} · {context}" for way in ("concat_last4", "fine-tuning") for context in contexts
    }
