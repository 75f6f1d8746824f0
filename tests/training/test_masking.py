"""Which pieces are chosen and what stands in their place, by count where counts are exact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from featbert.training.masking import Masking, Vocabulary, choose, mask_text, replace

# Pieces 0 .. 4 are special, 4 is [MASK]; 5 .. 24 are ordinary.
VOCABULARY = Vocabulary(4, np.arange(5, 25), np.arange(5))


def random(seed=0):
    return np.random.default_rng(seed)


def words_of(sizes):
    """(P,) word of each piece; numbers begin anywhere."""
    return np.repeat(np.arange(len(sizes)) + 17, sizes)


@pytest.mark.parametrize("share", [0.01, 0.15, 0.5, 0.99])
def test_exactly_the_share_and_at_least_one(share):
    for n in range(1, 150):
        found = choose(np.arange(n), Masking(share), random(n))
        assert len(found) == max(1, round(share * n))
        assert list(found) == sorted(set(found))
        assert found[0] >= 0
        assert found[-1] < n


def test_every_place_is_chosen_as_often():
    draws, source = 20_000, random()
    counts = np.zeros(20)
    for _ in range(draws):
        counts[choose(np.arange(20), Masking(), source)] += 1
    assert counts.sum() == 3 * draws
    # 3 of 20: standard deviation of a place's count is sqrt(draws * 0.15 * 0.85), about 50
    assert np.abs(counts - 0.15 * draws).max() < 250


@given(st.lists(st.integers(1, 9), min_size=1, max_size=40), st.integers(0, 99))
def test_whole_words_are_chosen_whole(sizes, seed):
    words = words_of(sizes)
    wanted = max(1, round(0.15 * len(words)))
    found = choose(words, Masking(whole_word=True), random(seed))
    taken = set(words[found])
    assert sorted(found) == [i for i, word in enumerate(words) if word in taken]
    if min(sizes) > wanted:
        assert len(taken) == 1
        assert len(found) == min(sizes)
    else:
        assert 1 <= len(found) <= wanted
        rest = [size for word, size in zip(sorted(set(words)), sizes, strict=True)
                if word not in taken]  # fmt: skip
        assert not rest or min(rest) > wanted - len(found)  # no word that is left would fit


def test_with_whole_words_the_share_still_counts_pieces():
    source = random()
    chosen = pieces = 0
    for _ in range(500):
        words = words_of(source.choice([1, 1, 1, 2, 3, 5], 40))
        pieces += len(words)
        chosen += len(choose(words, Masking(whole_word=True), source))
    assert 0.145 < chosen / pieces < 0.152


@pytest.mark.parametrize("whole_word", [False, True])
def test_fates_have_their_shares(whole_word):
    n = 120_000
    sizes = np.tile([1, 2, 3], n // 6)
    pieces = np.full(n, 2)  # not ordinary, so that a random piece is never the same
    masking = Masking(mask_share=0.6, random_share=0.3, whole_word=whole_word)
    found = replace(pieces, words_of(sizes), masking, VOCABULARY, random())
    assert len(found) == n
    shares = [np.mean(found == 4), np.mean(found >= 5), np.mean(found == 2)]
    # at most 0.0014 (0.0022 by word) of standard deviation: five of them
    np.testing.assert_allclose(shares, [0.6, 0.3, 0.1], atol=0.011)
    assert sum(shares) == pytest.approx(1)
    drawn = np.bincount(found[found >= 5], minlength=25)
    assert not drawn[25:].any()
    np.testing.assert_allclose(drawn[5:] / drawn.sum(), 1 / 20, atol=0.006)
    assert (pieces == 2).all()  # the text itself stays


def test_the_defaults_are_those_of_bert():
    found = replace(np.full(100_000, 2), np.arange(100_000), Masking(), VOCABULARY, random())
    shares = [np.mean(found == 4), np.mean(found >= 5), np.mean(found == 2)]
    np.testing.assert_allclose(shares, [0.8, 0.1, 0.1], atol=0.0065)
    assert Masking().share == 0.15


@pytest.mark.parametrize(
    ("mask_share", "random_share", "expected"),
    [(1, 0, {4}), (0, 0, {2}), (0, 1, set(range(5, 25))), (0.5, 0.5, {4, *range(5, 25)})],
)
def test_shares_of_none_and_all_are_exact(mask_share, random_share, expected):
    masking = Masking(mask_share=mask_share, random_share=random_share)
    assert set(replace(np.full(3000, 2), np.arange(3000), masking, VOCABULARY, random())) == (
        expected
    )


def test_pieces_of_a_word_share_one_fate_with_whole_words_only():
    sizes = np.full(2000, 3)
    for whole_word in (True, False):
        masking = Masking(mask_share=0.5, random_share=0.0, whole_word=whole_word)
        pieces = np.full(6000, 2)
        found = replace(pieces, words_of(sizes), masking, VOCABULARY, random()).reshape(-1, 3)
        together = (found == found[:, :1]).all(1).mean()
        assert together == 1 if whole_word else 0.2 < together < 0.3


def test_a_text_is_masked_sequence_by_sequence():
    source = random(3)
    pieces = source.integers(5, 25, 400)
    words = np.arange(400)
    sequences = [np.arange(0, 37), np.r_[100:103, 210:230], np.arange(399, 400)]
    masked = mask_text(pieces, words, sequences, Masking(), VOCABULARY, random(1))
    for places in sequences:
        assert masked.chosen[places].sum() == max(1, round(0.15 * len(places)))
    asked = np.isin(np.arange(400), np.concatenate(sequences))
    assert not masked.chosen[~asked].any()
    assert (masked.inputs[~masked.chosen] == pieces[~masked.chosen]).all()
    again = mask_text(pieces, words, sequences, Masking(), VOCABULARY, random(1))
    assert (again.inputs == masked.inputs).all()
    assert (again.chosen == masked.chosen).all()
    other = mask_text(pieces, words, sequences, Masking(), VOCABULARY, random(2))
    assert (other.chosen != masked.chosen).any()


@pytest.mark.parametrize("whole_word", [False, True])
def test_special_pieces_are_never_chosen_nor_drawn(whole_word):
    pieces = np.tile([1, 9, 10, 1, 11, 12], 2000)  # 1: a word that the tokenizer does not know
    words = np.repeat(np.arange(6000), 2)
    sequences = np.arange(12_000).reshape(100, 120)
    masking = Masking(0.6, 0.0, 0.9, whole_word)
    masked = mask_text(pieces, words, sequences, masking, VOCABULARY, random())
    assert not masked.chosen[pieces == 1].any()
    assert masked.chosen.sum() == 100 * round(0.6 * 80)
    assert (masked.inputs[masked.chosen] >= 5).all()


def test_a_sequence_of_special_pieces_has_nothing_to_predict():
    pieces = np.array([1, 1, 7])
    sequences = [np.array([0, 1]), np.array([2])]
    masked = mask_text(pieces, np.arange(3), sequences, Masking(), VOCABULARY, random())
    assert masked.chosen.tolist() == [False, False, True]
