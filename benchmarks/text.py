"""The text of a benchmark: generated newswire-like sentences of any size, or a corpus by name.

Generated sentences are runs of the embedded sample's sentences, cut to length. Lengths are
gamma-distributed, spread as in CoNLL-2003's English news (mean 14.5 words, a standard deviation of
0.8 of it, headlines of a few words, at most 113): padding depends on that spread. Half of the names
are replaced by made-up ones, some by others of the same type, and digits by other digits, so that
the vocabulary grows with the text as it does in news. Train is made of the sample's train, dev of
its dev, test of its test.
"""

import dataclasses
import functools
import random
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.harness import Options
from featbert import Corpus
from featbert.data.corpus import Sentence, Split
from featbert.data.load import load_corpus
from featbert.data.tags import TargetKind
from featbert.errors import InputError

MEAN, SHAPE, LONGEST = 14.5, 1.6, 113
DOCUMENT = 15  # sentences
MADE_UP, SWAPPED = 0.5, 0.25
NAMES = 8000  # made-up names of each type; low numbers are frequent, high ones rare
SYLLABLES = tuple(first + second for first in "bdgklmnrst" for second in "aeiou")
ENDINGS = {"PER": "son", "LOC": "burg", "ORG": "tec", "MISC": "ian"}
DEV_SHARE = 5  # training sentences for each one of dev
WARM_UP = 64  # sentences

Span = tuple[tuple[str, ...], str]  # words of a name, or one word; its type, or "O"


class Size(NamedTuple):
    """Sentences of a split, and its words where they are given to the word."""

    sentences: int
    words: int | None = None


# Tjong Kim Sang and De Meulder 2003, table 2, without the -DOCSTART- lines.
CONLL2003 = {
    "train": Size(14_041, 203_621),
    "dev": Size(3_250, 51_362),
    "test": Size(3_453, 46_435),
}


def corpus_of(
    options: Options, splits: Sequence[str], targets: str | TargetKind | None = "entities"
) -> Corpus:
    """The corpus of `--data`, or a generated one, with these splits; targets as in `load_corpus`.

    Raises:
        InputError: `--data` lacks one of the splits.
    """
    if options.data is None:
        n = options.sentences or options.generated_sentences
        sizes = {name: n if name == "train" else max(1, n // DEV_SHARE) for name in splits}
        return generated_corpus({name: Size(n) for name, n in sizes.items()})
    corpus = load_corpus(options.data, targets=targets)
    for name in splits:
        if name not in corpus:
            raise InputError(f"{options.data} has no {name} split")
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


def described(corpus: Corpus) -> dict[str, Any]:
    """What a reader must know of a text to judge a speed measured on it."""
    lengths = [len(sentence) for split in corpus.splits.values() for sentence in split]
    return {
        "corpus": corpus.name,
        "sentences": {name: len(split) for name, split in corpus.splits.items()},
        "words": sum(lengths),
        "words_a_sentence": statistics.mean(lengths),
        "standard_deviation": statistics.pstdev(lengths),
    }


def generated_corpus(sizes: Mapping[str, Size], *, seed: int = 1) -> Corpus:
    """A corpus with splits of these sizes; equal sizes and seed give equal text on any machine."""
    sample = _sample()
    splits = {
        name: Split(name, tuple(_sentences(sample[name], size, random.Random(f"{seed} {name}"))))
        for name, size in sizes.items()
    }
    return Corpus("generated", splits, "en", "generated")


@functools.cache
def _sample() -> Corpus:
    return load_corpus("sample")


def _sentences(split: Split, size: Size, draw: random.Random) -> Iterator[Sentence]:
    texts = [list(_spans(sentence)) for sentence in split]
    names: dict[str, list[Span]] = {}
    for text in texts:
        for span in text:
            names.setdefault(span[1], []).append(span)
    for number, length in enumerate(_lengths(size, draw)):
        words: list[str] = []
        tags: list[str] = []
        while len(words) < length - 1:
            for span in draw.choice(texts)[:-1]:  # without its full stop
                varied, kind = _varied(span, names, draw)
                words += varied
                tags += ["O"] if kind == "O" else [f"B-{kind}", *[f"I-{kind}"] * (len(varied) - 1)]
        # A name that is cut keeps its beginning, so tags stay well formed.
        words[length - 1 :], tags[length - 1 :] = ["."], ["O"]
        yield Sentence(tuple(words), tuple(tags), number // DOCUMENT)


def _lengths(size: Size, draw: random.Random) -> list[int]:
    """Words of each sentence, 1 to `LONGEST`; together `size.words` where that is given."""
    mean = MEAN if size.words is None else size.words / size.sentences
    lengths = [
        min(LONGEST, max(1, round(draw.gammavariate(SHAPE, mean / SHAPE))))
        for _ in range(size.sentences)
    ]
    n_missing = 0 if size.words is None else size.words - sum(lengths)
    step = 1 if n_missing > 0 else -1
    while n_missing:
        at = draw.randrange(len(lengths))
        if 1 <= lengths[at] + step <= LONGEST:
            lengths[at] += step
            n_missing -= step
    return lengths


def _spans(sentence: Sentence) -> Iterator[Span]:
    """The sentence as names and single words."""
    words: list[str] = []
    kind = "O"
    for word, tag in zip(sentence.words, sentence.tags or (), strict=True):
        if not tag.startswith("I-"):
            if words:
                yield tuple(words), kind
            words, kind = [], tag[2:] or "O"
        words.append(word)
    yield tuple(words), kind


def _varied(span: Span, names: Mapping[str, Sequence[Span]], draw: random.Random) -> Span:
    words, kind = span
    if kind == "O":
        return (re.sub("[0-9]", lambda _: str(draw.randrange(10)), words[0]),), kind
    chance = draw.random()
    if chance < MADE_UP:
        return tuple(_name(kind, draw) for _ in words), kind
    return draw.choice(names[kind]) if chance < MADE_UP + SWAPPED else span


def _name(kind: str, draw: random.Random) -> str:
    number = int(NAMES * draw.random() ** 3)
    syllables = ""
    while number or not syllables:
        number, at = divmod(number, len(SYLLABLES))
        syllables += SYLLABLES[at]
    return syllables.capitalize() + ENDINGS.get(kind, "")
