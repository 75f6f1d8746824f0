"""Plans of adaptations, and their results. Nothing here imports torch."""

import contextlib
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from featbert.config import Adapt, Compute
from featbert.data.check import split_advice
from featbert.data.corpus import Corpus
from featbert.encoders.device import Device, find_device, find_precision
from featbert.encoders.source import ADAPTATION_RECORD, ENCODER_FILES, EncoderSource, find_encoder
from featbert.errors import InputError, MissingError, spelling
from featbert.io import check_ours, expanded, json_hash, regular_file, slug, utf8_path

# Wordpieces of a sequence by default. An encoder may read fewer.
MAX_LENGTH = 128
# Changes if the training gives other weights for the same settings.
VERSION = 4


@dataclass(frozen=True, kw_only=True)
class AdaptEpoch:
    """Mean losses in nats of masked pieces and labelled pairs. Epoch 0 is dev before training."""

    epoch: int
    train_mlm: float | None = None
    train_nsp: float | None = None
    dev_mlm: float
    dev_nsp: float | None = None
    seconds: float

    @property
    def dev_perplexity(self) -> float:
        """exp of the mean masked-LM loss on dev, at most e^700."""
        return math.exp(min(self.dev_mlm, 700.0))

    def __str__(self) -> str:
        """epoch 1  train MLM 8.7007 NSP 0.6946  dev MLM 7.7981 NSP 0.6940  perplexity 2435.93"""
        cells = [f"epoch {self.epoch}"]
        losses = {"train": (self.train_mlm, self.train_nsp), "dev": (self.dev_mlm, self.dev_nsp)}
        for split, (mlm, nsp) in losses.items():
            if mlm is not None:
                cells.append(f"{split} MLM {mlm:.4f}" + ("" if nsp is None else f" NSP {nsp:.4f}"))
        return "  ".join([*cells, f"perplexity {self.dev_perplexity:.2f}"])


@dataclass(frozen=True)
class Adapted:
    """An adapted encoder on disk. `--model` takes its `folder`.

    Attributes:
        fresh: parts of the model that the checkpoint lacked. They began at random values.
        counts: split_sentences and unknown_words in train and dev.
        hit: whether it existed already, and nothing was done.
    """

    folder: Path
    history: list[AdaptEpoch]
    fresh: tuple[str, ...]
    counts: dict[str, int]
    hit: bool


@dataclass(frozen=True)
class AdaptationPlan:
    """An adaptation that is checked and named.

    Attributes:
        identity: hash of `determinants`, which determine the result and are recorded.
        nsp: whether next-sentence prediction is trained.
    """

    corpus: Corpus
    source: EncoderSource
    folder: Path
    identity: str
    determinants: dict[str, Any]
    settings: Adapt
    nsp: bool
    device: Device
    overwrite: bool = False

    @property
    def finished(self) -> Adapted | None:
        """The adapted encoder if the folder has it, and None if it is to be trained.

        InputError for a folder of other files, another adapted encoder or a damaged one. They stay,
        but `overwrite` replaces encoders.
        """
        folder, path = self.folder, self.folder / ADAPTATION_RECORD
        if folder.resolve() == self.source.folder.resolve():
            raise InputError(f"is {folder}, the encoder itself; name another folder", setting="out")
        if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
            return None
        if not path.is_file():
            raise InputError(f"is {folder}, which has other files; name another", setting="out")
        if self.overwrite:
            check_ours(folder, ENCODER_FILES)
            return None
        with contextlib.suppress(MissingError, ValueError, KeyError, TypeError):
            record = json.loads(regular_file(path).read_text("utf-8"))
            expected = (self.identity, find_encoder(str(folder)).weights_hash)
            if (record["identity"], record["weights"]) == expected:
                return self.made(record, hit=True)
        raise InputError(
            f"{folder} is damaged, or was adapted with other settings, text or base model; name "
            f"another folder with {spelling('out')}, or replace it with {spelling('overwrite')}"
        )

    def made(self, record: dict[str, Any], *, hit: bool) -> Adapted:
        """The encoder in the folder, from its record."""
        return TypeAdapter(Adapted).validate_python(record | {"folder": self.folder, "hit": hit})


def plan_adaptation(
    corpus: Corpus,
    source: EncoderSource,
    settings: Adapt,
    *,
    compute: Compute,
    seed: int,
    models_dir: Path,
    out: Path | None = None,
) -> AdaptationPlan:
    """Checks and names an adaptation. Nothing is written.

    Args:
        out: folder to write. By default one in `models_dir` named after encoder, corpus and
            identity. One that holds the same result already is a hit, unless `overwrite`.
        compute: device and precision. Weights stay in fp32.
    """
    nsp = decide_nsp(corpus, source, settings.nsp)
    place = find_device(compute.device)
    if place.number:
        raise InputError(
            f"a language model is trained on the first GPU, not on {place.spec}; set "
            f"CUDA_VISIBLE_DEVICES={place.number} and use {spelling('device', 'cuda')}"
        )
    determinants: dict[str, Any] = {
        "version": VERSION,
        "base": {"weights": source.weights_hash, "files": source.files_hash},
        "text": {name: corpus[name].text_fingerprint for name in ("train", "dev")},
        "settings": settings.model_dump()
        | {"nsp": nsp, "max_length": settings.max_length or MAX_LENGTH},
        "seed": seed,
        "precision": find_precision(compute.precision, place),
    }
    identity = json_hash(determinants)
    name = "--".join(map(slug, (source.name, corpus.name, identity[:8])))
    folder = models_dir / name if out is None else expanded(out)
    if folder.name in ("", ".."):
        folder = folder.resolve()
    utf8_path(folder.absolute())
    return AdaptationPlan(corpus, source, folder, identity, determinants, settings, nsp, place)


def decide_nsp(corpus: Corpus, source: EncoderSource, nsp: str) -> bool:
    """Whether next-sentence prediction is trained. InputError if "on" is impossible.

    It needs a model with a next-sentence head, and two sentences of one document in each split.
    """
    place = corpus.source or corpus.name
    obstacles = []
    kind = source.config.get("model_type")
    if kind != "bert" or source.config.get("type_vocab_size", 2) != 2:
        obstacles.append(f"{source.name} is no BERT with two segment types ({kind})")
    for name in ("train", "dev"):
        if name not in corpus or not len(corpus[name]):
            raise InputError(
                f"{place} has no {name} split ({', '.join(corpus.splits) or 'none at all'}); "
                f"{split_advice(corpus, name)}"
            )
        documents = [s.document for s in corpus[name]]
        # The texts of a pair are not sentences that follow one another.
        pairs = corpus[name].has_pairs
        if pairs or None in documents or len(set(documents)) == len(documents):
            obstacles.append(
                f"{name} of {place} has no documents of at least two sentences (-DOCSTART- lines "
                "mark them)"
            )
    if obstacles and nsp == "on":
        raise InputError(f"is on, but {'; '.join(obstacles)}; use off or auto", setting="nsp")
    return nsp != "off" and not obstacles
