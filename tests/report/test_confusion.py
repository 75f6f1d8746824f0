"""The confusion matrix counts what the predictions hold."""

from featbert.analysis.breakdown import confused
from featbert.analysis.rows import compare_group
from featbert.runs.run import find_runs
from featbert.tasks.base import get_task
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
