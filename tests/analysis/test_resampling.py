"""Resampling against brute force on tiny texts, and how often it errs where nothing differs."""

import itertools

import numpy as np
import pytest
from scipy import stats

from featbert.analysis.resampling import (
    bootstrap_interval,
    holm,
    paired_test,
    randomisation,
    t_interval,
)
from featbert.tasks.measures import f1_of


def text(seed: int, units: int, *, better: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Counts of two systems on a text of `units` documents; the second finds a share more."""
    random = np.random.default_rng(seed)
    gold = random.integers(1, 9, units)

    def system(share: float) -> np.ndarray:
        correct = random.binomial(gold, share)
        return np.stack([correct, correct + random.binomial(gold, 0.3), gold], axis=1)

    return system(0.6), system(0.6 + better)


def f1(rows) -> float:
    correct, predicted, gold = (sum(column) for column in zip(*rows, strict=True))
    return 2 * correct / (predicted + gold) if predicted + gold else 0.0


def every_swap(first: list, second: list) -> float:
    """The p-value by its definition."""
    seen = abs(f1(second) - f1(first))
    found = []
    for swaps in itertools.product([False, True], repeat=len(first)):
        pairs = list(zip(first, second, swaps, strict=True))
        a = [y if swap else x for x, y, swap in pairs]
        b = [x if swap else y for x, y, swap in pairs]
        found.append(abs(f1(b) - f1(a)) >= seen - 1e-12)
    return sum(found) / len(found)


@pytest.mark.parametrize("seed", range(4))
def test_few_units_are_counted_to_the_last_way_to_swap(seed) -> None:
    first, second = text(seed, 7, better=0.2)
    found, exact = randomisation(first, second, f1_of, resamples=1000)
    assert exact
    assert found == pytest.approx(every_swap(first.tolist(), second.tolist()), abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_random_swaps_come_near_to_all_of_them(seed) -> None:
    first, second = text(seed, 14, better=0.15)
    exact = every_swap(first.tolist(), second.tolist())
    found, complete = randomisation(first, second, f1_of, resamples=1000, seed=seed)
    assert not complete
    # Four standard errors of a share of 1,000 draws.
    assert found == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 1000) + 1 / 1000)


def test_the_bootstrap_comes_near_to_every_text_that_could_be_drawn() -> None:
    first, second = text(3, 5, better=0.2)
    differences = [
        f1([second[i] for i in drawn]) - f1([first[i] for i in drawn])
        for drawn in itertools.product(range(5), repeat=5)
    ]
    low, high = bootstrap_interval(first, second, f1_of, resamples=40_000)
    assert low == pytest.approx(np.quantile(differences, 0.025), abs=0.02)
    assert high == pytest.approx(np.quantile(differences, 0.975), abs=0.02)


def test_where_nothing_differs_one_test_in_twenty_errs() -> None:
    p_values = [
        randomisation(*text(seed, 40), f1_of, resamples=400, seed=seed)[0] for seed in range(1000)
    ]
    # 0.05 within three standard errors of 1,000 texts, and the rest spread evenly.
    assert np.mean(np.array(p_values) < 0.05) == pytest.approx(0.05, abs=0.021)
    assert np.mean(np.array(p_values) < 0.5) == pytest.approx(0.5, abs=0.048)


def test_the_interval_holds_the_difference_of_texts_at_large() -> None:
    # Systems that find 0.6 and 0.7 of the entities, each with 0.3 false ones for an entity.
    truth = 2 * 0.7 / (1 + 0.7 + 0.3) - 2 * 0.6 / (1 + 0.6 + 0.3)
    held = 0
    for seed in range(300):
        low, high = bootstrap_interval(*text(seed, 60, better=0.1), f1_of, resamples=300, seed=seed)
        held += low <= truth <= high
    assert held / 300 == pytest.approx(0.95, abs=0.04)


def test_a_clear_difference() -> None:
    first, second = text(1, 200, better=0.3)
    found = paired_test(first, second, f1_of, resamples=2000)
    assert found.p_value == 1 / 2001
    assert 0 < found.low < found.difference < found.high
    back = paired_test(second, first, f1_of, resamples=2000)
    assert back.p_value == found.p_value
    assert (back.low, back.high) == pytest.approx((-found.high, -found.low))
    assert paired_test(first, second, f1_of, resamples=2000) == found
    same = paired_test(first, first, f1_of, resamples=50)
    assert (same.difference, same.low, same.high, same.p_value) == (0, 0, 0, 1)


def test_holm() -> None:
    # Sorted: 0.01 * 4, 0.02 * 3, 0.03 * 2 (not below the one before), 0.5.
    assert holm([0.03, 0.01, 0.5, 0.02]) == pytest.approx([0.06, 0.04, 0.5, 0.06])
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_the_interval_over_seeds_is_students() -> None:
    first, second = [0.5, 0.6, 0.7], [0.52, 0.61, 0.74]
    found = t_interval([b - a for a, b in zip(first, second, strict=True)])
    assert found is not None
    expected = stats.ttest_rel(second, first).confidence_interval(found.level)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert (found.mean, found.n) == (pytest.approx(0.07 / 3), 3)
    # Two seeds say nothing.
    assert t_interval([0.5, 0.6]) is None
