"""Which layer of an encoder each of its parameters belongs to, for the BERT family.

Depth 0 is the embeddings, 1..L are the transformer layers. A final norm belongs to the last layer;
whatever else stands outside of the layers serves all of them (relative positions, for example) and
counts as embeddings.
"""

from __future__ import annotations

from torch import nn

from featbert.errors import InputError


class DepthError(InputError):
    """An encoder whose layers cannot be told apart."""


def parameter_depths(model: nn.Module, num_layers: int) -> dict[str, int]:
    """Depth of each parameter of a transformers encoder, by the parameter's name.

    Raises:
        DepthError: the encoder keeps its layers in no list of `num_layers` modules (a model
            that shares one layer's weights among all, for example).
    """
    prefix = layer_list(model, num_layers) + "."
    depths = {}
    for name, _ in model.named_parameters():
        if name.startswith(prefix):
            depths[name] = int(name[len(prefix) :].split(".")[0]) + 1
        else:
            depths[name] = num_layers if "final" in name else 0
    return depths


def layer_list(model: nn.Module, num_layers: int) -> str:
    """Name of the list that holds the transformer layers: the outermost one of that length.

    Raises:
        DepthError: there is none.
    """
    name: str
    for name, module in model.named_modules():
        if isinstance(module, nn.ModuleList) and len(module) == num_layers:
            return name
    raise DepthError(
        f"a list of {num_layers} layers expected in {type(model).__name__}, found none; its "
        "layers cannot be frozen or given rates of their own"
    )
