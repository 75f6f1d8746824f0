"""The text of a benchmark: generated, or a corpus that is named, cut to the sentences asked for."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence
from typing import Any

from benchmarks.command import Options
from benchmarks.text import Size, generated_corpus
from featbert.data.corpus import Corpus
from featbert.data.load import load_corpus
from featbert.errors import InputError

DEV_SHARE = 5  # generated training sentences for each one of dev
WARM_UP = 64


def corpus_of(options: Options, splits: Sequence[str]) -> Corpus:
    """The corpus of `--data`, or a generated one, with these splits.

    Raises:
        InputError: `--data` lacks one of the splits.
    """
    if options.data is None:
        n = options.sentences or options.generated_sentences
        sizes = {name: n if name == "train" else max(1, n // DEV_SHARE) for name in splits}
        return generated_corpus({name: Size(n) for name, n in sizes.items()})
    corpus = load_corpus(options.data)
    missing = [name for name in splits if name not in corpus]
    if missing:
        raise InputError(
            f"splits {', '.join(splits)} expected in {options.data}, {missing[0]} is missing"
        )
    chosen = {name: corpus[name] for name in splits}
    whole = dataclasses.replace(corpus, splits=chosen)
    return whole if options.sentences is None else head(whole, options.sentences)


def head(corpus: Corpus, sentences: int) -> Corpus:
    """The first sentences of each split."""
    splits = {
        name: dataclasses.replace(split, sentences=split.sentences[:sentences])
        for name, split in corpus.splits.items()
    }
    return dataclasses.replace(corpus, splits=splits)


def words_of(corpus: Corpus) -> int:
    """Words of all splits."""
    return sum(split.n_words for split in corpus.splits.values())


def described(corpus: Corpus) -> dict[str, Any]:
    """What a reader needs to know of a text to judge a speed measured on it."""
    lengths = [len(sentence) for split in corpus.splits.values() for sentence in split]
    return {
        "corpus": corpus.name,
        "sentences": {name: len(split) for name, split in corpus.splits.items()},
        "words": sum(lengths),
        "words_a_sentence": statistics.mean(lengths),
        "standard_deviation": statistics.pstdev(lengths),
    }
