"""Solvers of a linear output, one value of their parameter after the other.

They read vectors x that are standardised by the mean m and the deviation s of the training text.
Both become part of the output:

    W (x - m) / s + b = (W / s) x + (b - W m / s)

An epoch is one value of the parameter, from the strongest penalty to the weakest. So the score on
dev chooses it as it chooses the epoch of other trainers.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from featbert.config import Settings
from featbert.encoders.device import find_device
from featbert.encoders.memory import check_memory
from featbert.errors import InputError, spelling
from featbert.models.model import Model
from featbert.progress import Advance
from featbert.training.checkpoint import Learner
from featbert.training.history import Epoch, Progress
from featbert.training.loop import Backend, TrainingText


@dataclass(frozen=True)
class Solution:
    """The solution for one value of a solver's parameter.

    Attributes:
        weight, bias: (C, D) and (C,) of the output, for standardised vectors.
        loss: mean loss on the training text, without the penalty.
        flops: operations, estimated from shapes.
    """

    weight: NDArray[Any]
    bias: NDArray[Any]
    loss: float
    flops: float


class SolverPath(ABC):
    """The solutions along a path. See `Epochs`.

    Attributes:
        vectors: (T, D) standardised vectors of the texts.
        targets: (T,) or (T, C) their answers as numbers.
        n_logits: C.
        parameter: its name.
        outputs: names of the outputs that it solves.
    """

    parameter: str
    outputs: tuple[str, ...]

    @classmethod
    def check(cls, settings: Any, task: Any, combination: Any) -> None:
        """See `Epochs`. InputError for another output or for vectors that gradients train."""
        title, most_epochs = settings.trainer.title, settings.trainer.most_epochs
        if most_epochs is not None and settings.epochs > most_epochs:
            raise InputError(
                f"is at most {most_epochs} for {title}, which tries a weaker penalty in each epoch",
                setting="epochs",
            )
        advice = f"use {spelling('body', 'linear')}"
        if combination is None:
            raise InputError(f"{title} reads features, not an encoder that is tuned; {advice}")
        if combination.mode == "weighted":
            raise InputError(
                f"{combination.name} is learned by gradients, which {title} has not; use last or "
                f"concat_last4, or {spelling('body', 'linear')}"
            )
        if settings.sentence_pooling == "none":
            raise InputError(
                f"{title} is for answers of texts; of words there are so many that it takes far "
                f"longer than gradient steps: {advice}"
            )
        if settings.output not in cls.outputs:
            raise InputError(
                f"{title} has no output {settings.output}, only {' and '.join(cls.outputs)}; "
                f"{advice}"
            )
        if settings.sentence_pooling == "attention":
            raise InputError(
                f"is attention, which is learned by gradients, which {title} has not; use mean, or "
                f"{spelling('body', 'linear')}",
                setting="sentence_pooling",
            )

    def __init__(
        self, model: Model, text: TrainingText, settings: Settings, backend: Backend, seed: int
    ) -> None:
        from sklearn.preprocessing import StandardScaler

        self.model, self.steps = model.eval(), settings.epochs
        self.output = cast(Any, model.output)
        self.n_logits, width = self.output.linear()[0].shape
        n_items = len(text.answers)
        check_memory(
            8 * n_items * width,
            find_device("cpu"),
            what=f"{n_items:,} vectors of {width:,} float64 numbers",
            less=f"use {spelling('body', 'linear')}, or a combination of fewer layers",
        )
        vectors = np.empty((n_items, width))
        everything = np.arange(len(text.inputs.offsets) - 1)
        with torch.inference_mode():
            for ids in text.inputs.parts(everything, settings.token_budget):
                batch = text.inputs.batch(ids, settings.token_budget)
                states, _ = model.vectors(batch, text.inputs.layout(ids))
                vectors[text.answers.rows(ids)] = states.double().cpu().numpy()
        self.targets = text.answers.values.numpy()
        self.scaler = StandardScaler(copy=False)
        self.vectors = self.scaler.fit_transform(vectors)
        names = [name for name, _ in model.named_parameters()]
        self.learner = Learner(model, names, {})

    def train(self, epoch: int, progress: Progress, advance: Advance) -> Epoch:
        """Solves for the value of an epoch, from 1."""
        value = self.value(epoch)
        loss = self.set_solution(value, progress)
        progress.trained = {name: p.numel() for name, p in self.model.named_parameters()}
        progress.step += 1
        advance(1)
        return Epoch(epoch, loss, None, 0.0, [], {self.parameter: value})

    def set_solution(self, value: float, progress: Progress) -> float:
        """Sets the output to the solution for a value, and returns its mean loss."""
        solution = self.solve(value)
        weight = solution.weight / self.scaler.scale_
        bias = solution.bias - weight @ self.scaler.mean_
        self.output.set_linear(torch.from_numpy(weight), torch.from_numpy(bias))
        progress.flops += solution.flops
        return solution.loss

    @abstractmethod
    def value(self, epoch: int) -> float:
        """The parameter's value in an epoch, from 1."""

    @abstractmethod
    def solve(self, value: float) -> Solution:
        """The solution for a value of the parameter."""
