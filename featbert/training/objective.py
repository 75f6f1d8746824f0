"""What a step follows: the loss of a batch of sentences and its gradients.

The batch is computed in parts that fit the token budget; their losses are summed and divided by the
words of the whole batch, so that cutting changes nothing but rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from featbert.encoders.batching import TokenBudget, ranges
from featbert.encoders.device import Device, Precision, autocast, to_device
from featbert.errors import InputError, memory_lack, out_of_memory
from featbert.training.inputs import Inputs

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Objective:
    """The mean cross-entropy of the words of a batch.

    Attributes:
        targets: (N,) label of each word of the text, on the device.
        scaler: of the loss under fp16; elsewhere it does nothing.
        budget: padded tokens of a part.
    """

    tagger: nn.Module
    inputs: Inputs
    targets: Tensor
    scaler: torch.amp.GradScaler
    device: Device
    precision: Precision
    budget: TokenBudget

    @cached_property
    def parameters(self) -> list[nn.Parameter]:
        """The tagger's, found once: walking its modules takes as long as a short step."""
        return list(self.tagger.parameters())

    def gradients(self, sentences: Ints, loss_sum: Tensor) -> tuple[Tensor, float]:
        """Leaves the gradients of a batch at the tagger's parameters.

        Returns:
            `loss_sum` with the loss of each word added, and the operations that it took.
        """
        try:
            return self._within(self.budget.tokens, sentences, loss_sum)
        except (RuntimeError, MemoryError) as error:
            if not out_of_memory(error):
                raise
            raise InputError(
                f"a batch of {self.budget.tokens:,} padded tokens does not fit in memory "
                f"({memory_lack(error)}); give a smaller --token-budget"
            ) from error

    def culprit(self, sentences: Ints) -> int | None:
        """The first sentence whose loss or gradients are not finite by themselves.

        None where that is true of none, or of all: then it is the weights that are wrong.
        """
        wrong, nothing = [], torch.zeros((), device=self.device.torch)
        for sentence in sentences:
            loss, _ = self.gradients(np.array([sentence]), nothing)
            found = [p.grad for p in self.parameters if p.grad is not None]
            if not all(bool(values.isfinite().all()) for values in [loss, *found]):
                wrong.append(int(sentence))
        return wrong[0] if 0 < len(wrong) < len(sentences) else None

    def _within(self, tokens: int, sentences: Ints, loss_sum: Tensor) -> tuple[Tensor, float]:
        lengths = np.diff(self.inputs.offsets)
        n_words, flops, loss_sum = int(lengths[sentences].sum()), 0.0, loss_sum.clone()
        for parameter in self.parameters:
            parameter.grad = None
        for ids in self.inputs.parts(sentences, tokens):
            words = torch.from_numpy(ranges(self.inputs.offsets[ids], lengths[ids]))
            with autocast(self.device, self.precision):
                logits = self.tagger(self.inputs.batch(ids))
            loss = functional.cross_entropy(
                logits.float(), self.targets[to_device(words, self.device.torch)], reduction="sum"
            )
            self.scaler.scale(loss / n_words).backward()  # type: ignore[no-untyped-call]
            loss_sum += loss.detach()
            flops += self.inputs.flops(self.tagger, ids, training=True)
        return loss_sum, flops
