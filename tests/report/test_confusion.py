"""The confusion matrix counts what the predictions hold."""

from featbert import compare, find_runs
from featbert.report.figures.confusion import confused
from tests.docs.pages import DOCS


def test_counts_add_up_to_gold_and_predicted_answers():
    (comparison,) = compare(find_runs(DOCS / "tutorial-runs"))
    row = comparison.rows[0]
    pairs = confused(row, "test")
    for name, by_class in row.runs[0].record.scores["test"].by_class.items():
        runs = [run.record.scores["test"].by_class[name] for run in row.runs]
        assert sum(n for (gold, _), n in pairs.items() if gold == name) == sum(
            r["gold"] for r in runs
        )
        assert sum(n for (_, found), n in pairs.items() if found == name) == sum(
            r["predicted"] for r in runs
        )
        assert pairs[name, name] == sum(r["correct"] for r in runs)
        assert by_class["gold"]
