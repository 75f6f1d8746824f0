"""The history of a training, one row per epoch, as checkpoints and run records hold it."""

from dataclasses import field

import pydantic.dataclasses

from featbert.schema import STRICT, Amount, Count, Number, Seconds, Share


@pydantic.dataclasses.dataclass(frozen=True, config=STRICT)
class ParameterGroup:
    """Parameters with one learning rate. `learning_rate` is the highest of the epoch.

    Attributes:
        name: "matrices", "vectors", "scalar_mix", or "embeddings", "layer 7", "classifier".
    """

    name: str
    parameters: Count
    learning_rate: Amount


@pydantic.dataclasses.dataclass(frozen=True, config=STRICT)
class Epoch:
    """One epoch of training.

    Attributes:
        epoch: from 1.
        dev: values on dev by key, the task's measure first. None if dev is not scored.
        seconds: of training and dev scoring.
        step_value: the solver's parameter in this epoch, such as {"C": 0.01}. Empty if epochs are
            passes over the text.
    """

    epoch: Count
    train_loss: Number
    dev: dict[str, Share] | None
    seconds: Seconds
    groups: list[ParameterGroup]
    step_value: dict[str, Number] = field(default_factory=dict)

    def __str__(self) -> str:
        """epoch 3  loss 0.048  dev 63.12"""
        step = "".join(f"  {name} {value:.3g}" for name, value in self.step_value.items())
        dev = "" if self.dev_score is None else f"  dev {100 * self.dev_score:.2f}"
        return f"epoch {self.epoch}{step}  loss {self.train_loss:.3f}{dev}"

    @property
    def dev_score(self) -> float | None:
        """Value of the task's measure on dev, in [0, 1]."""
        return None if self.dev is None else next(iter(self.dev.values()))


@pydantic.dataclasses.dataclass(config=STRICT)
class Progress:
    """The state of a training after an epoch, and finally its result.

    Attributes:
        best: highest score on dev and its epoch. None if dev is not scored.
        flops: estimated from shapes, without dev scoring.
        trained: sizes of the parameters that training changed, in any epoch, by name.
    """

    history: list[Epoch] = field(default_factory=list)
    best: tuple[float, int] | None = None
    step: int = 0
    seconds: float = 0.0
    flops: float = 0.0
    trained: dict[str, int] = field(default_factory=dict)

    @property
    def best_epoch(self) -> int:
        """The epoch (from 1) of the final weights: the best one on dev, or else the last one."""
        return len(self.history) if self.best is None else self.best[1]
