"""A model: states, body and output.

    batch ─▶ states (W, D) ─▶ body (W, width) ─▶ output ─▶ loss or answers

Where a task has one answer a sequence, its words are pooled: before a body that does not read
words, else after it. Where the words of two texts that are encoded apart are read, these attend to
each other before the body.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, cast

import numpy as np
from torch import Tensor, nn

from featbert.config import Settings
from featbert.encoders.batching import Ints
from featbert.encoders.encoder import Encoder
from featbert.encoders.layers import LayerCombination
from featbert.encoders.tunings import get_tuning
from featbert.models.attention import Attention
from featbert.models.combination import CombineLayers
from featbert.models.pooling import Pooling
from featbert.models.registry import BODIES, OUTPUTS


@dataclass(frozen=True)
class Layout:
    """How the vectors of a batch follow one another.

    Attributes:
        lengths: (B,) vectors of each sequence, or (B, 2) of its texts, where those are apart or the
            head reads whole sequences.
        groups: (G,) sequences of each group, where those of a group are answered together.
    """

    lengths: Ints
    groups: Ints | None = None


class Body(Protocol):
    """Word vectors to word vectors; a module of `BODIES`, made from (width, settings)."""

    width: int

    def __call__(self, vectors: Tensor, lengths: Ints) -> Tensor:
        """(W, D) -> (W, width) for the words of sequences with these lengths (B,)."""


class Output(Protocol):
    """Vectors to answers; a module of `OUTPUTS`, made from (width, classes, settings).

    Targets and answers are laid out as the task says (`Targets`): (W,) for one a word. `lengths`
    are vectors that belong together: words of a sequence, or sequences of a group. One whose logits
    are W x + b has a method `linear`, which returns W (C, D) and b (C,) for export.
    """

    def loss(self, vectors: Tensor, lengths: Ints, targets: Tensor) -> Tensor:
        """Sum of the losses of all items of the batch, a scalar in fp32.

        An output of words takes `IGNORED` (`tasks.base`) for one without an answer.
        """

    def decode(self, vectors: Tensor, lengths: Ints) -> Tensor:
        """The answers, as numbers."""

    def probabilities(self, vectors: Tensor, lengths: Ints) -> tuple[Tensor, Tensor]:
        """The answers, and the probability of every class of every item, (W, C)."""


class Model(nn.Module):
    """States, and a new body and output as the settings name them, as one module.

    `width` is that of a word in the states; `texts` is 2 for pairs of texts that are encoded apart.
    """

    states: CombineLayers | Encoder
    body: Body
    output: Output

    def __init__(
        self,
        states: CombineLayers | Encoder,
        width: int,
        classes: tuple[str, ...],
        settings: Settings,
        texts: int = 1,
    ) -> None:
        super().__init__()
        self.states = states
        self.attention: Attention | None = None
        self.pooling: Pooling | None = None
        pools, part = settings.sentence_pooling != "none", BODIES[settings.body]
        self.pools_first = not part.words
        if texts == 2 and not pools:
            self.attention = Attention(width, settings)
            width = self.attention.width
        if pools and self.pools_first:
            self.pooling = Pooling(width, settings, texts)
            width = self.pooling.width
        self.body = part.load()(width, settings)
        width = self.body.width
        if pools and not self.pools_first:
            self.pooling = Pooling(width, settings, texts)
            width = self.pooling.width
        self.output = OUTPUTS.load(settings.output)(width, classes, settings)

    @property
    def encoder(self) -> Encoder | None:
        return self.states if isinstance(self.states, Encoder) else None

    def vectors(self, batch: Any, layout: Layout) -> tuple[Tensor, Ints]:
        """(W, width) what the output reads, of words or of each sequence, and its lengths."""
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

    def loss(self, batch: Any, layout: Layout, targets: Tensor) -> Tensor:
        """Sum of the losses of the batch's items."""
        return self.output.loss(*self.vectors(batch, layout), targets)

    def decode(self, batch: Any, layout: Layout) -> Tensor:
        """The answers, as numbers."""
        return self.output.decode(*self.vectors(batch, layout))

    def probabilities(self, batch: Any, layout: Layout) -> tuple[Tensor, Tensor]:
        """The answers, and the probability of every class of every item."""
        return self.output.probabilities(*self.vectors(batch, layout))

    def head_flops(self, vectors: float, sequences: float) -> float:
        """Operations of a forward pass from the states of `vectors` words, or sequences, on."""
        body, output = self._entries
        return 2.0 * (body * vectors + output * (vectors if self.pooling is None else sequences))

    @cached_property
    def _entries(self) -> tuple[int, int]:
        """Entries of the matrices that vectors meet before the output, and in it."""
        before = (self.attention, self.pooling, self.body)
        modules: list[Any] = [module for module in before if module is not None]
        return sum(map(matrix_entries, modules)), matrix_entries(cast(nn.Module, self.output))

    def parameter_depths(self) -> dict[str, int]:
        """Depth by parameter name: 0 the embeddings, 1..L the layers, L + 1 the head.

        On stored states every parameter has depth 1.
        """
        if (encoder := self.encoder) is None:
            return {name: 1 for name, _ in self.named_parameters()}
        depths = {f"states.model.{name}": d for name, d in encoder.parameter_depths.items()}
        return {n: depths.get(n, encoder.num_layers + 1) for n, _ in self.named_parameters()}

    def set_trained(self, settings: Settings, epoch: int) -> None:
        """Marks what is trained in an epoch (from 1); what is not stays as it is."""
        if (encoder := self.encoder) is None:
            return
        trains, layers = get_tuning(settings.tuning).trains, encoder.num_layers
        depths = encoder.parameter_depths
        for name, parameter in encoder.model.named_parameters():
            parameter.requires_grad_(trains(name, depths[name], settings, layers, epoch))
        self.train(self.training)

    def train(self, mode: bool = True) -> Model:
        """As in torch; what is not trained of the encoder stays in eval mode, as for features."""
        super().train(mode)
        if mode and (encoder := self.encoder) is not None:
            for module in encoder.modules():
                parameters = list(module.parameters())
                if parameters and not any(p.requires_grad for p in parameters):
                    module.eval()
        return self


def matrix_entries(module: nn.Module) -> int:
    """Entries of the matrices that every vector meets; embedding tables are only looked up."""
    tables = {id(m.weight) for m in module.modules() if isinstance(m, nn.Embedding)}
    return sum(p.numel() for p in module.parameters() if p.dim() > 1 and id(p) not in tables)


def stored_model(
    combination: LayerCombination,
    hidden_size: int,
    classes: tuple[str, ...],
    settings: Settings,
    texts: int = 1,
) -> Model:
    """A model on stored states of an encoder with H = `hidden_size`."""
    states = CombineLayers(combination, hidden_size)
    return Model(states, states.width, classes, settings, texts)


def tuned_model(
    encoder: Encoder, classes: tuple[str, ...], settings: Settings, texts: int = 1
) -> Model:
    """A model on an encoder that is tuned."""
    get_tuning(settings.tuning).prepare(encoder.model, settings)
    return Model(encoder, encoder.hidden_size, classes, settings, texts)
