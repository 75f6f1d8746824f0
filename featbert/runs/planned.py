"""A run before it is trained: all checks, its signature, its name, and whether it is finished.

Two runs with one name would give the same numbers on the same machine.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from featbert.config import Head, Settings
from featbert.data.corpus import SPLITS, Corpus
from featbert.data.share import unit_numbers
from featbert.encoders.device import Device, find_precision
from featbert.encoders.encoding import EncodingOptions
from featbert.encoders.layers import LayerCombination, parse_layers
from featbert.encoders.source import EncoderSource
from featbert.encoders.tunings import get_tuning
from featbert.errors import InputError
from featbert.features.manifest import Manifest
from featbert.features.store import FeatureStore
from featbert.io import json_hash, slug, utf8_path
from featbert.models.registry import KINDS
from featbert.runs.folder import PRUNED
from featbert.runs.record import (
    RECORD_NAME,
    PrunedRun,
    Signature,
    SplitIdentity,
    read_json,
    read_or_left_out,
    read_record,
)
from featbert.runs.run import Run, find_run
from featbert.tasks.base import get_task

# Signature fields that say where and by which libraries a run was computed, or follow from the
# weights; they do not make another run of it.
SURROUNDINGS = {
    *("source", "language", "device", "device_name", "extraction_device", "threads", "versions"),
    "adapted_epochs",
}
# Signature fields that a store's manifest has under the same names.
_OF_THE_STORE = (
    *("model", "encoder_weights", "encoder_files", "adapted_epochs"),
    *("context", "casing", "pooling", "packing"),
)


@dataclass(frozen=True)
class RunOptions:
    """What a run is asked besides its corpus and encoder.

    `configurations_tried`, `experiment` and `vary` are those of `RunRecord`. A run ends early whose
    best dev score is below that of `prune_below` after as many epochs; it may be pruned at all
    where that is not None.
    """

    seed: int
    settings: Settings
    runs_dir: Path
    device: Device
    precision: str = "auto"
    task: str = "entities"
    tag_scheme: str = "bio"
    experiment: str | None = None
    vary: tuple[str, ...] = ()
    configurations_tried: int = 1
    prune_below: tuple[float, ...] | None = None


@dataclass(frozen=True)
class PlannedRun:
    """A run before it is trained; `settings` are those of its options that play a part, flat.

    `combination` has the layers it reads from a store; None where the encoder is tuned. `base` is
    the same run on train alone, whose best epoch is the number of epochs to train, if that is one,
    and `head` the run on features that its head begins with.
    """

    folder: Path
    combination: LayerCombination | None
    signature: Signature
    settings: dict[str, Any]
    options: RunOptions
    model_source: str
    base: PlannedRun | None = None
    head: Run | None = None

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def task(self) -> str:
        return self.options.task

    @property
    def tuning(self) -> str:
        return self.options.settings.tuning

    @property
    def layers(self) -> str | None:
        return None if self.combination is None else self.combination.name

    @property
    def finished(self) -> Run | None:
        """The run, if it is finished; raises InputError where the folder holds another one."""
        if not (self.folder / RECORD_NAME).is_file():
            return None
        try:
            record = read_record(self.folder)
        except InputError as error:
            raise InputError(f"{error}; featbert runs rm removes the run") from None
        found = (record.layers, record.seed, record.settings, record.signature.splits)
        if found != (self.layers, self.options.seed, self.settings, self.signature.splits):
            raise InputError(f"{self.folder} holds another run than its name says; move it away")
        return Run(self.folder, record)

    @property
    def pruned(self) -> PrunedRun | None:
        """What it cost until a search ended it early, if one did."""
        if self.options.prune_below is None or not (path := self.folder / PRUNED).exists():
            return None
        return read_or_left_out(read_json, path, PrunedRun, "")


def plan_stored_run(
    manifest: Manifest, store: Path, corpus: Corpus, layers: str, options: RunOptions
) -> PlannedRun:
    """A run on frozen features from the store with this manifest, which need not exist yet."""
    combination = parse_layers(layers, manifest.num_layers)
    if missing := {*KINDS[options.settings.reads]} - {*manifest.kinds}:
        kinds, keep = " and ".join(sorted(missing)), "words" if "words" in missing else "pooled"
        raise InputError(
            f"{store} keeps no {kinds} vectors, which the head reads; extract with --keep {keep}"
        )
    check_trainable(corpus, options.settings)
    check_same_text(manifest, store, corpus)
    encoding = {name: getattr(manifest, name) for name in _OF_THE_STORE} | {
        "encoder_layers": manifest.num_layers,
        "encoder_hidden_size": manifest.hidden_size,
        "encoder_precision": manifest.precision,
        "store_dtype": manifest.dtype,
        "extraction_device": manifest.device_name,
    }
    return _named(corpus, encoding, options, combination, manifest.model_source)


def plan_tuned_run(
    source: EncoderSource, corpus: Corpus, options: RunOptions, how: EncodingOptions
) -> PlannedRun:
    """A run that tunes the encoder, which reads texts as `how` says."""
    check_trainable(corpus, options.settings)
    how.check(source, corpus)
    precision = find_precision(options.precision, options.device)
    settings, layers, head = options.settings, source.num_layers or 0, None
    if settings.head_from is not None:
        head = find_run(settings.head_from, options.runs_dir)
        settings = settings.but(head_from=head.id)
        options = replace(options, settings=settings)
    tuning = get_tuning(settings.tuning)
    tuning.check(settings, layers)
    # Whether the first and the last layer are ever trained in different ways
    different = settings.discriminative != 1 or any(
        tuning.trains("", 1, settings, layers, epoch)
        != tuning.trains("", layers, settings, layers, epoch)
        for epoch in range(1, min(settings.epochs, layers + 2) + 1)
    )
    if source.shares_layers and different:
        raise InputError(
            f"the {layers} layers of {source.name} share their weights, so they cannot be frozen "
            "or have learning rates of their own; train all or none of them"
        )
    encoding = {
        "context": how.context,
        "casing": how.casing,
        "pooling": how.pooling_of(source),
        "packing": how.packing if corpus.has_pairs else None,
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
    plan = _named(corpus, encoding, options, None, source.reference)
    if head is not None:
        _check_head(head, plan)
    return replace(plan, head=head)


def _check_head(head: Run, plan: PlannedRun) -> None:
    """Raises InputError where a tuned run cannot begin with the head of the run `head`."""
    record, own = head.record, plan.signature
    same = ("encoder_weights", "context", "casing", "pooling", "packing", "tag_scheme")
    known = {name: getattr(record.signature, name) for name in same}
    asked = {name: getattr(own, name) for name in same}
    for found, settings in ((known, record.settings), (asked, plan.settings)):
        parts = {*Head.model_fields, "train_on", "train_share"} - {"dropout"}
        found.update({name: value for name, value in settings.items() if name in parts})
    known |= {"task": record.task, "seed": record.seed, "layers": record.layers}
    asked |= {"task": plan.task, "seed": plan.options.seed, "layers": "last"}
    known["train"], asked["train"] = record.signature.splits.get("train"), own.splits["train"]
    different = [name for name in asked if known.get(name) != asked[name]]
    if asked["train_on"] != "train":
        raise InputError(f"head_from with train_on={asked['train_on']}; train on train alone")
    if different:
        texts = dict.fromkeys(("train", "encoder_weights"), ("another", "this"))
        pairs = {n: texts.get(n, (known.get(n), asked[n])) for n in different}
        listed = ", ".join(f"{name} {has}, not {wants}" for name, (has, wants) in pairs.items())
        raise InputError(f"the head of {head.name} cannot be tuned on: it has {listed}")


def check_trainable(corpus: Corpus, settings: Settings) -> None:
    """Raises InputError where the corpus lacks a split or targets that training needs."""
    where = corpus.source or corpus.name
    has = ", ".join(corpus.splits) or "none"
    for name, share in (("train", ""), ("dev", ", or give --dev-share 0.1, a part of train")):
        if name not in corpus or not len(corpus[name]):
            raise InputError(f"{where} has no {name} split (only {has}); add a {name} file{share}")
        if not corpus[name].is_tagged:
            raise InputError(f"{corpus[name].path or name} has texts but no answers")
    if settings.train_on != "train" and "test" not in corpus:
        raise InputError(
            f"{where} has no test split to score a run that learns from {settings.train_on} "
            f"(found: {has}); train on train"
        )
    if settings.train_share != 1 and not unit_numbers(corpus["train"]).any():
        raise InputError(
            f"{corpus['train'].path or 'train'} is one document or sentence; a share of "
            f"{settings.train_share:g} needs several"
        )


def check_same_text(manifest: Manifest, store: Path, corpus: Corpus) -> None:
    """Raises InputError where the store was extracted from another text than the corpus."""
    for name, split in corpus.splits.items():
        if name not in manifest.splits or manifest.splits[name].text != split.text_fingerprint:
            raise InputError(
                f"{store} was not extracted from the {name} text of {corpus.source or corpus.name};"
                " run featbert extract again"
            )


def check_as_planned(
    plan: PlannedRun, corpus: Corpus, material: FeatureStore | EncoderSource
) -> None:
    """Raises InputError where another process finds another text or encoder than was planned."""
    signature = plan.signature
    different = [
        f"{name} of {corpus.source or corpus.name}"
        for name, planned in signature.splits.items()
        if name not in corpus or split_identity(corpus, name) != planned
    ]
    if isinstance(material, EncoderSource):
        hashes = signature.encoder_weights, signature.encoder_files
        different += material.differences(signature.model, *hashes)
    if different:
        raise InputError(
            f"not what was planned: {'; '.join(different)}; on a cluster, all nodes need the same "
            "files; where files were changed, run the command again"
        )


def _named(
    corpus: Corpus,
    encoding: Mapping[str, Any],
    options: RunOptions,
    combination: LayerCombination | None,
    model_source: str,
) -> PlannedRun:
    settings, task = options.settings, get_task(options.task)
    task.check(settings)
    frozen = combination is not None
    if get_tuning(settings.tuning).frozen != frozen:
        raise InputError(
            f"tuning is {settings.tuning!r}, but the encoder is {'frozen' if frozen else 'tuned'}; "
            f"begin with defaults({'none' if frozen else 'full'!r})"
        )
    if settings.reads == "sequence" and encoding["packing"] is None:
        raise InputError(f"output {settings.output} reads pairs of texts, but here are single ones")
    if options.tag_scheme != "bio" and not task.has_scheme:
        raise InputError(f"tag_scheme is {options.tag_scheme}, but {task.title} have no tag scheme")
    if len(classes := task.classes_of(corpus)) > (most := task.measure.most_classes):
        raise InputError(
            f"{task.measure.name} is of {most} classes, but {corpus.source or corpus.name} has "
            f"{len(classes)}; use another measure, such as {task.name.partition(':')[0]}:macro_f1"
        )
    layers = None if combination is None else combination.name
    device = options.device
    precision = find_precision(options.precision, device)
    if get_tuning(settings.tuning).frozen and device.kind == "cuda":
        precision = "fp32"  # cuDNN's LSTM knows no bf16 autocast: see `models/bilstm.py`
    signature = Signature(
        corpus=corpus.name,
        source=corpus.source,
        language=corpus.language,
        splits={name: split_identity(corpus, name) for name in SPLITS if name in corpus},
        tag_scheme=options.tag_scheme,
        entity_types=list(classes),
        training_precision=precision,
        scorer=task.scorer,
        **device.facts,
        **encoding,
    )
    weighted = combination is not None and combination.mode == "weighted"
    flat = settings.used(weighted=weighted)
    # All that identifies it; the packing of single texts plays no part.
    idle = SURROUNDINGS | ({"packing"} if signature.packing is None else set())
    same = {k: v for k, v in dataclasses.asdict(signature).items() if k not in idle}
    same |= {"task": task.name, "tuning": settings.tuning, "layers": layers}
    same |= {"settings": flat, "seed": options.seed}
    row = (corpus.name, signature.model, layers or settings.tuning, f"seed{options.seed}")
    name = "--".join(map(slug, (*row, json_hash(same)[:8])))
    base = None
    if settings.train_on != "train":
        on_train = replace(options, settings=settings.but(train_on="train"))
        base = _named(corpus, encoding, on_train, combination, model_source)
    for path in (corpus.source or "", Path(options.runs_dir).absolute()):
        utf8_path(path)
    return PlannedRun(
        Path(options.runs_dir) / name, combination, signature, flat, options, model_source, base
    )


def split_identity(corpus: Corpus, name: str) -> SplitIdentity:
    """What identifies the text and targets of a split."""
    split = corpus[name]
    return SplitIdentity(split.text_fingerprint, split.tag_fingerprint, len(split), split.n_words)
