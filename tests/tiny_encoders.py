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
# Names of families, and of their classes in transformers.
FAMILIES = {
    "bert": "Bert",
    "distilbert": "DistilBert",
    "roberta": "Roberta",
    "xlm-roberta": "XLMRoberta",
    "electra": "Electra",
    "modernbert": "ModernBert",
}


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
    wordpieces = family in ("bert", "distilbert", "electra")
    tokenizer = _bert(cased) if wordpieces else _unigram() if "xlm" in family else _byte_level()
    padded = {"pad_token_id": 1, "max_position_embeddings": positions + 2}
    own: dict[str, int] = {
        "bert": {"pad_token_id": 0},
        "distilbert": {"dim": hidden, "n_layers": layers, "n_heads": 2, "hidden_dim": 2 * hidden},
        "roberta": padded,
        "xlm-roberta": padded,
        "electra": {"embedding_size": hidden // 2},
        "modernbert": {"pad_token_id": 1, "local_attention": 8, "global_attn_every_n_layers": 2},
    }[family]
    sizes = {
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": 2,
        "intermediate_size": 2 * hidden,
    }
    torch.manual_seed(seed)
    common = {"vocab_size": tokenizer.get_vocab_size(), "max_position_embeddings": positions}
    given = common | ({} if family == "distilbert" else sizes) | own
    name = FAMILIES[family]
    model = getattr(t, f"{name}Model")(getattr(t, f"{name}Config")(**given))
    for parameter in model.parameters():  # layers that differ, so that mixing them up shows
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.25)
    model.save_pretrained(folder)
    words = ("[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]")
    words = words if wordpieces else ("<unk>", "<pad>", "<s>", "</s>", "<mask>")
    kinds = ("unk_token", "pad_token", "cls_token", "sep_token", "mask_token")
    names = dict(zip(kinds, words, strict=True))
    t.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)
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


def _byte_level() -> Tokenizer:
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
