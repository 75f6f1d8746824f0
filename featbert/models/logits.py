"""Logits W x + b in fp32: what most outputs begin with."""

import torch
from torch import Tensor, nn

from featbert.models.combination import full_precision


class Logits(nn.Module):
    """A linear layer from vectors to C logits. Outputs add the loss and the answers."""

    def __init__(self, width: int, n_logits: int) -> None:
        super().__init__()
        self.classifier = nn.Linear(width, n_logits)

    def logits(self, vectors: Tensor) -> Tensor:
        """(W, D) -> (W, C) in fp32: logits of few bits would tie."""
        with full_precision(vectors):
            logits: Tensor = self.classifier(vectors.float())
        return logits

    def linear(self) -> tuple[Tensor, Tensor]:
        """W (C, D) and b (C,), for export."""
        return self.classifier.weight, self.classifier.bias

    def set_linear(self, weight: Tensor, bias: Tensor) -> None:
        """Sets W and b, as `linear` returns them."""
        with torch.no_grad():
            self.classifier.weight.copy_(weight)
            self.classifier.bias.copy_(bias)
