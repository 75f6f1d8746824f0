"""Tiny encoders with random weights and a tokenizer of each family, written as folders."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import torch
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

TEXT = [
    "The quick brown fox jumps over the lazy dog near Hamilton .",
    "Jordan Smith of Chelsea beat Washington 3 - 1 on Sunday , said the Herald .",
    "EU rejects German call to boycott British lamb ; unaffordable internationalisation .",
]
FAMILIES = ("bert", "distilbert", "roberta", "xlm-roberta", "electra", "modernbert")


def write_encoder(
    folder: Path,
    family: str = "bert",
    *,
    layers: int = 3,
    hidden: int = 16,
    positions: int = 40,
    cased: bool = True,
    seed: int = 0,
) -> Path:
    """A random encoder of `family` with a tokenizer trained on TEXT, saved as transformers do."""
    import transformers as t

    t.utils.logging.disable_progress_bar()
    byte_level = family in ("roberta", "modernbert")
    tokenizer = (
        _byte_level(family)
        if byte_level
        else _unigram()
        if family == "xlm-roberta"
        else _bert(cased)
    )
    vocab = tokenizer.get_vocab_size()
    sizes = {
        "vocab_size": vocab,
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": 2,
        "intermediate_size": 2 * hidden,
    }
    torch.manual_seed(seed)
    if family == "bert":
        config = t.BertConfig(**sizes, max_position_embeddings=positions, pad_token_id=0)
        model = t.BertModel(config)
    elif family == "distilbert":
        config = t.DistilBertConfig(
            vocab_size=vocab,
            dim=hidden,
            n_layers=layers,
            n_heads=2,
            hidden_dim=2 * hidden,
            max_position_embeddings=positions,
        )
        model = t.DistilBertModel(config)
    elif family == "roberta":
        config = t.RobertaConfig(**sizes, max_position_embeddings=positions + 2, pad_token_id=1)
        model = t.RobertaModel(config)
    elif family == "xlm-roberta":
        config = t.XLMRobertaConfig(**sizes, max_position_embeddings=positions + 2, pad_token_id=1)
        model = t.XLMRobertaModel(config)
    elif family == "electra":
        config = t.ElectraConfig(
            **sizes, embedding_size=hidden // 2, max_position_embeddings=positions
        )
        model = t.ElectraModel(config)
    else:
        config = t.ModernBertConfig(
            **sizes,
            max_position_embeddings=positions,
            pad_token_id=1,
            local_attention=8,
            global_attn_every_n_layers=2,
        )
        model = t.ModernBertModel(config)
    for parameter in model.parameters():  # layers that differ, so that mixing them up shows
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.25)
    model.save_pretrained(folder)
    names = (
        {"unk_token": "<unk>", "pad_token": "<pad>", "cls_token": "<s>", "sep_token": "</s>"}
        if byte_level or family == "xlm-roberta"
        else {
            "unk_token": "[UNK]",
            "pad_token": "[PAD]",
            "cls_token": "[CLS]",
            "sep_token": "[SEP]",
        }
    )
    mask = {"mask_token": "<mask>" if "<unk>" in names.values() else "[MASK]"}
    t.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names, **mask).save_pretrained(folder)
    return folder


def _bert(cased: bool) -> Tokenizer:
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    texts = TEXT if cased else [text.lower() for text in TEXT]
    vocab = [*special, *_most_frequent(_pieces(texts), 160 - len(special))]
    tokenizer = Tokenizer(
        models.WordPiece({piece: i for i, piece in enumerate(vocab)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=not cased)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[(s, tokenizer.token_to_id(s)) for s in ("[CLS]", "[SEP]")],
    )
    # Checkpoints on disk carry such settings; they must not cut a text.
    tokenizer.enable_truncation(12)
    tokenizer.enable_padding(length=12)
    return tokenizer


_ANGLE = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def _byte_level(family: str) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=380,
        special_tokens=_ANGLE,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXT, trainer)
    return _angle_brackets(tokenizer)


def _unigram() -> Tokenizer:
    counts: Counter[str] = Counter()
    for piece, n in _pieces(TEXT).items():
        counts[piece[2:] if piece.startswith("##") else f"\u2581{piece}"] += n
    kept = _most_frequent(counts, 120 - len(_ANGLE) - 1)
    total = sum(counts[piece] for piece in kept)
    # Longer pieces are likelier than the letters they are made of, as after training.
    scores = [("\u2581", -9.0), *((p, math.log(counts[p] / total) + len(p)) for p in kept)]
    vocab = [*((name, 0.0) for name in _ANGLE), *scores]
    tokenizer = Tokenizer(models.Unigram(vocab, unk_id=_ANGLE.index("<unk>")))
    tokenizer.add_special_tokens(_ANGLE)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    return _angle_brackets(tokenizer)


def _pieces(texts: Sequence[str]) -> Counter[str]:
    """Pieces of words as WordPiece writes them: letters, beginnings and ends, with counts.

    Counted here and not trained: the trainers of tokenizers break ties by a hash that is another
    one in each process.
    """
    counts: Counter[str] = Counter()
    for word in (word for text in texts for word in text.split(" ")):
        counts[word[0]] += 100  # letters come first: no word of the texts is unknown
        counts.update({f"##{letter}": 100 for letter in word[1:]})
        for n in (2, 3, 4, 5):
            if len(word) >= n:
                counts[word[:n]] += 1
            if len(word) > n:
                counts[f"##{word[-n:]}"] += 1
    return counts


def _most_frequent(counts: Counter[str], n: int) -> list[str]:
    return sorted(counts, key=lambda piece: (-counts[piece], piece))[:n]


def _angle_brackets(tokenizer: Tokenizer) -> Tokenizer:
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        special_tokens=[(s, tokenizer.token_to_id(s)) for s in ("<s>", "</s>")],
    )
    return tokenizer
