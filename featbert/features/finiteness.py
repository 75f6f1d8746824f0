"""Hidden states that are not finite: how many, where first, and what to do about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from featbert.text import counted

FLOAT16_MAX = 65504


@dataclass(frozen=True)
class NotFinite:
    """What is not finite in the states of a run of words.

    Attributes:
        words: how many words have such states.
        of: how many words there are.
        layers: hidden states in which they are, rising.
        first_word: the first of the words, from 0.
        first_layer: the lowest hidden state that is not finite at this word.
        nan: whether there is a NaN among them; else they are infinite.
    """

    words: int
    of: int
    layers: tuple[int, ...]
    first_word: int
    first_layer: int
    nan: bool


def find_not_finite(states: Tensor, layers: Sequence[int]) -> NotFinite:
    """Counts the words whose states are not finite; there must be one.

    Args:
        states: (layers, words, H) on the host.
        layers: which hidden states these are.
    """
    # (layers, words)
    wrong: NDArray[np.bool_] = (~states.isfinite()).any(dim=2).numpy()
    words = np.flatnonzero(wrong.any(axis=0))
    held = np.asarray(layers)
    return NotFinite(
        words=len(words),
        of=wrong.shape[1],
        layers=tuple(int(layer) for layer in held[wrong.any(axis=1)]),
        first_word=int(words[0]),
        first_layer=int(held[wrong[:, words[0]]][0]),
        nan=bool(states.isnan().any()),
    )


def told(found: NotFinite, *, dtype: str, precision: str, sentence: str) -> str:
    """The refusal in one line.

    Args:
        dtype: that the states are stored in.
        precision: that the encoder computed in.
        sentence: where the first word is: "sentence 3 of train ('EU rejects')".
    """
    todo = "the encoder computes them, so look at its weights"
    if precision != "fp32":
        todo = "try --precision fp32"
    what = "NaN" if found.nan else "infinity"
    if dtype == "float16" and not found.nan:
        what = f"values beyond {FLOAT16_MAX:,}, the largest float16,"
        todo = "try --store-dtype float32" + (" or --precision fp32" if precision != "fp32" else "")
    layers = f"layer{'s' if len(found.layers) > 1 else ''} {', '.join(map(str, found.layers))}"
    return (
        f"finite hidden states expected, found {what} in {counted(found.words, 'word')} of a block "
        f"of {found.of:,}, {layers}; first in layer {found.first_layer} of {sentence}; nothing of "
        f"the block is stored; {todo}"
    )
