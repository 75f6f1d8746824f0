"""The confusion matrix counts what the predictions hold."""

import dataclasses
from collections import Counter

from featbert.analysis import breakdown
from featbert.analysis.breakdown import confused, with_confusions
from featbert.analysis.comparison import Confusion
from featbert.analysis.rows import compare_group
from featbert.report.figures.confusion import confusion
from featbert.runs.run import find_runs
from featbert.tasks.base import get_task
from tests.analysis.records import make_run
from tests.docs.pages import ROOT


def test_counts_add_up_to_gold_and_predicted_answers():
    kept = find_runs(ROOT / "experiments" / "quickstart" / "results.jsonl.xz")
    runs, *_ = compare_group([*kept], frozenset())[1].values()
    pairs = confused(runs, "test")
    for name in runs[0].record.scores["test"].by_class:
        counts = [run.record.scores["test"].by_class[name] for run in runs]
        total = {key: sum(one[key] for one in counts) for key in ("gold", "predicted", "correct")}
        assert sum(n for (gold, _), n in pairs.items() if gold == name) == total["gold"] > 0
        assert sum(n for (_, found), n in pairs.items() if found == name) == total["predicted"]
        assert pairs[name, name] == total["correct"]


def test_choices_are_confused_by_their_number():
    assert get_task("choice").spans([["0", "1"], ["1", "0"]]) == [{("1", 0, -1)}, {("0", 0, -1)}]


def test_scores_have_no_confusions_and_many_classes_a_small_figure(monkeypatch):
    monkeypatch.setattr(breakdown, "confused", lambda *_: Counter({("0.1", "0.2"): 1}))
    scores = make_run(task="regression", signature={"scorer": "of scores"})
    comparison, members = compare_group([scores], frozenset())
    assert with_confusions(comparison, members).confusions == ()
    comparison, members = compare_group([make_run()], frozenset())
    assert with_confusions(comparison, members).confusions
    names = [f"c{i:03}" for i in range(150)]
    counts = [(name, name, 5) for name in names]
    counts += [("c100", "c120", 3), ("c100", "none", 2), ("c100", "c140", 1), ("c000", "c001", 1)]
    counts = tuple((*pair, n) for *pair, n in counts)
    found = Confusion(comparison.rows[0].name, "test", counts)
    comparison = dataclasses.replace(comparison, confusions=(found,))
    figure = confusion.draw(comparison, "test", None)
    (axes,) = figure.axes
    ticks = (axis.get_ticklabels() for axis in (axes.yaxis, axes.xaxis))
    lines, columns = ([label.get_text() for label in labels] for labels in ticks)
    assert len(columns) == len(lines) + 1 < 30
    assert {"c000 (6)", "c100 (11)", "c120 (5)", "none (0)"} < {*lines}
