"""Alignment: whose pieces are whose, in which window, in which context."""

from __future__ import annotations

from itertools import groupby, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from featbert.encoders.alignment import ContextError, align, check_context
from featbert.encoders.ranges import ranges
from featbert.encoders.source import find_encoder
from featbert.encoders.windows import plan_windows
from featbert.encoders.wordpieces import load_wordpieces
from tests.features.support import ODD_WORDS, WORDS, sentences_of

TEXT = ["The quick fox jumps .", "Jordan", "unaffordable Hamilton " * 8 + ".", "EU \u200b x"]
DOCUMENTS = [0, 0, 1, 1]


@pytest.fixture(scope="module")
def wordpieces(encoder_folder):
    return load_wordpieces(find_encoder(str(encoder_folder("bert"))))


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 5)), max_size=20))
def test_ranges(pairs):
    starts = np.array([p[0] for p in pairs], dtype=np.int64)
    sizes = np.array([p[1] for p in pairs], dtype=np.int64)
    assert ranges(starts, sizes).tolist() == [i for a, n in pairs for i in range(a, a + n)]


TEXTS = st.lists(
    st.tuples(
        st.lists(st.sampled_from([*WORDS, *ODD_WORDS]), min_size=1, max_size=12),
        st.integers(0, 1),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=50)
@given(rows=TEXTS, context=st.sampled_from(["sentence", "document"]), positions=st.integers(3, 40))
def test_all_of_it_against_loops(wordpieces, rows, context, positions):
    numbers = np.cumsum([new for _, new in rows]).tolist()
    sentences = sentences_of([words for words, _ in rows], numbers)
    found = align(sentences, wordpieces, positions=positions, context=context)
    capacity = positions - 2

    by_word = [wordpieces.pieces([[w]])[0].tolist() for s in sentences for w in s.words]
    assert [
        found.pieces[a:b].tolist()
        for a, b in zip(found.word_pieces[:-1], found.word_pieces[1:], strict=True)
    ] == by_word
    assert found.n_sentences == len(sentences)
    assert found.n_words == len(by_word)
    assert found.sentence_lengths.tolist() == [len(s) for s in sentences]

    key = (lambda i: i) if context == "sentence" else (lambda i: numbers[i])
    units = [list(g) for _, g in groupby(range(len(sentences)), key)]
    windows, owned, per_unit, first_word = [], [0], [0], 0
    for unit in units:
        n_words = sum(len(sentences[i]) for i in unit)
        inside = by_word[first_word : first_word + n_words]
        spans, owns = plan_windows(np.array([len(p) for p in inside]), capacity)
        for start, end in spans:
            place = sum(map(len, by_word[: first_word + start]))
            size = sum(min(len(p), capacity) for p in inside[start:end])
            windows.append([place, place + size])
        owned.extend(first_word + owns[1:])
        per_unit.append(len(windows))
        first_word += n_words
    assert found.windows.tolist() == windows
    assert found.owned.tolist() == owned
    assert found.units.tolist() == per_unit
    assert found.window_lengths.tolist() == [b - a + 2 for a, b in windows]
    assert found.window_lengths.max() <= positions
    assert found.counts == {
        f"windowed_{context}s": sum(b - a > 1 for a, b in pairwise(per_unit)),
        "unknown_words": sum(wordpieces.pieces([[w]])[2] for s in sentences for w in s.words),
        "overlong_words": sum(len(p) > capacity for p in by_word),
    }


def test_a_document_is_one_context(wordpieces):
    sentences = sentences_of(TEXT, DOCUMENTS)
    short = align(sentences, wordpieces, positions=500, context="document")
    assert len(short.windows) == 2
    first_of_second = sum(len(s) for s in sentences[:2])
    assert short.owned.tolist() == [0, first_of_second, short.n_words]
    assert short.counts["windowed_documents"] == 0
    apart = align(sentences, wordpieces, positions=500, context="sentence")
    assert len(apart.windows) == 4
    assert apart.pieces.tolist() == short.pieces.tolist()


@pytest.mark.parametrize("documents", [None, [0, 0, None, 1]])
def test_document_context_without_documents_is_refused(wordpieces, documents):
    with pytest.raises(ContextError, match=r"this text marks none .*use --context sentence"):
        align(sentences_of(TEXT, documents), wordpieces, positions=40, context="document")


def test_an_unknown_context_is_refused():
    with pytest.raises(ContextError, match="sentence or document expected, found 'paragraph'"):
        check_context("paragraph", has_documents=True)


def test_a_word_longer_than_a_window_keeps_its_first_pieces_and_is_counted(wordpieces):
    long = align(
        sentences_of([["fox", "internationalisation" * 3, "fox"]]), wordpieces, positions=6
    )
    start, end = long.word_pieces[1:3]
    assert end - start > 4
    assert long.counts == {"windowed_sentences": 1, "unknown_words": 0, "overlong_words": 1}
    assert long.windows[1].tolist() == [start, start + 4]
    assert long.owned.tolist() == [0, 1, 2, 3]


def test_positions_without_room_for_a_piece_are_refused(wordpieces):
    with pytest.raises(ContextError, match="more than 2 positions expected, this one has 2"):
        align(sentences_of(TEXT), wordpieces, positions=2)


def test_windows_of_and_owned_words_undo_each_other(wordpieces):
    found = align(sentences_of(TEXT), wordpieces, positions=12)
    assert len(found.windows) > 4
    every = np.arange(found.n_words)
    of = found.windows_of(every)
    assert found.owned_words(np.arange(len(found.windows))).tolist() == every.tolist()
    for window in range(len(found.windows)):
        assert found.owned_words(np.array([window])).tolist() == every[of == window].tolist()


def test_no_sentences(wordpieces):
    found = align([], wordpieces, positions=12)
    assert (found.n_sentences, found.n_words, len(found.windows)) == (0, 0, 0)
