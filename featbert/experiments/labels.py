"""Tags as label numbers and back."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from featbert.data import Corpus
from featbert.data.corpus import Split

Ints = NDArray[np.int64]


def train_labels(corpus: Corpus) -> tuple[str, ...]:
    """Labels that train can teach, "O" first."""
    train_only = Corpus(corpus.name, {"train": corpus["train"]})
    tags = train_only.tag_set
    return tags if "O" in tags else ("O", *tags)


def label_ids(split: Split, labels: tuple[str, ...]) -> Ints:
    """(N,) label numbers of a split's words."""
    number = {label: i for i, label in enumerate(labels)}
    return np.array([number[tag] for row in split.tags for tag in row], dtype=np.int64)


def tags_by_sentence(ids: Ints, labels: tuple[str, ...], offsets: Ints) -> list[list[str]]:
    """Label numbers of a split's words as tags by sentence."""
    tags = np.array(labels, dtype=object)[ids]
    return [cast(list[str], part.tolist()) for part in np.split(tags, offsets[1:-1])]
