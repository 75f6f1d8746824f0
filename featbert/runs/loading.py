"""A finished run as a tagger that can be used: its encoder, its weights, its reading of words.

words ─▶ the run's casing ─▶ the run's context, encoder and layers ─▶ the run's weights ─▶ tags

On the text and the machine that it was trained with, it gives the tags that the run recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from torch import nn

from featbert.data.corpus import Corpus, Sentence
from featbert.encoders.alignment import Alignment, align
from featbert.encoders.batching import TokenBudget
from featbert.encoders.device import Device, Precision, find_device, torch_dtype
from featbert.encoders.encoder import Encoder, load_encoder
from featbert.encoders.encoding import Context, Pooling, Reading
from featbert.errors import MissingError
from featbert.features.extraction import block_edges, block_states
from featbert.features.plan import TOKEN_BUDGET, block_words
from featbert.features.store import FeatureStore
from featbert.models.finetuned import FineTuneTagger
from featbert.runs.folder import file_hash
from featbert.runs.labels import tags_by_sentence
from featbert.runs.preparing import bilstm_tagger
from featbert.runs.run import Run
from featbert.runs.usable import UnusableRunError, UsableRun, check_usable
from featbert.training.inputs import FeatureInputs, Inputs, PieceInputs
from featbert.training.loop import predict, predict_probabilities, prediction_budget

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class LoadedTagger:
    """A run's tagger in eval mode, with all that turns words into its inputs.

    Attributes:
        usable: the run with what it was checked for.
        tagger: with the run's weights, on `device`.
        precision: that the tagger computes in.
    """

    usable: UsableRun
    tagger: nn.Module
    device: Device
    precision: Precision

    @cached_property
    def encoder(self) -> Encoder:
        """The fine-tuned encoder, or the frozen one, which is loaded when it is first needed.

        Raises:
            InputError: the frozen one cannot be loaded.
        """
        if isinstance(self.tagger, FineTuneTagger):
            return self.tagger.encoder
        signature = self.usable.record.signature
        dtype = torch_dtype(signature.encoder_precision)
        encoder = load_encoder(
            self.usable.source, dtype=dtype, pooling=cast(Pooling, signature.pooling)
        )
        return encoder.to(self.device.torch)

    @cached_property
    def budget(self) -> TokenBudget:
        """Of a batch that the tagger reads; halved where one does not fit."""
        return prediction_budget(self.tagger, self.usable.settings, self.device)

    @cached_property
    def encoding_budget(self) -> TokenBudget:
        """Of a batch that the frozen encoder reads."""
        return TokenBudget(TOKEN_BUDGET[self.device.kind])

    @cached_property
    def reading(self) -> Reading:
        """The words of sentences as the encoder reads them."""
        signature = self.usable.record.signature
        return Reading(self.usable.counted or Corpus("", {}), signature.casing)

    def inputs(self, sentences: Sequence[Sentence]) -> Inputs:
        """The tagger's inputs for sentences, in memory; frozen vectors are computed now.

        Raises:
            InputError: document context for sentences without documents.
            UnusableRunError: hidden states that are not finite.
        """
        alignment = align(
            self.reading(sentences),
            self.encoder.wordpieces,
            positions=self.encoder.positions,
            context=cast(Context, self.usable.record.signature.context),
        )
        if self.usable.combination is None:
            return PieceInputs(alignment, self.encoder, self.device.torch)
        states = self._states(alignment)
        finite = states.isfinite().all(dim=2).all(dim=0)  # (words,)
        if not finite.all():
            word = int((~finite).nonzero()[0])
            at = int(np.searchsorted(alignment.sentences, word, side="right")) - 1
            raise UnusableRunError(
                f"finite hidden states expected of {self.usable.source.name}, found others in "
                f"{' '.join(sentences[at].words)[:60]!r}; they are too large for "
                f"{self.usable.record.signature.store_dtype}, in which the run reads them"
            )
        return FeatureInputs(states, alignment.sentences)

    def stored(self, store: FeatureStore, split: str) -> Inputs:
        """The tagger's inputs for a split whose vectors are in a store."""
        assert self.usable.combination is not None
        return FeatureInputs.of_store(store, split, self.usable.combination, self.device.torch)

    def tags(self, inputs: Inputs) -> list[list[str]]:
        """BIO tags by sentence: what the run would have recorded for them."""
        ids = predict(
            self.tagger,
            inputs,
            self.usable.settings,
            device=self.device,
            precision=self.precision,
            budget=self.budget,
        )
        return self._tags(ids, inputs)

    def probable_tags(self, inputs: Inputs) -> tuple[list[list[str]], list[list[float]]]:
        """The same with the probability of each word's label, by sentence.

        Raises:
            UnusableRunError: logits that are not finite.
        """
        ids, shares = predict_probabilities(
            self.tagger,
            inputs,
            self.usable.settings,
            device=self.device,
            precision=self.precision,
            budget=self.budget,
        )
        chosen = shares[np.arange(len(ids)), ids].astype(float)
        if not np.isfinite(chosen).all():
            raise UnusableRunError(
                f"finite probabilities expected of {self.usable.run.name}, found others; "
                "its numbers are too large for the precision that it computes in"
            )
        rows = [part.tolist() for part in np.split(chosen, inputs.offsets[1:-1])]
        return self._tags(ids, inputs), rows

    def _tags(self, ids: Ints, inputs: Inputs) -> list[list[str]]:
        record = self.usable.record
        labels = tuple(record.labels)
        return tags_by_sentence(ids, labels, inputs.offsets, record.signature.tag_scheme)

    def _states(self, alignment: Alignment) -> torch.Tensor:
        """(k, N, H) on the device, as a store would hold them: the same batches and rounding."""
        combination = self.usable.combination
        assert combination is not None
        kept = self.usable.record.signature.store_dtype or "float16"
        words = block_words(self.encoder.num_layers, self.encoder.hidden_size, kept)
        edges, _ = block_edges(alignment, words)
        with torch.inference_mode():
            parts = [
                block_states(
                    self.encoder,
                    alignment,
                    np.arange(first, stop),
                    combination.indices,
                    dtype=getattr(torch, kept),
                    budget=self.encoding_budget,
                    device=self.device.torch,
                )
                for first, stop in pairwise(edges)
            ]
            return torch.cat(parts, dim=1)


def load_tagger(
    run: Run | UsableRun, *, device: str = "auto", model: str | None = None
) -> LoadedTagger:
    """A finished run's tagger, ready to predict.

    Args:
        device: "cpu", "cuda" or "auto"; on another one than the run's, the last bits differ.
        model: where its encoder lies now, if not where the record says.

    Raises:
        MissingError: weights, encoder or training text (for truecasing) are gone.
        UnusableRunError: one of them is another than it was, the weights file is damaged, or the
            run computes in a precision that this device lacks.
        InputError: no such device.
    """
    usable = check_usable(run, model=model) if isinstance(run, Run) else run
    record, settings = usable.record, usable.settings
    signature = record.signature
    where = find_device(device)
    precision = cast(Precision, signature.training_precision)
    if usable.combination is not None and where.kind == "cuda":
        precision = "fp32"  # as when it is trained: see `planning`
    encoder_precision = signature.encoder_precision.removesuffix("-autocast")
    if "fp16" in (precision, encoder_precision) and where.kind == "cpu":
        raise UnusableRunError(
            f"a GPU expected for {usable.run.name}, which computes in fp16; processors do not"
        )
    n_labels = len(record.labels)
    tagger: nn.Module
    if usable.combination is None:
        encoder = load_encoder(usable.source, pooling=cast(Pooling, signature.pooling))
        tagger = FineTuneTagger(encoder, n_labels, dropout=settings.dropout)
    else:
        width = signature.encoder_hidden_size
        tagger = bilstm_tagger(usable.combination, width, n_labels, settings)
    _load_weights(tagger, usable)
    return LoadedTagger(usable, tagger.to(where.torch).eval(), where, precision)


def _load_weights(tagger: nn.Module, usable: UsableRun) -> None:
    """Puts the run's weights into its tagger; exactly its parameters, in their shapes."""
    path, state, known = usable.weights, tagger.state_dict(), usable.record.weights
    try:
        with safe_open(path, framework="pt") as file:
            names = file.keys()
            found = {name: tuple(file.get_slice(name).get_shape()) for name in names}
            expected = {name: tuple(tensor.shape) for name, tensor in state.items()}
            wrong = [n for n in {**expected, **found} if expected.get(n) != found.get(n)]
            if wrong:
                name = wrong[0]
                there = f"shape {found[name]}" if name in found else "none"
                wanted = f"shape {expected[name]}" if name in expected else "none"
                raise UnusableRunError(
                    f"{name} of {wanted} expected in {path}, found {there}; "
                    "the weights are another run's, train the run again"
                )
            tagger.load_state_dict({name: file.get_tensor(name) for name in found})
        if known and file_hash(path) != known:
            raise UnusableRunError(
                f"the weights that {usable.run.name} was scored with expected in {path}, found "
                "others: the file is damaged, or another run's; train the run again"
            )
    except FileNotFoundError:
        raise MissingError(
            f"the weights of the run expected, {path} does not exist; train the run again"
        ) from None
    except (SafetensorError, OSError) as error:
        raise UnusableRunError(
            f"intact weights expected in {path}, they cannot be read: {error}; train the run again"
        ) from None
