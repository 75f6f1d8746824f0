"""Entities against conlleval and seqeval; their tags as classes and back, in both schemes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics import f1_score, precision_score, recall_score
from seqeval.scheme import IOB2

from featbert.data.tags import Span, spans, to_bio
from featbert.errors import InputError
from featbert.tasks.base import Predictions
from featbert.tasks.entities import TASK
from featbert.tasks.measures import f1_of, prf
from tests.conlleval import chunks
from tests.corpora import split_of

TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-a-b", "I-a-b"]
COUNTS = ("correct", "predicted", "gold")


@st.composite
def tagged(draw):
    """Gold and predicted tags, both ill-formed as often as not, near each other or far."""
    gold, predicted = [], []
    for _ in range(draw(st.integers(0, 4))):
        row = draw(st.lists(st.sampled_from(TAGS), max_size=9))
        near = [t if draw(st.booleans()) else draw(st.sampled_from(TAGS)) for t in row]
        gold.append(row)
        predicted.append(near)
    return gold, predicted


def conlleval(*pair) -> dict[str, tuple[int, int, int]]:
    """(correct, predicted, gold) by type; types that never occur are absent."""
    gold, predicted = (
        {(*chunk, row) for row, tags in enumerate(side) for chunk in chunks(tags)} for side in pair
    )
    return {
        name: tuple(sum(c[0] == name for c in side) for side in (gold & predicted, predicted, gold))
        for name in {chunk[0] for chunk in gold | predicted}
    }


@given(tagged())
def test_scores_are_those_of_conlleval_and_seqeval(pair):
    gold, predicted = pair
    scores, expected = TASK.score(*pair), conlleval(*pair)
    assert {n: tuple(one[c] for c in COUNTS) for n, one in scores.by_class.items()} == expected
    assert list(scores.by_class) == sorted(expected)
    total = tuple(sum(c[i] for c in expected.values()) for i in range(3))
    assert tuple(TASK.counts(*pair).sum(0).tolist()) == total
    values = scores.values
    assert list(values) == list(TASK.columns)
    if not any(gold) and not any(predicted):
        assert values["f1"] == values["strict_f1"] == 0.0  # seqeval fails on no sentences
        return
    how = {"average": "micro", "zero_division": 0}
    strict = {"mode": "strict", "scheme": IOB2}
    for key, expected in (
        ("precision", precision_score(gold, predicted, **how)),
        ("recall", recall_score(gold, predicted, **how)),
        ("f1", f1_score(gold, predicted, **how)),
        ("strict_f1", f1_score(gold, predicted, **how, **strict)),
    ):
        assert values[key] == pytest.approx(expected, abs=1e-12)


@given(tagged())
def test_the_measure_is_of_the_counts_and_words_by_brute_force(pair):
    """One value from sums of counts, by sentence as well as in all."""
    counts, scores = TASK.counts(*pair), TASK.score(*pair)
    assert (counts.shape, counts.dtype) == ((len(pair[0]), 3), np.int64)
    assert TASK.measure.of(counts.sum(0)) == scores.values["f1"]
    assert list(TASK.dev_values(*pair).items()) == list(scores.values.items())[:3]
    for value, gold, predicted in zip(f1_of(counts), *pair, strict=True):
        assert value == TASK.score([gold], [predicted]).values["f1"]
    words = [(g, p) for gs, ps in zip(*pair, strict=True) for g, p in zip(gs, ps, strict=True)]
    assert (scores.examples, scores.words) == (len(pair[0]), len(words))
    gold = sum(g != "O" for g, _ in words)
    predicted = sum(p != "O" for _, p in words)
    correct = sum(g != "O" and p != "O" and g[2:] == p[2:] for g, p in words)
    assert scores.values["word_f1"] == prf(correct, predicted, gold)["f1"]
    right = sum(g == p for g, p in words) / len(words) if words else 0.0
    assert scores.values["word_accuracy"] == right


@pytest.mark.parametrize(
    ("gold", "predicted", "named"),
    [
        ([["O"], ["O"]], [["O"]], None),
        ([["O"], ["O", "O"]], [["O"], ["O"]], None),
        ([["O"]], [["S-PER"]], "'S-PER'.* sentence 1"),
        ([["O", "B-"]], [["O", "O"]], "'B-'.* sentence 1"),
        ([["O"]], [["PER"]], "'PER'"),
        ([["O"]], [[""]], "''"),
    ],
)
def test_what_cannot_be_scored_names_its_sentence(gold, predicted, named):
    for function in (TASK.score, TASK.counts, TASK.dev_values):
        with pytest.raises(InputError, match=named):
            function(gold, predicted)


# Breakdowns ---------------------------------------------------------------------------------------

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
    found = TASK.break_down([facet], Predictions(WORDS, GOLD, PREDICTED, []), **options)[facet]
    assert all(bucket.size == bucket.counts[2] for bucket in found.values())
    return {name: bucket.counts for name, bucket in found.items()}


def test_by_each_facet_a_prediction_counts_where_it_belongs() -> None:
    assert counts("type") == {"LOC": (1, 2, 2), "ORG": (0, 0, 1), "PER": (1, 2, 1)}
    assert counts("length") == {"1": (1, 2, 2), "2": (1, 2, 1), "4 and more": (0, 0, 1)}
    assert counts("sentence") == {
        "1 to 10": (1, 2, 2),
        "11 to 20": (0, 1, 1),
        "41 and more": (1, 1, 1),
    }
    known = TASK.known([["New", "York", "smith"]], [["B-ORG", "I-ORG", "B-PER"]])
    assert known == {("New", "York"), ("smith",)}  # as written, whatever the type
    assert counts("seen", known=known) == {"seen": (0, 1, 0), "unseen": (2, 3, 4)}


# Files and reports --------------------------------------------------------------------------------


def test_predictions_are_read_with_tabs_or_spaces(tmp_path):
    path = tmp_path / TASK.predictions_name("dev")
    path.write_text(
        "-DOCSTART-\tO\tO\n\nNew York\tB-LOC\tB-LOC\na\x85b\tO\tI-LOC\n \t\n\nx\tO\tO\n"
    )
    found = TASK.read_predictions(path)
    assert found.words == [["New York", "a\x85b"], ["x"]]
    assert found.gold == [["B-LOC", "O"], ["O"]]
    assert found.predicted == [["B-LOC", "I-LOC"], ["O"]]
    assert found.documents == [1, 1]
    path.write_text("a\xa0b O O\r\n-DOCSTART- O O\r\nc O O\r\n", newline="")
    assert TASK.read_predictions(path).words == [["a\xa0b"], ["c"]]


@pytest.mark.parametrize("line", [b"a O\n", b"a O O O\n", b"a\tO\n", b"\tO\tO\n", b"\xff O O\n"])
def test_damaged_predictions_name_the_file(tmp_path, line):
    path = tmp_path / "dev.conll"
    path.write_bytes((b"x\tO\tO\n\n" if b"\t" in line else b"x O O\n\n") + line)
    with pytest.raises(InputError, match=r"dev\.conll"):
        TASK.read_predictions(path)


ROWS = [row.split() for row in ("B-PER I-PER O B-PER B-PER", "B-LOC B-LOC I-LOC", "O B-MISC")]
entities = st.lists(
    st.lists(st.sampled_from(["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]), min_size=1, max_size=9),
    min_size=1,
    max_size=6,
)
ANY_TAGS = st.lists(st.sampled_from(["O", *(f"{p}-{t}" for p in "BI" for t in ("A", "B-x", "C"))]))
NAMES = ["A", "B-x", "C", "D", "O"]


def test_classes_and_ill_formed_answers_of_each_scheme() -> None:
    train = split_of(ROWS)
    bio = ("O", "B-LOC", "I-LOC", "B-MISC", "B-PER", "I-PER")
    # B- only right after an entity of its type
    iob1 = ("O", "B-LOC", "I-LOC", "I-MISC", "B-PER", "I-PER")
    assert (TASK.classes(train, "bio"), TASK.classes(train, "iob1")) == (bio, iob1)
    # Those in BIO stay, for strict scoring. IOB1 is read as conlleval reads it.
    classes, numbers, text = ("O", "B-PER", "I-PER"), np.array([0, 2, 2]), split_of([("O",) * 3])
    assert TASK.answers(numbers, classes, text, "bio") == [["O", "I-PER", "I-PER"]]
    assert TASK.answers(numbers, classes, text, "iob1") == [["O", "B-PER", "I-PER"]]


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


@given(ANY_TAGS, st.dictionaries(st.sampled_from(NAMES[:3]), st.sampled_from(NAMES)))
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
