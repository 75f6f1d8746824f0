"""The earlier rule of the page on verdicts: against scipy, and against the exchange of units."""

import numpy as np
import pytest
from scipy import stats

from docs.verdicts import EarlierTests, exchange_p_value, limit_p_value, seeds_interval, verdict
from featbert.analysis.comparison import Difference, rivals
from featbert.analysis.interval import difference_estimate
from featbert.tasks.measures import accuracy_of
from tests.analysis.records import compare, make_seeds


def answers(share: float, seed: int, units: int = 400) -> np.ndarray:
    """Counts of documents, in which the share of right answers varies."""
    shares = share + 0.2 * np.random.default_rng(seed).standard_normal(units)
    return np.stack([shares, np.ones(units)], 1)


@pytest.mark.parametrize("share", [0.7, 0.72, 0.75])
def test_the_exchange_of_many_units_is_close_to_its_limit(share) -> None:
    first, second = answers(0.7, 1), answers(share, 2)
    estimate = difference_estimate(first[None], second[None], accuracy_of)
    limit = limit_p_value(Difference("a", "b", "test", "examples", estimate, 1.0, 0.0, 0.0))
    assert exchange_p_value(first, second, accuracy_of) == pytest.approx(limit, abs=0.03)


def test_an_exchange_counts_ways_that_are_as_far_apart() -> None:
    """Three units that all differ: two of eight ways."""
    first = answers(0.5, 1, units=3)
    second = first + np.array([0.1, 0])
    assert exchange_p_value(first, second, accuracy_of) == pytest.approx(0.25, abs=0.02)
    assert exchange_p_value(first, first, accuracy_of) == 1


def test_seeds_are_paired() -> None:
    tuned, features = [0.70, 0.72, 0.71], [0.61, 0.60, 0.65]
    runs = [*make_seeds("t", tuned, layers=None), *make_seeds("f", [*features, 0.9])]
    (comparison,) = compare(runs)
    row, base = (next(r for r in comparison.rows if r.frozen == side) for side in (True, False))
    interval = stats.ttest_rel(features, tuned).confidence_interval()
    assert seeds_interval(row, base, "dev") == pytest.approx((interval.low, interval.high))


@pytest.mark.parametrize(
    ("over_seeds", "over_text", "sign"),
    [
        ((0.1, 0.2), 0.01, 1),
        ((-0.2, -0.1), 0.01, -1),
        ((-0.1, 0.2), 0.01, 0),
        ((0.1, 0.2), 0.2, 0),
        (None, 0.01, 0),
        ((0.1, 0.2), None, 0),
    ],
)
def test_both_tests_must_reject(over_seeds, over_text, sign) -> None:
    assert EarlierTests(over_seeds, over_text).sign == sign


@pytest.mark.parametrize(("lead", "now"), [(0.1, "ahead"), (0.001, "not settled")])
def test_a_changed_verdict_has_a_reason(lead, now) -> None:
    """Without predictions nothing was tested over text."""
    scores = [0.60, 0.62, 0.61]
    tuned = make_seeds("t", [s + lead for s in scores], layers=None)
    (comparison,) = compare([*tuned, *make_seeds("f", scores)])
    ((contest, group),) = zip(comparison.contests, rivals(comparison.rows), strict=True)
    found = verdict(comparison, contest, group, "trial", {})
    assert (found.before, found.after, bool(found.why)) == ("undecided", now, now == "ahead")
