"""The confusion matrix counts what the predictions hold."""

from featbert import compare, find_runs
from featbert.report.figures.confusion import confused
from featbert.tasks.base import get_task
from tests.docs.pages import ROOT


def test_counts_add_up_to_gold_and_predicted_answers():
    (comparison,) = compare(find_runs(ROOT / "experiments" / "quickstart" / "results.jsonl.xz"))
    row = comparison.rows[0]
    pairs = confused(row, "test")
    for name in row.runs[0].record.scores["test"].by_class:
        runs = [run.record.scores["test"].by_class[name] for run in row.runs]
        total = {key: sum(r[key] for r in runs) for key in ("gold", "predicted", "correct")}
        assert sum(n for (gold, _), n in pairs.items() if gold == name) == total["gold"] > 0
        assert sum(n for (_, found), n in pairs.items() if found == name) == total["predicted"]
        assert pairs[name, name] == total["correct"]


def test_choices_are_confused_by_their_number():
    assert get_task("choice").spans([["0", "1"], ["1", "0"]]) == [{("1", 0, -1)}, {("0", 0, -1)}]
