"""Truecasing, rule by rule, on text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from featbert.data.corpus import Sentence
from featbert.data.truecase import Truecaser, in_capitals

TRAIN = [
    "The council of Leicestershire met in the EU building .",
    "Leicestershire take over at the top , said the EU and the U.N. council .",
    "Take heart , said McDonald of the IBM plant .",
    "THE FED SAID IBM AND LEICESTERSHIRE WON",  # in capitals: not counted
    "EU said us ; the US said Us",
]


@pytest.fixture(scope="module")
def truecaser() -> Truecaser:
    return Truecaser.from_sentences(Sentence(tuple(t.split(" "))) for t in TRAIN)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("LEICESTERSHIRE TAKE OVER AT THE TOP .", "Leicestershire take over at the top ."),
        ("THE EU AND THE U.N. SAID", "The EU and the U.N. said"),
        ("MCDONALD OF IBM", "McDonald of IBM"),  # a form with capitals inside, as counted
        ("SOCCER - BRENTFORD", "Soccer - Brentford"),  # not counted: a capital
        ("SAID MACGREGOR", "Said Macgregor"),  # capitals inside are not guessed
        ("LONDON 1996-08-30", "London 1996-08-30"),
        ("( TAKE )", "( Take )"),  # the first letter, not the first word
        ("THE US", "The US"),  # us, US, Us once each: capitals come first
        ("The EU MET", "The EU MET"),  # not in capitals
        ("A - 1", "A - 1"),  # no word of two letters
        ("1996-08-30", "1996-08-30"),
        ("ⅧⅨ 1-0", "ⅧⅨ 1-0"),  # upper case, but no letters
        ("ⒶⒷ", "ⒶⒷ"),
        ("ÉTÉ ÇA", "Été Ça"),
    ],
)
def test_the_rule(truecaser, text, expected):
    assert " ".join(truecaser.words(text.split(" "))) == expected


@given(st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=12))
def test_nothing_but_case_changes(words):
    caser = Truecaser.from_sentences([Sentence(("x", "Straße", "ﬁn", "İst"))])
    cased = caser.words(words)
    assert [len(w) for w in cased] == [len(w) for w in words]
    assert [w.casefold() for w in map(str.upper, cased)] == [
        w.casefold() for w in map(str.upper, words)
    ] or not in_capitals(words)
    if not in_capitals(words):
        assert cased == tuple(words)


def test_tags_and_documents_stay(truecaser):
    sentence = Sentence(("THE", "EU"), ("O", "B-ORG"), 3)
    (cased,) = truecaser.sentences([sentence])
    assert cased == Sentence(("The", "EU"), ("O", "B-ORG"), 3)
