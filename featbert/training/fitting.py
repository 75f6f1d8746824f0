"""A model that is fitted epoch by epoch: its history, the choice on dev, patience, checkpoints."""

import time
from collections.abc import Iterator
from dataclasses import replace

import torch

from featbert.config import Settings
from featbert.encoders.memory import freed_memory_kept
from featbert.models.model import Model
from featbert.progress import stage
from featbert.training.checkpoint import Checkpoint
from featbert.training.history import Epoch, Progress
from featbert.training.loop import Backend, TrainingText


class Fitting:
    """The fitting of a model. It resumes from a checkpoint of the same training.

        fitting = Fitting(model, text, settings, backend, seed=1)
        for epoch in fitting.epochs():
            fitting.add(epoch, values_on_dev)
        fitting.end()

    Attributes:
        progress: its history so far, with the epochs of the checkpoint.
    """

    def __init__(
        self,
        model: Model,
        text: TrainingText,
        settings: Settings,
        backend: Backend,
        *,
        seed: int,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        torch.manual_seed(seed)
        self.model, self.settings, self.checkpoint = model, settings, checkpoint
        self.trainer = settings.trainer.load()(model, text, settings, backend, seed)
        resumed = checkpoint.resume(self.trainer.learner) if checkpoint else None
        self.progress = resumed or Progress()
        self._began = time.perf_counter() - self.progress.seconds
        self._epoch_began = 0.0

    def epochs(self) -> Iterator[Epoch]:
        """Trains the epochs that are left, and yields each for `add`.

        After an epoch that was added, a checkpoint is written if one is due.
        """
        progress, checkpoint = self.progress, self.checkpoint
        last, patience = self.settings.epochs, self.settings.patience
        with freed_memory_kept(), stage("training", "steps", self.trainer.steps) as advance:
            advance(progress.step)
            while (number := len(progress.history) + 1) <= last:
                if patience is not None and number - 1 - progress.best_epoch >= patience:
                    break
                self._epoch_began = time.perf_counter()
                yield self.trainer.train(number, progress, advance)
                advance(0, str(progress.history[-1]))
                if checkpoint is not None and number < last and checkpoint.pace.is_due():
                    checkpoint.keep(self.trainer.learner, progress)

    def add(self, epoch: Epoch, dev: dict[str, float] | None) -> Epoch:
        """Adds an epoch to the history, and keeps its weights if they are the best on dev.

        `dev` are values on dev, of which the first one chooses the epoch. If it is None for all
        epochs, the last weights are kept.
        """
        progress, learner = self.progress, self.trainer.learner
        row = replace(epoch, dev=dev, seconds=time.perf_counter() - self._epoch_began)
        progress.history.append(row)
        progress.seconds = time.perf_counter() - self._began
        score = row.dev_score
        if score is not None and (progress.best is None or score > progress.best[0]):
            progress.best = score, row.epoch
            learner.best = {name: t.clone() for name, t in learner.weights().items()}
        return row

    def end(self) -> Progress:
        """Sets the best weights, and the model to eval mode."""
        learner = self.trainer.learner
        if learner.best is not None:
            learner.set_weights(learner.best)
        self.model.eval()
        self.progress.seconds = time.perf_counter() - self._began
        return self.progress
