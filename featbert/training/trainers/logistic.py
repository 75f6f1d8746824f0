"""scikit-learn's logistic regression on standardised vectors of texts.

Epoch k has the inverse penalty C = 10^(-4 + (k - 1) / 2), and begins with the solution of epoch
k - 1. So the score on dev chooses C as it chooses the epoch of other trainers. The mean m and
the deviation s of the vectors x become part of the classifier:

    W (x - m) / s + b = (W / s) x + (b - W m / s)

Balanced class weights (`class_weight`) multiply the losses of items, not the penalty.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from featbert.errors import InputError
from featbert.training.trainers.base import Trainer

if TYPE_CHECKING:
    from featbert.config import Settings
    from featbert.models.model import Model
    from featbert.progress import Advance
    from featbert.training.history import Epoch, Progress
    from featbert.training.loop import Backend, TrainingText

# Iterations of L-BFGS for one C.
MOST_ITERATIONS = 1000


class LogisticPath:
    """Solutions for rising values of C. See `Epochs`."""

    def __init__(
        self, model: Model, text: TrainingText, settings: Settings, backend: Backend, seed: int
    ) -> None:
        import numpy as np
        import torch
        from sklearn.linear_model import LogisticRegression
        from sklearn.utils.class_weight import compute_sample_weight

        from featbert.training.checkpoint import Learner

        self.model, self.steps = model.eval(), settings.epochs
        everything = np.arange(len(text.inputs.offsets) - 1)
        self.targets = text.answers.values.numpy()  # (T,)
        with torch.inference_mode():
            for number, ids in enumerate(text.inputs.parts(everything, settings.token_budget)):
                batch = text.inputs.batch(ids, settings.token_budget)
                vectors = model.vectors(batch, text.inputs.layout(ids))[0].double().cpu().numpy()
                if not number:
                    self.vectors = np.empty((len(self.targets), vectors.shape[1]))  # (T, D)
                self.vectors[text.answers.rows(ids)] = vectors
        self.mean, self.deviation = self.vectors.mean(axis=0), self.vectors.std(axis=0)
        self.deviation[self.deviation == 0] = 1
        self.vectors = (self.vectors - self.mean) / self.deviation
        self.classes = np.unique(self.targets)
        if len(self.classes) < 2:
            raise InputError("logistic regression needs two classes, but train has one")
        class_weight = None if settings.class_weight == "none" else settings.class_weight
        self.weights = compute_sample_weight(class_weight, self.targets)  # (T,)
        self.solver = LogisticRegression(warm_start=True, max_iter=MOST_ITERATIONS)
        names = [name for name, _ in model.named_parameters()]
        self.learner = Learner(model, names, {"solution": self})

    def train(self, epoch: int, progress: Progress, advance: Advance) -> Epoch:
        """Solves for the C of an epoch, from 1."""
        from featbert.training.history import Epoch

        loss = self.solve(10 ** (-4 + (epoch - 1) / 2), progress)
        progress.trained = {name: p.numel() for name, p in self.model.named_parameters()}
        progress.step += 1
        advance(1)
        return Epoch(epoch, loss, None, 0.0, [], {"C": self.solver.C})

    def solve(self, penalty: float, progress: Progress) -> float:
        """Sets the classifier to the solution for a value of C, and returns its mean loss."""
        import numpy as np
        import torch
        from sklearn.exceptions import ConvergenceWarning

        self.solver.C = penalty
        with warnings.catch_warnings():  # dev judges the last iteration
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.solver.fit(self.vectors, self.targets, self.weights)
        weight, bias = self.solver.coef_ / self.deviation, self.solver.intercept_
        bias = bias - weight @ self.mean
        if len(weight) == 1:  # of two classes, the logits of the second against the first
            weight, bias = np.concatenate([-weight, weight]) / 2, np.concatenate([-bias, bias]) / 2
        classifier: Any = self.model.output
        with torch.no_grad():
            classifier.classifier.weight.copy_(torch.from_numpy(weight))
            classifier.classifier.bias.copy_(torch.from_numpy(bias))
        # Each iteration multiplies the vectors and the weights forward and backward.
        progress.flops += 4.0 * int(self.solver.n_iter_.max()) * self.vectors.size * len(weight)
        probabilities = self.solver.predict_proba(self.vectors)  # (T, C)
        numbers = np.searchsorted(self.classes, self.targets)
        losses = -np.log(probabilities[np.arange(len(numbers)), numbers])
        return float(np.average(losses, weights=self.weights))

    def state_dict(self) -> dict[str, Any]:
        """The solution of the last epoch, from which the next one begins."""
        import torch

        parts = {name: getattr(self.solver, name) for name in ("coef_", "intercept_")}
        return {name: torch.from_numpy(values) for name, values in parts.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Begins from the solution of a checkpoint."""
        self.solver.classes_ = self.classes
        for name, values in state.items():
            setattr(self.solver, name, values.numpy())


def _check(settings: Any, task: Any, combination: Any) -> None:
    from featbert.models.registry import KEPT_POOLINGS

    if settings.reads not in KEPT_POOLINGS or combination is None:
        raise InputError("logistic regression reads pooled vectors of texts, from a store")
    if settings.output != "softmax":
        raise InputError(f"logistic regression has no output {settings.output}, only softmax")
    if combination.mode == "weighted":
        raise InputError(f"{combination.name} is learned by gradients; use last or concat_last4")


TRAINER = Trainer(
    "scikit-learn's logistic regression",
    (),
    LogisticPath,
    precision="fp64",
    has_seed=False,
    passes=False,
    ignores=("label_smoothing",),
    check=_check,
)
