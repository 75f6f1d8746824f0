"""Entities that share words: which one is read, in every file that can hold them."""

import json
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from featbert.data.check import check_corpus
from featbert.data.load import load_corpus
from featbert.data.nested import NESTED, TextEntity, flat_entities
from featbert.data.options import ReadingOptions
from featbert.data.tags import Span, spans
from featbert.errors import InputError

TEXT = "Bank of New York City in old Oslo ."
WORDS = TEXT.split()
PLACES = [(TEXT.index(word), TEXT.index(word) + len(word)) for word in WORDS]


def entity(kind, first, last):
    start, end = PLACES[first][0], PLACES[last][1]
    return TextEntity(kind, first, last, TEXT[start:end], f"words {first} to {last}")


def words_of(span):
    return {*range(span.first, span.last + 1)}


def overlap(a, b):
    return not words_of(a).isdisjoint(words_of(b))


SPANS = st.tuples(
    st.sampled_from("AB"), st.integers(0, len(WORDS) - 1), st.integers(0, len(WORDS) - 1)
).map(lambda t: entity(t[0], *sorted(t[1:])))


@given(st.lists(SPANS, max_size=7), st.sampled_from([*NESTED]))
def test_crossing_entities_by_enumeration(entities, rule):
    """Of all sets without a shared word the first in lexical order of the rule is read."""
    distinct = [*dict.fromkeys(entities)]
    sizes = {"outermost": lambda s: -len(s.text), "innermost": lambda s: len(s.text)}
    if rule in sizes:
        ranks = sorted(range(len(distinct)), key=lambda i: (sizes[rule](distinct[i]), i))
        distinct = [distinct[i] for i in ranks]
    subsets = (s for n in range(len(distinct) + 1) for s in combinations(range(len(distinct)), n))
    free = [
        s
        for s in subsets
        if not any(overlap(distinct[a], distinct[b]) for a, b in combinations(s, 2))
    ]
    best = max(free, key=lambda s: [i in s for i in range(len(distinct))])
    by_word, overlapping = flat_entities(entities, rule)
    assert {*by_word.values()} == {distinct[i] for i in best}
    assert all(word in words_of(span) for word, span in by_word.items())
    assert len(by_word) == sum(len(words_of(distinct[i])) for i in best)
    assert len(overlapping) == len(distinct) - len(best)
    assert all(overlap(*pair) for pair in overlapping)


# A name in a name in a name, and two that cross.
NAMES = [
    *(("ORG", 0, 4), ("LOC", 2, 4), ("LOC", 2, 3), ("ORG", 0, 4)),
    *(("AGE", 6, 6), ("AREA", 5, 6), ("LOC", 6, 7)),
]
EXPECTED = {
    "outermost": ([Span("ORG", 0, 5), Span("LOC", 6, 8)], 4),
    "innermost": ([Span("LOC", 2, 4), Span("AGE", 6, 7)], 4),
    "first": ([Span("ORG", 0, 5), Span("AGE", 6, 7)], 4),
}
OFFSETS = [(PLACES[first][0], PLACES[last][1], kind) for kind, first, last in NAMES]
KEYED = [{"start": a, "end": b, "label": kind} for a, b, kind in OFFSETS]
RESULTS = [
    {"value": {"start": a, "end": b, "text": TEXT[a:b], "labels": [kind]}} for a, b, kind in OFFSETS
]
FILES = {
    "doccano.jsonl": {"text": TEXT, "label": OFFSETS},
    "prodigy.jsonl": {"text": TEXT, "spans": KEYED},
    "studio.json": [{"data": {"text": TEXT}, "annotations": [{"result": RESULTS}]}],
    "studio-min.json": [{"text": TEXT, "label": [item["value"] for item in RESULTS]}],
    "lighttag.json": {"examples": [{"content": TEXT, "annotations": KEYED}]},
    "spacy.json": [[TEXT, {"entities": OFFSETS}]],
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("rule", NESTED)
def test_every_file_with_spans(tmp_path, name, rule, caplog):
    (tmp_path / name).write_text(json.dumps(FILES[name]), "utf-8")
    options = {} if rule == "outermost" else {"nested": rule}
    corpus = load_corpus(tmp_path / name, ReadingOptions(**options))
    (sentence,) = corpus["train"]
    entities, left_out = EXPECTED[rule]
    assert (sentence.words, spans(sentence.tags)) == (tuple(WORDS), entities)
    assert check_corpus(corpus).splits["train"].overlapping_entities == left_out
    assert corpus.reading == options
    (line,) = caplog.messages
    assert all(part in line for part in (f"{name} ", f": {left_out};", rule))


@pytest.mark.parametrize(
    ("spans_of_text", "tags"),
    [
        ([[0, 2, "A"], [2, 4, "B"]], ["B-A", "O"]),  # in one word
        ([[0, 4, "A"], [0, 2, "B"]], ["B-A", "O"]),
        ([[0, 2, "A"], [0, 4, "A"]], ["B-A", "O"]),  # the same words and type
        ([{"start": 0, "end": 4, "labels": ["A", "B"]}], ["B-A", "O"]),
        ([[5, 9, "A"], [0, 9, "A"], [0, 4, "B"]], ["B-A", "I-A"]),
    ],
)
def test_entities_that_share_a_word(tmp_path, spans_of_text, tags):
    path = tmp_path / "train.jsonl"
    path.write_text(json.dumps({"text": "Java code", "spans": spans_of_text}), "utf-8")
    split = load_corpus(path)["train"]
    assert [*split.sentences[0].tags] == tags
    kinds = sum(len(s.get("labels", "A")) if isinstance(s, dict) else 1 for s in spans_of_text)
    is_one = spans_of_text == [[0, 2, "A"], [0, 4, "A"]]
    assert split.notes.overlapping_entities == kinds - 1 - is_one


def test_options_of_words_are_not_for_texts():
    with pytest.raises(InputError, match="outermost, innermost, first"):
        ReadingOptions(nested="inner")
    for name, value in (("nested", "first"), ("token_column", 1), ("tag_column", "tag")):
        with pytest.raises(InputError, match=name):
            load_corpus("sample", ReadingOptions(**{name: value}), targets="classes")
