"""A trainer: how a model is fitted, and which settings of a run it reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from featbert.progress import Advance
    from featbert.training.checkpoint import Learner
    from featbert.training.history import Epoch, Progress


class Epochs(Protocol):
    """The fitting of one model, epoch by epoch.

    Attributes:
        steps: of all epochs, for the display of progress.
        learner: the weights that epochs change, and other state that a checkpoint needs.
    """

    steps: int
    learner: Learner

    def train(self, epoch: int, progress: Progress, advance: Advance) -> Epoch:
        """Trains an epoch, from 1, and returns its row of the history, without values on dev.

        Adds its steps, operations and trained parameters to `progress`. InputError if it cannot.
        """


@dataclass(frozen=True)
class Trainer:
    """A method of fitting a model.

    After each epoch dev is scored. The best weights on dev are the result. An epoch is a pass over
    the text, or one value of a solver's parameter (`Epoch.step_value`).

    Attributes:
        title: for people: "gradient steps".
        settings: names of the settings that it reads, in addition to the settings of all runs.
            Others are refused, and are neither in a run's record nor in its name.
        ignores: names of settings of outputs that it does not read, as its loss is another one.
        begin: gets (model, training text, settings, backend, seed).
        precision: of its numbers, or None for the run's `precision`.
        has_seed: whether its numbers depend on the seed.
        passes: whether an epoch is a pass over the text, so that a smaller text may need more.
        defaults: settings for tasks of texts that differ from the defaults of task and tuning.
        check: gets (settings, task, layer combination or None) when a run is planned. Raises
            InputError for a run that it cannot fit.
    """

    title: str
    settings: tuple[str, ...]
    begin: Callable[..., Epochs]
    precision: Literal["fp64"] | None = None
    has_seed: bool = True
    passes: bool = True
    ignores: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    check: Callable[[Any, Any, Any], None] = lambda *_: None
