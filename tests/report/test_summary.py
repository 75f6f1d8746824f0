"""Sentences about a comparison hold the numbers of its rows, and the verdict that they mean."""

from __future__ import annotations

import dataclasses

import pytest

from featbert.analysis.breakdown import with_breakdowns
from featbert.analysis.compare import compare, compare_runs
from featbert.analysis.resampling import Interval, PairedTest
from featbert.analysis.results import Difference
from featbert.report.summary import findings
from tests.analysis.records import make_run, make_seeds, usual_runs
from tests.report.html.judged import usual


def lines(comparison) -> dict[str, str]:
    (finding,) = findings(comparison)
    assert finding.about == ""
    return dict(finding.lines)


def paired(p: float) -> PairedTest:
    return PairedTest(0.02, 0.0, 0.1, 0.95, p, units=50, resamples=100, exact=False)


def with_test(comparison, p: float, over_seeds: tuple[float, float] | None):
    seeds = (1, 2, 3) if over_seeds else (1,)
    interval = None if over_seeds is None else Interval(0.0, *over_seeds, 0.95, 3)
    difference = Difference(
        row="concat_last4",
        baseline="fine-tuning",
        split="test",
        seeds=seeds,
        units="documents",
        over_seeds=interval,
        pooled=paired(p),
        adjusted=p,
    )
    return dataclasses.replace(comparison, differences=(difference,))


def test_quality_is_of_the_last_split_for_the_rows_that_dev_chose() -> None:
    (comparison,) = compare(usual_runs())
    text = lines(comparison)["Quality"]
    best, tuned = comparison.rows[2:]
    for row in (best, tuned):
        assert row.label in text
        assert f"{100 * row.mean('test'):.2f} entity F1 (mean of 3 seeds)" in text
    apart = 100 * (tuned.mean("test") - best.mean("test"))
    assert f"fine-tuning is {apart:.2f} points ahead of concat_last4" in text


def test_features_may_be_ahead_and_equal_is_neither() -> None:
    tuned = make_seeds("tuned", [0.5], layers=None)
    (ahead,) = compare([*tuned, *make_seeds("concat", [0.6])])
    assert "concat_last4 is 10.00 points ahead of fine-tuning" in lines(ahead)["Quality"]
    (equal,) = compare([*tuned, *make_seeds("concat", [0.5])])
    assert "ahead" not in lines(equal)["Quality"]
    dev = [make_run("tuned", dev=0.5, test=None, layers=None), make_run("concat", test=None)]
    assert lines(compare_runs(dev))["Quality"].startswith("On dev")


def test_trust_is_another_sentence_for_every_outcome() -> None:
    (comparison,) = compare(usual_runs())
    assert "not tested" in lines(comparison)["Trust"]
    outcomes = [(p, seeds) for p in (0.001, 0.2) for seeds in ((0.01, 0.03), (-0.01, 0.03), None)]
    said = [lines(with_test(comparison, *outcome))["Trust"] for outcome in outcomes]
    assert len({text[:20] for text in said}) >= 5
    for (p, seeds), text in zip(outcomes, said, strict=True):
        assert f"p = {p:.3f}" in text
        if seeds is not None:
            assert f"{100 * seeds[0]:+.2f} to {100 * seeds[1]:+.2f}" in text


def test_where_names_the_buckets_with_the_widest_leads(tmp_path) -> None:
    (comparison,) = compare(usual(tmp_path))
    comparison = with_breakdowns(comparison, ["type"])
    found = next(b for b in comparison.breakdowns if b.split == "test")
    ahead = {
        kind: found.rows["concat_last4"][kind].mean - found.rows["fine-tuning"][kind].mean
        for kind in found.gold
    }
    text = lines(comparison)["Where"]
    best, worst = max(ahead, key=ahead.get), min(ahead, key=ahead.get)
    for kind, said in ((best, ahead[best] > 0), (worst, ahead[worst] < 0)):
        assert (f"{kind} by {100 * abs(ahead[kind]):.2f} points" in text) == said
    assert " by " in text


@pytest.mark.parametrize("layers", [None, "last"])
def test_one_way_alone_is_not_compared(layers) -> None:
    found = lines(compare([make_run("a", layers=layers)])[0])
    assert found.keys() == {"Quality", "Missing"}
    assert "55.00" in found["Quality"]
