"""A finished run's model, loaded: from words to answers.

words ─▶ the run's casing ─▶ its context, encoder and layers ─▶ its weights ─▶ answers

On the text and the machine of its training, it gives the answers that the run recorded.
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
from numpy.typing import NDArray

from featbert.data.corpus import Corpus, Sentence, Split
from featbert.data.examples import is_several
from featbert.encoders.alignment import Alignment
from featbert.encoders.batching import TokenBudget
from featbert.encoders.device import Device, Stopwatch, find_device, torch_dtype
from featbert.encoders.encoder import Encoder
from featbert.encoders.encoding import Casing, EncodingOptions
from featbert.encoders.layers import LayerCombination, parse_layers
from featbert.encoders.loading import load_frozen
from featbert.encoders.tunings import get_tuning
from featbert.errors import InputError
from featbert.features.blocks import BlockReader
from featbert.features.extraction import run_extraction
from featbert.features.index import block_edges
from featbert.features.plan import (
    ExtractionPlan,
    block_words,
    default_token_budget,
    plan_extraction,
)
from featbert.inference.predict import predicted_rows
from featbert.models.model import Model
from featbert.models.registry import KEPT_POOLINGS, KINDS
from featbert.runs.folder import EVALUATIONS, WEIGHTS, load_weights
from featbert.runs.run import UsableRun
from featbert.runs.states import new_model
from featbert.training.inputs import FeatureInputs, Inputs, PieceInputs, grouped, stored_inputs
from featbert.training.loop import Backend, predict, prediction_budget

Sentences = Sequence[Sentence] | Split


@dataclass(frozen=True, repr=False)
class LoadedRun(UsableRun):
    """A run with its model in eval mode, on the device."""

    model: Model
    backend: Backend

    @property
    def device(self) -> Device:
        return self.backend.device

    @property
    def encoder(self) -> Encoder:
        """The tuned encoder."""
        assert self.model.encoder is not None
        return self.model.encoder

    def predict(self, texts: Any) -> Any:
        """The answer to a text, or of a list of texts a list: objects as `featbert predict` writes.

        A text is a string. For a run that answers words it may also be a tuple of words. For other
        runs it may be a tuple, such as (text, pair), (question, passage) or (context, choices), or
        a dict with columns as files have. In a list, a list or an array is like a tuple. Each text
        is a document of its own. Any other iterable, such as a column of pandas, is like a list.
        For runs that answer texts, a table of pandas is like a list of dicts. InputError for other
        values.
        """
        if hasattr(texts, "columns"):
            if not hasattr(texts, "itertuples"):
                kind = type(texts).__name__
                raise InputError(f"a {kind} is no table of pandas; give its to_pandas()")
            texts = texts.to_dict("records")
        is_alone = isinstance(texts, str | bytes | tuple | dict) or not is_several(texts)
        rows = predicted_rows(self, [texts] if is_alone else [*texts])
        return rows[0] if is_alone else rows

    def inputs(self, sentences: Sequence[Sentence]) -> Inputs:
        """The model's inputs for sentences, in memory. Frozen vectors are computed now."""
        context, packing = self.record.signature.context, self.record.signature.packing
        alignment = self.encoder.align(self.word_casing(sentences), context, packing)
        return grouped(self._inputs(alignment), self.task.groups(sentences))

    def _inputs(self, alignment: Alignment) -> Inputs:
        return PieceInputs(alignment, self.encoder, self.device.torch, reads=self.settings.reads)

    def split_inputs(
        self, corpus: Corpus, split: Split, cache_dir: Path
    ) -> tuple[Inputs, float | None]:
        """The model's inputs for a split of a corpus, and the seconds of extracting them."""
        return self.inputs(split.sentences), None

    def answers(self, inputs: Inputs, sentences: Sentences) -> Any:
        """The task's answers, as the run would have recorded them for these inputs."""
        return self.answers_and_shares(inputs, sentences, probabilities=False)[0]

    def answers_and_shares(
        self,
        inputs: Inputs,
        sentences: Sentences,
        apart: Stopwatch | None = None,
        *,
        probabilities: bool = True,
    ) -> tuple[Any, ...]:
        """As `answers`, (T, C) the probability of every class, and (T, ...) the answers' numbers.

        C is 0 for scores. `apart` measures the time of the probabilities, which are then in
        float16. Without `probabilities`, they are left out.
        """
        record, items = self.record, self.task.items(sentences)
        budget = prediction_budget(self.model, self.settings, self.device)
        prediction = (self.model, inputs, items, self.backend, budget)
        numbers, *shares = predict(*prediction, probabilities=probabilities, apart=apart)
        classes, scheme = record.targets.classes, record.signature.tag_scheme
        answers = self.task.answers(numbers, classes, sentences, scheme, record.threshold)
        return answers, *shares, numbers

    def shares(
        self, inputs: Inputs, sentences: Sentences
    ) -> tuple[Any, NDArray[Any], NDArray[Any]]:
        """`answers_and_shares` in float64. InputError for shares that are not finite."""
        answers, shares, numbers = self.answers_and_shares(inputs, sentences)
        if not np.isfinite(shares).all():
            raise InputError(
                f"{self.name} gives probabilities that are not finite: its numbers are "
                f"too large for {self.backend.precision}"
            )
        return answers, shares.astype(float), numbers


class FrozenRun(LoadedRun):
    """A run on frozen features: from a store, or computed as a store would hold them."""

    @cached_property
    def combination(self) -> LayerCombination:
        return parse_layers(self.record.layers or "", self.record.signature.encoder_layers)

    @cached_property
    def encoder(self) -> Encoder:
        """The frozen encoder. It is loaded at the first use."""
        signature = self.record.signature
        dtype = torch_dtype(signature.encoder_precision)
        return load_frozen(self.source, self.device.torch, dtype=dtype, pooling=signature.pooling)

    def _inputs(self, alignment: Alignment) -> Inputs:
        states, reads, device = self._states(alignment), self.settings.reads, self.device.torch
        if not states.isfinite().all():
            raise InputError(
                f"{self.source.name} gives hidden states that are not finite: they are too large "
                f"for {self.record.signature.store_dtype}"
            )
        if reads in KEPT_POOLINGS:
            kinds = np.arange(len(KINDS[reads])) * (len(alignment.units) - 1)
            units = (alignment.text_units[..., None] + kinds).reshape(len(alignment.texts), -1)
            places = np.stack([units, units + 1], axis=2)
            return FeatureInputs(states, places, device, offsets=alignment.sentences)
        if reads == "words":
            return FeatureInputs(states, alignment.texts, device)
        firsts = alignment.n_words + np.arange(2) + alignment.text_units[:, :1, None]
        places = np.concatenate([firsts, alignment.texts], axis=1)
        return FeatureInputs(states, places, device, pairs=alignment.pairs)

    def split_inputs(
        self, corpus: Corpus, split: Split, cache_dir: Path
    ) -> tuple[Inputs, float | None]:
        """Reads a store of the corpus in the cache, else extracts the split.

        Such a store of a split is in <cache>/evaluations/, away from stores for `featbert train`.
        """
        signature, store, seconds = self.record.signature, None, None
        marked = all(s.has_documents for s in corpus.splits.values())
        own_train = "train" in corpus and (
            corpus["train"].text_fingerprint == signature.splits["train"].text
        )
        # A store of the whole corpus counts casing in the corpus's own training split.
        if (signature.context == "sentence" or marked) and (
            signature.casing == "original" or own_train
        ):
            store = self._extraction(corpus, signature.casing, cache_dir).finished
        if store is None:
            part = dataclasses.replace(split, sentences=tuple(self.word_casing(split.sentences)))
            only_split = Corpus(
                corpus.name, {split.name: part}, corpus.language, corpus.source, targets=None
            )
            planned = self._extraction(only_split, "original", cache_dir / EVALUATIONS)
            store = planned.finished or run_extraction(planned)
            seconds = None if planned.finished else store.manifest.seconds
        reads, device, texts = self.settings.reads, self.device.torch, split.sentences
        inputs = stored_inputs(
            store, [split.name], self.combination, reads, device, sentences=texts
        )
        return grouped(inputs, self.task.groups(texts)), seconds

    def _extraction(self, corpus: Corpus, casing: Casing, folder: Path) -> ExtractionPlan:
        signature = self.record.signature
        encoding = EncodingOptions(
            layers=self.combination.indices,
            context=signature.context,
            casing=casing,
            packing=signature.packing or "joint",
            pooling=signature.pooling,
            precision=signature.encoder_precision,
            dtype=signature.store_dtype or "float16",
            keep="pooled" if self.settings.reads in KEPT_POOLINGS else "words",
            device=self.device.kind,
        )
        return plan_extraction(corpus, self.source, encoding, cache_dir=folder)

    def _states(self, alignment: Alignment) -> torch.Tensor:
        """(k, N, H) on the device, as a store would hold them: the same batches and rounding.

        Kinds of vectors follow one another, if the head reads several.
        """
        signature = self.record.signature
        dtype = signature.store_dtype or "float16"
        budget = default_token_budget(self.device, signature.encoder_precision)
        words = block_words(self.encoder.num_layers, self.encoder.hidden_size, dtype)
        edges = block_edges(alignment.unit_words, words)
        kinds = KINDS[self.settings.reads]
        reader = BlockReader(
            encoder=self.encoder,
            layers=self.combination.indices,
            kinds=kinds,
            dtype=getattr(torch, dtype),
            budget=TokenBudget(budget),
            device=self.device.torch,
        )
        with torch.inference_mode():
            parts = [
                reader.states(alignment, np.arange(first, stop)) for first, stop in pairwise(edges)
            ]
            return torch.cat([part[kind] for kind in kinds for part in parts], dim=1)


def load(usable: UsableRun, device: str = "auto") -> LoadedRun:
    """The run with its model, on a device."""
    record, settings = usable.record, usable.settings
    signature = record.signature
    run_device = find_device(device)
    precision = signature.training_precision
    frozen = get_tuning(record.tuning).frozen
    if frozen and run_device.kind == "cuda":
        precision = "fp32"  # as in training: see `planned.py`
    if "fp16" in (precision, signature.encoder_precision) and run_device.kind != "cuda":
        raise InputError(f"{usable.name} computes in fp16, which needs a GPU")
    layers = parse_layers(record.layers or "", signature.encoder_layers) if frozen else None
    model = new_model(layers or usable.source, signature, record.targets, settings)
    load_weights(usable.folder / WEIGHTS, model, record.weights)
    if record.temperature is not None:
        model.scale(record.temperature)
    kind = FrozenRun if frozen else LoadedRun
    parts = (usable.folder, record, usable.source, settings, usable.word_casing)
    return kind(*parts, model.to(run_device.torch).eval(), Backend(run_device, precision))
