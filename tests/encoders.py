"""Tiny encoders with random weights and a tokenizer of each family, written as folders."""

from __future__ import annotations

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
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=not cased)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=160, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(TEXT, trainer)
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
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=120, special_tokens=_ANGLE, unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(TEXT, trainer)
    return _angle_brackets(tokenizer)


def _angle_brackets(tokenizer: Tokenizer) -> Tokenizer:
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        special_tokens=[(s, tokenizer.token_to_id(s)) for s in ("<s>", "</s>")],
    )
    return tokenizer
