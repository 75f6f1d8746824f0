"""Rows under several scorers, against counts made by hand."""

import itertools

import pytest

from featbert.runs.run import Run
from featbert.tasks.entities import TASK
from tests.analysis.records import compare, make_run

GOLD = ["B-PER I-PER O", "O B-LOC O", "B-ORG I-ORG I-ORG O", "O O B-PER"]
# Three of four entities found, two of them begun with I-.
TUNED = ["I-PER I-PER O", "O I-LOC O", "B-ORG I-ORG I-ORG O", "O O O"]
# Two found, begun as they should be; one too short.
FEATURES = ["B-PER I-PER O", "O B-LOC O", "B-ORG I-ORG O O", "O O O"]


def scored(name: str, predicted: list[str], **changes) -> Run:
    """A run whose scores are those of predictions, a string a sentence."""
    tags = [[sentence.split() for sentence in side] for side in (GOLD, predicted)]
    run = make_run(name, **changes)
    run.record.scores.update(dict.fromkeys(run.record.scores, TASK.score(*tags)))
    return run


def f1(correct: int, predicted: int, gold: int) -> float:
    return 2 * correct / (predicted + gold)


BY_HAND = {
    "fine-tuning": {"f1": f1(3, 3, 4), "strict_f1": f1(1, 1, 4), "word_f1": f1(6, 6, 7)},
    "concat_last4": {"f1": f1(2, 3, 4), "strict_f1": f1(2, 3, 4), "word_f1": f1(5, 5, 7)},
}


def test_scores_and_differences_are_those_counted_by_hand() -> None:
    runs = [scored("tuned", TUNED, layers=None), scored("concat", FEATURES)]
    (comparison,) = compare(runs, scorers=True)
    lines = comparison.frame().set_index("row")
    behind = lines.loc["concat_last4"]
    for split, name in itertools.product(("dev", "test"), TASK.scorers):
        for row in comparison.rows:
            assert row.mean(split, name) == pytest.approx(BY_HAND[row.label][name])
        less = BY_HAND["concat_last4"][name] - BY_HAND["fine-tuning"][name]
        assert behind[f"{split}_{name}_difference"] == pytest.approx(less)
        assert (less > 0) == (name == "strict_f1")
        assert behind[f"{split}_winner"] == "differs"
    base = ["dev_winner", *(f"dev_{name}_difference" for name in TASK.scorers)]
    assert lines.loc["fine-tuning", base].isna().all()
