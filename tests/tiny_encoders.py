"""Tiny encoders with random weights and a tokenizer of each family, written as folders."""

import json
import math
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors.torch import load_file, save_file
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


class Family(NamedTuple):
    """An architecture: its classes in transformers, its tokenizer, and a published encoder."""

    classes: str
    tokenizer: str
    published: str


FAMILIES = {
    "bert": Family("Bert", "WordPiece", "bert-base-cased"),
    "distilbert": Family("DistilBert", "WordPiece", "distilbert-base-cased"),
    "electra": Family("Electra", "WordPiece", "google/electra-base-discriminator"),
    "mpnet": Family("MPNet", "WordPiece", "microsoft/mpnet-base"),
    "roberta": Family("Roberta", "byte-level BPE", "roberta-base"),
    "modernbert": Family("ModernBert", "byte-level BPE", "answerdotai/ModernBERT-base"),
    "xlm-roberta": Family("XLMRoberta", "Unigram", "xlm-roberta-base"),
    "camembert": Family("Camembert", "Unigram", "almanach/camembert-base"),
    "deberta-v3": Family("DebertaV2", "Unigram", "microsoft/deberta-v3-base"),
    "albert": Family("Albert", "Unigram", "albert-base-v2"),
    "llama": Family("Llama", "BPE with bytes", "meta-llama/Llama-2-7b-hf"),
    "qwen2": Family("Qwen2", "byte-level BPE", "Qwen/Qwen2.5-0.5B"),
    "qwen3": Family("Qwen3", "byte-level BPE", "Qwen/Qwen3-0.6B"),
}
DECODERS = ("llama", "qwen2", "qwen3")
POOLERS = ("bert", "roberta", "xlm-roberta", "camembert", "mpnet", "albert")


def write_encoder(
    folder: Path,
    family: str = "bert",
    *,
    layers: int = 3,
    positions: int = 40,
    width: int = 16,
    cased: bool = True,
) -> Path:
    """A random encoder of `family` with a tokenizer trained on TEXT, saved as transformers do."""
    padded = {"pad_token_id": 1, "max_position_embeddings": positions + 2}
    decoder = {"num_key_value_heads": 1, "head_dim": 8}
    relative = {"relative_attention": True, "position_buckets": 4, "norm_rel_ebd": "layer_norm"}
    relative |= {"share_att_key": True, "pos_att_type": ["p2c", "c2p"]}
    own: dict[str, Any] = {
        "bert": {"pad_token_id": 0},
        "distilbert": {"dim": 16, "n_layers": layers, "n_heads": 2, "hidden_dim": 32},
        "electra": {"embedding_size": 8},
        "modernbert": {"pad_token_id": 1, "local_attention": 8, "global_attn_every_n_layers": 2},
        "camembert": padded | {"type_vocab_size": 1},
        "albert": {"embedding_size": 8, "pad_token_id": 0},
        "deberta-v3": relative | {"type_vocab_size": 0, "position_biased_input": False},
        "llama": decoder,
        "qwen2": decoder | {"use_sliding_window": False},
        "qwen3": decoder | {"head_dim": 12},
    }
    sizes = {"hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": 2}
    sizes = {} if family == "distilbert" else sizes | {"intermediate_size": 32}
    common = {"vocab_size": len(write_tokenizer(folder, family, cased))}
    common["max_position_embeddings"] = positions
    given = common | sizes | own.get(family, padded)
    return write_model(folder, FAMILIES[family].classes, given)


def write_model(folder: Path, name: str, given: dict[str, Any]) -> Path:
    """A random model of the class `name` with the config `given`."""
    import transformers as t

    t.utils.logging.disable_progress_bar()
    torch.manual_seed(0)
    model = getattr(t, f"{name}Model")(getattr(t, f"{name}Config")(**given))
    for parameter in model.parameters():  # layers that differ, so that mixing them up shows
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.25)
    model.save_pretrained(folder)
    return folder


def changed(folder: Path, to: Path, name: str, change: Callable[[dict[str, Any]], Any]) -> Path:
    """A copy of an encoder's folder; `change` has edited the JSON or the weights of a file."""
    path = Path(shutil.copytree(folder, to), name)
    if path.suffix == ".json":
        data = json.loads(path.read_text("utf-8"))
        change(data)
        path.write_text(json.dumps(data), "utf-8")
    else:
        weights = load_file(path)
        change(weights)
        save_file(weights, path, {"format": "pt"})
    return to


def write_tokenizer(folder: Path, family: str, cased: bool = True) -> Any:
    """The tokenizer of a family, trained on TEXT and saved; as its class in transformers has it."""
    import transformers as t

    fast: Tokenizer | None = None
    names = ["<unk>", "<pad>", "<s>", "</s>", "<mask>"]
    if family in ("bert", "distilbert", "electra"):
        fast, names = _bert(cased), ["[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]"]
    elif family == "xlm-roberta":
        fast = _unigram()
    elif family in ("roberta", "modernbert"):
        middle = "</s>" if family == "modernbert" else "</s> </s>"
        fast = _angle_brackets(_byte_level(_ANGLE), middle)
    if fast is not None:
        kinds = ("unk_token", "pad_token", "cls_token", "sep_token", "mask_token")
        named = dict(zip(kinds, names, strict=True))
        tokenizer: Any = t.PreTrainedTokenizerFast(tokenizer_object=fast, **named)
    elif family == "mpnet":
        vocab = [*_ANGLE[:3], "[UNK]", "<mask>", *_most_frequent(_pieces(TEXT), 155)]
        vocab = {piece: number for number, piece in enumerate(vocab)}
        tokenizer = t.MPNetTokenizer(vocab, do_lower_case=False)
    elif family == "camembert":
        unused = ["<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED", "<s>", "</s>"]
        tokenizer = t.CamembertTokenizer(vocab=_scored([*unused, "<mask>"]))
    elif family == "deberta-v3":
        tokenizer = t.DebertaV2Tokenizer(_scored(["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"]))
    elif family == "albert":
        special = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
        tokenizer = t.AlbertTokenizer(_scored(special, [text.lower() for text in TEXT]))
    elif family == "llama":
        tokenizer = t.LlamaTokenizer(*_bpe(_with_bytes()), add_bos_token=True)
    else:
        tokenizer = t.Qwen2Tokenizer(*_bpe(_byte_level(["<|endoftext|>"], 340)))
    tokenizer.save_pretrained(folder)
    return tokenizer


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
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(s, tokenizer.token_to_id(s)) for s in ("[CLS]", "[SEP]")],
    )
    # Checkpoints on disk carry such settings; they must not cut a text.
    tokenizer.enable_truncation(12)
    tokenizer.enable_padding(length=12)
    return tokenizer


_ANGLE = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def _byte_level(special: list[str], size: int = 380) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXT, trainer)
    return tokenizer


def _with_bytes() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    trainer = trainers.BpeTrainer(vocab_size=380, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(TEXT, trainer)
    return tokenizer


def _bpe(tokenizer: Tokenizer) -> tuple[dict[str, int], list[tuple[str, str]]]:
    state = json.loads(tokenizer.to_str())["model"]
    return state["vocab"], [tuple(pair) for pair in state["merges"]]


def _scored(special: Sequence[str], texts: Sequence[str] = TEXT) -> list[tuple[str, float]]:
    """Pieces of a Unigram model with their scores."""
    counts: Counter[str] = Counter()
    for piece, n in _pieces(texts).items():
        counts[piece[2:] if piece.startswith("##") else f"\u2581{piece}"] += n
    kept = _most_frequent(counts, 114)
    total = sum(counts[piece] for piece in kept)
    # Longer pieces are likelier than the letters they are made of, as after training.
    scores = [("\u2581", -9.0), *((p, math.log(counts[p] / total) + len(p)) for p in kept)]
    return [*((name, 0.0) for name in special), *scores]


def _unigram() -> Tokenizer:
    tokenizer = Tokenizer(models.Unigram(_scored(_ANGLE), unk_id=_ANGLE.index("<unk>")))
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


def _angle_brackets(tokenizer: Tokenizer, middle: str = "</s> </s>") -> Tokenizer:
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair=f"<s> $A {middle} $B:1 </s>:1",
        special_tokens=[(s, tokenizer.token_to_id(s)) for s in ("<s>", "</s>")],
    )
    return tokenizer
