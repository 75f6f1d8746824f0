"""A BERT of random weights with a vocabulary learned from a text: as fast as a trained one.

The vocabulary has so few pieces that a word of news is 1.25 of them, as with a published cased one;
the rest of the embeddings is unused.
"""

from pathlib import Path
from typing import NamedTuple

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

from featbert.data.corpus import Corpus

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES = 3_500


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
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=shape.vocabulary,
        hidden_size=shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=4 * shape.hidden,
        max_position_embeddings=shape.positions,
    )
    BertModel(config).save_pretrained(folder)
    names = {f"{name[1:-1].lower()}_token": name for name in SPECIALS}
    tokenizer = learned_tokenizer(corpus, min(PIECES, shape.vocabulary))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)  # type: ignore[no-untyped-call]
    return folder


def learned_tokenizer(corpus: Corpus, pieces: int) -> Tokenizer:
    """A cased BERT tokenizer with a WordPiece vocabulary of the corpus."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=pieces, special_tokens=SPECIALS, show_progress=False
    )
    texts = (" ".join(s.words) for split in corpus.splits.values() for s in split)
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[(name, SPECIALS.index(name)) for name in ("[CLS]", "[SEP]")],
    )
    return tokenizer
