"""Adapters of peft in the linear layers of an encoder."""

from __future__ import annotations

import copy
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from featbert.errors import InputError, spelling

if TYPE_CHECKING:
    from torch import Tensor, nn


def target_names(
    model: Any, targets: str | None, defaults: Mapping[str, Sequence[str]]
) -> tuple[list[str], list[nn.Linear]]:
    """Ends of names of linear layers, and the layers with these names.

    Args:
        targets: names with commas between them, "all", or None for the defaults.
        defaults: ends of names by architecture.

    InputError for a name that no linear layer has, or an architecture without default.
    """
    from torch import nn

    linear = {name: m for name, m in model.named_modules() if isinstance(m, nn.Linear)}
    ends = list(dict.fromkeys(re.sub(r".*\.\d+\.", "", name) for name in linear))
    kind = model.config.model_type
    choices = f"the linear layers of {type(model).__name__} are {', '.join(ends)}"
    if targets == "all":
        return ends, [*linear.values()]
    if targets is None and kind not in defaults:
        raise InputError(f"has no default for {kind}; give it: {choices}", setting="target_modules")
    names = [*defaults[kind]] if targets is None else [n.strip() for n in targets.split(",")]
    layers: list[nn.Linear] = []
    for name in names:
        matches = [linear[n] for n in linear if f".{n}".endswith(f".{name}")]
        if not name or not matches:
            raise InputError(
                f"names no linear layer with {name!r}; {choices}", setting="target_modules"
            )
        layers += matches
    return names, layers


def add_adapters(model: nn.Module, config: Any) -> None:
    """Puts peft's adapters into the model. Their layers get the encoder's products."""
    from peft import inject_adapter_in_model

    from featbert.encoders.kernels import use_products

    inject_adapter_in_model(config, model)
    use_products(model)
    layers: list[Any] = [m for m in model.modules() if hasattr(m, "cast_input_dtype_enabled")]
    for layer in layers:
        layer.cast_input_dtype_enabled = False  # autocast does it


def without_adapters(model: nn.Module, *, merge: bool = True) -> nn.Module:
    """A copy of the model with plain layers, into which the adapters are merged if wanted."""
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

    The encoder is the part called `prefix` of the model with the head. `base` is the encoder
    without adapters. InputError for an encoder that has none.
    """
    if not hasattr(model, "peft_config"):
        raise InputError(f"its encoder has no adapters; use {spelling('format', 'transformers')}")
    from peft import get_peft_model_state_dict
    from safetensors.torch import save_file

    config = copy.deepcopy(model.peft_config["default"])
    tops = {name.removeprefix(f"{prefix}.").partition(".")[0] for name in head}
    config.modules_to_save, config.base_model_name_or_path = sorted(tops), base
    config.save_pretrained(folder)
    adapters = get_peft_model_state_dict(model)
    weights = {f"{prefix}.{name}": tensor for name, tensor in adapters.items()} | dict(head)
    tensors = {f"base_model.model.{name}": w.contiguous() for name, w in weights.items()}
    save_file(tensors, folder / "adapter_model.safetensors", {"format": "pt"})


def load_adapters(model: Any, folder: Path) -> Any:
    """The model with what `save_adapters` wrote, in eval mode."""
    from peft import PeftModel

    with warnings.catch_warnings():  # transformers warns about arguments of peft
        warnings.simplefilter("ignore", FutureWarning)
        return PeftModel.from_pretrained(model, folder).eval()
