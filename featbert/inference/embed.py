"""Vectors of whole texts from a frozen encoder, in memory.

texts ─▶ alignment ─▶ encoder ─▶ pooled hidden states ─▶ layer combination ─▶ vectors

Batches, windows and precision are as in an extraction (`features/blocks.py`). Nothing is stored.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from featbert.data.corpus import Sentence
from featbert.data.examples import examples_of
from featbert.encoders.batching import TokenBudget
from featbert.encoders.device import find_device, find_precision, torch_dtype
from featbert.encoders.encoding import Packing
from featbert.encoders.layers import LayerCombination
from featbert.encoders.loading import load_frozen
from featbert.encoders.memory import check_memory, freed_memory_kept
from featbert.encoders.source import EncoderSource
from featbert.errors import InputError, spelling
from featbert.features.blocks import BlockReader
from featbert.features.index import block_edges
from featbert.features.plan import default_token_budget
from featbert.models.combination import CombineLayers
from featbert.models.registry import KEPT_POOLINGS
from featbert.progress import stage

Vectors = NDArray[np.float32]
# Words that are sorted by length together. A store has smaller blocks, since its vectors of words
# take more memory than pooled states.
BLOCK_WORDS = 1 << 17


class TextEncoder:
    """A frozen encoder, loaded to a device, that gives vectors of texts."""

    def __init__(
        self,
        source: EncoderSource,
        *,
        device: str = "auto",
        precision: str = "auto",
        token_budget: int | None = None,
    ) -> None:
        self.source = source
        self.device = find_device(device)
        self.precision = find_precision(precision, self.device)
        self.token_budget = token_budget or default_token_budget(self.device, self.precision)
        dtype = torch_dtype(self.precision)
        check_memory(
            (source.parameters or 0) * dtype.itemsize,
            self.device,
            what=f"loading {source.name}",
            less=f"use {spelling('precision', 'bf16')}, or a smaller encoder",
        )
        self.encoder = load_frozen(source, self.device.torch, dtype=dtype)

    def _readable(self, texts: Sequence[Sentence]) -> list[Sentence]:
        """Texts without words for which the tokenizer has no subword, such as control characters.

        Elsewhere such words have the unknown subword, as they may have an answer.
        """
        doubtful = {word for text in texts for word in text.words if not word.isprintable()}
        backend = self.encoder.wordpieces.backend
        silent = {w for w in doubtful if not backend.encode(w, add_special_tokens=False).ids}
        return [_without(text, silent) for text in texts] if silent else [*texts]

    @freed_memory_kept()
    def pooled_states(
        self,
        texts: Sequence[Sentence],
        layers: Sequence[int],
        pooling: str,
        packing: Packing | None = None,
    ) -> Vectors:
        """(k, n, D) pooled hidden states of texts in each of `layers`.

        D is the hidden size, twice for max_mean, and twice that for pairs that are packed apart.
        """
        alignment = self.encoder.align(self._readable(texts), packing=packing)
        kinds = KEPT_POOLINGS[pooling]
        reader = BlockReader(
            encoder=self.encoder,
            layers=layers,
            kinds=kinds,
            dtype=torch.float32,
            budget=TokenBudget(self.token_budget),
            device=self.device.torch,
        )
        shape = (len(layers), len(alignment.units) - 1, len(kinds), self.encoder.hidden_size)
        states = np.empty(shape, dtype=np.float32)
        with stage("embedding", "words", alignment.n_words) as advance, torch.inference_mode():
            for first, stop in pairwise(block_edges(alignment.unit_words, BLOCK_WORDS)):
                block = reader.states(alignment, np.arange(first, stop), advance)
                for number, kind in enumerate(kinds):
                    states[:, first:stop, number] = block[kind].cpu().numpy()
        if not np.isfinite(states).all():
            raise InputError(
                f"{self.source.name} gives hidden states that are not finite; try "
                f"{spelling('precision', 'fp32')}, else check the encoder's weights"
            )
        by_text: Vectors = states[:, alignment.text_units]
        return by_text.reshape(len(layers), len(texts), -1)


def _without(text: Sentence, silent: set[str]) -> Sentence:
    """A text without the words in `silent`. As it is if one of its texts has no other words."""
    strings = []
    for string, part in zip(text.texts, (slice(text.pair), slice(text.pair, None)), strict=False):
        words = [*zip(text.words[part], text.places[part], strict=True)]
        places = [place for word, place in words if word in silent]
        if len(places) == len(words):
            return text
        for start, end in reversed(places):
            string = string[:start] + string[end:]
        strings.append(string)
    return examples_of([strings])[0]


def combined(
    states: NDArray[Any], layers: LayerCombination, *, normalize: bool, parts: int = 1
) -> Vectors:
    """(k, n, D) pooled states -> (n, width) vectors.

    With `normalize`, each of the `parts` of a vector (2 for pairs that are packed apart) is divided
    by its Euclidean length.
    """
    size = states.shape[2] // parts
    with torch.inference_mode():
        vectors = [
            CombineLayers(layers, size)(torch.from_numpy(states[:, :, start : start + size]))
            for start in range(0, states.shape[2], size)
        ]
        if normalize:
            vectors = [torch.nn.functional.normalize(part, dim=1) for part in vectors]
        return torch.cat(vectors, dim=1).numpy()
