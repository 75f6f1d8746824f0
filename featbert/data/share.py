"""The part of a training text that a run learns from, and the parts that become dev or test.

Whole documents are drawn, in the order of the seed, until the part has at least its share of the
sentences. Without documents, sentences are drawn.
"""

import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from featbert.data.corpus import SPLITS, UNLABELLED, ReadingNotes, Sentence, Split
from featbert.errors import InputError

Ints = NDArray[np.int64]


def drawn_sentences(split: Split, share: float, *, seed: int) -> Ints:
    """Rising indices of the sentences in a share (above 0, at most 1), at least one document."""
    units = unit_numbers(split)
    sizes = np.bincount(units)
    # Training draws its epochs with the seed and their numbers, from 1.
    order = np.random.default_rng([seed, 0]).permutation(len(sizes))
    # 0.07 of 100 sentences are 7, though their product is 7.000000000000001.
    n_sentences = math.ceil(share * len(split) - 1e-9)
    n_units = 1 + int(np.searchsorted(np.cumsum(sizes[order]), n_sentences))
    return np.flatnonzero(np.isin(units, order[:n_units]))


def drawn_shots(split: Split, shots: int, *, seed: int) -> Ints:
    """Rising indices of `shots` examples of each class. More shots contain fewer ones.

    InputError if a class has fewer.
    """
    numbers: dict[tuple[str, ...], list[int]] = {}
    for number in np.random.default_rng([seed, 0]).permutation(len(split)):
        numbers.setdefault(split.sentences[number].tags or (), []).append(int(number))
    rarest = min(numbers, key=lambda tags: (len(numbers[tags]), tags))
    if shots > (n_rarest := len(numbers[rarest])):
        raise InputError(
            f"is {shots}, but {split.name} has {n_rarest} of class {rarest[0]}; "
            f"give at most {n_rarest}",
            setting="shots",
        )
    return np.sort([number for members in numbers.values() for number in members[:shots]])


def learned_part(
    split: Split, share: float, *, shots: int | None = None, seed: int
) -> tuple[Split, Ints | None]:
    """The sentences with answers, or a share of them, and their numbers in `split` (None for all).

    `shots` are examples of each class instead of a share. Examples without an answer do not change
    a run.
    """
    numbers = np.array([i for i, s in enumerate(split) if s.tags is not None], dtype=np.int64)
    if shots is not None:
        numbers = numbers[drawn_shots(_part(split, numbers), shots, seed=seed)]
    elif share < 1:
        numbers = numbers[drawn_sentences(_part(split, numbers), share, seed=seed)]
    if len(numbers) == len(split):
        return split, None
    return _part(split, numbers), numbers


def with_dev(splits: Mapping[str, Split], share: float, *, classes: bool) -> dict[str, Split]:
    """The splits with a share of train as dev: whole documents, or examples, always the same.

    With `classes` of examples, dev has each class that has two examples in train, as far as dev has
    room for them.
    """
    train = _train_without(splits, "dev", "dev_share")
    dev = drawn_sentences(train, share, seed=0)
    if len(dev) == len(train):
        raise InputError(f"{share:g} leaves no text in train; give dev a file", setting="dev_share")
    return _with_part(splits, "dev", _with_each_class(train, dev) if classes else dev)


def _with_each_class(train: Split, dev: Ints) -> Ints:
    """The numbers of dev, some of which are replaced by examples of classes that it lacks.

    They take the place of examples of its largest class.
    """
    tags = [s.tags[0] if s.tags else None for s in train]
    in_dev: dict[str | None, list[int]] = {}
    for number in dev.tolist():
        in_dev.setdefault(tags[number], []).append(number)
    first = {tag: number for number, tag in reversed([*enumerate(tags)])}
    for name, n_examples in sorted(Counter(tag for tag in tags if tag is not None).items()):
        if name in in_dev or n_examples == 1:
            continue
        largest = max(in_dev.values(), key=len)
        if len(largest) == 1:
            break
        largest.pop()
        in_dev[name] = [first[name]]
    return np.array(sorted(number for numbers in in_dev.values() for number in numbers))


def with_fold(splits: Mapping[str, Split], folds: int, fold: int) -> dict[str, Split]:
    """The splits with fold 1, ..., or `folds` of train as test: whole documents, or examples.

    Each document is in one fold. The sizes of folds differ by one document at most.
    """
    units = unit_numbers(_train_without(splits, "test", "folds" if folds else "fold"))
    n_units = int(units.max()) + 1
    if not 0 < fold <= folds <= n_units or folds == 1:
        raise InputError(
            f"is {fold or 'not given'} of {folds} folds; give a fold from 1 and at most {n_units} "
            "folds (documents of train, or sentences without them)",
            setting="fold",
        )
    order = np.random.default_rng([0, folds]).permutation(n_units)
    test = np.flatnonzero(np.isin(units, np.array_split(order, folds)[fold - 1]))
    return _with_part(splits, "test", test)


def _train_without(splits: Mapping[str, Split], name: str, setting: str) -> Split:
    """Train, of which a part becomes the split `name`. InputError if that exists, or no train."""
    if name in splits:
        raise InputError(f"is given, but there is a {name} split; leave it out", setting=setting)
    if "train" not in splits:
        raise InputError("needs a train split; name a file train, in a folder", setting=setting)
    return splits["train"]


def _with_part(splits: Mapping[str, Split], name: str, numbers: Ints) -> dict[str, Split]:
    """The splits with these sentences of train as another one.

    Counts of empty texts and of missing answers are divided, others stay with train. If values of
    several kinds are no answer, their names are joined.
    """
    train = splits["train"]
    part = _part(train, numbers)

    def share(total: int, count: Callable[[Sentence], int]) -> int:
        """The part's share of a count, which may be of examples with several sentences."""
        return round(total * sum(map(count, part)) / max(1, sum(map(count, train))))

    def n_unanswered(s: Sentence) -> int:
        return int(s.tags is None) if s.texts else (s.tags or ()).count(UNLABELLED)

    marks = Counter(train.notes.missing)
    n = share(marks.total(), n_unanswered)
    if 0 < n < marks.total():
        marks = Counter({", ".join(marks): marks.total()})
    marks_of_part = Counter(dict.fromkeys(marks, n)) if n < marks.total() else marks
    empty = share(train.notes.empty_texts, lambda s: "" in s.words)
    scheme, encoding = train.notes.scheme, train.notes.encoding
    notes = ReadingNotes(scheme, encoding, empty_texts=empty, missing=dict(+marks_of_part))
    empty_left, marks_left = train.notes.empty_texts - empty, dict(marks - marks_of_part)
    notes_left = dataclasses.replace(train.notes, empty_texts=empty_left, missing=marks_left)
    part = dataclasses.replace(part, name=name, notes=notes)
    train = _part(train, np.setdiff1d(np.arange(len(train)), numbers))
    parts = {**splits, "train": dataclasses.replace(train, notes=notes_left), name: part}
    return {name: parts[name] for name in SPLITS if name in parts}


def _part(split: Split, numbers: Ints) -> Split:
    return dataclasses.replace(split, sentences=tuple(split.sentences[i] for i in numbers))


def unit_numbers(split: Split) -> Ints:
    """(S,) the unit of each sentence, from 0: its document, or itself without documents."""
    units = [(s.document, i if s.document is None else 0) for i, s in enumerate(split)]
    numbers = {unit: number for number, unit in enumerate(dict.fromkeys(units))}
    return np.array([numbers[unit] for unit in units], dtype=np.int64)
