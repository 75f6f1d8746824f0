"""Which pieces masked language modelling predicts, and what stands in their place.

Devlin et al. 2019, section 3.1 and appendix A.1: 15% of the pieces are chosen; of these, 80% are
replaced by [MASK], 10% by a random piece, and 10% stay, so that the encoder cannot tell where
nothing is asked. The loss is taken at the chosen pieces alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Masking:
    """How pieces are chosen and replaced.

    Attributes:
        share: of a sequence's pieces that are chosen.
        mask_share, random_share: of the chosen pieces that become [MASK] or a random piece; the
            rest stay.
        whole_word: choose words instead of pieces. All pieces of a chosen word then share one
            fate, so that none is left to give the others away; the share still counts pieces.
    """

    share: float = 0.15
    mask_share: float = 0.8
    random_share: float = 0.1
    whole_word: bool = False


@dataclass(frozen=True)
class Vocabulary:
    """What masking must know of a tokenizer.

    Attributes:
        mask_id: the mask piece.
        ordinary: (K,) all pieces but the special ones; random pieces are drawn from these.
        special: (.,) the special pieces. Where one stands in a text ([UNK]) it is never chosen.
    """

    mask_id: int
    ordinary: Ints
    special: Ints


@dataclass(frozen=True)
class MaskedText:
    """A text of P pieces with its chosen pieces replaced.

    Attributes:
        inputs: (P,) what the encoder reads.
        chosen: (P,) whether a piece is to be predicted.
    """

    inputs: Ints
    chosen: Bools


def mask_text(
    pieces: Ints,
    words: Ints,
    sequences: Iterable[Ints],
    masking: Masking,
    vocabulary: Vocabulary,
    random: np.random.Generator,
) -> MaskedText:
    """Masks a text sequence by sequence; no piece may belong to two of them.

    Args:
        pieces: (P,) piece ids.
        words: (P,) number of the word that each piece belongs to.
        sequences: for each sequence the places of the pieces that it may be asked for.
    """
    inputs = pieces.copy()
    chosen = np.zeros(len(pieces), dtype=np.bool_)
    special = np.isin(pieces, vocabulary.special)
    for places in sequences:
        candidates = places[~special[places]]
        if not len(candidates):
            continue
        found = candidates[choose(words[candidates], masking, random)]
        chosen[found] = True
        inputs[found] = replace(pieces[found], words[found], masking, vocabulary, random)
    return MaskedText(inputs, chosen)


def choose(words: Ints, masking: Masking, random: np.random.Generator) -> Ints:
    """Indices, ascending, of the chosen among the pieces of one sequence.

    Exactly max(1, round(share * n)) of n pieces, as in BERT. With `whole_word`, words are taken
    in random order as long as they fit into that number, as in BERT's later code; where none
    fits, one of the shortest is taken, so that a sequence never goes without.

    Args:
        words: (n,) the word of each piece, n at least 1; equal numbers stand together.
    """
    wanted = max(1, round(masking.share * len(words)))
    if not masking.whole_word:
        return np.sort(random.permutation(len(words))[:wanted])
    of_piece = _numbered(words)
    sizes = np.bincount(of_piece)
    order = random.permutation(len(sizes))
    taken, left = [], wanted
    for word in order:
        if sizes[word] <= left:
            taken.append(word)
            left -= int(sizes[word])
        if not left:
            break
    taken = taken or [order[np.argmin(sizes[order])]]
    return np.flatnonzero(np.isin(of_piece, taken))


def replace(
    pieces: Ints,
    words: Ints,
    masking: Masking,
    vocabulary: Vocabulary,
    random: np.random.Generator,
) -> Ints:
    """(n,) what stands in the place of n chosen pieces; fates are drawn independently."""
    if masking.whole_word:
        of_piece = _numbered(words)
        fates = random.random(int(of_piece[-1]) + 1)[of_piece]
    else:
        fates = random.random(len(pieces))
    inputs = pieces.copy()
    inputs[fates < masking.mask_share] = vocabulary.mask_id
    swapped = (fates >= masking.mask_share) & (fates < masking.mask_share + masking.random_share)
    inputs[swapped] = random.choice(vocabulary.ordinary, int(swapped.sum()))
    return inputs


def _numbered(words: Ints) -> Ints:
    """(n,) words numbered from 0 in their order."""
    numbers: Ints = np.cumsum(np.diff(words, prepend=words[0]) != 0)
    return numbers
