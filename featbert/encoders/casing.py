"""Casing: whether the encoder reads words as the file has them, or truecased.

Like the context, it says how words become vectors; the corpus itself, its scores and predictions
keep the words of the file. The rule is in `featbert.data.truecase`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from featbert.data.corpus import Corpus, Sentence
from featbert.data.truecase import Truecaser
from featbert.encoders.source import EncoderSource
from featbert.encoders.wordpieces import is_uncased
from featbert.errors import InputError

Casing = Literal["original", "truecased"]
CASINGS: tuple[Casing, ...] = ("original", "truecased")


class CasingError(InputError):
    """Truecasing for an encoder without case, or without a train split to count in."""


class Reading:
    """The words of a corpus as the encoder reads them."""

    def __init__(self, corpus: Corpus, casing: str) -> None:
        """
        Args:
            corpus: its train split has the counts that truecasing goes by.

        Raises:
            CasingError: truecasing without a train split, or an unknown casing.
        """
        check_casing(casing, corpus)
        self.truecaser = (
            Truecaser.from_sentences(corpus["train"]) if casing == "truecased" else None
        )

    def __call__(self, sentences: Sequence[Sentence]) -> Sequence[Sentence]:
        """The sentences, words cased as the encoder is to read them."""
        return sentences if self.truecaser is None else self.truecaser.sentences(sentences)


def check_casing(casing: str, corpus: Corpus, *, uncased: bool = False, model: str = "") -> None:
    """Refuses truecasing that cannot be done, or that an encoder would not see.

    Raises:
        CasingError: see there; an unknown casing.
    """
    if casing not in CASINGS:
        raise CasingError(f"casing {' or '.join(CASINGS)} expected, found {casing!r}")
    if casing == "original":
        return
    if "train" not in corpus:
        raise CasingError(
            f"a train split expected to count casing in, {corpus.source or corpus.name} has "
            f"{', '.join(corpus.splits) or 'none'}; leave --truecase out"
        )
    if uncased:
        raise CasingError(
            f"a cased encoder expected for --truecase, {model} is uncased: it lowercases words "
            "before it reads them; leave --truecase out, or take a cased model"
        )


def check_casing_of(source: EncoderSource, casing: str, corpus: Corpus) -> None:
    """Refuses truecasing for an encoder that lowercases; torch is not needed for it.

    Raises:
        CasingError: see `check_casing`.
        TokenizerError: see `is_uncased`.
    """
    uncased = casing != "original" and is_uncased(source)
    check_casing(casing, corpus, uncased=uncased, model=source.name)
