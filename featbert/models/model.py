"""A model: states, body and output.

    batch ─▶ states (W, D) ─▶ body (W, width) ─▶ output ─▶ loss or answers

States are stored ones with a layer combination, or those of an encoder that is tuned. Nobody else
computes a loss or takes an argmax.
"""

from __future__ import annotations

from typing import Any, Protocol

from torch import Tensor, nn

from featbert.config import Settings
from featbert.encoders.alignment import Ints
from featbert.encoders.encoder import Encoder
from featbert.encoders.layers import LayerCombination
from featbert.encoders.tunings import TUNINGS
from featbert.models.combination import CombineLayers
from featbert.models.registry import BODIES, OUTPUTS


class Body(Protocol):
    """Word vectors to word vectors; a module of `BODIES`, made from (width, settings).

    Attributes:
        width: size of the vectors it returns.
    """

    width: int

    def __call__(self, vectors: Tensor, lengths: Ints) -> Tensor:
        """(W, D) -> (W, width) for the words of sequences with these lengths (B,)."""


class Output(Protocol):
    """Vectors to answers; a module of `OUTPUTS`, made from (width, classes, settings).

    Targets and answers are laid out as the task says (`Targets`): (W,) for one a word.
    """

    def loss(self, vectors: Tensor, lengths: Ints, targets: Tensor) -> Tensor:
        """Sum of the losses of all items of the batch, a scalar in fp32."""

    def decode(self, vectors: Tensor, lengths: Ints) -> Tensor:
        """The answers, as numbers."""

    def probabilities(self, vectors: Tensor, lengths: Ints) -> tuple[Tensor, Tensor]:
        """The answers, and the probability of every class of every item, (W, C)."""


class Model(nn.Module):
    """States, body and output as one module.

    Attributes:
        states: `CombineLayers` on stored states, or the `Encoder`.
        encoder: the encoder that is tuned; None on stored states.
    """

    states: CombineLayers | Encoder
    body: Body
    output: Output

    def __init__(self, states: CombineLayers | Encoder, body: Body, output: Output) -> None:
        super().__init__()
        self.states = states
        self.body = body
        self.output = output

    @property
    def encoder(self) -> Encoder | None:
        return self.states if isinstance(self.states, Encoder) else None

    def vectors(self, batch: Any, lengths: Ints) -> Tensor:
        """(W, width) what the output reads."""
        return self.body(self.states(batch), lengths)

    def loss(self, batch: Any, lengths: Ints, targets: Tensor) -> Tensor:
        """Sum of the losses of the batch's items."""
        return self.output.loss(self.vectors(batch, lengths), lengths, targets)

    def decode(self, batch: Any, lengths: Ints) -> Tensor:
        """The answers, as numbers."""
        return self.output.decode(self.vectors(batch, lengths), lengths)

    def probabilities(self, batch: Any, lengths: Ints) -> tuple[Tensor, Tensor]:
        """The answers, and the probability of every class of every item."""
        return self.output.probabilities(self.vectors(batch, lengths), lengths)

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
        trains, layers = TUNINGS[settings.tuning].trains, encoder.num_layers
        depths = encoder.parameter_depths
        for name, parameter in encoder.model.named_parameters():
            parameter.requires_grad_(trains(name, depths[name], settings, layers, epoch))
        self.train(self.training)

    def train(self, mode: bool = True) -> Model:
        """As in torch; a module of the encoder without trained parameters stays in eval mode.

        So it gives the states that features hold.
        """
        super().train(mode)
        if mode and (encoder := self.encoder) is not None:
            for module in encoder.modules():
                parameters = list(module.parameters())
                if parameters and not any(p.requires_grad for p in parameters):
                    module.eval()
        return self


def head(
    states: CombineLayers | Encoder, width: int, classes: tuple[str, ...], settings: Settings
) -> Model:
    """The model with a new body and output, as the settings name them.

    Args:
        width: size of a word's vector in `states`.
    """
    body = BODIES[settings.body].load()(width, settings)
    output = OUTPUTS[settings.output].load()(body.width, classes, settings)
    return Model(states, body, output)


def stored_model(
    combination: LayerCombination, hidden_size: int, classes: tuple[str, ...], settings: Settings
) -> Model:
    """A model on stored states of an encoder with H = `hidden_size`."""
    states = CombineLayers(combination, hidden_size)
    return head(states, states.width, classes, settings)


def tuned_model(encoder: Encoder, classes: tuple[str, ...], settings: Settings) -> Model:
    """A model on an encoder that is tuned."""
    prepare = TUNINGS[settings.tuning].prepare
    if prepare is not None:
        prepare(encoder.model, settings)
    return head(encoder, encoder.hidden_size, classes, settings)
