"""The differences of rows under several scorers, and which row is ahead."""

import pytest

from featbert.tasks.entities import TASK
from tests.analysis.records import compare, make_run

TUNED = {"f1": 0.6, "strict_f1": 0.2, "word_f1": 0.7}
FEATURES = {"f1": 0.5, "strict_f1": 0.4, "word_f1": 0.6}


def test_differences_under_each_scorer() -> None:
    runs = [make_run("tuned", layers=None), make_run("concat")]
    for run, values in zip(runs, (TUNED, FEATURES), strict=True):
        for scores in run.record.scores.values():
            scores.values.update(values)
    (comparison,) = compare(runs, scorers=True)
    lines = comparison.frame().set_index("row")
    behind, base = lines.loc["concat_last4"], lines.loc["fine-tuning"]
    for split in ("dev", "test"):
        for name in TASK.scorers:
            difference = f"{split}_{name}_difference"
            assert behind[difference] == pytest.approx(FEATURES[name] - TUNED[name])
            assert base[[difference, f"{split}_winner"]].isna().all()
        assert behind[f"{split}_winner"] == "differs"
