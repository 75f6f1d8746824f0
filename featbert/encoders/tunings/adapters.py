"""Adapters of peft in an encoder: which linear layers get them, and how they are put there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from featbert.errors import InputError

if TYPE_CHECKING:
    from torch import nn


def target_names(
    model: Any, asked: str | None, known: Mapping[str, Sequence[str]]
) -> tuple[list[str], list[nn.Linear]]:
    """Ends of names of linear layers, and the layers that they mean.

    Args:
        asked: names with commas between them, "all", or None for the defaults.
        known: defaults by architecture.

    InputError for a name that no linear layer has, or where there is no default.
    """
    from torch import nn

    linear = {name: m for name, m in model.named_modules() if isinstance(m, nn.Linear)}
    ends = list(dict.fromkeys(re.sub(r".*\.\d+\.", "", name) for name in linear))
    kind = model.config.model_type
    there = f"the linear layers of {type(model).__name__} are {', '.join(ends)}"
    if asked == "all":
        return ends, [*linear.values()]
    if asked is None and kind not in known:
        raise InputError(f"no targets are known for {kind}; give --targets: {there}")
    names = [*known[kind]] if asked is None else [name.strip() for name in asked.split(",")]
    found = [[n for n in linear if f".{n}".endswith(f".{name}")] for name in names]
    for name, layers in zip(names, found, strict=True):
        if not name or not layers:
            raise InputError(f"targets: no linear layer is called {name!r}; {there}")
    return names, [linear[name] for layers in found for name in layers]


def add_adapters(model: nn.Module, config: Any) -> None:
    """Puts peft's adapters into the model; products of matrices stay featbert's."""
    from peft import inject_adapter_in_model

    from featbert.encoders.products import use_products

    inject_adapter_in_model(config, model)
    use_products(model)
    layers: list[Any] = [m for m in model.modules() if hasattr(m, "cast_input_dtype_enabled")]
    for layer in layers:
        layer.cast_input_dtype_enabled = False  # autocast does it
