import pytest

from featbert.analysis.notes import side_by_side
from featbert.analysis.rows import build_row
from tests.analysis.records import READ, make_epoch, make_run


def build(runs):
    return build_row(runs, {}, {}, {})[0]


def test_a_seed_twice_counts_once_and_the_newest_wins():
    runs = [
        make_run("other", seed=30, dev=0.6, started="1999-01-01T00:00:00+00:00"),
        make_run("older", seed=4, dev=0.5, started="2026-01-01T00:59:59+00:00"),
        make_run("newest", seed=4, dev=0.7, started="2026-01-01T01:00:00+00:00"),
    ]
    row = build(runs)
    assert row.seeds == (4, 30)
    assert [run.name for run in row.runs] == ["newest", "other"]
    assert row.left_out == ("older",)
    assert row.score("dev").values == (0.7, 0.6)


def test_costs_are_means_sums_peaks_or_paid_once():
    names = (
        *("training_seconds", "prediction_seconds", "prediction_words", "peak_memory_bytes"),
        *("extraction_seconds", "store_bytes"),
    )
    costs = [(10.0, 1.0, 100, 9, 5.0, 1), (20.0, 3.0, 100, 7, 6.0, 2)]
    made = (dict(zip(names, cost, strict=True)) for cost in costs)
    row = build([make_run(f"r{seed}", seed=seed, cost=cost) for seed, cost in enumerate(made, 1)])
    assert row.cost.training_seconds.values == (10.0, 20.0)
    assert row.cost.prediction_words_per_second == 50.0
    extraction = (5.0 + 6.0) * 100 / 18_402  # each store's time for the words predicted
    assert row.cost.text_words_per_second == pytest.approx(200 / (4.0 + extraction))
    assert row.cost.peak_memory_bytes == 9
    newer = row.cost.extraction_seconds, row.cost.store_bytes
    assert newer == (READ * 6.0, 2)
    tuned = build([make_run(layers=None, cost={"prediction_seconds": 0.0})])
    assert (tuned.cost.prediction_words_per_second, tuned.cost.extraction_seconds) == (None, None)
    assert tuned.score("dev").sd is None


@pytest.mark.parametrize(
    ("seconds", "changes", "latest_overlap"),
    [
        ([41.0], {}, 39),  # beginnings are cut to seconds
        ([41.0, 41.0], {"resumed_after": 1}, 39),  # an epoch before an interruption
    ],
)
def test_runs_overlap_if_one_begins_while_another_is_trained(seconds, changes, latest_overlap):
    history = [make_epoch(n, 0.7, 0.6, lasted) for n, lasted in enumerate(seconds, 1)]
    day = "2026-01-01T00:00:"
    first = make_run("first", history=history, started=f"{day}00+00:00", **changes)
    for begun in (0, 39, 40, 41):
        later = make_run("later", started=f"{day}{begun:02}+00:00")
        assert side_by_side([first, later]) == (begun <= latest_overlap)
