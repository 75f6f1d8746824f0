"""What fits a model. A class of each trainer is in this folder, or in `training/loop.py`."""

from typing import Any, Protocol

from featbert.progress import Advance
from featbert.training.checkpoint import Learner
from featbert.training.history import Epoch, Progress


class Epochs(Protocol):
    """The fitting of one model, epoch by epoch. Made from model, text, settings, backend, seed.

    Attributes:
        steps: of all epochs, for the display of progress.
        learner: the weights that epochs change, and other state that a checkpoint needs.
    """

    steps: int
    learner: Learner

    @classmethod
    def check(cls, settings: Any, task: Any, combination: Any) -> None:
        """Raises InputError if it cannot fit a run on this layer combination (None: tuned)."""
        return  # by default it can

    def train(self, epoch: int, progress: Progress, advance: Advance) -> Epoch:
        """Trains an epoch, from 1, and returns its row of the history, without values on dev.

        Adds its steps, operations and trained parameters to `progress`. InputError if it cannot.
        """
