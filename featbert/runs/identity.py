"""What a run is before it is trained: its signature, and the name that follows from it.

Two runs with one name would give the same numbers on the same machine, so a finished one is not
trained again unless that is asked for.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from featbert.config import Settings
from featbert.data.corpus import Corpus
from featbert.data.share import unit_numbers
from featbert.encoders.encoding import Encoding
from featbert.encoders.source import EncoderSource
from featbert.errors import InputError
from featbert.features.store import Manifest
from featbert.io import json_hash, slug
from featbert.runs.record import Signature, SplitIdentity

# Signature fields that say where and by which libraries a run was computed; they do not make
# another run of it.
SURROUNDINGS = (
    "source",
    "device",
    "device_name",
    "extraction_device",
    "threads",
    "versions",
    "language",
    "adapted_epochs",  # follows from the weights, which are in the name
)


def check_trainable(corpus: Corpus, settings: Settings) -> None:
    """Raises InputError where the corpus lacks a split or targets that training needs."""
    where = corpus.source or corpus.name
    has = ", ".join(corpus.splits) or "none"
    for name, use in (("train", "train on"), ("dev", "choose the best epoch on")):
        if name not in corpus or not len(corpus[name]):
            share = ", or make it a part of train: --dev-share 0.1" if name == "dev" else ""
            raise InputError(
                f"{where} has no {name} split to {use} (found: {has}); add a {name} file{share}"
            )
        if not corpus[name].is_tagged:
            raise InputError(f"{corpus[name].path or name} has texts but no answers")
    if settings.train_on != "train" and "test" not in corpus:
        raise InputError(
            f"{where} has no test split to score a run that learns from {settings.train_on} "
            f"(found: {has}); train on train"
        )
    if settings.train_share != 1 and unit_numbers(corpus["train"])[-1] == 0:
        train = corpus["train"]
        unit = "document" if train.has_documents else "sentence"
        raise InputError(
            f"{train.path or 'train'} is one {unit}; a share of {settings.train_share:g} needs "
            "several"
        )


def check_same_text(manifest: Manifest, store: Path, corpus: Corpus) -> None:
    """Raises InputError where the store was extracted from another text than the corpus."""
    for name, split in corpus.splits.items():
        stored = manifest.splits.get(name)
        if stored is None or stored.text != split.text_fingerprint:
            what = f"other text than {name} of" if stored else f"a text without the {name} split of"
            raise InputError(
                f"{store} was extracted from {what} {corpus.source or corpus.name}; "
                "run featbert extract again"
            )


def encoding_of_store(m: Manifest) -> dict[str, Any]:
    """What a signature says of the encoding that a store with manifest `m` holds."""
    return {
        "model": m.model,
        "encoder_weights": m.encoder_weights,
        "encoder_layers": m.num_layers,
        "encoder_hidden_size": m.hidden_size,
        "context": m.context,
        "pooling": m.pooling,
        "encoder_precision": m.precision,
        "store_dtype": m.dtype,
        "encoder_files": m.encoder_files,
        "extraction_device": m.device_name,
        "casing": m.casing,
        "packing": m.packing,
        "adapted_epochs": m.adapted_epochs,
    }


def encoding_of_encoder(
    source: EncoderSource, precision: str, how: Encoding, packing: str | None
) -> dict[str, Any]:
    """What a signature says of the encoding that tuning begins with."""
    return {
        "context": how.context,
        "casing": how.casing,
        "pooling": how.pooling,
        "packing": packing,
        "model": source.name,
        "encoder_weights": source.weights_hash,
        "encoder_layers": source.num_layers,
        "encoder_hidden_size": source.hidden_size,
        # Tuning keeps fp32 weights and casts their products: not the same states as those of
        # an encoder whose weights were cast once, for a store.
        "encoder_precision": precision if precision == "fp32" else f"{precision}-autocast",
        "store_dtype": None,
        "encoder_files": source.files_hash,
        "extraction_device": None,
        "adapted_epochs": source.adapted_epochs,
    }


def split_identity(corpus: Corpus, name: str) -> SplitIdentity:
    """What identifies the text and targets of a split."""
    split = corpus[name]
    return SplitIdentity(split.text_fingerprint, split.tag_fingerprint, len(split), split.n_words)


def run_name(
    signature: Signature,
    task: str,
    tuning: str,
    layers: str | None,
    settings: dict[str, Any],
    seed: int,
) -> str:
    """<corpus>--<encoder>--<layers or tuning>--seed<n>--<8 hex of all that identifies it>"""
    same = {k: v for k, v in dataclasses.asdict(signature).items() if k not in SURROUNDINGS}
    if signature.packing is None:
        del same["packing"]
    same |= {"task": task, "tuning": tuning, "layers": layers, "settings": settings, "seed": seed}
    row = (signature.corpus, signature.model, layers or tuning, f"seed{seed}")
    return "--".join(map(slug, (*row, json_hash(same)[:8])))
