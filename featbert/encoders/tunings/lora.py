"""LoRA: updates of low rank for some linear layers, by peft (Hu et al. 2022).

    W x + s B A x       A (rank, in) random, B (out, rank) zero at first
    s = alpha / rank, or alpha / sqrt(rank) with rsLoRA (Kalajdzievski 2023)

DoRA (Liu et al. 2024) trains the length of each row of W + s B A by itself.

A module of the encoder that holds adapters is in train mode as a whole. LoRA's dropout is on, and
also the dropout of attention with adapters. Modules without adapters stay in eval mode, as for
frozen features.
"""

from typing import Any

from featbert.encoders.tunings.adapters import add_adapters, target_names
from featbert.encoders.tunings.base import Tuning
from featbert.errors import InputError

# Targets of architectures without defaults in peft.
_TARGETS = {
    "albert": ["query", "value"],
    "camembert": ["query", "value"],
    "distilbert": ["q_lin", "v_lin"],
    "modernbert": ["Wqkv"],
    "mpnet": ["attn.q", "attn.v"],
}


def _prepare(model: Any, settings: Any) -> None:
    from peft import LoraConfig
    from peft.utils.constants import TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING as KNOWN

    targets, layers = target_names(model, settings.target_modules, _TARGETS | KNOWN)
    least = min(min(layer.in_features, layer.out_features) for layer in layers)
    if settings.rank > least:
        raise InputError(f"is {settings.rank}, but a target has {least} dimensions", setting="rank")
    config = LoraConfig(
        r=settings.rank,
        lora_alpha=settings.alpha,
        lora_dropout=settings.adapter_dropout,
        target_modules=targets,
        use_dora=settings.dora,
        use_rslora=settings.rslora,
    )
    add_adapters(model, config)


TUNING = Tuning(
    "lora",
    "LoRA",
    {"body": "linear", "learning_rate": 2e-3},
    lambda name, *_: "lora_" in name,
    settings=("rank", "alpha", "adapter_dropout", "target_modules", "dora", "rslora"),
    prepare=_prepare,
)
