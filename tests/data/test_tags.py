"""Schemes against conlleval's own rules, written out here, and by round trips."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from featbert.data.tags import TagError, detect_scheme, from_bio, spans, to_bio
from tests.conlleval import chunks as conlleval_chunks

TYPES = ("PER", "LOC", "PER-x")


def tags_of(prefixes: str) -> st.SearchStrategy[list[str]]:
    one = st.sampled_from(["O", *(f"{p}-{t}" for p in prefixes for t in TYPES)])
    return st.lists(one, max_size=12)


@st.composite
def well_formed_bio(draw: st.DrawFn) -> list[str]:
    tags: list[str] = []
    for type_, length in draw(
        st.lists(st.tuples(st.sampled_from(["O", *TYPES]), st.integers(1, 3)), max_size=6)
    ):
        if type_ == "O":
            tags += ["O"] * length
        else:
            tags += [f"B-{type_}"] + [f"I-{type_}"] * (length - 1)
    return tags


@given(tags_of("BIES"))
def test_spans_are_those_of_conlleval(tags):
    assert spans(tags, "bioes") == conlleval_chunks(tags)


@given(tags_of("BI"), st.sampled_from(["bio", "iob1", "io", "bioes"]))
def test_entities_of_b_and_i_do_not_depend_on_the_scheme(tags, scheme):
    bio, _ = to_bio(tags, scheme)
    assert spans(bio) == conlleval_chunks(tags)


@given(well_formed_bio(), st.sampled_from(["bio", "iob1", "bioes"]))
def test_round_trip_needs_no_repair(bio, scheme):
    assert to_bio(from_bio(bio, scheme), scheme) == (tuple(bio), 0)


@given(well_formed_bio())
def test_io_round_trip_but_for_neighbours(bio):
    entities = conlleval_chunks(bio)
    assume(all(a[2] != b[1] or a[0] != b[0] for a in entities for b in entities))
    assert to_bio(from_bio(bio, "io"), "io") == (tuple(bio), 0)


@pytest.mark.parametrize(
    ("scheme", "tags", "bio", "repaired"),
    [
        ("bio", "B-A I-A B-B B-B O B-A", "B-A I-A B-B B-B O B-A", 0),
        ("iob1", "I-A I-A I-B B-B O I-A", "B-A I-A B-B B-B O B-A", 0),
        ("bioes", "B-A E-A S-B S-B O S-A", "B-A I-A B-B B-B O B-A", 0),
        ("bio", "I-A I-A O I-A", "B-A I-A O B-A", 2),
        ("bio", "B-A I-B I-B", "B-A B-B I-B", 1),
        ("iob1", "B-A I-A O B-A B-A", "B-A I-A O B-A B-A", 2),  # the last B- is right
        ("bioes", "I-A E-A O E-A O I-A", "B-A I-A O B-A O B-A", 3),
        ("bioes", "B-A O B-A I-A O", "B-A O B-A I-A O", 2),  # neither ended
        ("bioes", "S-A I-A E-A", "B-A B-A I-A", 1),
        ("bioes", "E-A I-A", "B-A B-A", 2),
        ("io", "I-A B-A O", "B-A B-A O", 1),
        ("bilou", "B-A I-A L-A U-B", "B-A I-A I-A B-B", 0),
        ("io", "PER PER O art-film", "B-PER I-PER O B-art-film", 0),
    ],
)
def test_repairs_are_counted(scheme, tags, bio, repaired):
    assert to_bio(tags.split(" "), scheme) == (tuple(bio.split(" ")), repaired)
    if not repaired and scheme in ("bio", "iob1", "bioes"):
        assert from_bio(bio.split(" "), scheme) == tuple(tags.split(" "))


@pytest.mark.parametrize(
    ("rows", "scheme"),
    [
        (["I-A I-A O I-B"], "IOB1"),
        (["I-A B-A"], "IOB1"),
        (["B-A I-A", "O O"], "BIO"),
        (["B-A B-A"], "BIO"),
        (["I-A B-A", "B-A O B-B"], "BIO"),  # one I- against two B- that begin
        (["B-A O I-A O I-B"], "IOB1"),
        (["B-A O I-A"], "BIO"),  # a tie
        (["O O"], "BIO"),
        ([], "BIO"),
        (["B-A I-A", "O S-B"], "BIOES"),
        (["O U-A"], "BIOES"),
        (["I-A", "I-A", "B-B"], "IOB1"),  # sentences do not run together
        (["PER PER O O", "O LOC O O"], "IO"),
        (["NNP VBZ O"], "BIO"),  # no majority of O
        (["PER O O B-LOC"], "BIO"),  # a mixture
    ],
)
def test_detection(rows, scheme):
    assert detect_scheme(row.split(" ") for row in rows) == scheme


@given(st.lists(well_formed_bio(), max_size=4))
def test_well_formed_tags_are_detected(rows):
    assert detect_scheme(rows) == "BIO"
    if any(map(conlleval_chunks, rows)):
        assert detect_scheme(from_bio(row, "iob1") for row in rows) == "IOB1"


@pytest.mark.parametrize(
    ("tag", "scheme"),
    [
        ("NNP", "bio"),
        ("B", "bio"),
        ("B_PER", "bioes"),
        ("E-PER", "bio"),
        ("M-PER", "bioes"),
        ("E-PER", "io"),
        ("B", "io"),
    ],
)
def test_other_tags_are_refused_with_their_place(tag, scheme):
    with pytest.raises(TagError, match=f"{tag!r}.*{scheme.upper()}") as error:
        to_bio(["O", "O", tag], scheme)
    assert error.value.index == 2
