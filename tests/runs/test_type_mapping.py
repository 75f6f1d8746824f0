"""Types under other names: entities are mapped, one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from featbert.data.tags import Span, spans
from featbert.errors import InputError
from featbert.runs.type_mapping import (
    check_mapping,
    mapped_tags,
    mapped_types,
    parse_mapping,
)

TAGS = st.lists(st.sampled_from(["O", *(f"{p}-{t}" for p in "BI" for t in ("A", "B-x", "C"))]))
NAMES = ["A", "B-x", "C", "D", "O"]


@given(TAGS, st.dictionaries(st.sampled_from(NAMES[:3]), st.sampled_from(NAMES)))
def test_the_entities_are_those_of_before_under_their_new_names(
    tags: list[str], mapping: dict[str, str]
) -> None:
    expected = [
        Span(mapping.get(s.type, s.type), s.start, s.end)
        for s in spans(tags)
        if mapping.get(s.type) != "O"
    ]
    found = mapped_tags(tags, mapping)
    assert len(found) == len(tags)
    assert spans(found) == expected


@given(TAGS)
def test_no_mapping_changes_nothing(tags: list[str]) -> None:
    assert mapped_tags(tags, {}) == tags


@pytest.mark.parametrize(
    ("tags", "mapping", "expected"),
    [
        ("B-A I-A B-C O", {"C": "A"}, "B-A I-A B-A O"),
        ("B-A I-C I-C", {"C": "A"}, "B-A B-A I-A"),
        ("B-A I-C I-C", {"A": "O"}, "O I-C I-C"),
        ("I-A I-A O", {"A": "C"}, "I-C I-C O"),
        ("B-A B-C", {"A": "C", "C": "A"}, "B-C B-A"),
    ],
)
def test_by_example(tags: str, mapping: dict[str, str], expected: str) -> None:
    assert mapped_tags(tags.split(), mapping) == expected.split()


def test_types() -> None:
    assert mapped_types(["PER", "MISC", "person"], {"person": "PER", "MISC": "O"}) == ["PER"]


def test_parsing() -> None:
    assert parse_mapping(["MISC=O", " person = PER", "MISC=O"]) == {"MISC": "O", "person": "PER"}
    assert parse_mapping(["a=b=c"]) == {"a": "b=c"}
    assert parse_mapping([]) == {}


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        (["MISC"], "FROM=TO expected"),
        (["=O"], "FROM=TO expected"),
        (["MISC="], "FROM=TO expected"),
        (["O=PER"], "O is none"),
        (["A=B", "A=C"], "one type for A expected, found B and C"),
    ],
)
def test_a_mapping_that_says_nothing(texts: list[str], told: str) -> None:
    with pytest.raises(InputError, match=told):
        parse_mapping(texts)


@pytest.mark.parametrize(
    ("mapping", "told"),
    [
        ({"persn": "PER"}, r"'persn' is none \(did you mean 'person'\?\); they have LOC, PER"),
        ({"person": "PRE"}, r"'PRE' is none \(did you mean 'PER'\?\)"),
        ({"person": "HUMAN"}, "'HUMAN' is none"),
    ],
)
def test_names_that_nobody_has(mapping: dict[str, str], told: str) -> None:
    with pytest.raises(InputError, match=told):
        check_mapping(mapping, data=["LOC", "person"], run=["LOC", "PER"])


@pytest.mark.parametrize(
    "mapping",
    [{"person": "PER"}, {"PER": "person"}, {"LOC": "O"}, {"person": "HUMAN", "PER": "HUMAN"}, {}],
)
def test_names_that_make_sense(mapping: dict[str, str]) -> None:
    check_mapping(mapping, data=["LOC", "person"], run=["LOC", "PER"])
