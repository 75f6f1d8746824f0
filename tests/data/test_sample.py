"""The embedded sample: well formed, ambiguous in train, not solved by memory."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from featbert.data.corpus import SPLITS, Corpus, Sentence
from featbert.data.load import load_corpus
from featbert.data.tags import spans

TYPES = {"PER", "LOC", "ORG", "MISC"}
SIZES = {"train": (570, 640), "dev": (140, 170), "test": (140, 170)}
Form = tuple[str, ...]  # the words of an entity


@pytest.fixture(scope="module")
def sample() -> Corpus:
    return load_corpus("sample", scheme="bio")


def forms(sentences: tuple[Sentence, ...]) -> dict[Form, Counter[str]]:
    """How often each surface form is an entity of each type."""
    found: dict[Form, Counter[str]] = defaultdict(Counter)
    for s in sentences:
        for entity in spans(s.tags or ()):
            found[s.words[entity.start : entity.end]][entity.type] += 1
    return found


def majority_types(sentences: tuple[Sentence, ...]) -> dict[Form, str]:
    """The commonest type of each form, or O where it is most often no entity."""
    found = forms(sentences)
    longest = max(map(len, found))
    for s in sentences:
        for start in range(len(s)):
            for end in range(start + 1, min(start + longest, len(s)) + 1):
                if s.words[start:end] in found and {*(s.tags or ())[start:end]} == {"O"}:
                    found[s.words[start:end]]["O"] += 1
    return {form: counts.most_common(1)[0][0] for form, counts in found.items()}


def tag_from_memory(words: Form, majority: dict[Form, str]) -> set[tuple[str, int, int]]:
    """At each position the longest form known from train, with its majority type."""
    longest = max(map(len, majority))
    found: set[tuple[str, int, int]] = set()
    at = 0
    while at < len(words):
        ends = range(min(at + longest, len(words)), at, -1)
        end = next((end for end in ends if words[at:end] in majority), at + 1)
        if (kind := majority.get(words[at:end], "O")) != "O":
            found.add((kind, at, end))
        at = end
    return found


@pytest.mark.parametrize("split", SPLITS)
def test_a_split_has_its_size_documents_and_all_types(sample: Corpus, split: str) -> None:
    found = sample[split]
    low, high = SIZES[split]
    assert low <= len(found) <= high
    assert found.notes.repaired_tags == found.notes.comment_lines == 0
    assert all(4 <= n <= 10 for n in Counter(s.document for s in found).values())
    assert max(map(len, found)) <= 35
    assert {e.type for s in found for e in spans(s.tags or ())} == TYPES
    assert any({*(s.tags or ())} == {"O"} for s in found)


@pytest.mark.parametrize("split", ["dev", "test"])
def test_memory_of_names_does_not_solve_it(sample: Corpus, split: str) -> None:
    majority = majority_types(sample["train"].sentences)
    correct = total = 0
    for s in sample[split]:
        gold = {tuple(e) for e in spans(s.tags or ())}
        guess = tag_from_memory(s.words, majority)
        correct += len(gold & guess)
        total += len(gold) + len(guess)
    # above 0.25: names are shared, so that ambiguity counts; below 0.60: context must decide
    assert 0.25 < 2 * correct / total < 0.60
