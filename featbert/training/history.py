"""The shape of a training history: one row an epoch, as it is kept in the run record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ParameterGroup:
    """What learns at one rate in one epoch.

    Attributes:
        name: "matrices", "vectors", "scalar_mix", or "embeddings", "layer 7", "classifier".
        parameters: how many are trained in this epoch.
        learning_rate: highest of the epoch.
    """

    name: str
    parameters: int
    learning_rate: float


@dataclass(frozen=True)
class Epoch:
    """One epoch of training. `epoch` counts from 1; seconds cover training and dev scoring."""

    epoch: int
    train_loss: float
    dev_f1: float | None
    dev_precision: float | None
    dev_recall: float | None
    seconds: float
    groups: list[ParameterGroup]


def read_epoch(fields: dict[str, Any]) -> Epoch:
    """An epoch from its fields, as `dataclasses.asdict` gives them.

    Raises:
        TypeError, LookupError: they are not those of an epoch.
    """
    groups = [ParameterGroup(**group) for group in fields["groups"]]
    return Epoch(**(fields | {"groups": groups}))
