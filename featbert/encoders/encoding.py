"""Options of encoding, shared by stores and tuned encoders, and the texts that are encoded.

Nothing here imports torch, so that a plan is refused before it is loaded.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from featbert.data.corpus import Corpus, Sentence
from featbert.data.truecase import Truecaser
from featbert.encoders.batching import Ints
from featbert.encoders.layers import stored_layers
from featbert.encoders.source import EncoderSource
from featbert.encoders.tokenizer import is_uncased
from featbert.errors import InputError, spelling
from featbert.progress import report

Context = Literal["sentence", "document"]
Packing = Literal["joint", "apart"]
Casing = Literal["original", "truecased"]
SubwordPooling = Literal["first", "last", "mean"]


@dataclass(frozen=True, kw_only=True)
class EncodingOptions:
    """Options of encoding and storing a text. `config.Encoding` explains those not named here.

    Attributes:
        dtype: of stored vectors (`config.Encoding.store_dtype`).
        precision: of the computation: "fp32", "bf16", "fp16", or "auto" (bf16 if faster).
        layers: hidden states to keep, 0 being the embeddings, or text as `--layers` takes it, such
            as "last" or "1,3-5". None or "all" keeps all. A layer costs words x H x 2 bytes
            (float16) on disk.
        token_budget: padded wordpieces of a batch. None takes the device's default.
        device: "cpu", "cuda", "cuda:1", "mps", or "auto" (CUDA if there is a GPU).
    """

    context: Context = "sentence"
    casing: Casing = "original"
    pooling: SubwordPooling | Literal["auto"] = "auto"
    packing: Packing = "joint"
    precision: str = "auto"
    dtype: str = "float16"
    keep: str = "words"
    layers: Sequence[int] | str | int | None = None
    token_budget: int | None = None
    device: str = "auto"

    def pooling_of(self, source: EncoderSource) -> SubwordPooling:
        """The subwords that represent a word of this encoder."""
        return source.pooling if self.pooling == "auto" else self.pooling

    def announce(self, source: EncoderSource, corpus: Corpus) -> None:
        """Reports how the encoder reads the text. InputError if it cannot read it like this."""
        self.check(source, corpus)
        if source.causal:
            report(
                f"{source.name} is a decoder: its subwords see only the preceding text, so a "
                f"word is read from its {self.pooling_of(source)} subword, and cls from the last "
                "of its text"
            )
        if is_uncased(source):  # InputError for a damaged tokenizer
            report(f"{source.name} is uncased: words are lowercased before they are read")

    def check(self, source: EncoderSource, corpus: Corpus) -> None:
        """Raises InputError if these options do not fit the text or the encoder."""
        if self.context == "document" and (self.keep == "pooled" or corpus.has_pairs):
            raise InputError("has to be sentence for pairs and pooled vectors", setting="context")
        for split in corpus.splits.values():
            check_context(self.context, has_documents=split.has_documents)
        if self.casing != "original" and "train" not in corpus:
            raise InputError(
                f"{corpus.source or corpus.name} has no train split to count casing in, only "
                f"{', '.join(corpus.splits) or 'none'}; omit {spelling('casing', 'truecased')}"
            )
        if self.casing != "original" and is_uncased(source):
            raise InputError(
                f"{source.name} is uncased: it lowercases words before it reads them, so "
                f"{spelling('casing', 'truecased')} has no effect; omit it, or use a cased model"
            )
        if source.num_layers is None or source.hidden_size is None:
            raise InputError(
                f"{source.folder}/config.json states no number of layers or hidden size; "
                "featbert reads encoders like BERT and decoders like Llama"
            )
        stored_layers(self.layers, source.num_layers)


def texts_of(
    sentences: Sequence[Sentence], context: str, packing: str | None
) -> tuple[Sequence[Sentence], Ints, Ints]:
    """The texts to encode: sentences, or each distinct text of pairs that are encoded apart.

    Returns:
        texts: the texts.
        numbers: (S, T) numbers of each sentence's texts. T is 2 for pairs that are apart.
        units: (U + 1,) words before each context unit: a sentence, a document, or such a text.
    """
    texts: Sequence[Sentence]
    if packing == "apart":
        parts = [
            Sentence(s.words[part], touches=s.touches[part])
            for s in sentences
            for part in (slice(s.pair), slice(s.pair, None))
        ]
        number_of = {text: number for number, text in enumerate(dict.fromkeys(parts))}
        texts = list(number_of)
        numbers = np.array([number_of[part] for part in parts], dtype=np.int64).reshape(-1, 2)
    else:
        texts, numbers = sentences, np.arange(len(sentences))[:, None]
    edges = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    if context == "document":
        documents = [s.document for s in sentences]
        check_context(context, has_documents=None not in documents)
        starts = [i for i, n in enumerate(documents) if i == 0 or n != documents[i - 1]]
        edges = edges[[*starts, len(sentences)]]
    return texts, numbers, edges


class WordCasing:
    """The words of a corpus as the encoder reads them: as in the file, or truecased."""

    def __init__(self, corpus: Corpus, casing: str) -> None:
        truecased = casing == "truecased"
        self.truecaser = Truecaser.from_sentences(corpus["train"]) if truecased else None

    def __call__(self, sentences: Sequence[Sentence]) -> Sequence[Sentence]:
        """The sentences, with words cased for the encoder."""
        return sentences if self.truecaser is None else self.truecaser.sentences(sentences)


def check_context(context: str, *, has_documents: bool) -> None:
    """Raises InputError for documents that a text lacks."""
    if context == "document" and not has_documents:
        raise InputError(
            "this text marks no documents (-DOCSTART- lines), which "
            f"{spelling('context', 'document')} needs; use {spelling('context', 'sentence')}"
        )
