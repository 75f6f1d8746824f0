"""A share of a training text: whole documents, nested, the same for all rows with one seed."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from featbert.data.corpus import ReadingNotes, Sentence, Split
from featbert.data.share import drawn_sentences, learned_part, with_dev, with_fold
from tests.features.support import sentences_of


def split_of(sizes: list[int], *, documents: bool = True) -> Split:
    """Documents of the given numbers of sentences, or the same sentences without documents."""
    numbers = [d if documents else None for d, size in enumerate(sizes) for _ in range(size)]
    return Split("train", sentences_of([f"w{i}" for i in range(len(numbers))], numbers))


sizes = st.lists(st.integers(1, 9), min_size=1, max_size=30)
shares = st.fractions(Fraction(1, 500), 1, max_denominator=500)
seeds = st.integers(0, 2**31)


@settings(max_examples=50)
@given(sizes, shares, seeds, st.booleans())
def test_a_share_is_a_shortest_prefix_of_whole_units(sizes, share, seed, documents):
    split = split_of(sizes, documents=documents)
    drawn = drawn_sentences(split, float(share), seed=seed).tolist()
    units = _units(split)
    taken = [unit for unit in units if unit & {*drawn}]
    assert drawn == sorted(set().union(*taken))  # whole, in the file's order
    # At least the share (exactly, in whole numbers), and not without the unit drawn last.
    assert len(drawn) >= share * len(split)
    assert len(drawn) - max(len(unit) for unit in taken) < share * len(split)


def _units(split: Split) -> list[set[int]]:
    found: dict[tuple[str, int], set[int]] = {}
    for i, sentence in enumerate(split):
        name = ("sentence", i) if sentence.document is None else ("document", sentence.document)
        found.setdefault(name, set()).add(i)
    return list(found.values())


@settings(max_examples=50)
@given(sizes, st.lists(shares, min_size=2, max_size=4), seeds)
def test_smaller_shares_lie_inside_larger_ones(sizes, some, seed):
    split = split_of(sizes)
    parts = [{*drawn_sentences(split, float(s), seed=seed).tolist()} for s in sorted(some)]
    assert all(less <= more for less, more in itertools.pairwise(parts))


def test_the_seed_draws_the_documents():
    split = split_of([2] * 40)
    parts = [drawn_sentences(split, 0.25, seed=seed).tolist() for seed in range(20)]
    assert len({tuple(part) for part in parts}) == 20
    assert parts[3] == drawn_sentences(split, 0.25, seed=3).tolist()
    # Every document is as likely as another: over many seeds a quarter of them each.
    counts = np.zeros(80)
    for seed in range(400):
        counts[drawn_sentences(split, 0.25, seed=seed)] += 1
    assert 60 < counts.min() <= counts.max() < 145  # 100 each, 8.7 standard deviation


@settings(max_examples=50)
@given(st.lists(st.integers(1, 9), min_size=2, max_size=30), st.integers(2, 30), st.booleans())
def test_folds_share_out_the_documents(sizes, folds, documents):
    notes = ReadingNotes(repaired_tags=7)
    whole = replace(split_of(sizes, documents=documents), notes=notes)
    units = [{whole.sentences[i] for i in unit} for unit in _units(whole)]
    folds = min(folds, len(units))
    made = [with_fold({"train": whole}, folds, i) for i in range(1, folds + 1)]
    tests = [{*splits["test"]} for splits in made]
    assert sum(map(len, tests)) == len(whole)
    assert all(any(unit <= test for test in tests) for unit in units)
    counts = [sum(unit <= test for unit in units) for test in tests]
    assert max(counts) - min(counts) <= 1
    for splits, test in zip(made, tests, strict=True):
        assert {*splits["train"]} == {*whole} - test
        assert sum(split.notes.repaired_tags for split in splits.values()) == 7


@pytest.mark.parametrize("marks", [{"-": 20}, {"-": 12, "null": 8}])
@pytest.mark.parametrize("of_texts", [False, True])
def test_empty_texts_and_missing_answers_are_counted_where_they_are(marks, of_texts):
    missing, no_class = (None, "") if of_texts else ("", "O")
    words = (("" if n % 4 else "w", missing if n % 3 else no_class) for n in range(30))
    sentences = (
        Sentence((word,), None if tag is None else (tag,), texts=(word,) * of_texts)
        for word, tag in words
    )
    notes = ReadingNotes(empty_texts=22, missing=marks)
    train = Split("train", tuple(sentences), notes=notes)
    for splits in (
        with_dev({"train": train}, 0.3, classes=False),
        with_dev(with_fold({"train": train}, 5, 2), 0.3, classes=True),
    ):
        for split in splits.values():
            assert split.notes.empty_texts == sum("" in s.words for s in split)
            n_missing = sum((None if s.tags is None else s.tags[0]) == missing for s in split)
            assert split.notes.missing == {", ".join(marks): n_missing}


def test_shares_by_hand():
    singles, split = split_of([1] * 100, documents=False), split_of([3, 1, 2])
    assert len(drawn_sentences(singles, 0.07, seed=1)) == 7  # 0.07 * 100 is more than 7
    assert len(drawn_sentences(split_of([3, 3, 3]), 1e-6, seed=1)) == 3  # a document at least
    tagged = replace(split, sentences=tuple(replace(s, tags=("a",)) for s in split))
    assert learned_part(tagged, 1.0, seed=5) == (tagged, None)
    none = replace(tagged, sentences=(*tagged.sentences[:4], *split.sentences[4:]))
    part, numbers = learned_part(none, 1.0, seed=5)
    assert (part.sentences, numbers.tolist()) == (tagged.sentences[:4], [0, 1, 2, 3])
    half, numbers = learned_part(none, 0.5, seed=5)
    assert half.sentences == tuple(none.sentences[i] for i in numbers)
    assert len(half) in (3, 4)  # the document of three, or those of one and of three
    assert drawn_sentences(split, 1.0, seed=5).tolist() == list(range(6))


@pytest.mark.parametrize(
    ("classes", "share", "expected"),
    [
        ("aaaaabbbbb", 0.2, {"a", "b"}),
        ("a" * 55 + "bbbbc", 0.1, {"a", "b"}),  # the only c stays in train
        ("aabbcc", 0.3, None),  # two examples for three classes
    ],
)
def test_dev_that_is_drawn_from_train_has_each_class_that_it_can(classes, share, expected):
    """An example of a class that the draw lacks replaces one of its largest class."""
    train = Split("train", tuple(Sentence((f"w{n}",), (tag,)) for n, tag in enumerate(classes)))
    split = with_dev({"train": train}, share, classes=True)
    assert len(split["dev"]) == len(drawn_sentences(train, share, seed=0))
    drawn = {tag for (tag,) in split["dev"].tags}
    assert drawn == expected if expected else len(drawn) == 2
    words = [s.words for part in ("train", "dev") for s in split[part]]
    assert sorted(words) == sorted(s.words for s in train)
    assert with_dev({"train": train}, share, classes=True)["dev"].tags == split["dev"].tags
