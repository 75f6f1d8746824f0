"""Adapters of peft in an encoder: which linear layers get them, and how they are put there."""

from __future__ import annotations

import copy
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from featbert.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor, nn


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

    from featbert.encoders.kernels import use_products

    inject_adapter_in_model(config, model)
    use_products(model)
    layers: list[Any] = [m for m in model.modules() if hasattr(m, "cast_input_dtype_enabled")]
    for layer in layers:
        layer.cast_input_dtype_enabled = False  # autocast does it


def without_adapters(model: nn.Module, *, merge: bool = True) -> nn.Module:
    """A copy of the model with plain layers, which do what adapters do if these are merged."""
    if not hasattr(model, "peft_config"):
        return model
    from peft.tuners.tuners_utils import BaseTunerLayer

    copied = copy.deepcopy(model)
    for name, module in [*copied.named_modules()]:
        if isinstance(module, BaseTunerLayer):
            layer: Any = module
            if merge:
                layer.merge()
            copied.set_submodule(name, layer.get_base_layer())
    return copied


def save_adapters(
    model: Any, folder: Path, prefix: str, head: Mapping[str, Tensor], base: str
) -> None:
    """Writes the adapters of an encoder and tensors of a head into a folder, as peft does.

    The encoder is the part called `prefix` of the model that has the head; `base` is where it is
    without adapters. InputError for an encoder that has none.
    """
    if not hasattr(model, "peft_config"):
        raise InputError("its encoder has no adapters; use --format transformers")
    from peft import get_peft_model_state_dict
    from safetensors.torch import save_file

    config = copy.deepcopy(model.peft_config["default"])
    tops = {name.removeprefix(f"{prefix}.").partition(".")[0] for name in head}
    config.modules_to_save, config.base_model_name_or_path = sorted(tops), base
    config.save_pretrained(folder)
    found = get_peft_model_state_dict(model)
    named = {f"{prefix}.{name}": tensor for name, tensor in found.items()} | dict(head)
    tensors = {f"base_model.model.{name}": one.contiguous() for name, one in named.items()}
    save_file(tensors, folder / "adapter_model.safetensors", {"format": "pt"})


def load_adapters(model: Any, folder: Path) -> Any:
    """The model with what `save_adapters` wrote, in eval mode."""
    from peft import PeftModel

    with warnings.catch_warnings():  # of transformers, for what peft asks of it
        warnings.simplefilter("ignore", FutureWarning)
        return PeftModel.from_pretrained(model, folder).eval()
