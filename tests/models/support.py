"""Small models for tests."""

from typing import Any

import torch

from featbert.config import Settings, defaults
from featbert.encoders.layers import parse_layers
from featbert.encoders.loading import load_encoder
from featbert.encoders.source import find_encoder
from featbert.encoders.tunings import TUNINGS, get_tuning
from featbert.models.combination import CombineLayers
from featbert.models.model import BatchLayout, Model
from featbert.tasks.base import TargetSummary
from featbert.training.assembly import make_model


def classes(n: int) -> TargetSummary:
    return TargetSummary(tuple(map(str, range(n))))


def settings_of(tuning: str, **given: Any) -> Settings:
    return defaults(tuning, output="softmax").but(**{"lstm_size": 8} | given)


def stored(spec: str, n: int = 5, *, hidden: int = 16, layers: int = 3, **given: Any) -> Model:
    """A model on stored states of an encoder with `layers` layers."""
    settings = settings_of("none", **given)
    return make_model(CombineLayers(parse_layers(spec, layers), hidden), classes(n), settings)


# A name of each way to tune an encoder; one that has a number, with another one, too.
TUNED = [name for name in TUNINGS if not get_tuning(name).frozen] + ["top:2"]


def tuned(
    folder: Any, n: int = 5, *, pooling: str | None = None, tuning: str = "full", **given: Any
) -> Model:
    """A model on the encoder in a folder."""
    pooler = given.get("sentence_pooling") == "pooler"
    encoder = load_encoder(find_encoder(str(folder)), pooling=pooling, pooler=pooler)
    return make_model(encoder, classes(n), settings_of(tuning, **given))


def logits_of(model: Model, batch: Any, lengths: Any) -> torch.Tensor:
    """(W, C) of a model with a softmax output."""
    return model.output.logits(model.vectors(batch, BatchLayout(lengths))[0])
