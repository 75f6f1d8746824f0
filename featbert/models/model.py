"""A model: states, body and output.

    batch ─▶ states (W, D) ─▶ body (W, width) ─▶ output ─▶ loss or answers

If a task has one answer per sequence, vectors are pooled: before a body that does not read words,
else after it. If the words of two texts that are encoded apart are read, they attend to each other
before the body.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self, cast

import numpy as np
import torch
from torch import Tensor, nn

from featbert.encoders.batching import Ints
from featbert.encoders.encoder import Encoder
from featbert.models.attention import Attention
from featbert.models.combination import CombineLayers
from featbert.models.pooling import Pooling


@dataclass(frozen=True)
class BatchLayout:
    """How the vectors of a batch follow one another.

    Attributes:
        lengths: (B,) vectors of each sequence, or (B, 2) of its texts, if they are apart or the
            head reads whole sequences.
        groups: (G,) sequences of each group, if a group is answered together.
    """

    lengths: Ints
    groups: Ints | None = None


class Body(Protocol):
    """Word vectors to word vectors: a module of `BODIES`, made from its width and settings."""

    width: int

    def __call__(self, vectors: Tensor, lengths: Ints) -> Tensor:
        """(W, D) -> (W, width) for the words of sequences with these lengths (B,)."""


class Output(Protocol):
    """Vectors to answers: a module of `OUTPUTS`.

    It is made from its width, a `TargetSummary` and its settings. Targets and answers are laid out
    as the task says: (W,) if each word has one. `lengths` are vectors that belong together: words
    of a sequence, or sequences of a group. If logits are W x + b, a method `linear` returns
    W (C, D) and b (C,) for export.
    """

    def loss(self, vectors: Tensor, lengths: Ints, targets: Tensor) -> Tensor:
        """Sum of the losses of all items of the batch, a scalar in fp32.

        An output of words takes `IGNORED` (`tasks.base`) for words without an answer.
        """

    def decode(self, vectors: Tensor, lengths: Ints) -> Tensor:
        """The answers, as numbers."""

    def probabilities(self, vectors: Tensor, lengths: Ints) -> tuple[Tensor, Tensor]:
        """The answers, and the probability of every class of every item, (W, C)."""


class Model(nn.Module):
    """States, body and output as one module. `training.assembly` makes it from settings."""

    def __init__(
        self,
        states: CombineLayers | Encoder,
        body: Body,
        output: Output,
        *,
        attention: Attention | None = None,
        pooling: Pooling | None = None,
        pools_first: bool = False,
    ) -> None:
        """
        Args:
            attention: between the word vectors of two texts that are encoded apart.
            pooling: makes one vector of a sequence's words: before the body if `pools_first`.
        """
        super().__init__()
        self.states, self.attention = states, attention
        self.body, self.pooling, self.pools_first = body, pooling, pools_first
        self.output = output

    @property
    def encoder(self) -> Encoder | None:
        return self.states if isinstance(self.states, Encoder) else None

    def vectors(self, batch: Any, layout: BatchLayout) -> tuple[Tensor, Ints]:
        """(W, width) vectors for the output, of words or of sequences, and their lengths."""
        vectors, lengths = self.states(batch), layout.lengths
        if self.attention is not None:
            vectors = self.attention(vectors, lengths)
        if self.pooling is None:
            words = lengths if lengths.ndim == 1 else lengths.sum(axis=1)
            return self.body(vectors, words), lengths
        single = np.ones(len(lengths), dtype=np.int64)
        if self.pools_first:
            pooled = self.body(self.pooling(vectors, lengths), single)
        else:
            pooled = self.pooling(self.body(vectors, lengths.ravel()), lengths)
        return pooled, single if layout.groups is None else layout.groups

    def loss(self, batch: Any, layout: BatchLayout, targets: Tensor) -> Tensor:
        """Sum of the losses of the batch's items."""
        return self.output.loss(*self.vectors(batch, layout), targets)

    def head_flops(self, vectors: float, sequences: float) -> float:
        """Operations of a forward pass after the states of `vectors` words or sequences."""
        body, output = self._entries
        return 2.0 * (body * vectors + output * (vectors if self.pooling is None else sequences))

    @cached_property
    def _entries(self) -> tuple[int, int]:
        """Entries of the matrices that vectors meet before the output, and in it."""
        before = (self.attention, self.pooling, self.body)
        modules: list[Any] = [module for module in before if module is not None]
        return sum(map(matrix_entries, modules)), matrix_entries(cast(nn.Module, self.output))

    def scale(self, temperature: float) -> None:
        """Divides the output's parameters, and so its logits. Answers stay the same."""
        with torch.no_grad():
            for parameter in cast(nn.Module, self.output).parameters():
                parameter.div_(temperature)

    def parameter_depths(self) -> dict[str, int]:
        """Depth by parameter name: 0 the embeddings, 1..L the layers, L + 1 the head.

        On stored states every parameter has depth 1.
        """
        if (encoder := self.encoder) is None:
            return {name: 1 for name, _ in self.named_parameters()}
        depths = {f"states.model.{name}": d for name, d in encoder.parameter_depths.items()}
        return {n: depths.get(n, encoder.num_layers + 1) for n, _ in self.named_parameters()}

    def train(self, mode: bool = True) -> Self:
        """As in torch, but modules of the encoder without trained parameters stay in eval mode."""
        super().train(mode)
        if mode and (encoder := self.encoder) is not None:
            for module in encoder.modules():
                parameters = list(module.parameters())
                if parameters and not any(p.requires_grad for p in parameters):
                    module.eval()
        return self


def matrix_entries(module: nn.Module) -> int:
    """Entries of the matrices that every vector meets, without embedding tables."""
    tables = {id(m.weight) for m in module.modules() if isinstance(m, nn.Embedding)}
    return sum(p.numel() for p in module.parameters() if p.dim() > 1 and id(p) not in tables)
