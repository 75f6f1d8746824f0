"""A finished run that is used again: found by name, checked, and loaded.

words ─▶ the run's casing ─▶ its context, encoder and layers ─▶ its weights ─▶ answers

On the text and the machine that it was trained with, it gives the answers that the run recorded.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from featbert.config import Settings, defaults
from featbert.data.corpus import Corpus, Sentence, Split
from featbert.data.load import load_corpus
from featbert.encoders.layers import LayerCombination, parse_layers
from featbert.encoders.source import EncoderSource, find_encoder
from featbert.errors import FeatbertError, InputError, MissingError, nearest, nearest_path
from featbert.io import file_hash
from featbert.runs.folder import WEIGHTS
from featbert.runs.record import RECORD_NAME, RunRecord, read_record
from featbert.runs.run import Run
from featbert.tasks.base import Task, get_task

if TYPE_CHECKING:
    import torch

    from featbert.encoders.alignment import Alignment
    from featbert.encoders.batching import TokenBudget
    from featbert.encoders.device import Device
    from featbert.encoders.encoder import Encoder
    from featbert.encoders.encoding import Casing, Reading
    from featbert.features.plan import ExtractionPlan
    from featbert.features.store import FeatureStore
    from featbert.models.model import Model
    from featbert.training.inputs import Inputs
    from featbert.training.step import Compute

# Folder in the cache of stores that serve an evaluation alone.
EVALUATIONS = "evaluations"
# Reading options that say which words a file has; the others say how its tags are read.
_WORD_OPTIONS = ("language", "encoding", "token_column", "answerable")


@dataclass(frozen=True)
class UsableRun:
    """A finished run with what is needed to use it, all of it checked.

    `counted` is the corpus whose train split gives the casing of words, where the run truecases.
    """

    run: Run
    source: EncoderSource
    settings: Settings
    counted: Corpus | None

    @property
    def record(self) -> RunRecord:
        return self.run.record

    @property
    def task(self) -> Task:
        return get_task(self.record.task)

    @property
    def classes(self) -> tuple[str, ...]:
        """Classes that the run knows, for people: entity types, labels."""
        return self.task.taught(tuple(self.record.labels))


def find_run(name: str, runs_dir: Path | str) -> Run:
    """A finished run by its folder, or by its name in the runs directory; else MissingError."""
    folder = find_folder(name, Path(runs_dir))
    folder = folder if folder.name.strip(".") else folder.resolve()
    return Run(folder, read_record(folder))


def find_folder(name: str, runs_dir: Path) -> Path:
    """The folder of this name in the runs directory, or anywhere; raises MissingError."""
    for folder in (runs_dir / name, Path(name).expanduser()):
        if name and folder.is_dir():
            return folder
    known = sorted(p.name for p in runs_dir.iterdir()) if runs_dir.is_dir() else []
    where = nearest(name, known) if runs_dir.is_dir() else nearest_path(runs_dir)
    raise MissingError(f"no run {name!r}, here or in {runs_dir}{where}; featbert runs lists them")


def check_usable(run: Run, *, model: str | None = None) -> UsableRun:
    """Checks all that using the run needs; only hashes are computed.

    Args:
        model: where its encoder is now, if not where the record says.

    Raises:
        MissingError: its weights, its encoder or, for truecasing, its training text are gone.
        InputError: one of them differs from what the run was trained with.
    """
    record = run.record
    if not (run.folder / WEIGHTS).is_file():
        raise MissingError(f"{run.folder / WEIGHTS} does not exist; train the run again")
    if not record.labels:
        raise InputError(f"labels of {run.folder / RECORD_NAME} is empty; train the run again")
    settings = defaults(record.tuning, record.task).but(**record.settings)
    return UsableRun(run, _encoder(run, model), settings, _counted_corpus(record))


def _encoder(run: Run, model: str | None) -> EncoderSource:
    from featbert.features.store import encoder_differences  # h5py, which runs are found without

    record, signature = run.record, run.record.signature
    wanted = model or record.model_source or signature.model
    try:
        source = find_encoder(wanted)
    except MissingError as error:
        raise MissingError(
            f"the encoder of {run.name} is missing: {error}; say where it is with --model"
        ) from None
    own = (signature.model, signature.encoder_weights, signature.encoder_files)
    if wrong := encoder_differences(*own, source):
        raise InputError(
            f"{source.folder} is not the encoder of {run.name}: {'; '.join(wrong)}; name the right "
            "one with --model"
        )
    return source


def _counted_corpus(record: RunRecord) -> Corpus | None:
    """The corpus in whose training split a truecasing run counts, read again and compared."""
    signature = record.signature
    if signature.casing == "original":
        return None
    train, where = signature.splits.get("train"), signature.source
    what = f"the training text of {record.name}, which gives the casing of words,"
    if train is None or not where:
        raise InputError(f"{what} was not read from files; train the run again")
    options = {name: record.reading[name] for name in _WORD_OPTIONS if name in record.reading}
    try:
        corpus = load_corpus(where, targets=None, **options)
    except FeatbertError as error:
        raise MissingError(f"{what} is missing: {error}") from None
    split: Split | None = corpus.splits.get("train")
    if split is None or split.text_fingerprint != train.text:
        raise InputError(f"{what} has changed in {where}; train the run again")
    return corpus


@dataclass(frozen=True)
class LoadedRun:
    """A run's model in eval mode, on the device, with all that turns words into its inputs."""

    usable: UsableRun
    model: Model
    compute: Compute

    @property
    def device(self) -> Device:
        return self.compute.device

    @property
    def encoder(self) -> Encoder:
        """The tuned encoder."""
        assert self.model.encoder is not None
        return self.model.encoder

    @cached_property
    def reading(self) -> Reading:
        """The words of sentences as the encoder reads them."""
        from featbert.encoders.encoding import Reading

        signature = self.usable.record.signature
        return Reading(self.usable.counted or Corpus("", {}), signature.casing)

    def inputs(self, sentences: Sequence[Sentence]) -> Inputs:
        """The model's inputs for sentences, in memory; frozen vectors are computed now."""
        from featbert.runs.states import aligned

        signature = self.usable.record.signature
        alignment = aligned(self.reading(sentences), self.encoder, signature)
        return self._grouped(self._inputs(alignment, sentences), sentences)

    def _grouped(self, inputs: Inputs, sentences: Sequence[Sentence]) -> Inputs:
        from featbert.training.inputs import grouped

        return grouped(inputs, self.usable.task.groups(sentences))

    def _inputs(self, alignment: Alignment, sentences: Sequence[Sentence]) -> Inputs:
        from featbert.training.inputs import PieceInputs

        reads = self.usable.settings.reads
        return PieceInputs(alignment, self.encoder, self.device.torch, reads=reads)

    def split_inputs(
        self, corpus: Corpus, split: Split, cache_dir: Path
    ) -> tuple[Inputs, float | None]:
        """The model's inputs for a split of a corpus, and the seconds of extracting them."""
        return self.inputs(split.sentences), None

    def answers(self, inputs: Inputs, sentences: Sequence[Sentence] | Split) -> Any:
        """The task's answers: what the run would have recorded for these inputs of sentences."""
        from featbert.training.loop import predict

        offsets = self.usable.task.items(sentences)
        numbers = predict(self.model, inputs, offsets, self.compute, self._budget(inputs))
        return self._answers(numbers, sentences)

    def probable_answers(
        self, inputs: Inputs, sentences: Sequence[Sentence] | Split
    ) -> tuple[Any, list[list[float]]]:
        """The same with the probability of each item's answer, by sequence."""
        answers, shares = self.shares(inputs, sentences)
        chosen = shares.max(axis=1) if shares.shape[1] else np.zeros(len(shares))
        offsets = self.usable.task.items(sentences)
        return answers, [part.tolist() for part in np.split(chosen, offsets[1:-1])]

    def shares(
        self, inputs: Inputs, sentences: Sequence[Sentence] | Split
    ) -> tuple[Any, np.ndarray[Any, Any]]:
        """The task's answers, and (T, C) the probability of every class; C is 0 for scores."""
        from featbert.training.loop import predict_probabilities

        offsets = self.usable.task.items(sentences)
        numbers, shares = predict_probabilities(
            self.model, inputs, offsets, self.compute, self._budget(inputs)
        )
        if not np.isfinite(shares).all():
            raise InputError(
                f"{self.usable.run.name} gives probabilities that are not finite: its numbers are "
                f"too large for {self.compute.precision}"
            )
        return self._answers(numbers, sentences), shares.astype(float)

    def _budget(self, inputs: Inputs) -> TokenBudget:
        from featbert.encoders.batching import TokenBudget
        from featbert.training.loop import prediction_budget

        return TokenBudget(prediction_budget(inputs, self.usable.settings, self.device))

    def _answers(self, numbers: np.ndarray[Any, Any], sentences: Sequence[Sentence] | Split) -> Any:
        record = self.usable.record
        scheme, threshold = record.signature.tag_scheme, record.threshold
        task, classes = self.usable.task, tuple(record.labels)
        return task.answers(numbers, classes, sentences, scheme, threshold)


class FrozenRun(LoadedRun):
    """A run on frozen features: from a store, or computed as a store would hold them."""

    @cached_property
    def combination(self) -> LayerCombination:
        """The layers that it reads."""
        record = self.usable.record
        return parse_layers(record.layers or "", record.signature.encoder_layers)

    @cached_property
    def encoder(self) -> Encoder:
        """The frozen encoder, loaded when it is first needed."""
        from featbert.encoders.device import torch_dtype
        from featbert.encoders.encoder import load_encoder

        signature = self.usable.record.signature
        encoder = load_encoder(
            self.usable.source,
            dtype=torch_dtype(signature.encoder_precision),
            pooling=signature.pooling,
        )
        return encoder.to(self.device.torch)

    def _inputs(self, alignment: Alignment, sentences: Sequence[Sentence]) -> Inputs:
        from featbert.encoders.batching import holder
        from featbert.training.inputs import FeatureInputs, PooledInputs

        states, n_words = self._states(alignment), alignment.n_words
        reads = self.usable.settings.reads
        if reads not in ("words", "sequence"):
            return PooledInputs(states, alignment.sentences, alignment.text_units)
        finite = states.isfinite().all(dim=2).all(dim=0)  # (words,)
        if not finite.all():
            word = int((~finite).nonzero()[0])
            # First pieces of units, if they are read, are behind the words.
            word = word if word < n_words else int(alignment.unit_words[word - n_words])
            at = holder(alignment.texts, word)
            raise InputError(
                f"{self.usable.source.name} gives hidden states that are not finite in "
                f"{' '.join(sentences[at].words)[:60]!r}: they are too large for "
                f"{self.usable.record.signature.store_dtype}"
            )
        if reads == "words":
            return FeatureInputs(states, alignment.texts)
        firsts = n_words + alignment.text_units[:, 0]
        return FeatureInputs(states, alignment.texts, pairs=alignment.pairs, firsts=firsts)

    def stored(self, store: FeatureStore, split: Split) -> Inputs:
        """The model's inputs for a split whose vectors are in a store."""
        from featbert.training.inputs import stored_inputs

        reads, where = self.usable.settings.reads, self.device.torch
        texts = split.sentences
        found = stored_inputs(store, [split.name], self.combination, reads, where, texts=texts)
        return self._grouped(found, texts)

    def split_inputs(
        self, corpus: Corpus, split: Split, cache_dir: Path
    ) -> tuple[Inputs, float | None]:
        """The same from a store of the corpus in the cache, else from one of the split alone.

        The latter is in <cache>/evaluations/, away from the stores that `featbert train` offers.
        """
        from featbert.features.extraction import run_extraction

        signature = self.usable.record.signature
        marked = all(s.has_documents for s in corpus.splits.values())
        own_train = "train" in corpus and (
            corpus["train"].text_fingerprint == signature.splits["train"].text
        )
        # A store of the whole corpus counts casing in the corpus's own training split.
        if (signature.context == "sentence" or marked) and (
            signature.casing == "original" or own_train
        ):
            whole = self._extraction(corpus, signature.casing, cache_dir)
            if whole.hit is not None:
                return self.stored(whole.hit, split), None
        part = dataclasses.replace(split, sentences=tuple(self.reading(split.sentences)))
        alone = Corpus(corpus.name, {split.name: part}, corpus.language, corpus.source)
        planned = self._extraction(alone, "original", cache_dir / EVALUATIONS)
        if planned.hit is not None:
            return self.stored(planned.hit, split), None
        store = run_extraction(planned, alone, self.usable.source)
        return self.stored(store, split), store.manifest.seconds

    def _extraction(self, corpus: Corpus, casing: Casing, folder: Path) -> ExtractionPlan:
        from featbert.encoders.encoding import Encoding
        from featbert.features.plan import plan_extraction

        signature = self.usable.record.signature
        encoding = Encoding(
            layers=self.combination.indices,
            context=signature.context,
            casing=casing,
            packing=signature.packing or "joint",
            pooling=signature.pooling,
            precision=signature.encoder_precision,
            dtype=signature.store_dtype or "float16",
            device=self.device.kind,
        )
        return plan_extraction(corpus, self.usable.source, encoding, cache_dir=folder)

    def _states(self, alignment: Alignment) -> torch.Tensor:
        """(k, N, H) on the device, as a store would hold them: the same batches and rounding.

        Kind after kind where the head reads several.
        """
        import torch

        from featbert.encoders.batching import TokenBudget
        from featbert.features.extraction import block_edges, block_states
        from featbert.features.plan import TOKEN_BUDGET, block_words

        kept = self.usable.record.signature.store_dtype or "float16"
        words = block_words(self.encoder.num_layers, self.encoder.hidden_size, kept)
        edges = block_edges(alignment, words)
        budget = TokenBudget(TOKEN_BUDGET[self.device.kind])
        reads = self.usable.settings.reads
        kinds = ("words", "cls") if reads == "sequence" else (reads,)
        with torch.inference_mode():
            parts = [
                block_states(
                    self.encoder,
                    alignment,
                    np.arange(first, stop),
                    self.combination.indices,
                    kinds,
                    dtype=getattr(torch, kept),
                    budget=budget,
                    device=self.device.torch,
                )
                for first, stop in pairwise(edges)
            ]
            if len(kinds) == 1:
                return torch.cat(parts, dim=1)
            sizes = np.diff(alignment.unit_words[edges]).tolist()
            cut = [(part[:, :n], part[:, n:]) for part, n in zip(parts, sizes, strict=True)]
            return torch.cat([one for kind in zip(*cut, strict=True) for one in kind], dim=1)


def load_run(run: Run | UsableRun, *, device: str = "auto", model: str | None = None) -> LoadedRun:
    """A finished run's model, ready to predict; `model` and errors as in `check_usable`.

    On another device than the run's, the last bits differ.
    """
    from featbert.encoders.device import find_device
    from featbert.encoders.encoder import load_encoder
    from featbert.encoders.tunings import TUNINGS
    from featbert.models.model import stored_model, tuned_model
    from featbert.training.step import Compute

    usable = check_usable(run, model=model) if isinstance(run, Run) else run
    record, settings = usable.record, usable.settings
    signature = record.signature
    where = find_device(device)
    precision = signature.training_precision
    frozen = TUNINGS[record.tuning].frozen
    if frozen and where.kind == "cuda":
        precision = "fp32"  # as when it is trained: see `planned.py`
    encoder_precision = signature.encoder_precision.removesuffix("-autocast")
    if "fp16" in (precision, encoder_precision) and where.kind == "cpu":
        raise InputError(f"{usable.run.name} computes in fp16, which needs a GPU")
    classes = tuple(record.labels)
    texts = 2 if signature.packing == "apart" else 1
    if frozen:
        layers = parse_layers(record.layers or "", signature.encoder_layers)
        loaded = stored_model(layers, signature.encoder_hidden_size, classes, settings, texts)
    else:
        encoder = load_encoder(
            usable.source,
            pooling=signature.pooling,
            pooler=settings.sentence_pooling == "pooler",
        )
        loaded = tuned_model(encoder, classes, settings, texts)
    _load_weights(loaded, usable)
    kind = FrozenRun if frozen else LoadedRun
    return kind(usable, loaded.to(where.torch).eval(), Compute(where, precision))


def _load_weights(model: Model, usable: UsableRun) -> None:
    """Puts the run's weights, those of the trained parameters, into its model."""
    from safetensors import SafetensorError, safe_open

    path, state = usable.run.folder / WEIGHTS, model.state_dict()
    again = "train the run again"
    base = {f"states.{name}" for name in (model.encoder.state_dict() if model.encoder else ())}
    try:
        with safe_open(path, framework="pt") as file:
            names = file.keys()
            found = {name: tuple(file.get_slice(name).get_shape()) for name in names}
            expected = {name: tuple(tensor.shape) for name, tensor in state.items()}
            missing = [name for name in expected if name not in found and name not in base]
            wrong = [n for n in [*found, *missing] if expected.get(n) != found.get(n)]
            if wrong:
                raise InputError(
                    f"{path} are the weights of another run: {wrong[0]} has "
                    f"{found.get(wrong[0], 'no value')}, not {expected.get(wrong[0], 'any')}; "
                    f"{again}"
                )
            tensors = {name: file.get_tensor(name) for name in found}
        if file_hash(path) != usable.record.weights:
            raise InputError(f"{path} was modified after the run was scored; {again}")
    except FileNotFoundError:
        raise MissingError(f"{path} does not exist; {again}") from None
    except (SafetensorError, OSError) as error:
        raise InputError(f"{path} is damaged: {error}; {again}") from None
    model.load_state_dict(tensors, strict=False)
