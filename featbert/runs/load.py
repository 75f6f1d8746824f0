"""A finished run's model, loaded: from words to answers.

words ─▶ the run's casing ─▶ its context, encoder and layers ─▶ its weights ─▶ answers

On the text and the machine that it was trained with, it gives the answers that the run recorded.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file

from featbert.data.corpus import Corpus, Sentence, Split
from featbert.encoders.alignment import Alignment
from featbert.encoders.batching import TokenBudget, holder
from featbert.encoders.device import Device, find_device, torch_dtype
from featbert.encoders.encoder import Encoder, load_encoder
from featbert.encoders.encoding import Casing, Encoding, Reading
from featbert.encoders.layers import LayerCombination, parse_layers
from featbert.encoders.tunings import get_tuning
from featbert.errors import InputError
from featbert.features.extraction import block_edges, block_states, run_extraction
from featbert.features.plan import TOKEN_BUDGET, ExtractionPlan, block_words, plan_extraction
from featbert.features.store import FeatureStore
from featbert.io import file_hash
from featbert.models.model import Model, stored_model, tuned_model
from featbert.runs.folder import WEIGHTS
from featbert.runs.run import Run, UsableRun, check_usable
from featbert.training.inputs import (
    FeatureInputs,
    Inputs,
    PieceInputs,
    grouped,
    stored_inputs,
)
from featbert.training.loop import predict, prediction_budget
from featbert.training.step import Compute

# Folder in the cache of stores that serve an evaluation alone.
EVALUATIONS = "evaluations"
Sentences = Sequence[Sentence] | Split
Numbers = np.ndarray[Any, Any]


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
        casing = self.usable.record.signature.casing
        return Reading(self.usable.counted or Corpus("", {}), casing)

    def inputs(self, sentences: Sequence[Sentence]) -> Inputs:
        """The model's inputs for sentences, in memory; frozen vectors are computed now."""
        signature = self.usable.record.signature
        words = self.reading(sentences)
        alignment = self.encoder.align(words, signature.context, signature.packing)
        found = self._inputs(alignment, sentences)
        return grouped(found, self.usable.task.groups(sentences))

    def _inputs(self, alignment: Alignment, sentences: Sequence[Sentence]) -> Inputs:
        reads = self.usable.settings.reads
        return PieceInputs(alignment, self.encoder, self.device.torch, reads=reads)

    def split_inputs(
        self, corpus: Corpus, split: Split, cache_dir: Path
    ) -> tuple[Inputs, float | None]:
        """The model's inputs for a split of a corpus, and the seconds of extracting them."""
        return self.inputs(split.sentences), None

    def answers(self, inputs: Inputs, sentences: Sentences) -> Any:
        """The task's answers: what the run would have recorded for these inputs of sentences."""
        return self._answers(self._predicted(inputs, sentences)[0], sentences)

    def shares(self, inputs: Inputs, sentences: Sentences) -> tuple[Any, Numbers]:
        """The task's answers, and (T, C) the probability of every class; C is 0 for scores."""
        numbers, shares = self._predicted(inputs, sentences, probabilities=True)
        if not np.isfinite(shares).all():
            raise InputError(
                f"{self.usable.run.name} gives probabilities that are not finite: its numbers are "
                f"too large for {self.compute.precision}"
            )
        return self._answers(numbers, sentences), shares.astype(float)

    def _predicted(
        self, inputs: Inputs, sentences: Sentences, *, probabilities: bool = False
    ) -> tuple[Numbers, ...]:
        budget = TokenBudget(prediction_budget(inputs, self.usable.settings, self.device))
        items, how = self.usable.task.items(sentences), self.compute
        return predict(self.model, inputs, items, how, budget, probabilities=probabilities)

    def _answers(self, numbers: Numbers, sentences: Sentences) -> Any:
        task, record = self.usable.task, self.usable.record
        scheme, classes = record.signature.tag_scheme, tuple(record.labels)
        return task.answers(numbers, classes, sentences, scheme, record.threshold)


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
        signature = self.usable.record.signature
        dtype = torch_dtype(signature.encoder_precision)
        encoder = load_encoder(self.usable.source, dtype=dtype, pooling=signature.pooling)
        return encoder.to(self.device.torch)

    def _inputs(self, alignment: Alignment, sentences: Sequence[Sentence]) -> Inputs:
        states, n_words = self._states(alignment), alignment.n_words
        reads, where = self.usable.settings.reads, self.device.torch
        if reads not in ("words", "sequence"):
            units = alignment.text_units
            places = np.stack([units, units + 1], axis=2)
            return FeatureInputs(states, places, where, offsets=alignment.sentences)
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
            return FeatureInputs(states, alignment.texts, where)
        firsts = n_words + alignment.text_units[:, 0]
        return FeatureInputs(states, alignment.texts, where, pairs=alignment.pairs, firsts=firsts)

    def stored(self, store: FeatureStore, split: Split) -> Inputs:
        """The model's inputs for a split whose vectors are in a store."""
        reads, where = self.usable.settings.reads, self.device.torch
        texts = split.sentences
        found = stored_inputs(store, [split.name], self.combination, reads, where, texts=texts)
        return grouped(found, self.usable.task.groups(texts))

    def split_inputs(
        self, corpus: Corpus, split: Split, cache_dir: Path
    ) -> tuple[Inputs, float | None]:
        """The same from a store of the corpus in the cache, else from one of the split alone.

        The latter is in <cache>/evaluations/, away from the stores that `featbert train` offers.
        """
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
        kept = self.usable.record.signature.store_dtype or "float16"
        words = block_words(self.encoder.num_layers, self.encoder.hidden_size, kept)
        edges = block_edges(alignment.unit_words, words)
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
            return torch.cat([part[kind] for kind in kinds for part in parts], dim=1)


def load_run(run: Run | UsableRun, *, device: str = "auto", model: str | None = None) -> LoadedRun:
    """A finished run's model, ready to predict; `model` and errors as in `check_usable`.

    On another device than the run's, the last bits differ.
    """
    usable = check_usable(run, model=model) if isinstance(run, Run) else run
    record, settings = usable.record, usable.settings
    signature = record.signature
    where = find_device(device)
    precision = signature.training_precision
    frozen = get_tuning(record.tuning).frozen
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
        pooler = settings.sentence_pooling == "pooler"
        encoder = load_encoder(usable.source, pooling=signature.pooling, pooler=pooler)
        loaded = tuned_model(encoder, classes, settings, texts)
    _load_weights(loaded, usable)
    kind = FrozenRun if frozen else LoadedRun
    return kind(usable, loaded.to(where.torch).eval(), Compute(where, precision))


def _load_weights(model: Model, usable: UsableRun) -> None:
    """Puts the run's weights, those of the trained parameters, into its model."""
    path = usable.run.folder / WEIGHTS
    if file_hash(path) != usable.record.weights:
        raise InputError(f"{path} was modified after the run was scored; train the run again")
    found = model.load_state_dict(load_file(path), strict=False)
    missing = [name for name in found.missing_keys if not name.startswith("states.model.")]
    if missing or found.unexpected_keys:
        raise InputError(f"{path} has not the weights of its record; train the run again")
