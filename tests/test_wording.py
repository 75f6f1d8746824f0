import pytest

from featbert.text import called, counted, in_percent, unusual


@pytest.mark.parametrize(
    ("n", "words", "expected"),
    [
        (0, ["run"], "0 runs"),
        (1, ["run"], "1 run"),
        (1234, ["run"], "1,234 runs"),
        (1, ["grid search", "grid searches"], "1 grid search"),
        (2, ["grid search", "grid searches"], "2 grid searches"),
    ],
)
def test_a_count_and_its_noun_agree(n: int, words: list[str], expected: str) -> None:
    assert counted(n, *words) == expected


@pytest.mark.parametrize(
    ("share", "expected"),
    [(1.0, "100%"), (0.1, "10%"), (0.125, "12.5%"), (0.07, "7%"), (1e-3, "0.1%")],
)
def test_a_share_has_the_digits_that_it_was_given(share: float, expected: str) -> None:
    assert in_percent(share) == expected


def test_a_run_is_called_by_its_layers_and_by_how_much_it_learned_from() -> None:
    assert called("last", {}) == called("last", {"train_share": 1.0}) == "last"
    assert called(None, {"train_share": 0.1}) == "fine-tuning  10% of train"


def test_what_was_unusual_is_counted_and_what_was_not_is_left_out() -> None:
    counts = {"repaired_tags": 3, "windowed_sentences": 0, "unknown_words": 1}
    assert unusual(counts) == "3 repaired tags, 1 unknown word"
    assert unusual({}) == ""
