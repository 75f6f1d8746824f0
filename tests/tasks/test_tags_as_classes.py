"""Tags as classes and back, in both schemes, and entities under other names."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from featbert.data.corpus import Sentence, Split
from featbert.data.tags import Span, spans, to_bio
from featbert.tasks.entities import TASK

ROWS = [row.split() for row in ("B-PER I-PER O B-PER B-PER", "B-LOC B-LOC I-LOC", "O B-MISC")]
entities = st.lists(
    st.lists(st.sampled_from(["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]), min_size=1, max_size=9),
    min_size=1,
    max_size=6,
)
TAGS = st.lists(st.sampled_from(["O", *(f"{p}-{t}" for p in "BI" for t in ("A", "B-x", "C"))]))
NAMES = ["A", "B-x", "C", "D", "O"]


def split_of(rows) -> Split:
    return Split("train", tuple(Sentence(("w",) * len(r), tuple(r)) for r in rows))


def test_classes_of_each_scheme() -> None:
    train = split_of(ROWS)
    bio = ("O", "B-LOC", "I-LOC", "B-MISC", "B-PER", "I-PER")
    # B- only right after an entity of its type
    iob1 = ("O", "B-LOC", "I-LOC", "I-MISC", "B-PER", "I-PER")
    assert (TASK.classes(train, "bio"), TASK.classes(train, "iob1")) == (bio, iob1)


@pytest.mark.parametrize("scheme", ["bio", "iob1"])
@given(rows=entities)
def test_tags_go_to_numbers_and_back_to_the_same_entities(scheme, rows) -> None:
    train = split_of([to_bio(row, "BIO")[0] for row in rows])
    classes, offsets = TASK.classes(train, scheme), TASK.items(train)
    numbers = TASK.encode(train, classes, scheme)
    assert numbers.shape == (train.n_words,)
    assert offsets.tolist() == [0, *np.cumsum([len(r) for r in rows])]
    again = TASK.answers(numbers, classes, train, scheme)
    assert [tuple(row) for row in again] == list(train.tags)


def test_ill_formed_answers() -> None:
    """Those in BIO stay, for strict scoring; IOB1 is read as conlleval reads it."""
    classes, numbers, text = ("O", "B-PER", "I-PER"), np.array([0, 2, 2]), split_of([("O",) * 3])
    assert TASK.answers(numbers, classes, text, "bio") == [["O", "I-PER", "I-PER"]]
    assert TASK.answers(numbers, classes, text, "iob1") == [["O", "B-PER", "I-PER"]]


@given(TAGS, st.dictionaries(st.sampled_from(NAMES[:3]), st.sampled_from(NAMES)))
def test_renamed_entities_keep_their_places(tags: list[str], mapping: dict[str, str]) -> None:
    expected = [
        Span(mapping.get(s.type, s.type), s.start, s.end)
        for s in spans(tags)
        if mapping.get(s.type) != "O"
    ]
    found = TASK.rename(tags, mapping)
    assert len(found) == len(tags)
    assert spans(found) == expected
    assert TASK.rename(tags, {}) == tags


@pytest.mark.parametrize(
    ("tags", "mapping", "expected"),
    [
        ("B-A I-C I-C", {"C": "A"}, "B-A B-A I-A"),
        ("B-A I-C I-C", {"A": "O"}, "O I-C I-C"),
        ("B-A B-C", {"A": "C", "C": "A"}, "B-C B-A"),
    ],
)
def test_renaming_by_example(tags: str, mapping: dict[str, str], expected: str) -> None:
    assert TASK.rename(tags.split(), mapping) == expected.split()
