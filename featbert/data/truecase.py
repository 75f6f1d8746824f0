"""Truecasing: words of a sentence in capitals get the casing that they have in the training split.

A cased encoder reads "LEICESTERSHIRE TAKE OVER" as other words than "Leicestershire take over".
Truecasing is one of the known differences between reproductions of BERT on CoNLL-2003.

The rule, in full:

1. A sentence is in capitals if it has a word of two letters or more and no letter in lower case.
   Other sentences do not change.
2. In such a sentence each word gets its most frequent form in the training split. Forms are counted
   in sentences that are not in capitals, without the first word. Among equally frequent forms the
   first in code point order is taken: capitals come before small letters.
3. A word that was not counted gets a capital and small letters. Capitals inside a word are not
   guessed. A word without letters does not change.
4. The sentence's first letter is a capital.
5. Words keep their number, order and length. A form with another length (the German sharp s) is not
   taken.
"""

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Self

from featbert.data.corpus import Sentence


@dataclasses.dataclass(frozen=True)
class Truecaser:
    """The most frequent form of each word of a training split, by the word in small letters."""

    forms: Mapping[str, str]

    @classmethod
    def from_sentences(cls, train: Iterable[Sentence]) -> Self:
        counts = Counter(w for s in train if not in_capitals(s.words) for w in s.words[1:])
        # The last form of a word counts: the most frequent, and the first of equally frequent ones.
        rising = sorted(sorted(counts, reverse=True), key=counts.__getitem__)
        return cls({word.lower(): word for word in rising})

    def words(self, words: Sequence[str]) -> tuple[str, ...]:
        """The words (T,) of one sentence, truecased if they are in capitals."""
        if not in_capitals(words):
            return tuple(words)
        cased = [self._word(word) for word in words]
        first = next(i for i, word in enumerate(cased) if any(c.isalpha() for c in word))
        cased[first] = _same_length(_capital(cased[first]), cased[first])
        return tuple(cased)

    def sentences(self, sentences: Sequence[Sentence]) -> tuple[Sentence, ...]:
        """The sentences with truecased words, with their tags and documents."""
        return tuple(dataclasses.replace(s, words=self.words(s.words)) for s in sentences)

    def _word(self, word: str) -> str:
        if not any(c.isalpha() for c in word):
            return word
        lower = word.lower()
        return _same_length(self.forms.get(lower, _capital(lower)), word)


def in_capitals(words: Sequence[str]) -> bool:
    """Whether a sentence is written in capitals (rule 1)."""
    if any(c.islower() for word in words for c in word):
        return False
    return any(sum(c.isalpha() and c.isupper() for c in word) >= 2 for word in words)


def _capital(word: str) -> str:
    for i, c in enumerate(word):
        if c.isalpha():
            return word[:i] + c.upper() + word[i + 1 :]
    return word


def _same_length(form: str, word: str) -> str:
    return form if len(form) == len(word) else word
