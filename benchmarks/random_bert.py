"""A BERT of random weights with a vocabulary made from a text: as fast as a trained one.

The vocabulary is WordPiece: letters, the text's frequent words, and beginnings and ends of all of
them, so that rare words are cut into pieces as they are by a published checkpoint. What is left up
to its size is unused, as some of BERT's own is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from featbert.data.corpus import Corpus

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
# A word that stands for at least one in so many is a piece of its own. With parts of three letters
# that gives 1.3 pieces a word, as published cased vocabularies do on news.
FREQUENT = 15_000
LONGEST_PIECE = 3


class Shape(NamedTuple):
    layers: int
    hidden: int
    heads: int
    vocabulary: int
    positions: int = 512


# bert-base-cased, and something to try a program with.
SHAPES = {
    "base": Shape(12, 768, 12, 28_996),
    "tiny": Shape(4, 32, 2, 2_000),
}


def write_random_bert(folder: Path, corpus: Corpus, shape: Shape, *, seed: int = 1) -> Path:
    """A checkpoint folder as transformers saves it; the weights follow from the seed."""
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    words = Counter(word for split in corpus.splits.values() for s in split for word in s.words)
    vocabulary = vocabulary_of(words, shape.vocabulary)
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=4 * shape.hidden,
        max_position_embeddings=shape.positions,
    )
    BertModel(config).save_pretrained(folder)
    PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer_of(vocabulary),
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    ).save_pretrained(folder)
    return folder


def vocabulary_of(words: Mapping[str, int], size: int) -> dict[str, int]:
    """Piece numbers, `size` of them: specials, letters, frequent words, parts of words, unused.

    Counted and not trained, which would depend on the order of a hash.
    """
    letters: Counter[str] = Counter()
    parts: Counter[str] = Counter()
    for word, n in words.items():
        for letter in word:  # at both places: BERT splits words at punctuation before
            letters[letter] += n
            letters[f"##{letter}"] += n
        for length in range(2, min(LONGEST_PIECE, len(word) - 1) + 1):
            parts[word[:length]] += n
            parts[f"##{word[-length:]}"] += n
    least = max(2, sum(words.values()) // FREQUENT)
    frequent = Counter({word: n for word, n in words.items() if n >= least})
    pieces = dict.fromkeys(SPECIALS)
    for counted in (letters, frequent, parts):
        for piece in sorted(counted, key=lambda piece: (-counted[piece], piece)):
            pieces.setdefault(piece)
    kept = list(pieces)[:size]
    kept += [f"[unused{n}]" for n in range(1, size - len(kept) + 1)]
    return {piece: number for number, piece in enumerate(kept)}


def tokenizer_of(vocabulary: dict[str, int]) -> Tokenizer:
    """A cased BERT tokenizer."""
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[(name, vocabulary[name]) for name in ("[CLS]", "[SEP]")],
    )
    return tokenizer
