"""Ridge regression on standardised vectors X (`SolverPath`), for scores y with the mean m.

    w = (X'X + alpha I)^-1 X' (y - m) = X' (XX' + alpha I)^-1 (y - m)

The smaller matrix is solved. Epoch k has the penalty alpha = 10^(4 - (k - 1) / 2). scikit-learn's
Ridge has the same solution, and computes the matrix for every alpha.
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
        """XX' (T, T) or X'X (D, D), made in the first epoch, as a part of its time."""
        few = len(self.vectors) < self.vectors.shape[1]
        return self.vectors @ self.vectors.T if few else self.vectors.T @ self.vectors

    def value(self, epoch: int) -> float:
        return float(10 ** (4 - (epoch - 1) / 2))

    def solve(self, value: float) -> Solution:
        from scipy.linalg import solve

        size, scores = len(self.gram), self.targets - self.middle
        few = size < self.vectors.shape[1]
        moments = scores if few else self.vectors.T @ scores
        weight = solve(self.gram + value * np.eye(size), moments, assume_a="pos")
        if few:
            weight = self.vectors.T @ weight
        errors = self.vectors @ weight - scores
        # The matrix is made once.
        flops = size**3 / 3 + 2.0 * self.vectors.size * size / self.steps
        loss = float(np.mean(errors**2)) / self.output.reach**2  # as the output counts it
        return Solution(weight[None], np.array([self.middle]), loss, flops)
