"""(IA)^3 rescales keys, values and inputs of feed-forward layers (Liu et al. 2022).

Each target gets a vector by peft, first of ones: a factor per output, or per input of a
feed-forward layer. In BERT, peft's targets include the last layer of attention, too. Dropout is on
in modules that hold such vectors.
"""

from typing import Any

from featbert.encoders.tunings.adapters import add_adapters, target_names
from featbert.encoders.tunings.base import Tuning

# Targets of architectures without defaults in peft. The last target is a feed-forward layer.
_TARGETS = {
    "albert": ["key", "value", "ffn_output"],
    "camembert": ["key", "value", "output.dense"],
    "distilbert": ["k_lin", "v_lin", "lin2"],
    "electra": ["key", "value", "output.dense"],
    "modernbert": ["Wqkv", "mlp.Wo"],
    "mpnet": ["attn.k", "attn.v", "output.dense"],
    "xlm-roberta": ["key", "value", "output.dense"],
}


def _prepare(model: Any, settings: Any) -> None:
    from peft import IA3Config
    from peft.utils import constants

    defaults = _TARGETS | constants.TRANSFORMERS_MODELS_TO_IA3_TARGET_MODULES_MAPPING
    forward = {kind: names[-1:] for kind, names in _TARGETS.items()}
    forward |= constants.TRANSFORMERS_MODELS_TO_IA3_FEEDFORWARD_MODULES_MAPPING
    targets, _ = target_names(model, settings.target_modules, defaults)
    ends = tuple(forward.get(model.config.model_type, ()))
    feedforward = [name for name in targets if name.endswith(ends)]
    add_adapters(model, IA3Config(target_modules=targets, feedforward_modules=feedforward))


TUNING = Tuning(
    "ia3",
    "IA3",
    {"body": "linear", "learning_rate": 3e-2},
    lambda name, *_: "ia3_" in name,
    settings=("target_modules",),
    prepare=_prepare,
)
