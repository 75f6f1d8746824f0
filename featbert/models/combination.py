"""Layer combinations on tensors: k hidden states of a word become one vector.

    single  h_0                                     (W, H)
    concat  [h_1, ..., h_k]                         (W, kH)
    sum     h_1 + ... + h_k                         (W, H)
    mean    (h_1 + ... + h_k) / k                   (W, H)
    weighted  gamma * sum_j softmax(s)_j h_j        (W, H), s and gamma learned

The weighted sum is the scalar mix of Peters et al. 2018 (ELMo), section 3.2, equation 1.
"""

import torch
from torch import Tensor, nn

from featbert.encoders.layers import LayerCombination


def full_precision(tensor: Tensor) -> torch.autocast:
    """Switches autocast off on the tensor's device: logits of few bits would tie."""
    return torch.autocast(tensor.device.type, enabled=False)


class ScalarMix(nn.Module):
    """gamma * sum_j softmax(s)_j h_j, beginning as the mean of the states."""

    def __init__(self, k: int) -> None:
        super().__init__()
        self.scores = nn.Parameter(torch.zeros(k))
        self.scale = nn.Parameter(torch.ones(()))

    @property
    def weights(self) -> Tensor:
        """(k,) softmaxed weights."""
        return self.scores.softmax(0)

    def forward(self, states: Tensor) -> Tensor:
        """(k, W, H) -> (W, H)"""
        return self.scale * torch.einsum("k,kwh->wh", self.weights, states.to(self.scores.dtype))


class CombineLayers(nn.Module):
    """A `LayerCombination` of hidden states, which come in its order.

    `width` is D of the combined vector. `mix` is the scalar mix of a weighted combination, or None.
    """

    def __init__(self, combination: LayerCombination, hidden_size: int) -> None:
        super().__init__()
        self.combination = combination
        self.width = combination.width(hidden_size)
        weighted = combination.mode == "weighted"
        self.mix = ScalarMix(len(combination.indices)) if weighted else None

    def forward(self, states: Tensor) -> Tensor:
        """(k, W, H) in the stored precision -> (W, D) float32"""
        if self.mix is not None:
            mixed: Tensor = self.mix(states)
            return mixed
        if self.combination.mode == "concat":
            # (k, W, H) -> (W, kH)
            return states.permute(1, 0, 2).flatten(1).float()
        total = states.sum(0, dtype=torch.float32)
        return total / len(states) if self.combination.mode == "mean" else total
