"""Ridge regression on standardised vectors X (`SolverPath`), for scores y with the mean m.

    w = (X'X + alpha I)^-1 X' (y - m)

Epoch k has the penalty alpha = 10^(4 - (k - 1) / 2). scikit-learn's Ridge has the same solution,
and computes X'X for every alpha.
"""

from functools import cached_property
from typing import Any

import numpy as np

from featbert.training.trainers.solver import Solution, SolverPath


class RidgePath(SolverPath):
    """Solutions for falling values of alpha. See `SolverPath`."""

    parameter = "alpha"
    outputs = ("score",)

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.middle = self.targets.mean(dtype=float)

    @cached_property
    def gram(self) -> Any:
        """X'X (D, D), made in the first epoch, as a part of its time."""
        return self.vectors.T @ self.vectors

    @cached_property
    def moments(self) -> Any:
        """X'y (D,) of the centred scores y."""
        return self.vectors.T @ (self.targets - self.middle)

    def value(self, epoch: int) -> float:
        return float(10 ** (4 - (epoch - 1) / 2))

    def solve(self, value: float) -> Solution:
        from scipy.linalg import solve

        width = len(self.gram)
        weight = solve(self.gram + value * np.eye(width), self.moments, assume_a="pos")
        errors = self.vectors @ weight + self.middle - self.targets
        flops = width**3 / 3 + 2.0 * self.vectors.size * width / self.steps  # X'X is made once
        loss = float(np.mean(errors**2)) / self.output.reach**2  # as the output counts it
        return Solution(weight[None], np.array([self.middle]), loss, flops)
