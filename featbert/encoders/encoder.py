"""The encoder: hidden states of the embedding output and every layer, at word level.

State k below L is the input of transformer layer k + 1: the embeddings for k = 0. State L is the
encoder's output, after its final norm if it has one.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from functools import cached_property, partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from featbert.data.corpus import Sentence
from featbert.encoders.alignment import Alignment, align
from featbert.encoders.batches import Batcher, PieceBatch
from featbert.encoders.encoding import Context, Packing, SubwordPooling
from featbert.encoders.tokenizer import WordPieces
from featbert.errors import InputError
from featbert.progress import set_within

# A decoder could read far more positions, with unexpectedly much memory.
CAUSAL_POSITIONS = 512
# ALBERT's only layer.
SHARED = "encoder.albert_layer_groups"


class Encoder(nn.Module):
    """A transformer with its word tokenizer.

    Attributes:
        positions: the longest sequence that it reads, specials included.
        pooler: whether first pieces are read through the checkpoint's own pooler, a dense layer and
            tanh.
        stack: name of the list of layers. None if all layers share their weights.
        batcher: makes its batches.
        n_parameters: numbers of the checkpoint's weights, embeddings included.
    """

    def __init__(
        self,
        model: nn.Module,
        wordpieces: WordPieces,
        *,
        pooling: SubwordPooling = "first",
        pooler: bool = False,
        causal: bool = False,
    ) -> None:
        super().__init__()
        config: Any = model.config
        self.model = model
        self.wordpieces = wordpieces
        self.pooling = pooling
        self.pooler = pooler
        self.num_layers = int(config.num_hidden_layers)
        self.hidden_size = int(config.hidden_size)
        positions = _usable_positions(model)
        self.positions = min(positions, CAUSAL_POSITIONS) if causal else positions
        self.has_types = int(getattr(config, "type_vocab_size", 0) or 0) > 1
        self.batcher = Batcher(wordpieces, pooling, causal, self.has_types)
        stacks = {
            name: module
            for name, module in model.named_modules()
            if isinstance(module, nn.ModuleList) and len(module) == self.num_layers
        }
        self.stack = next(iter(stacks), None)  # the outermost one
        for number, layer in enumerate(stacks[self.stack] if self.stack is not None else ()):
            layer.register_forward_pre_hook(partial(_take_input, number), with_kwargs=True)
        self.n_parameters = sum(p.numel() for p in self.parameters())

    def align(
        self,
        sentences: Sequence[Sentence],
        context: Context = "sentence",
        packing: Packing | None = None,
    ) -> Alignment:
        """Sentences in subwords and windows of this encoder. See `alignment.align`."""
        return align(
            sentences, self.wordpieces, positions=self.positions, context=context, packing=packing
        )

    def hidden_states(self, batch: PieceBatch, layers: Sequence[int] | None = None) -> list[Tensor]:
        """(W, H) for each of `layers`, 0 being the embeddings. All L + 1 by default.

        The pass ends at the highest of them. Threads may compute batches at the same time.
        """
        numbers = range(self.num_layers + 1) if layers is None else layers
        states: dict[int, Tensor] = {}

        def take(layer: int, output: Tensor) -> None:
            if layer in numbers:
                states[layer] = _by_word(_at_positions(output, batch), batch)
            if layer == max(numbers):
                raise _EnoughError

        with suppress(_EnoughError), set_within(_taking, take):
            shared = self.stack is None  # one layer's weights for all (ALBERT)
            outputs = self.model(**_inputs(batch), output_hidden_states=shared)
            for layer, output in enumerate(outputs.hidden_states if shared else ()):
                take(layer, output)
            take(self.num_layers, outputs.last_hidden_state)
        if skipped := sorted(set(numbers) - set(states)):
            raise InputError(
                f"{type(self.model).__name__} does not compute layers "
                f"{', '.join(map(str, skipped))} one after the other; use another encoder"
            )
        return [states[layer] for layer in numbers]

    def forward(self, batch: PieceBatch) -> Tensor:
        """(W, H) the last layer's vectors of words, or of first pieces (`Batcher.firsts`)."""
        if batch.rows is None or len(batch.ids) <= batch.rows:
            return _by_word(self._last_states(batch), batch)
        # In parts, so that memory does not grow with a text. The backward pass computes the
        # activations of a part again.
        states, places = [], []
        for start in range(0, len(batch.ids), batch.rows):
            part, numbers = batch.part(start, start + batch.rows)
            states.append(checkpoint(self._last_states, part, use_reentrant=False))
            places.append(numbers)
        joined = torch.cat(states)
        ordered = torch.empty_like(joined).index_copy(0, torch.cat(places), joined)
        return _by_word(ordered, batch)

    @cached_property
    def parameter_depths(self) -> dict[str, int]:
        """Depth by parameter name: 0 the embeddings, 1..L the layers.

        A final norm, the pooler, and weights that layers share belong to the last layer. Other
        parameters outside of the layers serve all of them (such as relative positions) and count as
        embeddings. InputError if the encoder keeps its layers in no list.
        """
        config: Any = self.model.config
        groups = getattr(config, "num_hidden_groups", self.num_layers)
        if self.stack is None and groups == self.num_layers:
            raise InputError(
                f"{type(self.model).__name__} has no list of {self.num_layers} layers, so its "
                "layers cannot be frozen or have learning rates of their own"
            )
        prefix, last = f"{self.stack}.", ("norm.", "final", "pooler.", f"{SHARED}.")
        depths = {}
        for name, _ in self.model.named_parameters():
            outside = self.num_layers if name.startswith(last) else 0
            number = name.removeprefix(prefix).partition(".")[0]
            depths[name] = int(number) + 1 if name.startswith(prefix) else outside
        return depths

    def _last_states(self, batch: PieceBatch) -> Tensor:
        """(Q, H) the last layer at the batch's positions, or the pooler's output per window."""
        output = self.model(**_inputs(batch))
        if self.pooler:
            pooled: Tensor = output.pooler_output
            return pooled
        return _at_positions(output.last_hidden_state, batch)


def _at_positions(states: Tensor, batch: PieceBatch) -> Tensor:
    """(R, longest, H) -> (Q, H). InputError if `states` have other places than the batch."""
    states = states[:, : batch.ids.shape[1]]  # Longformer pads the batch once more
    if states.shape[:2] != batch.ids.shape:
        raise InputError(
            f"a layer has states of shape {tuple(states.shape)} for subwords of shape "
            f"{tuple(batch.ids.shape)}; use another encoder"
        )
    return states.flatten(0, 1).index_select(0, batch.positions)


def _by_word(states: Tensor, batch: PieceBatch) -> Tensor:
    """(Q, H) -> (W, H) mean of the places of each word."""
    if batch.segments is None:
        return states
    total = states.new_zeros((batch.n_words, states.shape[1]), dtype=torch.float32)
    total = total.index_add(0, batch.segments, states.float())
    sizes = torch.bincount(batch.segments, minlength=batch.n_words).unsqueeze(1)
    return (total / sizes).to(states.dtype)


def _inputs(batch: PieceBatch) -> dict[str, Tensor | None]:
    inputs = {"input_ids": batch.ids, "attention_mask": batch.mask}
    return inputs if batch.types is None else inputs | {"token_type_ids": batch.types}


def _usable_positions(model: nn.Module) -> int:
    """Longest input. RoBERTa's positions begin after the padding index, not at 0."""
    config: Any = model.config
    positions: int | None = getattr(config, "max_position_embeddings", None)
    if positions is None:
        kind = config.model_type
        raise InputError(f"the config of a {kind} has no max_position_embeddings; use a BERT")
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            offset = 0 if module.padding_idx is None else module.padding_idx + 1
            return min(positions, module.num_embeddings) - offset
    return positions


class _EnoughError(Exception):
    """The highest requested layer has been read."""


# Called with the number of each layer and its input, in this thread's pass.
_taking: ContextVar[Callable[[int, Tensor], None] | None] = ContextVar("taking", default=None)


def _take_input(layer: int, _: nn.Module, args: tuple[Any, ...], named: dict[str, Any]) -> None:
    if (take := _taking.get()) is not None:
        take(layer, args[0] if args else named["hidden_states"])
