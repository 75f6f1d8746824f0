"""The shape of a training history: one row an epoch, as it is kept in the run record."""

from __future__ import annotations

import pydantic
import pydantic.dataclasses

from featbert.tasks.base import KEPT


@pydantic.dataclasses.dataclass(frozen=True, config=KEPT)
class ParameterGroup:
    """What learns at one rate in one epoch; the rate is the highest of the epoch.

    Attributes:
        name: "matrices", "vectors", "scalar_mix", or "embeddings", "layer 7", "classifier".
    """

    name: str
    parameters: int
    learning_rate: float


@pydantic.dataclasses.dataclass(frozen=True, config=KEPT)
class Epoch:
    """One epoch of training.

    Attributes:
        epoch: from 1.
        dev: values on dev by key, first that of the task's measure; None where dev is not scored.
        seconds: of training and dev scoring.
    """

    epoch: int
    train_loss: float
    dev: dict[str, float] | None
    seconds: float
    groups: list[ParameterGroup]

    @property
    def dev_score(self) -> float | None:
        """Value of the task's measure on dev, in [0, 1]."""
        return None if self.dev is None else next(iter(self.dev.values()))


HISTORY = pydantic.TypeAdapter(list[Epoch])
