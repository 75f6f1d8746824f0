"""A model of transformers with the same logits, for heads that are one linear function.

    logits = W x + b,  x = the encoder's vector of a word, or of [CLS]

Some classes have one linear layer, which gets W and b. Others have a dense layer with an activation
g before it, such as the pooler of BERT. There y = W x is computed with both signs:

    dense = [s W; -s W],  classifier = [I, -I] / t:  y = (g(s y) - g(-s y)) / t

    ReLU, GELU, SiLU   s = t = 1           g(y) - g(-y) = y for every y
    tanh               s = 2^-14, t = 2s   (s y)^2 / 3 is below the rounding of fp32

ModernBERT has a norm after the activation, which can be switched off. Its encoder ends in a norm
too, x = w * z, and z, which has mean 0 and variance 1, passes through a second one:

    dense = diag(1 / w),  norm weight = w,  classifier = W

Both models compute the same pieces, and a model with other logits is not returned.
"""

import copy
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from featbert.encoders.batches import PieceBatch
from featbert.encoders.encoder import Encoder
from featbert.encoders.source import refusing
from featbert.encoders.tunings.adapters import load_adapters, save_adapters, without_adapters
from featbert.errors import InputError
from featbert.models.model import BatchLayout, Model

# s and t of dense layers.
_SCALES = ((1.0, 1.0), (2.0**-14, 2.0**-13))
# Largest difference of logits, as a share of the largest or of 1: sums have other orders.
TOLERANCE = 1e-4


def transformers_model(
    model: Model, kind: str, answers: Mapping[str, Any], batch: PieceBatch, layout: BatchLayout
) -> Any:
    """A model of the class `kind` ("AutoModelForTokenClassification") with the logits of `model`.

    `answers` are the entries of its config about answers. Logits are compared on `batch`.
    InputError if transformers has no such model.
    """
    import transformers

    encoder = model.encoder
    assert encoder is not None
    linear = getattr(model.output, "linear", None)
    weight, bias = linear() if linear else (torch.zeros(0, 0), torch.zeros(0))
    of_encoder = {id(p) for p in encoder.parameters()}
    n_head = sum(p.numel() for p in model.parameters() if id(p) not in of_encoder)
    has_more = n_head > weight.numel() + len(bias)
    # heads of decoders have no bias
    if weight.shape[1] != encoder.hidden_size or has_more or encoder.batcher.causal:
        raise InputError("transformers has no such head")
    config: Any = copy.deepcopy(encoder.model.config)
    config.update(dict(answers))
    if hasattr(config, "classifier_activation"):
        config.classifier_activation = "linear"
    try:
        made: Any = getattr(transformers, kind).from_config(config, dtype=torch.float32).eval()
    except ValueError:
        raise InputError(f"transformers has no {kind} of {config.model_type}") from None
    base = getattr(made, made.base_model_prefix)
    plain = without_adapters(encoder.model)
    base.load_state_dict(plain.state_dict(), strict=False)
    pooler = plain.get_submodule("pooler") if encoder.pooler else None
    with torch.no_grad():
        expected = model.vectors(batch, layout)[0].float() @ weight.T + bias
        for scales in _SCALES:
            _fill(made, pooler, weight, bias, *scales)
            if equal_logits(_logits(made, kind, batch), expected):
                if pooler is not None and getattr(base, "pooler", None) is None:
                    base.pooler = pooler  # for featbert, which reads it
                return made
    raise InputError(f"{type(made).__name__} of transformers gives other logits")


def write_adapters(
    made: Any, kind: str, encoder: Encoder, folder: Path, base: str, batch: PieceBatch
) -> None:
    """Writes the encoder's adapters with the head of `made`, for `PeftModel.from_pretrained`.

    The folder has the config of `made`. `base` is the place of the encoder without adapters. Logits
    are compared on `batch`. InputError for an encoder without adapters, or if peft's logits differ.
    """
    prefix = made.base_model_prefix
    head = {
        name: tensor
        for name, tensor in made.state_dict().items()
        if not name.startswith(f"{prefix}.") or name.startswith(f"{prefix}.pooler.")
    }
    save_adapters(encoder.model, folder, prefix, head, base)
    again = type(made)(made.config)
    plain = without_adapters(encoder.model, merge=False)
    getattr(again, prefix).load_state_dict(plain.state_dict(), strict=False)
    with torch.no_grad(), refusing("peft cannot load its adapters"):
        again = load_adapters(again, folder)
        if not equal_logits(_logits(again, kind, batch), _logits(made, kind, batch)):
            raise InputError("logits differ")


def equal_logits(logits: Tensor, expected: Tensor) -> bool:
    """Whether they differ by rounding only."""
    if logits.shape != expected.shape:
        return False
    largest = max(1.0, float(expected.abs().max()))
    return torch.allclose(logits, expected, rtol=0, atol=TOLERANCE * largest)


def _logits(made: Any, kind: str, batch: PieceBatch) -> Tensor:
    """(W, C) of the pieces that are read, or (R, C) of the windows."""
    arguments = {
        "input_ids": batch.ids,
        "attention_mask": batch.mask,
        "token_type_ids": batch.types,
    }
    tensors = {name: tensor for name, tensor in arguments.items() if tensor is not None}
    logits: Tensor
    if "MultipleChoice" in kind:  # the windows are the choices of one example
        logits = made(**{name: tensor[None] for name, tensor in tensors.items()}).logits
        return logits.T
    output = made(**tensors)
    if "logits" in output:
        logits = output.logits
    else:
        logits = torch.stack([output.start_logits, output.end_logits], dim=-1)
    return logits if logits.dim() == 2 else logits.flatten(0, 1)[batch.positions]


def _fill(
    made: Any, pooler: nn.Module | None, weight: Tensor, bias: Tensor, scale: float, total: float
) -> None:
    """Puts W and b into the layers after the encoder. `scale` and `total` are s and t.

    `pooler` is our encoder's, if W reads its vectors.
    """
    after = [m for n, m in made.named_modules() if not n.startswith(f"{made.base_model_prefix}.")]
    base = getattr(made, made.base_model_prefix)
    base_pooler = getattr(base, "pooler", None)
    poolers = base_pooler.modules() if base_pooler else ()
    *dense, classifier = [*_layers(poolers), *_layers(after)]
    if classifier.bias is not None:
        classifier.bias.copy_(bias)
    if not dense:
        classifier.weight.copy_(weight)
        return
    inner_bias = torch.zeros(())
    if pooler is not None:
        (layer,) = _layers(pooler.modules())
        inner, outer, inner_bias = layer.weight, weight, layer.bias
    elif norms := [m for m in after if isinstance(m, nn.LayerNorm)]:
        final = [m for m in base.modules() if isinstance(m, nn.LayerNorm)][-1].weight
        inner, outer = torch.diag(1 / final), weight
        norms[0].weight.copy_(final * (1 + norms[0].eps) ** 0.5)
    else:
        signs = torch.cat([torch.eye(len(weight)), -torch.eye(len(weight))])  # (2C, C)
        inner, outer = scale * signs @ weight, signs.T / total
    if len(inner) <= dense[0].out_features:  # else there is no room for so many classes
        dense[0].weight.zero_()[: len(inner)] = inner
        classifier.weight.zero_()[:, : len(inner)] = outer
    if dense[0].bias is not None:
        dense[0].bias.copy_(inner_bias)


def _layers(modules: Iterable[nn.Module]) -> list[nn.Linear]:
    return [module for module in modules if isinstance(module, nn.Linear)]
