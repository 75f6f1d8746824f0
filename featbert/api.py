"""The commands as Python functions.

Each function takes its request, or the fields of the request as keywords:

    train(TrainRequest(features=store, layers="last", seeds="1-3"))
    train(store, "last", seeds=[1, 2, 3], lstm_size=256)

Fields have the names, types, bounds and defaults of the command's options. Text, encoder, store and
runs may also be loaded objects. Everything that can be checked without torch is checked before
torch is loaded, which takes seconds.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    Self,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

from pydantic import BeforeValidator, Field, InstanceOf, ValidationError
from pydantic_core import PydanticCustomError

from featbert.config import (
    CACHE_DIR,
    LARGEST_SEED,
    NO_OPTION,
    ONLY_SCORES,
    RUNS_DIR,
    Adapt,
    Analyses,
    Compute,
    Data,
    Encoding,
    File,
    Filled,
    Flag,
    Folder,
    Head,
    Margin,
    Name,
    Option,
    Rows,
    RowsTable,
    Section,
    Seed,
    Settings,
    Several,
    Training,
    defaults,
    defaults_by_task,
    mistakes,
    parse_seeds,
    validated,
)
from featbert.data import load as files
from featbert.data.check import notice_doubts
from featbert.data.corpus import SPLITS, Corpus
from featbert.data.options import ReadingOptions
from featbert.data.tags import TargetKind, target_kind
from featbert.encoders.device import load_torch
from featbert.encoders.layers import each_layer, fixed_layers, parse_layers, split_specs
from featbert.encoders.source import DEFAULT_MODEL, EncoderSource, find_encoder
from featbert.encoders.tokenizer import is_uncased
from featbert.encoders.tunings import get_tuning
from featbert.engine import Each, in_turn
from featbert.errors import OPTIONS, PARAMETERS, InputError, MissingError, check_known, spelling
from featbert.io import check_folder, expanded
from featbert.progress import notice, report, shown_in_python
from featbert.tasks.base import TASKS, get_task
from featbert.text import counted, listed
from featbert.training.tracking import log_folder


def object_of(module: str, name: str) -> Any:
    """A field's type: objects of a class. It is not imported: without its module there are none."""

    def check(value: object) -> object:
        if isinstance(value, getattr(sys.modules.get(module), name, ())):
            return value
        raise PydanticCustomError("is_instance_of", "Input should be a " + name)

    return Annotated[Any, BeforeValidator(check)]


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from featbert.adaptation.plan import Adapted
    from featbert.analysis.comparison import Comparisons
    from featbert.experiments.file import Experiment
    from featbert.experiments.plan import ExperimentPlan
    from featbert.features.plan import ExtractionPlan
    from featbert.features.probe import Probed
    from featbert.features.store import FeatureStore
    from featbert.inference.evaluate import Evaluation
    from featbert.inference.load import LoadedRun
    from featbert.inference.speed import Speed
    from featbert.runs.run import Run, UsableRun
else:  # commands that draw a comparison from a file import none of these modules
    FeatureStore = object_of("featbert.features.store", "FeatureStore")
    Experiment = object_of("featbert.experiments.file", "Experiment")
    Run = object_of("featbert.runs.run", "Run")

T = TypeVar("T")
R = TypeVar("R", bound="Request")
# In descriptions of fields, which help shows too.
_OPTION_NAME = re.compile(r"--([a-z]+(?:-[a-z]+)*)")
# Finished runs, or their names.
Runs = Annotated[Several[Annotated[str | Run, Name]], Option("RUN")]


class Request(Section):
    """Arguments of a function. InputError for values that it cannot have."""

    def __init__(self, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise InputError("; ".join(mistakes(type(self), error))) from None

    @property
    def given(self) -> dict[str, Any]:
        """Values of the fields that were set, by name."""
        return {name: getattr(self, name) for name in self.model_fields_set}

    def but(self, **changes: Any) -> Self:
        """A copy with changes."""
        return validated(type(self), self.given | changes)


def door(
    *positional: str, tuning: str | None = None
) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Lets a function that takes a request also take the fields of the request.

    `positional` fields need no keyword. The parameter `progress` is added: whether to show bars and
    lines in a notebook or a terminal. Other parameters of the function stay. Help shows settings
    with the defaults of `tuning`, and `...` for those that the task decides.
    """
    usual, by_task = dict[str, Any](), dict[str, str]()
    if tuning is not None:
        usual = defaults(tuning).model_dump()
        texts = defaults_by_task(tuning)
        by_task = {name: text for name, text in texts.items() if text != usual[name]}

    def decorated(function: Callable[..., T]) -> Callable[..., T]:
        kind: type[Request] = globals()[function.__annotations__["request"]]
        _, *options = inspect.signature(function).parameters.values()

        @functools.wraps(function)
        def called(*values: Any, progress: bool = True, **fields: Any) -> T:
            values_of_options = {p.name: fields.pop(p.name) for p in options if p.name in fields}
            if len(values) == 1 and isinstance(values[0], kind) and not fields:
                (request,) = values
            else:
                if any(isinstance(value, Request) for value in values):
                    raise TypeError(f"{function.__name__} takes one {kind.__name__} or its fields")
                if len(values) > len(positional):
                    names = ", ".join(positional) or "none"
                    raise TypeError(f"{function.__name__} takes {names} without keywords")
                by_place = dict(zip(positional, values, strict=False))
                for name in by_place.keys() & fields.keys():
                    raise TypeError(f"{function.__name__} got {name} twice")
                plain = {name: _plain(value) for name, value in (by_place | fields).items()}
                request = validated(kind, plain)
            token = PARAMETERS.set(kind.fields())
            try:
                with shown_in_python(progress):
                    return function(request, **values_of_options)
            finally:
                PARAMETERS.reset(token)

        keyword, by_name = inspect.Parameter.KEYWORD_ONLY, kind.fields()
        by_name = {name: by_name[name] for name in positional} | by_name
        shown = {n: field.default for n, field in by_name.items()} | usual
        shown |= dict.fromkeys(by_task, ...)
        parameters = [
            inspect.Parameter(
                name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD if name in positional else keyword,
                default=inspect.Parameter.empty if field.is_required() else shown[name],
                annotation=_bare(field.annotation),
            )
            for name, field in by_name.items()
        ]
        shows = inspect.Parameter("progress", keyword, default=True, annotation=bool)
        signature = [*parameters, *(p.replace(kind=keyword) for p in options), shows]
        called.__signature__ = inspect.Signature(signature)  # type: ignore[attr-defined]
        ends = {name: f" [default: {text}]" for name, text in by_task.items()}
        lines = (f"    {n}: {f.description}{ends.get(n, '')}" for n, f in by_name.items())
        of_fields = _OPTION_NAME.sub(lambda m: m[1].replace("-", "_"), "\n".join(lines))
        called.__doc__ = f"{inspect.getdoc(function)}\n\nArgs:\n{of_fields}\n"
        return called

    return decorated


def _bare(kind: Any) -> Any:
    """A type without the annotations of its parts."""
    origin = get_origin(kind)
    if origin is Annotated:
        return _bare(kind.__origin__)
    if origin in (Union, UnionType, list, tuple):
        parts = tuple(map(_bare, get_args(kind)))
        return (origin if origin in (list, tuple) else Union)[parts]
    return kind


def _plain(value: Any) -> Any:
    """Numbers and arrays of NumPy, and ranges, as numbers and lists of Python."""
    if isinstance(value, list | tuple | range):
        return [_plain(part) for part in value]
    return value.tolist() if type(value).__module__ == "numpy" else value


class Text(Data):
    """A text: a loaded corpus, or a name and how its files are read."""

    data: Annotated[str | InstanceOf[Corpus], Name, Option("CORPUS")] = "sample"  # type: ignore[assignment]

    def corpus(self, targets: str | TargetKind | None) -> Corpus:
        """The corpus with answers of this kind. A loaded corpus is returned unchanged.

        InputError if a loaded corpus has answers of another kind, or was read in another way.
        """
        if not isinstance(self.data, Corpus):
            return files.load_corpus(self.data, self.reading, targets=targets)
        corpus = self.data
        for name, value in self.reading.changed.items():
            if corpus.reading.get(name) != value:
                advice = "give it to load_corpus" if corpus.source else "change the splits instead"
                raise InputError(f"is for files; {advice}", setting=name)
        if targets is not None and corpus.targets not in (None, kind := target_kind(targets).name):
            fitting = [n for n in TASKS if target_kind(get_task(n).targets).name == corpus.targets]
            advice = " or ".join(spelling("task", name) for name in fitting) or "another task"
            advice += f", or load the corpus for {self.task}" if corpus.source else ""
            raise InputError(
                f"{corpus.name} has {corpus.targets}, and {self.task} learns {kind}; give {advice}"
            )
        return corpus


class Encoded(Encoding):
    """How words become vectors. The encoder may be an `EncoderSource`."""

    model: Annotated[str | InstanceOf[EncoderSource], Name, Option("ENCODER")] = DEFAULT_MODEL  # type: ignore[assignment]

    @property
    def source(self) -> EncoderSource:
        """The encoder."""
        return self.model if isinstance(self.model, EncoderSource) else find_encoder(self.model)


class Cached(Section):
    panel = "Output"
    cache_dir: Folder = CACHE_DIR
    """Folder of feature stores."""


class InRuns(Section):
    panel = "Output"
    runs_dir: Folder = RUNS_DIR
    """Folder of runs."""


class Engine(Section):
    """Computes runs and shards here or on a cluster."""

    panel = "Computing"
    usual = frozenset({"on"})
    on: Literal["here", "ray"] = "here"
    """Place to compute: here, or on a Ray cluster with nodes that share this folder."""
    address: Annotated[str | None, Option("HOST:PORT")] = None
    """Head of the Ray cluster to join.  [default: RAY_ADDRESS, or a Ray that is started here]"""
    cpus_per_run: int | None = Field(None, ge=1)
    """With --on ray: cores of each run or shard.  [default: 1]"""
    gpus_per_run: float | None = Field(None, ge=0)
    """With --on ray: GPUs of each run or shard, or a share such as 0.25.  [default: 1 if there are
    any]"""

    def engine(
        self, *folders: Path, jobs: int | None = None
    ) -> AbstractContextManager[tuple[Each | None, int]]:
        """A context manager that starts the engine and yields a pair.

        Its parts are the cluster's `each` (None to compute here), and the number of runs at a time.
        InputError for options that exclude each other, or if Ray is not installed.
        """
        if self.on == "here":
            options = ("address", "cpus_per_run", "gpus_per_run")
            if names := [name for name in options if getattr(self, name) is not None]:
                needs = f"needs {spelling('on', 'ray')}; add that or omit it"
                raise InputError(needs, setting=names[0])
            return nullcontext((None, jobs or 1))
        try:
            from featbert.experiments import ray_engine
        except ImportError:
            raise InputError("ray needs pip install 'featbert[ray]'", setting="on") from None
        address = self.address or os.environ.get("RAY_ADDRESS")
        return ray_engine.joined(
            address, folders, cpus=self.cpus_per_run or 1, gpus=self.gpus_per_run, jobs=jobs
        )


# Corpora


class CorpusRequest(Text, Request):
    """A corpus to read."""

    without = frozenset({"tag_scheme"})


@door("data")
def load_corpus(request: CorpusRequest) -> Corpus:
    """A corpus with its answers for a task."""
    return request.corpus(get_task(request.task).targets)


# Extraction


class ExtractRequest(Engine, Cached, Compute, Encoded, Text, Request):
    """Hidden states to store, with their text and encoder."""

    without = frozenset({"tag_scheme"})
    layers: Annotated[str | int | list[int] | tuple[int, ...] | None, Filled, Option("LAYERS")] = (
        "all"
    )
    """Hidden states to store: all, numbers such as 0,9-12 (0: embeddings), or the layers of
    combinations such as concat_last4."""
    token_budget: int | None = Field(None, ge=1)
    """Padded subwords computed at once.  [default: 512, in bf16 on AMX 1024, on a GPU 32768]"""
    shards: Annotated[int | None, Option("N")] = Field(None, ge=1)
    """Number of files to store parts of the text in. They are read as one store.  [default: 1, on
    Ray as many as there is room for]"""


@door("data", "model")
def extract(request: ExtractRequest) -> FeatureStore:
    """Hidden states of every word of a corpus, in a store under `cache_dir`.

    An existing store with all of these states is returned. An interrupted extraction resumes.
    `train` reads the answers of this corpus by default.
    """
    engine = request.engine(request.cache_dir)
    plan, corpus = _plan_extraction(request)
    store = plan.finished
    if store is None:
        from featbert.features.plan import start_line
        from featbert.features.shards import extract_shards

        report(start_line(plan))
        with engine as (compute, room):
            store = extract_shards(plan, request.shards or room, compute or in_turn)
    store.corpus = corpus
    return store


@door("data", "model")
def plan_extract(request: ExtractRequest) -> ExtractionPlan:
    """The plan of `extract`. Computes and writes nothing."""
    return _plan_extraction(request)[0]


def _plan_extraction(request: ExtractRequest) -> tuple[ExtractionPlan, Corpus]:
    check_folder(request.cache_dir, "cache_dir")
    source = request.source
    targets = get_task(request.task).targets if "task" in request.given else None
    corpus = request.corpus(targets)
    notice_doubts(corpus)
    encoding = request.for_encoder(
        layers=request.layers, token_budget=request.token_budget, **request.where
    )
    encoding.announce(source, corpus)
    load_torch(request.threads)

    from featbert.features.plan import plan_extraction

    shards = request.shards or 1
    plan = plan_extraction(corpus, source, encoding, cache_dir=request.cache_dir, shards=shards)
    return plan, corpus


# Training


class Trained(InRuns, Compute, Encoded, Text, Request):
    """Fields that runs on features and tuned runs share."""

    panel = "Output"
    everyday = frozenset({"seeds"})
    usual = frozenset({"overwrite"})
    seeds: Annotated[Seed | str | list[Seed] | tuple[Seed, ...], Filled, Option("SEEDS")] = "1"
    """Random seeds, one run for each: 1,2,3 or 1-5."""
    overwrite: Flag = False
    """Train finished runs again."""
    log_with: Annotated[
        str | None, Option("TRACKER", suggests=("csv", "tensorboard", "wandb", "mlflow"))
    ] = None
    """Log every epoch while a run trains, to .csv, .tensorboard, .wandb or .mlflow in
    --runs-dir."""
    settings: Annotated[InstanceOf[Settings] | None, NO_OPTION] = None
    """Settings that replace the defaults of the tuning."""


# Gets each run as soon as it is finished.
OnRun = Callable[[Run], object]


class TrainRequest(Head, Training, Rows, Cached, Trained):
    """Heads to train on stored features: one run for each layer combination and seed."""

    panel = "Encoder"
    everyday = frozenset({"layers"})
    without = frozenset({"tuning"})
    features: Annotated[Folder | FeatureStore | None, Option("STORE")] = None
    """Feature store to read.  [default: the store of --data and --model, extracted if necessary]"""
    layers: Annotated[
        str | int | list[str | int] | tuple[str | int, ...], Filled, Option("LAYERS")
    ] = "concat_last4"
    """Layer combinations, separated by commas, one row for each: names such as last or
    weighted_all, single layers such as 7 or 1-6, each (every single layer), or forms such as
    concat:9-12."""


@door("features", "layers", tuning="none")
def train(request: TrainRequest, on_run: OnRun | None = None) -> list[Run]:
    """Trains heads on frozen features: one run for each layer combination and seed.

    Reads the store `features`, or else the store of `data` and `model`, which is extracted first if
    necessary. Finished runs of the same name (same text, answers, encoder, settings and seed) are
    returned without training, unless `overwrite`. With `train_on="train+dev"` the same run on train
    is trained first: its best epoch is the number of epochs.

    `on_run` gets each run as soon as it is finished. BusyError if another process trains one of
    them.
    """
    store, request = open_store(request)
    check_folder(request.runs_dir, "runs_dir")
    check_folder(request.cache_dir, "cache_dir")
    log_dir = log_folder(request.log_with, request.runs_dir)
    seeds = parse_seeds(request.seeds)
    num_layers = request.source.num_layers if store is None else store.manifest.num_layers
    specs = each_layer(split_specs(request.layers), num_layers or 0)
    combinations = [parse_layers(spec, num_layers) for spec in specs]
    task = get_task(request.task)
    settings = request.settings_for("none", 0, request.task, base=request.settings)
    weighted = any(combination.mode == "weighted" for combination in combinations)
    settings.check_given(request.given, weighted=weighted)
    if store is not None and request.precision not in ("auto", stored := store.manifest.precision):
        notice(f"the vectors of {store.path.name} stay in {stored}, as the encoder computed them")
    corpus = request.corpus(task.targets)

    from featbert.features.plan import plan_whole_store
    from featbert.runs.planned import check_trainable, options_by_seed, plan_stored_run

    check_trainable(corpus, settings)
    notice_doubts(corpus)
    extraction = None
    if store is None:
        specs = [combination.name for combination in combinations]
        encoding = request.for_encoder([settings.reads], layers=specs, **request.where)
        extraction = plan_whole_store(
            corpus, request.source, encoding, request.cache_dir, threads=request.threads
        )
        store = extraction.finished
    features = store or extraction
    assert features is not None
    if store is not None:
        for combination in combinations:
            store.require(combination.indices)
    load_torch(request.threads)
    options_of_runs = options_by_seed(seeds, settings, request, request.runs_dir)
    plans = {
        f"{combination.name}, seed {options.seed}": plan_stored_run(
            features.manifest, features.path, corpus, combination, options
        )
        for combination in combinations
        for options in options_of_runs
    }
    if extraction is not None and (
        request.overwrite or any(plan.finished is None for plan in plans.values())
    ):
        from featbert.features.extraction import make_store

        store = make_store(extraction)
    classes = task.classes_of(corpus)
    shown = f", {listed(classes, most=24)}" if classes else ""
    report(f"{corpus.name}: {corpus.source}{shown}; features: {features.path.name}")
    if extraction is None and features.manifest.uncased:
        model = features.manifest.model
        report(f"{model} is uncased: words were lowercased before they were read")
    from featbert.runs.train import train_all

    return train_all(
        plans, store, corpus, overwrite=request.overwrite, log_dir=log_dir, on_run=on_run
    )


class FinetuneRequest(RowsTable, Trained):
    """An encoder to tune with a head on top: one run for each seed."""

    without = frozenset({"store_dtype", "keep"})


@door("data", "model", tuning="full")
def finetune(request: FinetuneRequest, on_run: OnRun | None = None) -> list[Run]:
    """Tunes an encoder with a head on top: one run for each seed.

    `tuning` chooses the parameters to train. Finished runs and `on_run` are as in `train`.
    """
    check_folder(request.runs_dir, "runs_dir")
    log_dir = log_folder(request.log_with, request.runs_dir)
    seeds, source = parse_seeds(request.seeds), request.source
    settings = request.settings_for(
        "full",
        source.num_layers or 0,
        request.task,
        hidden_size=source.hidden_size or 0,
        base=request.settings,
    )
    tuning = get_tuning(settings.tuning)
    if tuning.frozen:
        raise InputError(
            f"is {tuning.name!r}, which trains on features; use featbert train", setting="tuning"
        )
    settings.check_given(request.given)
    tuning.check(settings, source.num_layers or 0)
    if settings.learning_rate > 0.1:
        rate = spelling("learning_rate", settings.learning_rate)
        notice(f"{rate} is high; encoders are tuned below 0.01")
    corpus = request.corpus(get_task(request.task).targets)

    from featbert.runs.planned import check_trainable, options_by_seed, plan_tuned_run

    check_trainable(corpus, settings)
    notice_doubts(corpus)
    encoding = request.for_encoder()
    encoding.announce(source, corpus)
    load_torch(request.threads)
    plans = {
        f"{tuning.title}, seed {options.seed}": plan_tuned_run(source, corpus, options, encoding)
        for options in options_by_seed(seeds, settings, request, request.runs_dir)
    }
    from featbert.runs.train import train_all

    return train_all(
        plans, source, corpus, overwrite=request.overwrite, log_dir=log_dir, on_run=on_run
    )


def open_store(request: R) -> tuple[FeatureStore | None, R]:
    """The store that a request names, or None, and the request with the text of the store."""
    features: Path | FeatureStore | None = request.given.get("features")
    if features is None:
        return None, request
    if encoded := [spelling(name) for name in Encoding.model_fields if name in request.given]:
        encoded.append(spelling("features"))
        raise InputError(f"{' and '.join(encoded)}: the store is encoded already; omit one")
    from featbert.features.store import FeatureStore as Store

    store = features if isinstance(features, Store) else Store(features)
    text = store.corpus or store.manifest
    extracted = {"data": text.source, **text.reading}
    if not text.source and store.corpus is None and "data" not in request.given:
        name = store.path.name
        fault = f"is missing: the corpus of {name} was made in Python; give it"
        raise InputError(fault, setting="data")
    stored: Any = request.but(**(extracted | request.given))
    targets = target_kind(get_task(stored.task).targets).name
    same_text = (stored.data, stored.reading) == (text.source, ReadingOptions(**text.reading))
    corpus = store.corpus if same_text else None
    # Without a source it was made in Python, and cannot be read again for another task.
    if corpus is not None and (not text.source or targets == corpus.targets):
        stored = stored.model_copy(update={"data": corpus})
    return store, stored


# Adaptation


class AdaptRequest(Adapt, Compute, Encoded, Text, Request):
    """An encoder to train as a language model on the text of a corpus."""

    without = frozenset(
        (
            *("task", "file_scheme", "tag_column", "label_names", "tag_scheme"),
            *("context", "casing", "pooling", "packing", "keep", "store_dtype"),
        )
    )
    settings: Annotated[InstanceOf[Adapt] | None, NO_OPTION] = None
    """Settings that replace the defaults."""
    seed: Annotated[int, Option("SEED")] = Field(1, ge=0, le=LARGEST_SEED)
    """Random seed."""
    out: Folder | None = None
    """Folder to write.  [default: a new folder in --models-dir]"""
    models_dir: Folder = Path("cache/models")
    """Folder of adapted encoders."""
    overwrite: Flag = False
    """Train finished runs again."""


@door("data", "model")
def adapt(request: AdaptRequest) -> Adapted:
    """Trains an encoder as a language model on train of a corpus, and writes it as a folder.

    InputError for sequences longer than the encoder reads, an encoder without a mask token or a
    masked-LM architecture, a loss that is not finite, or a full disk.
    """
    out, models_dir = request.out, request.models_dir
    check_folder(out or models_dir, "models_dir" if out is None else "out")
    from featbert.adaptation.adapt import run_adaptation
    from featbert.adaptation.plan import decide_nsp, plan_adaptation

    fields = {n: value for n, value in request.given.items() if n in Adapt.model_fields}
    settings = validated(Adapt, (request.settings or Adapt()).model_dump() | fields)
    source = request.source
    corpus = request.corpus(None)
    notice_doubts(corpus)
    with_nsp = decide_nsp(corpus, source, settings.nsp)
    load_torch(request.threads)
    if is_uncased(source):
        report(f"{source.name} is uncased: words are lowercased before they are read")
    objectives = "masked subwords" + (" and the next sentence" if with_nsp else "")
    report(f"{source.name} as a language model of {corpus.name}: {objectives}")
    options = request.model_dump(include={"out", "models_dir", "seed"})
    plan = plan_adaptation(corpus, source, settings, compute=request, **options)
    plan = replace(plan, overwrite=request.overwrite)
    return plan.finished or run_adaptation(plan)


# Experiments


class RunRequest(Margin, Engine, InRuns, Cached, Request):
    """An experiment to run."""

    file: File | str | Experiment
    """Experiment file (TOML), or a name of --list."""
    changes: Annotated[Several[str], Option("KEY=VALUE", name="--set")] = Field([])
    """Override a key, such as features.epochs=2. May be given several times."""
    threads: int | None = Field(None, ge=1)
    """Threads of each run. Replaces the file's key."""
    seeds: Annotated[Seed | str | list[Seed] | None, Option("SEEDS")] = None
    """Seeds that replace the file's: 1,2,3 or 1-5."""
    minutes: float | None = Field(None, gt=0)
    """Minutes to spend: rows are candidates, and the best get seeds. Replaces the file's key."""
    jobs: Annotated[int | None, Option("RUNS")] = Field(None, ge=1)
    """Runs at a time, each a process with its share of the cores.  [default: 1, on Ray as many as
    there is room for]"""
    log_with: str | None = Trained.model_fields["log_with"]  # type: ignore[assignment]

    # Fields that change the experiment of a file.
    changing: ClassVar = ("changes", "seeds", "threads", "minutes")

    def with_experiment(self) -> Self:
        """The request with the experiment itself instead of a file and changes."""
        unchanged = {n: value for n, value in self.given.items() if n not in self.changing}
        return validated(type(self), unchanged | {"file": self.experiment})

    @property
    def experiment(self) -> Experiment:
        """The experiment in the file, with all changes.

        If it has minutes, its text gives the task unless a key does. InputError for changes of an
        experiment that was read already.
        """
        from featbert.experiments.file import Experiment, read_experiment

        if isinstance(self.file, Experiment):
            if names := [name for name in self.changing if getattr(self, name) not in (None, [])]:
                raise InputError(
                    f"{' and '.join(names)}: the experiment is read already; change it when it is "
                    "read, or give its file"
                )
            return self.file
        seeds = self.seeds
        seeds = ",".join(map(str, seeds)) if isinstance(seeds, list) else seeds
        keys = {"seeds": seeds, "threads": self.threads, "minutes": self.minutes}
        changes = [f"{key}={value}" for key, value in keys.items() if value is not None]
        changes = [*self.changes, *changes]
        experiment = read_experiment(self.file, changes)
        if experiment.keys.minutes is None:
            return experiment
        from featbert.tasks.suited import suited_task

        text = experiment.configurations[0]
        if "task" not in text.model_fields_set:
            task = suited_task(text.data, text.reading)
            experiment = read_experiment(self.file, [*changes, f"task={task}"])
        return experiment


@dataclass(frozen=True)
class ExperimentResult:
    """A finished experiment: its last plan, and a comparison for each task of its runs."""

    plan: ExperimentPlan
    comparisons: Comparisons

    def __repr__(self) -> str:
        runs = sum(len(row.runs) for comparison in self.comparisons for row in comparison.rows)
        size = f"{counted(len(self.comparisons), 'comparison')} of {counted(runs, 'run')}"
        return f"<ExperimentResult: {self.plan.experiment.name} · {size}>"

    @property
    def runs(self) -> list[Run]:
        """The finished runs of its rows."""
        return self.plan.runs


class FailedRunsError(InputError):
    """Runs of an experiment failed. `result` has the finished runs."""

    def __init__(self, text: str, result: ExperimentResult, count: str) -> None:
        super().__init__(text)
        self.result, self.count = result, count


@door("file")
def run(
    request: RunRequest, analyses: Analyses | Mapping[str, Any] = ONLY_SCORES
) -> ExperimentResult:
    """Extracts features once, trains unfinished runs, and compares all runs of an experiment.

    The comparisons have `analyses` besides the scores, such as {"stats": True} (keywords of
    `compare`). FailedRunsError if runs failed. The other runs are finished and not trained again.
    """
    check_folder(request.runs_dir, "runs_dir")
    log_dir = log_folder(request.log_with, request.runs_dir)
    if not isinstance(analyses, Analyses):
        analyses = validated(Analyses, analyses)
    engine = request.engine(request.cache_dir, request.runs_dir, jobs=request.jobs)
    plan = plan_run(request)

    from featbert.analysis.compare import compare
    from featbert.analysis.comparison import Comparisons
    from featbert.analysis.labels import run_labels
    from featbert.experiments.minutes import MinutesPlan
    from featbert.experiments.schedule import carry_out

    if isinstance(plan, MinutesPlan):
        from featbert.report.plan import minutes_text

        plan = plan.timed()
        for line in minutes_text(plan).split("\n"):
            report(line)
    else:
        total, later = counted(len(plan.jobs), "run"), plan.later_runs
        report(f"{plan.experiment.name}: {len(plan.missing):,} of {total} to train{later}")
    with engine as (compute, at_a_time):
        plan = carry_out(plan, jobs=at_a_time, log_dir=log_dir, each=compute, labels=run_labels)
    comparisons = Comparisons(())
    if plan.runs:
        margin = {n: value for n, value in request.given.items() if n in Margin.model_fields}
        analyses = analyses.model_copy(update=margin)
        comparisons = compare(plan.runs, analyses, groups="task", experiment=plan.record)
    result = ExperimentResult(plan, comparisons)
    if plan.failures:
        waiting = sum(job.name not in plan.failures for job in plan.missing)
        skipped = f", {counted(waiting, 'run')} that need them were skipped" if waiting else ""
        failed = f"{counted(len(plan.failures), 'failure')}{skipped}"
        reasons = "; ".join(f"{name}: {reason}" for name, reason in plan.failures.items())
        raise FailedRunsError(f"{failed}: {reasons}", result, failed)
    return result


@door("file")
def plan_run(request: RunRequest) -> ExperimentPlan:
    """The runs of an experiment that are known now. Computes and writes nothing."""
    check_folder(request.cache_dir, "cache_dir")
    from featbert.experiments.plan import ExperimentPlan, Resources, naming

    experiment, resources = request.experiment, Resources()
    for arm, differing in zip(experiment.configurations, experiment.differing, strict=True):
        with naming(differing):
            arm.for_encoder().check(resources.encoder(arm.model), resources.corpus(arm))
    notice_doubts(*{id(c): c for c in map(resources.corpus, experiment.configurations)}.values())
    load_torch()
    places = (experiment, request.cache_dir, request.runs_dir, resources)
    if experiment.keys.minutes is not None:
        from featbert.experiments.minutes import MinutesPlan

        arms = experiment.configurations
        encoders = dict.fromkeys(Path(resources.encoder(arm.model).name).name for arm in arms)
        names = (experiment.name, resources.corpus(arms[0]).name, *encoders)
        keys = experiment.keys.model_copy(update={"name": "-".join(names)})
        places = (replace(experiment, keys=keys), *places[1:])
        return MinutesPlan(*places, at_a_time=request.jobs or 1, gains=_gains).renewed()
    return ExperimentPlan(*places).renewed(at_a_time=request.jobs or 1)


# A p-value on dev that ends the seeds of two rows. Test has noise of its own, hence not 0.05.
SETTLED = 0.01


def _gains(first: Sequence[Run], second: Sequence[Run]) -> tuple[float, float] | None:
    """`Gains` of two rows: by how much the next seed lowers the variance of their difference."""
    import numpy as np

    from featbert.analysis.interval import (
        FEWEST_UNITS,
        difference_estimate,
        for_every_seed,
        needed,
    )

    by_row = for_every_seed((first, second), [runs[0].has_seed for runs in (first, second)])
    counts = [np.stack([run.counts("dev").units for run in runs]) for runs in by_row]
    if counts[0].shape[1] < FEWEST_UNITS:
        return None
    estimate = difference_estimate(counts[0], counts[1], first[0].task.measure.of)
    if not estimate.covers_seeds or estimate.p_value < SETTLED or needed(estimate).seeds is None:
        return None
    parts = zip(estimate.seed_variances, estimate.run_variances, estimate.seeds, strict=True)
    gains = [(seeds + text) / (n * (n + 1)) for seeds, text, n in parts]
    return gains[0], gains[1]


# Finished runs


class CompareRequest(Analyses, InRuns, Request):
    """Finished runs to compare, or a comparison to read."""

    filters = frozenset({"data", "task"})
    # Fields that only matter if runs are read.
    of_runs: ClassVar = frozenset(
        [
            *("runs", "runs_dir", "experiment", "data", "task", "evaluated_on"),
            *("against", "published", "vary", "within", "cheapest"),
        ]
    )
    runs: Runs = Field([])
    """Runs: their ids or other parts of their names, their folders, or labels of rows. Or folders
    of runs, or results files. [default: all finished runs]"""
    runs_dir: Folder = RUNS_DIR
    """Folder of runs, or a results file."""
    experiment: Annotated[str | None, Option("EXPERIMENT")] = None
    """A finished experiment: its rows and varied settings."""
    data: Annotated[str | None, Option("CORPUS")] = None
    """Only runs on corpora with this in their name."""
    task: str | None = None
    """Only runs of this task."""
    evaluated_on: Annotated[str | None, Option("CORPUS")] = None
    """Scores on another corpus, of runs that featbert evaluate scored on it: its name or place."""
    file: Annotated[File | None, Option("FILE", name="--from")] = None
    """Show a comparison that --format json wrote, without its runs."""


@door("runs")
def compare(request: CompareRequest) -> Comparisons:
    """Comparisons of finished runs, with the analyses that the request asks for.

    Named runs and the runs of an experiment share a table: InputError if they are not comparable.
    Without both, each group of comparable runs has one, in `runs_dir` or in the named folders of
    runs and results files. MissingError if no run is found.
    """
    from featbert.analysis.comparison import View

    if request.file is not None:
        from featbert.analysis.document import read_comparisons

        for name in sorted(request.of_runs & {*request.given}):
            raise InputError(
                f"{spelling(name)} is for runs, which {spelling('file')} does not read; omit one"
            )
        return read_comparisons(request.file).with_view(View.of(request))
    from featbert.analysis.compare import compare
    from featbert.analysis.listing import named_runs, runs_of_kind
    from featbert.inference.evaluate import runs_elsewhere
    from featbert.report.figures.registry import FIGURES
    from featbert.runs.record import read_experiment_record, read_record, without_removed
    from featbert.runs.run import Run, find_runs, holds_runs

    check_known("figure", request.figures, FIGURES)
    if "runs" in request.given and not request.runs:
        raise InputError(
            "an empty list; name runs, or leave it out for all of them", setting="runs"
        )
    paths = [expanded(name) for name in request.runs if isinstance(name, str)]
    folders = [path for path in paths if holds_runs(path)]
    names_runs = len(folders) < len(request.runs)
    if len(request.runs) == 1 and not names_runs:
        request = request.model_copy(update={"runs": [], "runs_dir": paths[0]})

    place, experiment, notes = request.runs_dir, None, list[str]()
    runs: Sequence[Run]
    if request.experiment is not None:
        if request.runs:
            raise InputError(f"run names and {spelling('experiment')} exclude each other; omit one")
        experiment = without_removed(read_experiment_record(place, request.experiment), place)
        runs = [Run(place / name, read_record(place / name)) for name in experiment.rows]
    elif request.runs:
        of_folders = {folder: find_runs(folder) for folder in folders}
        names = request.runs
        by_name = (of_folders.get(expanded(n), [n]) if isinstance(n, str) else [n] for n in names)
        runs = named_runs(itertools.chain.from_iterable(by_name), place)
        notes = [note for found in of_folders.values() for note in found.notes(request.data)]
    else:
        runs_of_folder = find_runs(place)
        runs, notes = runs_of_folder.runs, runs_of_folder.notes(request.data)
        if not runs:
            raise MissingError(
                f"{', '.join([f'no finished runs in {place}', *notes])}; "
                "featbert train and featbert finetune make them"
            )
    if experiment is not None and not runs:
        raise MissingError(f"no run of {experiment.name} is finished yet; featbert run goes on")
    records = [run.record for run in runs]
    runs = runs_of_kind(runs, request.data, request.task)
    if not runs:
        tasks = listed({record.task: None for record in records})
        corpora = listed({record.signature.corpus: None for record in records})
        raise MissingError(f"no run of that kind; tasks of the runs: {tasks}; corpora: {corpora}")
    if request.evaluated_on is not None:
        evaluated = runs_elsewhere(runs, request.evaluated_on)
        notes += dict.fromkeys(remark for run in evaluated for remark in run.remarks)
        if n_unscored := len(runs) - len(evaluated):
            notes.append(
                f"left out, not evaluated on {request.evaluated_on}: {counted(n_unscored, 'run')}"
            )
        runs = evaluated
    groups: Any = "one" if names_runs or request.vary else "comparable"
    groups = "task" if experiment else groups
    return compare(
        runs,
        request,
        groups=groups,
        keeps_trials=names_runs,
        experiment=experiment,
        notes=notes,
    )


class OfRuns(InRuns, Request):
    """Finished runs and their encoders."""

    filters = frozenset({"data"})
    best: Flag = False
    """Take the best run on dev if RUN means several, such as seeds."""
    data: Annotated[str | None, Option("CORPUS")] = None
    """Only runs on corpora with this in their name."""
    model: Annotated[str | None, Name, Option("ENCODER")] = None
    """The run's encoder, if it has moved.  [default: its place during training]"""

    def usable(self, run: str | Run) -> UsableRun:
        """The run with this name, with its encoder."""
        if isinstance(run, str):
            from featbert.analysis.listing import find_run_called

            run = find_run_called(run, self.runs_dir, self.best, self.data)
        return _usable(run, self.model)


class UseRequest(OfRuns):
    """A finished run to use, with scaled probabilities on request."""

    run: Annotated[str | Run, Name, Option("RUN")]
    """A finished run: its id or another part of its name, its folder, or the label of its row."""
    calibrate: bool = False
    """Scale the probabilities by a temperature chosen on dev. Answers do not change."""

    def usable(self, run: str | Run) -> UsableRun:
        usable = super().usable(run)
        if not self.calibrate:
            return usable
        from featbert.inference.calibration import calibrated

        return calibrated(usable)


def _usable(run: Run, model: str | None) -> UsableRun:
    from featbert.runs.run import UsableRun, check_usable

    return run if isinstance(run, UsableRun) else check_usable(run, model=model)


class EvaluateRequest(InRuns, Cached, Compute, Data, Request):
    """Finished runs to score on other data."""

    without = frozenset({"task", "tag_scheme", "precision"})
    runs: Runs
    """Finished runs: their ids or other parts of their names, or their folders."""
    data: Annotated[Several[Annotated[str | InstanceOf[Corpus], Name]], Option("CORPUS")] = Field(  # type: ignore[assignment]
        description="Corpus: a folder with train, dev and test files, a file with all of test, "
        "sample, or hf:NAME. May be given several times."
    )
    split: Annotated[Several[str], Option("SPLIT", suggests=SPLITS)] = Field([])
    """Split to score. May be given several times.  [default: test, or dev without it]"""
    mapping: Annotated[dict[str, str] | list[str], Option("FROM=TO", name="--map")] = Field({})
    """Rename a class in gold and predictions, such as person=PER. O removes it from entities and
    sets of classes. May be given several times."""
    model: str | None = OfRuns.model_fields["model"]  # type: ignore[assignment]
    by: Annotated[Several[str], Option("FACET")] = Field([])
    """Scores also by a facet, such as type or length. May be given several times."""
    overwrite: Flag = False
    """Repeat finished evaluations."""


@door("runs", "data", "split")
def evaluate(request: EvaluateRequest) -> list[Evaluation]:
    """Scores finished runs on splits of corpora. Records and predictions go to their folders.

    An existing evaluation of the same text, answers and mapping is returned, unless `overwrite`.
    `mapping` has new names of classes, for gold and predicted answers. "O" removes a class.
    """
    check_folder(request.cache_dir, "cache_dir")
    from featbert.analysis.listing import named_runs
    from featbert.analysis.rows import once
    from featbert.data.corpus import EVALUATED
    from featbert.inference.evaluate import (
        Evaluation,
        evaluate_planned,
        parse_mapping,
        plan_evaluations,
    )

    renamed = request.mapping
    mapping = renamed if isinstance(renamed, dict) else parse_mapping(renamed)
    runs = once(named_runs(request.runs, request.runs_dir))
    for run in runs:
        check_known("facet", request.by, run.task.facets)
    if request.by:
        check_known(f"split for {spelling('by')}", request.split, EVALUATED)
    usable = [_usable(run, request.model) for run in runs]
    reading = replace(request.reading, alone="test")
    plans = plan_evaluations(usable, request.data, request.split, mapping, reading)
    evaluations, loaded = [], None
    for plan in plans:
        record = None if request.overwrite else plan.finished
        if record is None:
            load_torch(request.threads)
            from featbert.inference.load import load

            if loaded is None or loaded.folder != plan.usable.folder:
                loaded = load(plan.usable, request.device)
            report(f"evaluating {loaded.name} on {plan.corpus.name} {plan.split.name}")
            record = evaluate_planned(plan, loaded, request.cache_dir)
        else:
            report(f"evaluated before: {plan.path}")
        evaluations.append(Evaluation(plan.usable, record, plan.path))
    return evaluations


class LoadRequest(UseRequest):
    """A finished run to load."""

    device: str = Compute.model_fields["device"].default
    """Device to compute on."""


@door("run")
def load(request: LoadRequest) -> LoadedRun:
    """A finished run, or an exported one, ready to answer: `load(run).predict(texts)`.

    On another device than the run's, the last bits of its numbers differ.
    """
    usable = request.usable(request.run)
    load_torch()
    from featbert.inference.load import load

    return load(usable, request.device)


class ExportRequest(UseRequest):
    """A finished run to write as a folder."""

    folder: Annotated[Folder, Option("FOLDER")]
    """Folder to write, whole or not at all."""
    format: Literal["transformers", "peft", "featbert"] | None = None
    """Library to load the folder. Transformers has no CRF and no BiLSTM, and gets merged adapters.
    Peft gets unmerged adapters. Featbert loads every run.  [default: transformers for a tuned
    encoder with another head, else featbert]"""
    with_encoder: Flag = False
    """Copy the encoder's files into a folder for featbert."""
    onnx: bool = False
    """Add model.onnx, for onnxruntime, to a folder for transformers."""
    overwrite: Flag = False
    """Replace an exported run."""


@door("run", "folder")
def export(request: ExportRequest) -> Path:
    """Writes a finished run, with a model card, as a folder to use or share. Returns its path."""
    from featbert.runs.folder import check_free

    folder, onnx = request.folder, request.onnx
    check_free(folder, request.overwrite)
    usable = request.usable(request.run)
    frozen = get_tuning(usable.record.tuning).frozen
    missing_part = "" if frozen else usable.settings.missing_in_transformers
    form = "featbert" if (frozen or missing_part) and not onnx else "transformers"
    if missing_part and request.format is None and not onnx:
        notice(f"transformers has no {missing_part}, so this folder is for featbert only")
    form = request.format or form
    load_torch()
    from featbert.inference.export import export
    from featbert.report.card import model_card

    card = model_card(usable, folder, form, onnx=onnx)
    export(
        usable,
        folder,
        form,
        card=card,
        with_encoder=request.with_encoder,
        onnx=onnx,
        overwrite=request.overwrite,
    )
    return folder


class SpeedRequest(Compute, OfRuns):
    """Finished runs to time."""

    without = frozenset({"precision"})
    runs: Runs
    """Finished runs: their ids or other parts of their names, or their folders."""
    sentences: int = Field(200, ge=1)
    """Sentences to answer, spread over the test split."""
    repeats: int = Field(5, ge=1)
    """Number of measurements. Their median is reported."""


@door("runs")
def speed(
    request: SpeedRequest, on_run: Callable[[Run, Speed], object] | None = None
) -> list[Speed]:
    """Seconds of runs for 1,000 sentences from words to answers, one at a time and batched.

    The folders of the runs keep their newest times. `on_run` gets each run with its times.
    """
    usable = [request.usable(run) for run in request.runs]
    load_torch(request.threads)
    from featbert.inference.load import load
    from featbert.inference.speed import measure_speed

    speeds = []
    for run in usable:
        report(f"timing {run.name}")
        loaded = load(run, request.device)
        took = measure_speed(loaded, sentences=request.sentences, repeats=request.repeats)
        if on_run is not None:
            on_run(run, took)
        speeds.append(took)
    return speeds


class PredictRequest(Compute, UseRequest, Data):
    """Text for a finished run to tag."""

    without = frozenset({*Data.model_fields, "precision"}) - {
        *("data", "encoding", "token_column", "delimiter", "quoting", "escape", "text", "pair")
    }
    file: Annotated[str, Name, Option("FILE")] = "-"
    """File to tag. - is standard input."""
    input: Literal["auto", "text", "conll", "jsonl", "tsv", "csv"] = "auto"
    """Kind of input: raw text with one sentence per line (text), tokenised text (conll, jsonl) or
    columns of texts (tsv, csv, jsonl). Auto infers it from the file's suffix, and reads standard
    input as raw text."""
    format: Literal["conll", "jsonl"] = "conll"
    """Kind of output: columns, or jsonl with offsets and probabilities."""
    question: Several[str] = Field([])
    """Question that the passage answers. May be given several times."""
    passage: File | None = None
    """Text file with the passage of the questions."""


@door("run", "file")
def predict(request: PredictRequest, bar: bool = False) -> Iterator[str]:
    """Lines with the answers to a file or standard input, lazily and in one pass.

    `load(run).predict(texts)` answers texts from Python. `bar` shows the bytes of the file that
    were read.
    """
    from featbert.data.files import codec_name
    from featbert.inference.files import COLUMNS, STDIN, Input, questions_of

    file, passage = request.file, request.passage
    columns = request.model_dump(include=COLUMNS, exclude_none=True)
    codec_name(request.encoding)
    if " " in file and not os.path.exists(file):
        run = request.run if isinstance(request.run, str | Path) else request.run.name
        command = f"echo {shlex.quote(file)} | featbert predict {shlex.quote(str(run))}"
        advice = "use featbert.load(run).predict(texts)" if OPTIONS.get() is None else command
        raise MissingError(f"{file!r:.80} is not a file. To tag a text: {advice}")
    questions = None
    if request.question or passage is not None:
        if not request.question or passage is None or file != STDIN:
            options = f"{spelling('question')} with {spelling('passage')}"
            raise InputError(f"give {options} and no FILE, or only a FILE")
        questions = questions_of(request.question, passage, request.encoding)
    usable = request.usable(request.run)
    place = None if questions is None else str(passage)
    source = Input(usable, file, request.input, columns, request.encoding, questions, place)

    def load_run() -> LoadedRun:
        load_torch(request.threads)
        from featbert.inference.load import load

        return load(usable, request.device)

    return source.rows(load_run, request.format, bar=bar)


class EmbedRequest(Compute, Encoded, Data, Request):
    """Texts to make vectors of, and how."""

    everyday = frozenset({"pooling"})
    without = frozenset({*Data.model_fields, "context", "casing", "keep", "store_dtype"}) - {
        *("encoding", "delimiter", "quoting", "escape", "text", "pair")
    }
    texts: File | Any = Path("-")
    """File with texts. - is standard input. A line is a text, or two texts with a tab between
    them."""
    layer: Annotated[str | int, Option("LAYERS")] = "last"
    """Layer combination without learned weights: a name such as last, a layer such as 7, or a form
    such as concat:9-12."""
    pooling: Literal["auto", "cls", "mean", "max", "max_mean"] = "auto"  # type: ignore[assignment]
    """Pooling of a text's subwords into one vector. Auto follows the modules of the checkpoint
    (sentence-transformers), and is mean without any."""
    normalize: bool | None = None
    """Divide each vector by its length.  [default: as the checkpoint's modules say, else no]"""
    prompt: str | None = None
    """Text to put before each text, such as 'query: '.  [default: the checkpoint's default prompt,
    if it has one]"""
    input: Literal["auto", "text", "jsonl", "tsv", "csv"] = "auto"
    """Kind of input: one text or pair per line (text), or columns of texts (tsv, csv, jsonl). Auto
    infers it from the file's suffix, and reads standard input as lines."""
    token_budget: int | None = Field(None, ge=1)
    """Padded subwords computed at once.  [default: 512, in bf16 on AMX 1024, on a GPU 32768]"""


@door("texts", "model", "layer")
def embed(request: EmbedRequest) -> NDArray[np.float32]:
    """(n, H) float32 vectors of texts, in their order. Nothing is stored.

    Texts are a list of strings or of pairs of strings, or the path of a file. With a checkpoint of
    sentence-transformers its modules give the defaults of `pooling`, `normalize` and `prompt`. In
    fp32 the vectors then equal `SentenceTransformer.encode`, except that `encode` cuts a text at
    the checkpoint's `max_seq_length`. Here a text is never cut: one that is longer than the
    encoder's positions is read in windows, and all of its subwords count.

    `layer` combines the pooled states of several layers as `train` does. "concat" gives k x H
    numbers, max_mean pooling twice as many, and `packing="apart"` the vectors of both texts of a
    pair, one after the other. InputError for texts that cannot be read and layers that the encoder
    lacks.
    """
    from featbert.data.examples import examples_of
    from featbert.encoders.sentence_modules import text_pooling
    from featbert.inference.files import COLUMNS, read_raw_texts

    source, texts = request.source, request.texts
    combination = fixed_layers(request.layer, source.num_layers)
    method = text_pooling(source, request.pooling)
    normalize = method.normalize if request.normalize is None else request.normalize
    prompt = method.prompt if request.prompt is None else request.prompt
    if isinstance(texts, str):
        raise InputError(f"{texts!r:.60} is a single text; give a list of texts, or a Path")
    if isinstance(texts, Mapping) or hasattr(texts, "columns"):
        raise InputError("the texts are a table; give its column of texts, or pairs of texts")
    if isinstance(texts, Path):
        columns = request.model_dump(include=COLUMNS, exclude_none=True)
        texts = read_raw_texts(str(texts), request.input, columns, request.encoding)
    examples = examples_of(texts, prompt=prompt, lowercase=method.lowercase)
    if not examples:
        raise InputError("there are no texts to embed")
    load_torch(request.threads)
    from featbert.inference.embed import TextEncoder, combined

    packing = None if examples[0].pair is None else request.packing
    encoder = TextEncoder(source, token_budget=request.token_budget, **request.where)
    states = encoder.pooled_states(examples, combination.indices, method.pooling, packing)
    parts = 2 if packing == "apart" else 1
    return combined(states, combination, normalize=normalize, parts=parts)


class ProbeRequest(Cached, Compute, Encoded, Text, Request):
    """Layers to check with logistic regression."""

    without = frozenset({"tag_scheme", "keep"})
    features: Folder | FeatureStore | None = TrainRequest.model_fields["features"]  # type: ignore[assignment]
    layers: Annotated[
        str | int | list[str | int] | tuple[str | int, ...] | None, Filled, Option("LAYERS")
    ] = None
    """Layer combinations without learned weights, separated by commas: names such as last, single
    layers such as 3 or 1-6, or forms such as concat:9-12.  [default: all single layers]"""


@door("features", "layers")
def probe(request: ProbeRequest) -> Iterator[Probed]:
    """Scores on dev of a linear model on each layer combination, lazily.

    Features are read or extracted as in `train`. InputError for tasks other than entities and
    labels.
    """
    store, request = open_store(request)
    task = get_task(request.task)
    if task.of_texts:
        raise InputError(f"{request.task} has no probe; give entities or labels", setting="task")
    from featbert.data.tags import known_tags
    from featbert.features.plan import plan_whole_store
    from featbert.features.probe import probe
    from featbert.runs.planned import check_same_text, check_trainable

    if store is None:
        num_layers = request.source.num_layers
        every = tuple(range((num_layers or 0) + 1))
    else:
        num_layers, every = store.manifest.num_layers, store.manifest.layers
    specs = split_specs(list(every) if request.layers is None else request.layers)
    specs = each_layer(specs, num_layers or 0)
    combinations = [fixed_layers(spec, num_layers) for spec in specs]
    for combination in combinations:
        if store is not None:
            store.require(combination.indices)
    corpus = request.corpus(task.targets)
    check_trainable(corpus, defaults("none"))
    tags = {tag for row in corpus["train"].tags for tag in known_tags(row)}
    if len(tags) < 2:
        raise InputError(
            f"all labels of train are {listed(tags)}: there is nothing to learn; is "
            f"{spelling('tag_column')} another column?"
        )
    if store is None:
        encoding = request.for_encoder(layers=specs, **request.where)
        plan = plan_whole_store(
            corpus, request.source, encoding, request.cache_dir, threads=request.threads
        )
        from featbert.features.extraction import make_store

        store = make_store(plan)
    check_same_text(store.manifest, store.path, corpus)
    return probe(store, corpus, task, combinations)
