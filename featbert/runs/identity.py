"""What a run is before it is trained: its signature, its settings, and the name they give it.

Two runs with one name would give the same numbers on the same machine, so a finished one is
never trained again unasked.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from featbert.data.corpus import SPLITS, Corpus
from featbert.data.share import unit_numbers
from featbert.encoders.source import EncoderSource
from featbert.errors import InputError, nearest
from featbert.features.store import Manifest
from featbert.runs.record import Signature, SplitIdentity
from featbert.tasks.base import get_task
from featbert.training.settings import TrainingSettings, named_settings
from featbert.versions import library_versions

if TYPE_CHECKING:
    from featbert.encoders.device import Device

Approach = Literal["features", "finetune"]
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


# Schemes that the labels a tagger learns can be in.
TAG_SCHEMES = ("bio", "iob1")


class CorpusError(InputError):
    """A corpus that a tagger cannot be trained on, or that is not the store's."""


def check_trainable(corpus: Corpus) -> None:
    """Raises CorpusError where the corpus lacks train or dev, or tags."""
    for name, use in (("train", "train on"), ("dev", "choose the best epoch on")):
        if name not in corpus or not len(corpus[name]):
            raise CorpusError(
                f"a {name} split expected to {use}, {corpus.source or corpus.name} has "
                f"{', '.join(corpus.splits) or 'none'}; add a {name} file to the folder"
            )
    for name, split in corpus.splits.items():
        if not split.is_tagged:
            raise CorpusError(f"tags expected in {split.path or name}, it has words alone")


def check_trained_splits(corpus: Corpus, settings: TrainingSettings) -> None:
    """Raises CorpusError where the corpus cannot be parted as the settings say.

    Training on dev too must leave a split to score, a share of train more than it to draw from.
    """
    if settings.train_on != "train" and "test" not in corpus:
        raise CorpusError(
            f"a test split expected to score a tagger that learned from {settings.train_on}, "
            f"{corpus.source or corpus.name} has {', '.join(corpus.splits)}; train on train"
        )
    if settings.train_share != 1 and unit_numbers(corpus["train"])[-1] == 0:
        train = corpus["train"]
        unit = "document" if train.has_documents else "sentence"
        raise CorpusError(
            f"several documents or sentences expected to draw a share of {settings.train_share} "
            f"from, {train.path or 'train'} is one {unit}; train on all of it"
        )


def check_tag_scheme(scheme: str) -> None:
    """Raises InputError for a scheme that labels cannot be in."""
    if scheme not in TAG_SCHEMES:
        raise InputError(
            f"tag scheme {' or '.join(TAG_SCHEMES)} expected, found {scheme!r}"
            f"{nearest(scheme, TAG_SCHEMES)}"
        )


def check_same_text(manifest: Manifest, where: Path, corpus: Corpus) -> None:
    """Raises CorpusError where the store's vectors are of another text than the corpus."""
    for name, split in corpus.splits.items():
        stored = manifest.splits.get(name)
        if stored is None or stored.text != split.text_fingerprint:
            has = "other words" if stored else f"no {name} split"
            raise CorpusError(
                f"the text of {corpus.source or corpus.name} expected in {where}, it holds "
                f"{has}; extract the corpus as it is now"
            )


@dataclass(frozen=True)
class Encoding:
    """How words became vectors: what a signature takes from a store, or from a trainable encoder.

    Attributes:
        store_dtype, extraction_device: None where no store was used.
    """

    model: str
    encoder_weights: str
    encoder_layers: int
    encoder_hidden_size: int
    context: str
    pooling: str
    encoder_precision: str
    store_dtype: str | None
    encoder_files: str
    extraction_device: str | None
    casing: str
    adapted_epochs: int

    @classmethod
    def of_store(cls, m: Manifest) -> Encoding:
        """The encoding that a store with manifest `m` holds."""
        return cls(
            model=m.model,
            encoder_weights=m.encoder_weights,
            encoder_layers=m.num_layers,
            encoder_hidden_size=m.hidden_size,
            context=m.context,
            pooling=m.pooling,
            encoder_precision=m.precision,
            store_dtype=m.dtype,
            encoder_files=m.encoder_files,
            extraction_device=m.device_name,
            casing=m.casing,
            adapted_epochs=m.adapted_epochs,
        )

    @classmethod
    def of_encoder(
        cls, source: EncoderSource, *, context: str, casing: str, pooling: str, precision: str
    ) -> Encoding:
        """The encoding that fine-tuning begins with."""
        if source.num_layers is None or source.hidden_size is None:
            raise InputError(f"layers and hidden size expected in {source.folder}/config.json")
        return cls(
            model=source.name,
            encoder_weights=source.weights_hash,
            encoder_layers=source.num_layers,
            encoder_hidden_size=source.hidden_size,
            context=context,
            pooling=pooling,
            # Fine-tuning keeps fp32 weights and casts their products: not the same states as
            # those of an encoder whose weights were cast once, for a store.
            encoder_precision=precision if precision == "fp32" else f"{precision}-autocast",
            store_dtype=None,
            encoder_files=source.files_hash,
            extraction_device=None,
            casing=casing,
            adapted_epochs=source.adapted_epochs,
        )


def make_signature(
    corpus: Corpus,
    encoding: Encoding,
    device: Device,
    *,
    training_precision: str,
    tag_scheme: str,
) -> Signature:
    """Signature of a run, of either approach."""
    return Signature(
        corpus=corpus.name,
        source=corpus.source,
        language=corpus.language,
        splits=_splits(corpus),
        tag_scheme=tag_scheme,
        entity_types=list(corpus.entity_types),
        training_precision=training_precision,
        scorer=get_task("entities").scorer,
        device=device.kind,
        device_name=device.name,
        threads=device.threads,
        versions=library_versions(),
        **dataclasses.asdict(encoding),
    )


def run_name(
    signature: Signature,
    approach: Approach,
    layers: str | None,
    settings: dict[str, Any],
    seed: int,
) -> str:
    """<corpus>--<encoder>--<approach or layers>--seed<n>--<8 hex of all that identifies it>"""
    same = {k: v for k, v in dataclasses.asdict(signature).items() if k not in SURROUNDINGS}
    if same["casing"] == "original":
        del same["casing"]  # runs from before there was a choice keep their names
    same |= {
        "approach": approach,
        "layers": layers,
        "settings": named_settings(settings),
        "seed": seed,
    }
    short = hashlib.sha256(json.dumps(same, sort_keys=True).encode()).hexdigest()[:8]
    parts = (signature.corpus, signature.model, layers or approach, f"seed{seed}", short)
    return "--".join(re.sub(r"[^\w.-]+", "_", part).strip("._-")[:60] for part in parts)


def _splits(corpus: Corpus) -> dict[str, SplitIdentity]:
    return {
        name: SplitIdentity(s.text_fingerprint, s.tag_fingerprint, len(s), s.n_words)
        for name in SPLITS
        if name in corpus
        for s in (corpus[name],)
    }
