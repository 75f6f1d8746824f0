"""What rows cost, and where frozen features break even with fine-tuning."""

import math

import pytest

from featbert.analysis.comparison import Price
from featbert.analysis.cost import cheaper_from
from tests.analysis.records import READ, compare, make_run, make_seeds, usual_runs


def brute_force(once: float, run: float, other: float) -> float:
    return next((n for n in range(1, 5000) if once + n * run < n * other), math.inf)


@pytest.mark.parametrize(
    ("once", "run", "other"),
    [(12.5, 41, 95.5), (130, 60, 100), (100, 40, 40), (5, 50, 40), (0, 1, 2), (10, 5, 10)],
)
def test_the_first_run_that_is_cheaper(once, run, other) -> None:
    assert cheaper_from(once, run, other) == brute_force(once, run, other)


def test_every_row_has_its_price() -> None:
    (comparison,) = compare(usual_runs(), cost=True)
    assert list(comparison.prices) == [row.label for row in comparison.rows]
    # It has as many operations in a run as fine-tuning.
    assert comparison.prices["concat_last4"] == Price("fine-tuning", 1, math.inf)
    assert comparison.prices["fine-tuning"] == Price(None, None, None)
    names = ["seconds_once", "seconds_run", "flops_once", "flops_run"]
    frame = comparison.frame().set_index("row")[names]
    assert [*frame.loc["concat_last4"]] == pytest.approx([READ * 12.5, 41, READ * 8e11, 6e13])
    assert [*frame.loc["fine-tuning"].dropna()] == [95.5, 6e13]
    (comparison,) = compare(make_seeds("concat", [0.6]), cost=True)
    assert [*comparison.prices.values()] == [Price(None, None, None)]
    # If the cost of extraction is unknown, so is what is cheaper.
    unknown = {"extraction_seconds": None, "extraction_flops": None}
    runs = [*make_seeds("t", [0.5], layers=None), *make_seeds("f", [0.5], cost=unknown)]
    (comparison,) = compare(runs, cost=True)
    assert comparison.prices["concat_last4"] == Price("fine-tuning", None, None)


def test_a_part_is_set_against_the_same_part_and_extraction_is_counted_for_it() -> None:
    """Of 18,402 words in the store, 12,000 are of train and 3,201 of dev. Test is not counted."""
    runs = [
        make_run(
            f"{layers}{share}",
            layers=layers,
            settings={"train_share": share},
            train_words=round(12_000 * share),
            cost={"training_seconds": seconds * share},
        )
        for share in (0.1, 1.0)
        for layers, seconds in (("concat_last4", 40.0), (None, 100.0))
    ]
    (comparison,) = compare(runs, cost=True)
    names = [f"concat_last4 (train_share={n})" for n in ("0.1", "1")]
    small, whole = (comparison.prices[name] for name in names)
    small_cost, whole_cost = (comparison.row(name).cost for name in names)
    assert small.tuned_row == "fine-tuning (train_share=0.1)"
    assert small_cost.extraction_seconds == pytest.approx(12.5 * 4401 / 18_402)
    assert small_cost.extraction_flops == pytest.approx(8e11 * 4401 / 18_402)
    assert small.seconds_cheaper_from == brute_force(12.5 * 4401 / 18_402, 4, 10) == 1
    assert whole.tuned_row == "fine-tuning (train_share=1)"
    assert whole_cost.extraction_seconds == pytest.approx(12.5 * READ)
    # Texts that pairs share are in the store once: the part that is read is one of the text's.
    few = {"extraction_words": 5_000, "extraction_seconds": 5.0}
    apart = make_run(settings={"train_share": 0.1}, train_words=1_200, cost=few)
    (row,) = compare([apart])[0].rows
    assert row.cost.extraction_seconds == pytest.approx(5.0 * 4401 / 18_402)
    assert row.cost.text_words_per_second == pytest.approx(6402 / (0.5 + 5.0 * 6402 / 18_402))
    front = next(f for f in comparison.fronts if (f.split, f.currency) == ("dev", "operations"))
    costs = {point.row: point.cost for point in front.points}
    expected = small_cost.extraction_flops + small_cost.training_flops
    assert costs["concat_last4 (train_share=0.1)"] == pytest.approx(expected)
