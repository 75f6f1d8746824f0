"""Tags as labels and back, in both schemes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from featbert.data.corpus import Sentence, Split
from featbert.data.tags import spans
from featbert.runs.labels import label_ids, tags_by_sentence, train_labels

TAGS = [
    ("B-PER", "I-PER", "O", "B-PER", "B-PER"),
    ("B-LOC", "B-LOC", "I-LOC"),
    ("O", "B-MISC"),
]


def split_of(rows) -> Split:
    return Split("train", tuple(Sentence(("w",) * len(r), tuple(r)) for r in rows))


def test_labels_of_each_scheme():
    train = split_of(TAGS)
    assert train_labels(train) == (
        "O", "B-LOC", "I-LOC", "B-MISC", "B-PER", "I-PER",
    )  # fmt: skip
    # B- only right after an entity of its type
    assert train_labels(train, "iob1") == (
        "O", "B-LOC", "I-LOC", "I-MISC", "B-PER", "I-PER",
    )  # fmt: skip


entities = st.lists(
    st.lists(st.sampled_from(["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]), min_size=1, max_size=9),
    min_size=1,
    max_size=6,
)


@pytest.mark.parametrize("scheme", ["bio", "iob1"])
@given(rows=entities)
def test_labels_go_to_numbers_and_back_to_the_same_entities(scheme, rows):
    from featbert.data.tags import to_bio

    train = split_of([to_bio(row, "BIO")[0] for row in rows])
    labels = train_labels(train, scheme)
    ids = label_ids(train, labels, scheme)
    assert ids.shape == (train.n_words,)
    offsets = np.concatenate([[0], np.cumsum([len(r) for r in rows])])
    again = tags_by_sentence(ids, labels, offsets, scheme)
    assert [tuple(row) for row in again] == list(train.tags)


def test_ill_formed_answers():
    """Those of a BIO tagger stay, for strict scoring; IOB1 is read as conlleval reads it."""
    labels, offsets = ("O", "B-PER", "I-PER"), np.array([0, 3])
    ids = np.array([0, 2, 2])
    assert tags_by_sentence(ids, labels, offsets) == [["O", "I-PER", "I-PER"]]
    assert tags_by_sentence(ids, labels, offsets, "iob1") == [["O", "B-PER", "I-PER"]]
    assert spans(["O", "I-PER", "I-PER"]) == spans(["O", "B-PER", "I-PER"])
