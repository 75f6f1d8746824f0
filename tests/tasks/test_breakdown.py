from __future__ import annotations

import numpy as np
import pytest

from featbert.tasks.breakdown import FACETS, breakdowns, surfaces
from featbert.tasks.scorer import TagError, score

WORDS = [
    ["John", "Smith", "saw", "New", "York", "City", "Hall"],
    ["Acme", *["and"] * 19],
    ["a"] * 41,
]
GOLD = [
    ["B-PER", "I-PER", "O", "B-LOC", "I-LOC", "I-LOC", "I-LOC"],
    ["B-ORG", *["O"] * 19],
    ["B-LOC", *["O"] * 40],
]
PREDICTED = [
    ["B-PER", "I-PER", "O", "B-LOC", "I-LOC", "O", "O"],  # New York alone
    ["B-PER", *["O"] * 19],  # another type
    ["B-LOC", *["O"] * 40],
]


def counts(facet, **options) -> dict:
    found = breakdowns([facet], WORDS, GOLD, PREDICTED, **options)[facet]
    return {name: (p.correct, p.predicted, p.gold) for name, p in found.items()}


def test_by_type() -> None:
    assert counts("type") == {"LOC": (1, 2, 2), "ORG": (0, 0, 1), "PER": (1, 2, 1)}
    assert breakdowns(["type"], WORDS, GOLD, PREDICTED)["type"] == score(GOLD, PREDICTED).by_type


def test_by_length_a_prediction_counts_where_it_belongs() -> None:
    assert counts("length") == {"1": (1, 2, 2), "2": (1, 2, 1), "4 and more": (0, 0, 1)}


def test_by_sentence() -> None:
    assert counts("sentence") == {
        "1 to 10": (1, 2, 2),
        "11 to 20": (0, 1, 1),
        "41 and more": (1, 1, 1),
    }


def test_by_what_train_has_seen() -> None:
    train = surfaces([["New", "York", "smith"]], [["B-ORG", "I-ORG", "B-PER"]])
    assert train == {("New", "York"), ("smith",)}  # as written, whatever the type
    assert counts("seen", train=train) == {"seen": (0, 1, 0), "unseen": (2, 3, 4)}


@pytest.mark.parametrize("facet", FACETS)
def test_buckets_add_up(facet) -> None:
    random = np.random.default_rng(3)
    tags = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
    sizes = random.integers(1, 60, 40)
    words = [[f"w{random.integers(9)}" for _ in range(n)] for n in sizes]
    gold, predicted = ([list(random.choice(tags, n)) for n in sizes] for _ in range(2))
    train = surfaces(words[:10], gold[:10])
    found = breakdowns([facet], words, gold, predicted, train=train)[facet]
    whole = score(gold, predicted).entity
    assert sum(p.correct for p in found.values()) == whole.correct
    assert sum(p.predicted for p in found.values()) == whole.predicted
    assert sum(p.gold for p in found.values()) == whole.gold
    assert len(found) > 1


def test_several_facets_are_each_as_alone() -> None:
    train = surfaces(WORDS[:1], GOLD[:1])
    found = breakdowns([*FACETS], WORDS, GOLD, PREDICTED, train=train)
    assert list(found) == [*FACETS]
    for facet in FACETS:
        alone = breakdowns([facet], WORDS, GOLD, PREDICTED, train=train)
        assert list(alone[facet].items()) == list(found[facet].items())
    assert breakdowns([], WORDS, GOLD, PREDICTED) == {}


def test_tags_that_do_not_fit_are_refused() -> None:
    with pytest.raises(TagError, match="sentence 2"):
        breakdowns(["type"], WORDS, GOLD, [PREDICTED[0], ["O"], PREDICTED[2]])
