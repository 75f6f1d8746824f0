"""What searching buys: the estimator by brute force, costs, and who is ahead at equal budgets."""

import itertools
import math
import statistics

import numpy as np
import pytest

from featbert.analysis import budget
from featbert.analysis.budget import expected_best, subset_weights
from featbert.analysis.comparison import Comparison, Comparisons, View
from featbert.report.figures.registry import plot
from featbert.report.rendering import render
from featbert.report.tables import lead_line
from featbert.runs.record import ExperimentRecord, SearchRecord, TriedSettings, write_json
from featbert.runs.run import Run
from tests.analysis.records import READ, compare, compare_runs, make_run


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_the_estimator_is_the_mean_over_all_subsets(n):
    scores = np.random.default_rng(n).random(n).round(1).tolist()  # with ties
    for k, found in enumerate(expected_best(scores), 1):
        subsets = itertools.combinations(scores, k)
        assert found == pytest.approx(statistics.fmean(map(max, subsets)), abs=1e-12)
    for k, weights in enumerate(subset_weights(n), 1):
        exact = [math.comb(i - 1, k - 1) / math.comb(n, k) for i in range(1, n + 1)]
        assert weights == pytest.approx(exact, abs=1e-12)


def searched(folder, scores, operations, **changes) -> tuple[Run, SearchRecord]:
    """A run that was chosen among tries with these scores, each with as many operations."""
    record = make_run("run", **changes).record
    name = f"{record.tuning}-{record.signature.corpus}"
    run = Run(folder / name, make_run(name, **changes).record)
    tried = [
        TriedSettings(
            {"learning_rate": n}, [f"{name}{n}"], dev, dev - 0.1, "finished", operations, 1
        )
        for n, dev in enumerate(scores)
    ]
    pruned = TriedSettings({"lr": 1}, ["p"], None, None, "pruned", 1, 1)
    search = SearchRecord(
        record.tuning, record.layers, "wikigold", "", "random", [*tried, pruned], 0, [name]
    )
    return run, search


def searches(folder, features, tuned, ratio=10.0) -> Comparison:
    """Two rows, one of which costs `ratio` times the operations of the other."""
    found = [
        searched(folder, features, 1e13, layers="last"),
        searched(folder, tuned, ratio * 1e13, layers=None),
    ]
    kept = ExperimentRecord(
        "trial", "", [], [], [], [], [], False, {}, [search for _, search in found], {}
    )
    write_json(folder / "trial.experiment.json", kept)
    return compare_runs([run for run, _ in found], budget=True)


def test_trials_cost_the_mean_and_extraction_once(tmp_path):
    scores = [0.3, 0.5, 0.4, 0.5, 0.1, 0.2, 0.3, 0.45]
    found = searches(tmp_path, scores, scores[::-1])
    ours, theirs = found.budgets
    assert (ours.row, theirs.row) == ("last", "fine-tuning")
    assert (ours.trials, ours.left_out) == (tuple(range(1, 9)), 1)  # not the pruned one
    assert ours.operations == pytest.approx([READ * 8e11 + k * 1e13 for k in ours.trials])
    assert theirs.operations == pytest.approx([k * 1e14 for k in ours.trials])
    assert ours.seconds == pytest.approx([READ * 12.5 + k for k in ours.trials])
    assert ours.dev == theirs.dev == pytest.approx(expected_best(scores).tolist())
    assert ours.test == pytest.approx(expected_best([s - 0.1 for s in scores]).tolist())
    for low, mean, high in zip(ours.low, ours.dev, ours.high, strict=True):
        assert low <= mean <= high + 1e-12
    table = render(Comparisons((found,), view=View(budget=True)), "markdown")
    assert f"{100 * ours.low[-1]:.2f} to {100 * ours.high[-1]:.2f}" in table
    assert table.count("1 trial was pruned or failed") == 2
    assert set(plot(found, "budget-time").axes[0].get_xlim())


def test_any_of_the_trials_with_equal_scores_may_be_chosen():
    """The mean over all orders of the trials, in which the first of the best on dev is chosen."""
    dev, test = [0.5, 0.7, 0.7, 0.7], [0.1, 0.2, 0.6, 0.7]
    tried = [
        TriedSettings({}, [str(n)], d, t, "finished", 1.0, 1.0)
        for n, (d, t) in enumerate(zip(dev, test, strict=True))
    ]
    (comparison,) = compare([make_run("run")])
    curve = budget._curve(comparison.rows[0], tried, 0, np.array([dev]))
    for k, found in enumerate(curve.test, 1):
        orders = [order[:k] for order in itertools.permutations(range(4))]
        chosen = [test[max(order, key=lambda i: dev[i])] for order in orders]
        assert found == pytest.approx(statistics.fmean(chosen), abs=1e-12)


def test_a_lead_is_said_where_the_intervals_support_it(tmp_path):
    """Features cost a tenth: ahead of tuning's first trials, behind when all have as many."""
    random = np.random.default_rng(1)
    features = (0.60 + 0.02 * random.random(24)).tolist()
    tuned = (0.40 + 0.40 * random.random(24)).tolist()
    by = {lead.currency: lead for lead in searches(tmp_path, features, tuned).budget_leads}
    assert by.keys() == {"operations", "trials", "seconds"}
    # By operations features have trials left at each budget: their lead alone could be said.
    assert {ahead for *_, ahead in by["operations"].spans} <= {"last", None}
    assert by["operations"].spans[0][0] == 1e14
    assert [ahead for *_, ahead in by["trials"].spans][-2:] == ["fine-tuning", None]
    assert by["trials"].spans[-1] == (13, None, None)  # beyond half: nothing
    assert by["trials"].spans[-2][1] == 12
    assert "fine-tuning is ahead from" in lead_line(by["trials"])
    # Trials of one number are drawn together: what each of them gains is no chance of the draw.
    better = searches(tmp_path, tuned, [score + 0.001 for score in tuned]).budget_leads[1]
    assert better.spans == ((1, 12, "fine-tuning"), (13, None, None))
    few = budget.FEWEST_TRIALS - 1
    assert not searches(tmp_path, features[:few], tuned[:few]).budgets
