"""Hidden states as they arise, layer by layer, and no layer further than asked.

State k below L is what enters transformer layer k + 1: the embeddings for k = 0. State L is the
encoder's output, after its final norm where it has one. The states of a layer are handed on before
the next layer is computed, so that the padded states of all layers are never held together.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import ExitStack
from typing import Any

from torch import Tensor, nn

from featbert.encoders.depth import DepthError, layer_list


class _EnoughError(Exception):
    """The highest layer that was asked for is there."""


def read_layers(
    model: nn.Module,
    num_layers: int,
    layers: Collection[int],
    take: Callable[[int, Tensor], None],
    **inputs: Any,
) -> None:
    """One forward pass up to the highest of `layers`; `take` is given each layer and its states.

    Args:
        model: an encoder of transformers with L = `num_layers` layers.
        layers: 0 to L.
        take: hears a layer and its (rows, longest, H), lower layers first.
        inputs: of the model's forward.
    """
    stack = layer_stack(model, num_layers)
    if stack is None:  # one layer's weights for all (ALBERT)
        states = model(**inputs, output_hidden_states=True).hidden_states
        for layer in sorted(layers):
            take(layer, states[layer])
        return
    highest = max(layers)
    with ExitStack() as hooks:
        for layer in sorted(layers):
            if layer < num_layers:
                hook = _hook(layer, take, stop=layer == highest)
                handle = stack[layer].register_forward_pre_hook(hook, with_kwargs=True)
                hooks.callback(handle.remove)
        try:
            output = model(**inputs)
        except _EnoughError:
            return
    if highest == num_layers:
        take(num_layers, output.last_hidden_state)


def layer_stack(model: nn.Module, num_layers: int) -> nn.ModuleList | None:
    """The transformer layers in order, or None where the encoder keeps no list of them."""
    try:
        stack = model.get_submodule(layer_list(model, num_layers))
    except DepthError:
        return None
    assert isinstance(stack, nn.ModuleList)
    return stack


def _hook(
    layer: int, take: Callable[[int, Tensor], None], *, stop: bool
) -> Callable[[nn.Module, tuple[Any, ...], dict[str, Any]], None]:
    def entering(_: nn.Module, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        take(layer, args[0] if args else named["hidden_states"])
        if stop:
            raise _EnoughError

    return entering
