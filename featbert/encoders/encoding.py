"""How text becomes vectors: the settings that a store and a tuned encoder share.

Nothing here imports torch, so that every refusal of a plan comes before it is loaded.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from featbert.data.corpus import Corpus, Sentence
from featbert.data.truecase import Truecaser
from featbert.encoders.batching import Ints
from featbert.encoders.layers import stored_layers
from featbert.encoders.source import EncoderSource
from featbert.encoders.tokenizer import is_uncased
from featbert.errors import InputError, check_known

Context = Literal["sentence", "document"]
Packing = Literal["joint", "apart"]
Casing = Literal["original", "truecased"]
Pooling = Literal["first", "last", "mean"]
CHOICES = {
    "context": get_args(Context),
    "casing": get_args(Casing),
    "pooling": ("auto", *get_args(Pooling)),
    "packing": get_args(Packing),
    "dtype": ("float16", "float32"),
    "keep": ("words", "pooled"),
}


@dataclass(frozen=True, kw_only=True)
class EncodingOptions:
    """How a text is encoded and kept; what the settings mean is in `config.Encoding`.

    Attributes:
        precision: of the computation: "fp32", "bf16", "fp16", or "auto" (bf16 where native).
        layers: hidden states to keep, 0 being the embeddings, or text as `--layers` takes it, such
            as "last" or "1,3-5"; None or "all" keeps all. A layer costs words x H x 2 bytes
            (float16) on disk.
        token_budget: padded wordpieces of a batch; None takes the device's default.
        device: "cpu", "cuda", "cuda:1", "mps", or "auto" (CUDA where there is a GPU).
    """

    context: Context = "sentence"
    casing: Casing = "original"
    pooling: Pooling | Literal["auto"] = "auto"
    packing: Packing = "joint"
    precision: str = "auto"
    dtype: str = "float16"
    keep: str = "words"
    layers: Sequence[int] | str | int | None = None
    token_budget: int | None = None
    device: str = "auto"

    def pooling_of(self, source: EncoderSource) -> Pooling:
        """What represents a word of this encoder."""
        return source.pooling if self.pooling == "auto" else self.pooling

    def stored_layers(self, num_layers: int) -> tuple[int, ...]:
        """Hidden states to keep of an encoder with `num_layers` layers, rising.

        Raises InputError for layers that it does not have.
        """
        layers = stored_layers("all" if self.layers is None else self.layers, num_layers)
        if not layers:
            raise InputError(f"layers are {self.layers}; name at least one, or all")
        return layers

    def note(self, source: EncoderSource) -> str:
        """What people should know of a decoder's vectors; empty for other encoders."""
        if not source.causal:
            return ""
        return (
            f"{source.name} is a decoder: its subwords see only what is before them, so a word is "
            f"read from its {self.pooling_of(source)} subword, and cls from the last of its text"
        )

    def check(self, source: EncoderSource, corpus: Corpus) -> None:
        """Raises InputError where the text or the encoder cannot be encoded like this."""
        for name, known in CHOICES.items():
            check_known(name, [getattr(self, name)], known)
        if self.context == "document" and (self.keep == "pooled" or corpus.has_pairs):
            raise InputError("pairs and pooled vectors are of single texts; use --context sentence")
        for split in corpus.splits.values():
            check_context(self.context, has_documents=split.has_documents)
        if self.casing != "original" and "train" not in corpus:
            raise InputError(
                f"{corpus.source or corpus.name} has no train split to count casing in, only "
                f"{', '.join(corpus.splits) or 'none'}; omit --casing truecased"
            )
        if self.casing != "original" and is_uncased(source):
            raise InputError(
                f"{source.name} is uncased: it lowercases words before it reads them, so "
                "--casing truecased has no effect; omit it, or use a cased model"
            )
        if source.num_layers is None or source.hidden_size is None:
            raise InputError(
                f"{source.folder}/config.json states no number of layers or hidden size; "
                "featbert reads encoders like BERT and decoders like Llama"
            )
        self.stored_layers(source.num_layers)


def texts_of(
    sentences: Sequence[Sentence], context: str, packing: str | None
) -> tuple[Sequence[Sentence], Ints, Ints]:
    """The texts that are read of sentences.

    Returns:
        texts: the sentences; of pairs that are apart, the words of each text once.
        numbers: (S, T) which of them are those of each sentence; T is 2 for pairs that are apart.
        units: (U + 1,) words before each context unit: a sentence, a document, or such a text.
    """
    texts: Sequence[Sentence]
    if packing == "apart":
        known: dict[Sentence, int] = {}
        both = (
            [
                Sentence(s.words[part], touches=s.touches[part])
                for part in (slice(s.pair), slice(s.pair, None))
            ]
            for s in sentences
        )
        pairs = [[known.setdefault(text, len(known)) for text in texts] for texts in both]
        texts, numbers = list(known), np.array(pairs, dtype=np.int64).reshape(-1, 2)
    else:
        texts, numbers = sentences, np.arange(len(sentences))[:, None]
    edges = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    if context == "document":
        documents = [s.document for s in sentences]
        check_context(context, has_documents=None not in documents)
        new = [i for i, one in enumerate(documents) if i == 0 or one != documents[i - 1]]
        edges = edges[[*new, len(sentences)]]
    return texts, numbers, edges


class Reading:
    """The words of a corpus as the encoder reads them: as in the file, or truecased."""

    def __init__(self, corpus: Corpus, casing: str) -> None:
        truecased = casing == "truecased"
        self.truecaser = Truecaser.from_sentences(corpus["train"]) if truecased else None

    def __call__(self, sentences: Sequence[Sentence]) -> Sequence[Sentence]:
        """The sentences, words cased as the encoder is to read them."""
        return sentences if self.truecaser is None else self.truecaser.sentences(sentences)


def check_context(context: str, *, has_documents: bool) -> None:
    """Raises InputError for documents that a text lacks."""
    if context == "document" and not has_documents:
        raise InputError(
            "this text marks no documents (-DOCSTART- lines), which --context document needs; "
            "use --context sentence"
        )
