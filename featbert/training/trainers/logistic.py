"""Logistic regression by scikit-learn, on standardised vectors (`SolverPath`).

Epoch k has the inverse penalty C = 10^(-4 + (k - 1) / 2), and begins with the solution of epoch
k - 1. Classes that exclude each other have one regression. Independent ones have one each. Balanced
class weights (`class_weight`) multiply the losses of items, not the penalty.
"""

import warnings
from typing import Any

import numpy as np
import torch

from featbert.config import Settings
from featbert.errors import InputError
from featbert.models.model import Model
from featbert.training.loop import Backend, TrainingText
from featbert.training.trainers.solver import Solution, SolverPath

# Iterations of L-BFGS for one C.
MOST_ITERATIONS = 1000
# Logit of a class that every training text has. It is negative if no item has the class.
CERTAIN = 1e3


class LogisticPath(SolverPath):
    """Solutions for rising values of C. See `SolverPath`."""

    parameter = "C"
    outputs = ("softmax", "sigmoid")

    def __init__(
        self, model: Model, text: TrainingText, settings: Settings, backend: Backend, seed: int
    ) -> None:
        from sklearn.linear_model import LogisticRegression
        from sklearn.utils.class_weight import compute_sample_weight

        super().__init__(model, text, settings, backend, seed)
        if self.targets.ndim == 1 and len(np.unique(self.targets)) < 2:
            raise InputError("logistic regression needs two classes, but train has one")
        self.learner.parts = {"solution": self}
        # Targets (T,) of each regression, and weights (T,) of their losses
        self.columns = [self.targets] if self.targets.ndim == 1 else [*self.targets.T]
        class_weight = None if settings.class_weight == "none" else settings.class_weight
        self.weights = [compute_sample_weight(class_weight, column) for column in self.columns]
        self.solvers = [
            LogisticRegression(warm_start=True, max_iter=MOST_ITERATIONS) for _ in self.columns
        ]

    def value(self, epoch: int) -> float:
        return float(10 ** (-4 + (epoch - 1) / 2))

    def solve(self, value: float) -> Solution:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.metrics import log_loss

        weight = np.zeros((self.n_logits, self.vectors.shape[1]))
        bias = np.full(self.n_logits, -CERTAIN)
        flops, losses = 0.0, []
        independent = self.targets.ndim == 2
        regressions = zip(self.solvers, self.columns, self.weights, strict=True)
        for number, (solver, column, weights) in enumerate(regressions):
            if len(np.unique(column)) < 2:  # the same for all texts
                bias[number] = CERTAIN if column[0] else -CERTAIN
                losses.append(0.0)
                continue
            solver.C = value
            with warnings.catch_warnings():  # dev judges the last iteration
                warnings.simplefilter("ignore", ConvergenceWarning)
                solver.fit(self.vectors, column, weights)
            coefficients, intercepts = solver.coef_, solver.intercept_
            if len(coefficients) == 1 and not independent:
                # of two classes, the logit of the second against the first
                coefficients = np.concatenate([-coefficients, coefficients]) / 2
                intercepts = np.concatenate([-intercepts, intercepts]) / 2
            rows = [number] if independent else solver.classes_
            weight[rows], bias[rows] = coefficients, intercepts
            shares = solver.predict_proba(self.vectors)
            loss = log_loss(column, shares, normalize=False, sample_weight=weights)
            losses.append(loss / len(column))
            # Each iteration multiplies the vectors and the weights forward and backward.
            flops += 4.0 * int(solver.n_iter_.max()) * self.vectors.size * len(solver.coef_)
        return Solution(weight, bias, float(np.mean(losses)), flops)

    def state_dict(self) -> dict[str, Any]:
        """The solutions of the last epoch, from which the next one begins."""
        return {
            f"{number}.{name}": torch.from_numpy(getattr(solver, name))
            for number, solver in enumerate(self.solvers)
            for name in ("coef_", "intercept_", "classes_")
            if hasattr(solver, name)
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Begins from the solutions of a checkpoint."""
        for key, values in state.items():
            number, _, name = key.partition(".")
            setattr(self.solvers[int(number)], name, values.numpy())
