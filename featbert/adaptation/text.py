"""Text as a language model reads it: blocks of a document, pairs of blocks, and masks.

Devlin et al. 2019, section 3.1 and appendix A. The text is cut into blocks of whole sentences of
one document. A sentence that is too long is split between words, so every piece is read once an
epoch. Masks and pairs follow from the seed, the epoch and the number of the block.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from featbert.config import Adapt
from featbert.data.corpus import Sentence
from featbert.encoders.batching import Ints
from featbert.encoders.tokenizer import WordPieces

# Next-sentence labels as pre-trained heads have them, and the label that no loss counts.
FOLLOWS, RANDOM, NONE = 0, 1, -100


class Vocabulary(NamedTuple):
    """Numbers of a tokenizer's pieces, for masking."""

    mask: int
    ordinary: Ints  # (K,) random pieces are drawn from these: all but special ones
    special: Ints  # are never masked, [UNK] included


class Block(NamedTuple):
    """Consecutive text of a document: (P,) pieces, the word that each belongs to, the document."""

    pieces: Ints
    words: Ints
    document: int


def cut_blocks(
    sentences: Sequence[Sentence], wordpieces: WordPieces, capacity: int, *, even: bool = False
) -> tuple[list[Block], dict[str, int]]:
    """A split as blocks of at most `capacity` pieces, each of one document, with counts.

    Sentences without a document are a block each. With `even`, a document of several sentences
    has two blocks at least.
    """
    pieces, of_words, unknown = wordpieces.pieces(
        [s.words for s in sentences], [s.touches for s in sentences]
    )
    # A lone "▁" before touching words is in no word, and here in the word after it.
    begins = np.append(0, of_words[:, 1])
    # The word of each piece, the first of several words that share it
    words = np.searchsorted(begins, np.arange(len(pieces)), side="right") - 1
    ends = begins[np.cumsum([0, *map(len, sentences)])]
    together = all(s.document is not None for s in sentences)
    documents = [s.document if together else n for n, s in enumerate(sentences)]
    blocks: list[Block] = []
    groups = itertools.groupby(range(len(sentences)), documents.__getitem__)
    for number, members in enumerate(list(group) for _, group in groups):
        first, last = ends[members[0]], ends[members[-1] + 1]
        starts = [first]
        for start, end in itertools.pairwise(ends[members[0] : members[-1] + 2]):
            halfway = even and len(starts) == 1 and 2 * end > first + last
            if start > starts[-1] and (halfway or end - starts[-1] > capacity):
                starts.append(start)
            while end - starts[-1] > capacity:  # within a word only if the word is too long
                limit = starts[-1] + capacity
                cut = begins[np.searchsorted(begins, limit, side="right") - 1]
                starts.append(cut if cut > starts[-1] else limit)
        edges = itertools.pairwise([*starts, last])
        blocks += [Block(pieces[a:b], words[a:b], number) for a, b in edges]
    split = int((np.diff(ends) > capacity).sum())
    return blocks, {"split_sentences": split, "unknown_words": unknown}


def pair_blocks(blocks: Sequence[Block], random: np.random.Generator) -> list[tuple[int, int, int]]:
    """Rows of A, B and label that hold each block once.

    The blocks of a document are A and B in turn. Half of the pairs, drawn at random, exchange their
    Bs, with pairs of other documents as far as these suffice. A block without a partner in its
    document is a row without B (-1) and without label.
    """
    pairs, alone = [], []
    for _, group in itertools.groupby(range(len(blocks)), lambda b: blocks[b].document):
        numbers = list(group)
        pairs += [[*pair, FOLLOWS] for pair in zip(numbers[0::2], numbers[1::2], strict=False)]
        alone += [(number, -1, NONE) for number in numbers[len(numbers) // 2 * 2 :]]
    if len(pairs) > 1:
        chosen = sorted(random.permutation(len(pairs))[: max(2, len(pairs) // 2)])
        # They are sorted by document, so half a round leads out of all but a very large one.
        seconds = np.roll([pairs[i][1] for i in chosen], len(chosen) // 2).tolist()
        for i, second in zip(chosen, seconds, strict=True):
            pairs[i][1:] = second, RANDOM
    return [(a, b, label) for a, b, label in pairs] + alone


def mask_pieces(
    pieces: Ints, words: Ints, settings: Adapt, vocabulary: Vocabulary, random: np.random.Generator
) -> tuple[Ints, NDArray[np.bool_]]:
    """The (P,) pieces of a sequence as the encoder reads them, and which of them it predicts.

    `words` (P,) has the word of each piece, -1 for specials. With `whole_word`, the pieces of a
    word are masked, replaced or left as they are together. Pieces are added until their share is
    reached, at least one. transformers' collator draws each piece by itself, and replaces no whole
    words.
    """
    maskable = (words >= 0) & ~np.isin(pieces, vocabulary.special)
    units = np.unique(words, return_inverse=True)[1] if settings.whole_word else slice(None)
    order, fate = random.random((2, len(pieces)))[:, units]
    order[~maskable] = 2.0
    last = max(1, round(settings.predict_share * int(maskable.sum())))
    chosen = maskable & (order <= np.sort(order)[last - 1])
    masked = settings.mask_share
    swapped = chosen & (fate >= masked) & (fate < masked + settings.random_share)
    masked_pieces = np.where(chosen & (fate < masked), vocabulary.mask, pieces)
    masked_pieces[swapped] = random.choice(vocabulary.ordinary, int(swapped.sum()))
    return masked_pieces, chosen


@dataclass
class MaskedText(torch.utils.data.Dataset[dict[str, Any]]):
    """A split as one epoch reads it. The loader calls `set_epoch`."""

    blocks: Sequence[Block]
    wordpieces: WordPieces
    vocabulary: Vocabulary
    settings: Adapt
    nsp: bool
    seed: int

    def __post_init__(self) -> None:
        self.set_epoch(0)

    def set_epoch(self, epoch: int) -> None:
        """Draws the pairs of an epoch, from 0. Their number is the same in each."""
        self.epoch = epoch
        random = np.random.default_rng([self.seed, epoch])
        alone = [(number, -1, NONE) for number in range(len(self.blocks))]
        self.rows = pair_blocks(self.blocks, random) if self.nsp else alone

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, row: int) -> dict[str, Any]:
        """input_ids and labels as lists. Pairs also have token_type_ids and a label."""
        first, second, label = self.rows[row]
        prefix, suffix = self.wordpieces.prefix, self.wordpieces.suffix
        # [CLS] A [SEP], and B [SEP] of a pair
        pieces, words, types = [*prefix], [-1] * len(prefix), [0] * len(prefix)
        for kind, number in enumerate((first, second) if second >= 0 else (first,)):
            block = self.blocks[number]
            pieces += [*block.pieces.tolist(), *suffix]
            words += [*block.words.tolist(), *[-1] * len(suffix)]
            types += [kind] * (len(pieces) - len(types))
        random = np.random.default_rng([self.seed, self.epoch, row])
        masked_pieces, chosen = mask_pieces(
            np.array(pieces), np.array(words), self.settings, self.vocabulary, random
        )
        labels = np.where(chosen, pieces, NONE)
        example: dict[str, Any] = {"input_ids": masked_pieces.tolist(), "labels": labels.tolist()}
        if self.nsp:
            example |= {"token_type_ids": types, "next_sentence_label": label}
        return example
