"""Tags as label numbers and back.

A corpus has BIO tags; a tagger may learn them as IOB1 (`tag_scheme`). Its answers come back as
BIO of the same entities, so that both are scored alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from featbert.data.corpus import Corpus, Split
from featbert.data.tags import from_bio, to_bio

Ints = NDArray[np.int64]


def train_labels(train: Split, scheme: str = "bio") -> tuple[str, ...]:
    """Labels that a training text can teach, "O" first, then by type."""
    text = Split("train", train.sentences)
    bio = Corpus("", {"train": text}).tag_set
    if scheme == "bio":
        return bio if "O" in bio else ("O", *bio)
    seen = {tag for tags in train.tags for tag in from_bio(tags, scheme)} - {"O"}
    return ("O", *sorted(seen, key=lambda t: (t[2:], t[:1])))


def label_ids(train: Split, labels: tuple[str, ...], scheme: str = "bio") -> Ints:
    """(N,) label numbers of a training text's words."""
    number = {label: i for i, label in enumerate(labels)}
    return np.array(
        [number[tag] for tags in train.tags for tag in _written(tags, scheme)], dtype=np.int64
    )


def tags_by_sentence(
    ids: Ints, labels: tuple[str, ...], offsets: Ints, scheme: str = "bio"
) -> list[list[str]]:
    """Label numbers of a text's words as BIO tags by sentence.

    Answers of a BIO tagger stay as they are, ill-formed ones too (strict scoring sees them);
    those of another scheme are read the conlleval way.
    """
    tags = np.array(labels, dtype=object)[ids]
    rows = [cast(list[str], part.tolist()) for part in np.split(tags, offsets[1:-1])]
    return rows if scheme == "bio" else [list(to_bio(row, scheme)[0]) for row in rows]


def _written(tags: Sequence[str], scheme: str) -> Sequence[str]:
    return tags if scheme == "bio" else from_bio(tags, scheme)
