"""Sentences about a comparison hold the numbers of its rows, and the verdict that they mean."""

import dataclasses

import pytest

from featbert.analysis.comparison import Comparison, Difference
from featbert.analysis.resampling import Interval, PairedTest
from featbert.analysis.rows import compare_group
from featbert.analysis.verdict import with_contests
from tests.analysis.records import compare, make_run, make_seeds


def lines(comparison: Comparison) -> dict[str, str]:
    (contest,) = comparison.contests
    assert contest.about == ""
    return dict(contest.findings)


def compared(runs, **changes) -> Comparison:
    """A comparison with fields of its own in place of analyses."""
    comparison, members = compare_group(runs, frozenset())
    return with_contests(dataclasses.replace(comparison, **changes), members)


def lead(
    row: str, p: float, over_seeds: tuple[float, float] | None, ahead=-0.02, baseline="concat_last4"
) -> Difference:
    """A row's difference to another one, which as a rule is the best by dev."""
    pooled = PairedTest(9.0, 0.0, 0.1, 0.95, p, units=50, resamples=100, exact=False)
    interval = None if over_seeds is None else Interval(0.0, *over_seeds, 0.95, 3)
    seeds = (1, 2, 3) if over_seeds else (1,)
    return Difference(row, baseline, "test", seeds, "documents", ahead, interval, pooled, p)


def test_features_may_be_ahead_and_equal_is_neither() -> None:
    tuned = make_seeds("tuned", [0.5], layers=None)
    (ahead,) = compare([*tuned, *make_seeds("concat", [0.6])])
    assert "concat_last4 is 10.00 points above fine-tuning" in lines(ahead)["Quality"]
    (equal,) = compare([*tuned, *make_seeds("concat", [0.5])])
    assert "points" not in lines(equal)["Quality"]
    dev = [make_run("tuned", dev=0.5, test=None, layers=None), make_run("concat", test=None)]
    assert lines(compared(dev))["Quality"].startswith("On dev")


@pytest.mark.parametrize(("dev", "floor"), [(0.05, None), (0.32, 0.25), (0.35, 0.25)])
def test_scores_that_need_no_skill_are_no_verdict(dev, floor) -> None:
    """150 examples: two standard errors of a quarter are 7.1 points; test is 5 below dev."""
    runs = [*make_seeds("tuned", [dev], layers=None), *make_seeds("concat", [dev - 0.01])]
    for scores in (run.record.scores for run in runs):
        scores |= {s: dataclasses.replace(one, floor=floor) for s, one in scores.items()}
    (comparison,) = compare(runs)
    found = lines(comparison)
    notes = [note for note in comparison.notes if note.count(", seed 1") == 2]
    assert len(notes) == (dev == 0.32)
    assert found["Verdict"].startswith("No row learned anything")
    assert "neither learned anything" in found["Quality"]
    assert ("25.00" in found["Verdict"]) == (floor is not None)
    above = make_seeds("last", [0.4], layers="last")
    assert lines(compare([*runs, *above])[0])["Verdict"].startswith("Undecided")


def test_times_of_two_machines_are_not_compared() -> None:
    for threads in (2, 8):
        tuned = make_seeds("tuned", [0.5], layers=None, signature={"threads": threads})
        cost = lines(compare([*tuned, *make_seeds("concat", [0.6])], cost=True)[0])["Cost"]
        assert "fewer operations" in cost
        assert ("less time" in cost) == (threads == 2)


def test_the_first_line_is_a_verdict_only_where_text_and_seeds_say_it() -> None:
    kept = {"layers": "last", "cost": {"run_bytes": 5000, "training_flops": 1e12}}
    runs = [*make_seeds("concat", [0.64] * 3), *make_seeds("last", [0.6] * 3, **kept)]
    runs += make_seeds("tuned", [0.63] * 3, layers=None)

    def said(*leads: Difference) -> str:
        comparison = compared(runs, leads=leads)
        (verdict,) = comparison.verdicts
        assert comparison.contests[0].findings[0] == ("Verdict", verdict)
        return verdict

    behind, level = (-0.03, -0.01), (-0.03, 0.01)
    last = lead("last", 0.001, behind)
    assert said().startswith("Undecided")
    best = said(last, lead("fine-tuning", 0.01, behind))
    assert best.startswith("concat_last4 is the best of 3 rows: 59.00")
    assert "last (2.00 points below it; 95% interval over seeds: 1.00 to 3.00 below" in best
    assert said(last).startswith("concat_last4 is the best of 2 rows")  # fine-tuning: not tested
    for p, seeds, stands in (
        (0.2, behind, "Below it with other seeds, too, but perhaps not on other text"),
        (0.01, level, "Below it on this text, but perhaps not with other seeds"),
        (0.2, level, "Not significantly different from it"),
        (0.2, None, "Not significantly different from it"),
        (0.01, None, "Below it on this text"),
        (0.01, (0.01, 0.03), "Clearly above it"),
    ):
        text = said(last, lead("fine-tuning", p, seeds))
        assert text.startswith("Undecided")
        assert f"{stands}: fine-tuning (2.00 points below it" in text
        assert "last (" not in text
        assert "Clearly below it: 1 row" in text
        assert ("1 seed says" in text) == (seeds is None)
