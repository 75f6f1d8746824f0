"""A run before it is trained: all checks, its signature, its name, and whether it is finished.

Two runs with one name would give the same numbers on the same machine.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from featbert.config import Head, Settings, with_later
from featbert.data.check import split_advice
from featbert.data.corpus import SPLITS, Corpus
from featbert.data.share import learned_part, unit_numbers
from featbert.encoders.device import Device, find_device, find_precision
from featbert.encoders.encoding import EncodingOptions
from featbert.encoders.layers import LayerCombination
from featbert.encoders.source import EncoderSource
from featbert.encoders.tunings import get_tuning
from featbert.errors import InputError, spelling
from featbert.features.manifest import Manifest
from featbert.features.store import FeatureStore
from featbert.io import json_hash, slug, utf8_path
from featbert.models.registry import BODIES, KINDS
from featbert.progress import notice
from featbert.runs.folder import PRUNED
from featbert.runs.record import (
    RECORD_NAME,
    PrunedRun,
    RunRecord,
    Signature,
    SplitIdentity,
    read_json,
    read_or_left_out,
    read_record,
)
from featbert.runs.run import Run, find_run
from featbert.tasks.base import get_task

# Signature fields on the place, machine and libraries of a run, or that follow from the weights.
# They do not identify a run.
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
    """The options of a run besides its corpus and encoder.

    For `configurations_tried`, `experiment` and `vary` see `RunRecord`. The study `pruned_by` ends
    the run after epoch n if its best dev score is below `prune_below[n - 1]`. None: none does.
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
    pruned_by: str | None = None
    prune_below: tuple[float, ...] = ()


def options_by_seed(
    seeds: Sequence[int], settings: Settings, request: Any, runs_dir: Path
) -> list[RunOptions]:
    """The options of a run for each seed, or for one if all give the same run, with a notice."""
    needed = settings.seeds_to_train(seeds)
    if len(needed) < len(seeds):
        title = settings.trainer.title
        notice(f"{title} gives the same numbers with every seed, so one run is trained")
    device = find_device(request.device)
    fields = {name: getattr(request, name) for name in ("precision", "task", "tag_scheme")}
    return [RunOptions(seed, settings, runs_dir, device, **fields) for seed in needed]


@dataclass(frozen=True)
class PlannedRun:
    """A run before it is trained.

    Attributes:
        combination: the layers that it reads from a store. None if the encoder is tuned.
        base: the same run on train. Its best epoch is the number of epochs of this run.
        head: the run on features that has trained the first state of its head.
    """

    folder: Path
    combination: LayerCombination | None
    signature: Signature
    options: RunOptions
    model_source: str
    base: "PlannedRun | None" = None
    head: Run | None = None
    _read: list[Run] = field(default_factory=list, init=False, repr=False, compare=False)

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
    def settings(self) -> dict[str, Any]:
        """The settings that have an effect, as in the run's record."""
        return self.options.settings.used(weighted=self.is_weighted)

    @property
    def is_weighted(self) -> bool:
        """Whether it learns weights of layers."""
        return self.combination is not None and self.combination.mode == "weighted"

    @property
    def layers(self) -> str | None:
        return None if self.combination is None else self.combination.name

    @property
    def finished(self) -> Run | None:
        """The run, if it is finished. InputError if the folder holds another run.

        Its record is read once, as plans ask for it again and again.
        """
        if not (self.folder / RECORD_NAME).is_file():
            return None
        if self._read:
            return self._read[0]
        try:
            record = read_record(self.folder)
        except InputError as error:
            raise InputError(f"{error}; featbert runs rm removes the run") from None
        identity = (record.layers, record.seed, record.settings, record.signature.splits)
        if identity != (self.layers, self.options.seed, self.settings, self.signature.splits):
            raise InputError(f"{self.folder} holds another run than its name says; move it away")
        self._read.append(Run(self.folder, record))
        return self._read[0]

    @property
    def pruned(self) -> PrunedRun | None:
        """The cost until the study `pruned_by` ended the run early, if it did."""
        if self.options.pruned_by is None:
            return None
        run = read_or_left_out(read_json, self.folder / PRUNED, PrunedRun, "")
        return run if run is not None and run.study == self.options.pruned_by else None


def plan_stored_run(
    manifest: Manifest,
    store: Path,
    corpus: Corpus,
    combination: LayerCombination,
    options: RunOptions,
) -> PlannedRun:
    """A run on frozen features from the store with this manifest, which may be extracted later."""
    if missing_kinds := sorted({*KINDS[options.settings.reads]} - {*manifest.kinds}):
        keep = "words" if "words" in missing_kinds else "pooled"
        raise InputError(
            f"{store} keeps no {' and '.join(missing_kinds)} vectors, which the head reads; "
            f"extract with {spelling('keep', keep)}"
        )
    check_same_text(manifest, store, corpus)
    encoding = {name: getattr(manifest, name) for name in _OF_THE_STORE} | {
        "encoder_layers": manifest.num_layers,
        "encoder_hidden_size": manifest.hidden_size,
        "encoder_precision": manifest.precision,
        "store_dtype": manifest.dtype,
        "extraction_device": manifest.device_name,
    }
    return _plan(corpus, encoding, options, combination, manifest.model_source)


def plan_tuned_run(
    source: EncoderSource, corpus: Corpus, options: RunOptions, encoding: EncodingOptions
) -> PlannedRun:
    """A run that tunes the encoder. `encoding` says how it reads texts."""
    precision = find_precision(options.precision, options.device)
    settings, layers, head = options.settings, source.num_layers or 0, None
    if settings.head_from is not None:
        head = find_run(settings.head_from, options.runs_dir)
        settings = settings.but(head_from=head.id)
        options = replace(options, settings=settings)
    tuning = get_tuning(settings.tuning)
    tuning.check(settings, layers)
    # Whether the first and the last layer are trained in different ways in some epoch
    differ = settings.layer_decay != 1 or any(
        tuning.trains("", 1, settings, layers, epoch)
        != tuning.trains("", layers, settings, layers, epoch)
        for epoch in range(1, min(settings.epochs, layers + 2) + 1)
    )
    if source.shares_layers and differ:
        raise InputError(
            f"the {layers} layers of {source.name} share their weights, so they cannot be frozen "
            "or have learning rates of their own; train all or none of them"
        )
    of_encoder = {
        "context": encoding.context,
        "casing": encoding.casing,
        "pooling": encoding.pooling_of(source),
        "packing": encoding.packing if corpus.has_pairs else None,
        "model": source.name,
        "encoder_weights": source.weights_hash,
        "encoder_layers": source.num_layers,
        "encoder_hidden_size": source.hidden_size,
        # Tuning keeps fp32 weights and casts their products. A store has states of an encoder with
        # weights that were cast once.
        "encoder_precision": precision if precision == "fp32" else f"{precision}-autocast",
        "store_dtype": None,
        "encoder_files": source.files_hash,
        "extraction_device": None,
        "adapted_epochs": source.adapted_epochs,
    }
    plan = _plan(corpus, of_encoder, options, None, source.reference)
    if head is not None:
        _check_head(head, plan)
    return replace(plan, head=head)


def _check_head(head: Run, plan: PlannedRun) -> None:
    """Raises InputError if a tuned run cannot begin with the head of the run `head`."""

    def conditions(run: RunRecord | PlannedRun, seed: int, layers: str | None) -> dict[str, Any]:
        names = ("encoder_weights", "context", "casing", "pooling", "packing", "tag_scheme")
        settings = {*Head.model_fields, "train_on", "train_share", "shots"}
        settings -= {"dropout", "label_smoothing"}
        return {
            **{name: getattr(run.signature, name) for name in names},
            **{
                n: value
                for n, value in with_later(run.settings, run.tuning).items()
                if n in settings
            },
            "body": _module_of(run.settings["body"]),
            "task": run.task,
            "seed": seed,
            "layers": layers,
            "train": run.signature.splits.get("train"),
        }

    of_head = conditions(head.record, head.record.seed, head.record.layers)
    of_plan = conditions(plan, plan.options.seed, "last")
    if of_plan["train_on"] != "train":
        raise InputError(f"is {of_plan['train_on']}; a head is tuned on train", setting="train_on")
    shown = dict.fromkeys(("train", "encoder_weights"), ("another", "this"))
    if differing := [name for name in of_plan if of_head.get(name) != of_plan[name]]:
        pairs = {n: shown.get(n, (of_head.get(n), of_plan[n])) for n in differing}
        listed = ", ".join(f"{name} {has}, not {wants}" for name, (has, wants) in pairs.items())
        raise InputError(f"the head of {head.name} cannot be tuned on: it has {listed}")


def _module_of(body: str) -> str:
    """The first body with the same module: solvers fit linear heads."""
    return next(name for name in BODIES if BODIES[name].home == BODIES[body].home)


def check_trainable(corpus: Corpus, settings: Settings) -> None:
    """Raises InputError if the corpus lacks a split or targets that training needs."""
    source = corpus.source or corpus.name
    has = ", ".join(corpus.splits) or "none"
    for name in ("train", "dev"):
        if name not in corpus or not len(corpus[name]):
            advice = split_advice(corpus, name)
            raise InputError(f"{source} has no {name} split (only {has}); {advice}")
        if not corpus[name].is_tagged:
            column = spelling("target" if corpus[name].sentences[0].texts else "tag_column")
            advice = f", or name their column with {column}" if corpus.source else ""
            place = corpus[name].path or name
            raise InputError(f"{place} has texts but no answers; add them{advice}")
    if settings.train_on != "train" and not ("test" in corpus and corpus["test"].is_tagged):
        raise InputError(
            f"{source} has no answers in test to score a run that learns from {settings.train_on} "
            f"(splits: {has}); train on train"
        )
    if settings.train_share != 1 and not unit_numbers(corpus["train"]).any():
        raise InputError(
            f"{corpus['train'].path or 'train'} is one document or sentence; a share of "
            f"{settings.train_share:g} needs several"
        )


def check_same_text(manifest: Manifest, store: Path, corpus: Corpus) -> None:
    """Raises InputError if the store was extracted from another text than the corpus."""
    for name, split in corpus.splits.items():
        if name not in manifest.splits or manifest.splits[name].text != split.text_fingerprint:
            raise InputError(
                f"{store} was not extracted from the {name} text of {corpus.source or corpus.name};"
                " featbert extract reads that text"
            )


def check_as_planned(
    plan: PlannedRun, corpus: Corpus, state_source: FeatureStore | EncoderSource
) -> None:
    """Raises InputError if this process finds another text or encoder than the plan."""
    signature = plan.signature
    differences = [
        f"{name} of {corpus.source or corpus.name}"
        for name, planned in signature.splits.items()
        if name not in corpus or split_identity(corpus, name) != planned
    ]
    if isinstance(state_source, EncoderSource):
        hashes = signature.encoder_weights, signature.encoder_files
        differences += state_source.differences(signature.model, *hashes)
    if differences:
        raise InputError(
            f"not what was planned: {'; '.join(differences)}; on a cluster, all nodes need the "
            "same files; where files were changed, run the command again"
        )


def _plan(
    corpus: Corpus,
    encoding: Mapping[str, Any],
    options: RunOptions,
    combination: LayerCombination | None,
    model_source: str,
) -> PlannedRun:
    """A run with its signature and its name. `encoding` are the signature's fields on states."""
    settings, task, device = options.settings, get_task(options.task), options.device
    layers = None if combination is None else combination.name
    _check_options(corpus, encoding, options, combination)
    precision = settings.trainer.precision or find_precision(options.precision, device)
    if combination is not None and device.kind == "cuda" and settings.trainer.precision is None:
        precision = "fp32"  # cuDNN's LSTM knows no bf16 autocast: see `models/bilstm.py`
    signature = Signature(
        corpus=corpus.name,
        source=corpus.source,
        language=corpus.language,
        splits={name: split_identity(corpus, name) for name in SPLITS if name in corpus},
        tag_scheme=options.tag_scheme,
        entity_types=list(task.classes_of(corpus)),
        training_precision=precision,
        scorer=task.scorer,
        **device.facts,
        **encoding,
    )
    # The packing of single texts has no effect.
    idle = SURROUNDINGS | ({"packing"} if signature.packing is None else set())
    identity = {k: v for k, v in dataclasses.asdict(signature).items() if k not in idle}
    identity |= {"task": task.name, "tuning": settings.tuning, "layers": layers}
    plan = PlannedRun(Path(), combination, signature, options, model_source)
    identity |= {"settings": plan.settings, "seed": options.seed}
    row = (corpus.name, signature.model, layers or settings.tuning, f"seed{options.seed}")
    name = "--".join(map(slug, (*row, json_hash(identity)[:8])))
    base = None
    if settings.train_on != "train":
        on_train = replace(options, settings=settings.but(train_on="train"))
        base = _plan(corpus, encoding, on_train, combination, model_source)
    for path in (corpus.source or "", options.runs_dir.absolute()):
        utf8_path(path)
    return replace(plan, folder=options.runs_dir / name, base=base)


def _check_options(
    corpus: Corpus,
    encoding: Mapping[str, Any],
    options: RunOptions,
    combination: LayerCombination | None,
) -> None:
    """Raises InputError for settings that the text, the encoder or the trainer cannot have."""
    settings, task, frozen = options.settings, get_task(options.task), combination is not None
    if get_tuning(settings.tuning).frozen != frozen:
        raise InputError(
            f"is {settings.tuning!r}, but the encoder is {'frozen' if frozen else 'tuned'}; "
            f"begin with defaults({'none' if frozen else 'full'!r})",
            setting="tuning",
        )
    if settings.reads == "sequence" and encoding["packing"] is None:
        raise InputError(f"{settings.output} reads pairs, not single texts", setting="output")
    if options.tag_scheme != "bio" and not task.has_scheme:
        raise InputError(f"{options.tag_scheme} is not for {task.title}", setting="tag_scheme")
    settings.trainer.load().check(settings, task, combination)
    if settings.shots is not None:
        if task.answer != "class":
            raise InputError(
                f"is for one class for each text, not for {task.title}", setting="shots"
            )
        learned_part(corpus["train"], 1.0, shots=settings.shots, seed=options.seed)
    if task.has_classes and not task.classes(corpus["train"], options.tag_scheme):
        raise InputError(
            f"no text of {corpus['train'].path or 'train'} has a class; add some, or name their "
            f"column with {spelling('target')}"
        )
    n_classes, limit = len(task.classes_of(corpus)), task.measure.most_classes
    if n_classes > limit:
        raise InputError(
            f"{task.measure.name} is of {limit} classes, but {corpus.source or corpus.name} has "
            f"{n_classes}; use another measure, such as {task.name.partition(':')[0]}:macro_f1"
        )


def split_identity(corpus: Corpus, name: str) -> SplitIdentity:
    """Fingerprints and size of a split."""
    split = corpus[name]
    return SplitIdentity(split.text_fingerprint, split.tag_fingerprint, len(split), split.n_words)
