import pytest
from scipy import stats

from featbert.analysis.resampling import paired_interval, t_interval


def test_the_interval_is_students() -> None:
    values = [0.61, 0.64, 0.66, 0.59]
    found = t_interval(values)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert (found.mean, found.n) == (pytest.approx(0.625), 4)


def test_pairs_are_compared_seed_by_seed() -> None:
    first, second = [0.5, 0.6, 0.7], [0.52, 0.61, 0.74]
    found = paired_interval(first, second)
    expected = stats.ttest_rel(second, first).confidence_interval(0.9)
    narrow = paired_interval(first, second, level=0.9)
    assert found is not None
    assert narrow is not None
    assert (narrow.low, narrow.high) == pytest.approx((expected.low, expected.high))
    assert found.low < narrow.low < narrow.mean < narrow.high < found.high


def test_two_seeds_say_nothing() -> None:
    assert t_interval([0.5, 0.6]) is None
    assert paired_interval([0.5, 0.6], [0.6, 0.7]) is None
    with pytest.raises(ValueError, match="zip"):
        paired_interval([0.5, 0.6], [0.6])
