"""Whether a store is of a text and of an encoder: what is not, a line each."""

from __future__ import annotations

from featbert.data.corpus import Corpus
from featbert.encoders.source import EncoderSource
from featbert.features.store.manifest import Manifest
from featbert.text import counted


def text_differences(manifest: Manifest, corpus: Corpus) -> list[str]:
    """Splits of the store whose words or documents are not those of the corpus."""
    found = []
    where = corpus.source or corpus.name
    for name, stored in manifest.splits.items():
        if name not in corpus:
            found.append(f"{name} is no split of {where}")
        elif corpus[name].text_fingerprint != stored.text:
            sizes = f"{counted(stored.words, 'word')} here, {corpus[name].n_words:,} there"
            found.append(f"{name} is not the text of {where} ({sizes})")
    return found


def encoder_differences(manifest: Manifest, source: EncoderSource) -> list[str]:
    """What tells the store's encoder from `source`: weights, or config and tokenizer."""
    of = f"of {manifest.model}, not those of {source.name}"
    found = []
    if manifest.encoder_weights != source.weights_hash:
        hashes = f"SHA-256 {manifest.encoder_weights[:8]} here, {source.weights_hash[:8]} there"
        found.append(f"weights are {of} ({hashes})")
    if manifest.encoder_files != source.files_hash:
        hashes = f"SHA-256 {manifest.encoder_files[:8]} here, {source.files_hash[:8]} there"
        found.append(f"config and tokenizer are {of} ({hashes})")
    return found
