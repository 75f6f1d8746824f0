"""The body of the feature-based approach: a BiLSTM over the word vectors of a sequence.

Devlin et al. 2019, section 5.3: "a randomly initialized two-layer 768-dimensional BiLSTM before
the classification layer". The paper does not say whether 768 is the size per direction or in
total. featbert reads it as 768 units per direction.

    i, f, o = sigmoid(W x_t + R h_{t-1} + b),  g = tanh(W x_t + R h_{t-1} + b)
    c_t = f * c_{t-1} + i * g,                 h_t = o * tanh(c_t)

The second direction is the first one over sequences that are reversed one by one. On a processor a
direction is computed in one of two ways. Parameters and their names are `nn.LSTM`'s.

Few units: oneDNN's fused LSTM over a padded batch. Padding follows the words and changes no state.
torch uses it for padded batches of one direction only.

Many units: a recurrence of our own over a packed sequence, since the backward pass of oneDNN's is
slow there (benchmarks/README.md). Only h and its gradient are computed step by step, and the weight
of these products is laid out for the processor once. The gradients of W, R, b and x are one product
each over all words.

Under autocast products are of bfloat16. The recurrence of our own keeps states, cells and gates in
the precision of the weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.utils.rnn import PackedSequence, pack_sequence

from featbert.encoders.batching import Ints
from featbert.encoders.device import to_device
from featbert.encoders.kernels import ONEDNN_DTYPES, Dropout, fitted, laid_out, product
from featbert.models.combination import full_precision

FUSED_UNITS = 256  # of a direction, at most, for oneDNN's fused LSTM


class BiLSTM(nn.Module):
    """Dropout, BiLSTM, dropout.

    Variational dropout (Gal and Ghahramani 2016) has one mask for all words of a sequence. Between
    the layers of the BiLSTM dropout has one for each word.
    """

    def __init__(
        self,
        width: int,
        *,
        dropout: float,
        lstm_size: int,
        lstm_layers: int,
        variational_dropout: bool = False,
    ) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.variational_dropout = variational_dropout
        self.lstm = nn.LSTM(
            width,
            lstm_size,
            num_layers=lstm_layers,
            dropout=dropout if lstm_layers > 1 else 0.0,
            bidirectional=True,
        )
        self.width = 2 * lstm_size

    def forward(self, vectors: Tensor, lengths: Ints) -> Tensor:
        """(W, D) -> (W, width), unpadded. lengths (B,) are words of each sequence, at least 1."""
        order = WordOrder.of(lengths, vectors.device)
        # (W, D), time step by time step over the sequences that have not ended
        words = self._dropped(vectors.index_select(0, order.numbers), order)
        states = self._dropped(self._states(words, order).float(), order)
        return torch.empty_like(states).index_copy(0, order.numbers, states)

    def _dropped(self, values: Tensor, order: WordOrder) -> Tensor:
        """(W, D) -> (W, D) with dropout, both in packed order."""
        if not (self.variational_dropout and self.training):
            return cast(Tensor, self.dropout(values))
        n_sequences = order.sizes[0]
        masks: Tensor = self.dropout(values.new_ones(n_sequences, values.shape[1]))
        return values * masks.index_select(0, order.padded % n_sequences)

    def _states(self, words: Tensor, order: WordOrder) -> Tensor:
        """(W, D) -> (W, 2H), both in packed order."""
        if words.is_cuda:
            packed = PackedSequence(words.float(), torch.tensor(order.sizes))
            # Autocast turns cuDNN's LSTM into fp16, whatever precision it was asked for.
            with full_precision(words):
                return cast(Tensor, self.lstm(packed)[0].data)
        return bilstm(self.lstm, words, order, self.dropout)


@dataclass(frozen=True)
class WordOrder:
    """The words of B sequences as a packed sequence, longest sequence first.

    It has the first words of all sequences, then the second ones, and so on.

    Attributes:
        numbers: (W,) number of each word in the batch.
        sizes: (T,) sequences that have a word at each time step.
        reverse: (W,) place of the word that is read instead if each sequence is reversed.
        before: (W - B,) place of the word before each one, for all but the first words.
        padded: (W,) place of each word in a padded batch (T * B).
    """

    numbers: Tensor
    sizes: list[int]
    reverse: Tensor
    before: Tensor
    padded: Tensor

    @classmethod
    def of(cls, lengths: Ints, device: torch.device) -> WordOrder:
        """The order of sequences with these (B,) lengths in words, with places on the device."""
        starts = np.cumsum(lengths) - lengths
        longest_first = np.argsort(-lengths, kind="stable")
        packed = pack_sequence(
            [torch.arange(starts[n], starts[n] + lengths[n]) for n in longest_first]
        )
        numbers = packed.data
        places = torch.empty_like(numbers)
        places[numbers] = torch.arange(len(numbers))
        # start + end of its sequence - 1, for each word: the sum of its number and the reversed one
        sums = torch.from_numpy(np.repeat(2 * starts + lengths - 1, lengths))
        running = torch.arange(len(lengths)) < packed.batch_sizes[:, None]  # (T, B)
        return cls(
            to_device(numbers, device),
            packed.batch_sizes.tolist(),
            reverse=to_device(places[sums[numbers] - numbers], device),
            before=to_device(places[numbers[len(lengths) :] - 1], device),
            padded=to_device(running.flatten().nonzero().squeeze(1), device),
        )


def bilstm(lstm: nn.LSTM, words: Tensor, order: WordOrder, dropout: nn.Module) -> Tensor:
    """The states of a bidirectional `lstm` with biases: (W, D) -> (W, 2H), both in packed order.

    `dropout` is between its layers.
    """
    casts = torch.is_autocast_enabled("cpu")
    to_bf16 = casts and torch.get_autocast_dtype("cpu") == torch.bfloat16
    # Without AVX-512 oneDNN has no LSTM in bfloat16.
    can_fuse = torch.bfloat16 in ONEDNN_DTYPES or not to_bf16
    direction = fused_states if lstm.hidden_size <= FUSED_UNITS and can_fuse else packed_states
    for layer in range(lstm.num_layers):
        if layer:
            words = dropout(words)
        states = []
        for suffix in ("", "_reverse"):
            names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            weights = [getattr(lstm, f"{name}_l{layer}{suffix}") for name in names]
            if suffix:
                backwards = direction(words.index_select(0, order.reverse), weights, order)
                states.append(backwards.index_select(0, order.reverse))
            else:
                states.append(direction(words, weights, order))
        words = torch.cat(states, dim=1)
    return words


def fused_states(words: Tensor, weights: list[Tensor], order: WordOrder) -> Tensor:
    """(W, D) -> (W, H) of one layer in one direction, by torch's LSTM over a padded batch."""
    steps, batch = len(order.sizes), order.sizes[0]
    padded = words.new_zeros(steps * batch, words.shape[1]).index_copy(0, order.padded, words)
    zeros = words.new_zeros(1, batch, weights[1].shape[1])
    # has biases, layers, dropout, trains, bidirectional, batch first
    options = (True, 1, 0.0, torch.is_grad_enabled(), False, False)
    states = torch.lstm(padded.view(steps, batch, -1), (zeros, zeros), weights, *options)[0]
    return states.flatten(0, 1).index_select(0, order.padded)


def packed_states(words: Tensor, weights: list[Tensor], order: WordOrder) -> Tensor:
    """(W, D) -> (W, H) of one layer in one direction, by our own recurrence."""
    return cast(Tensor, _Recurrence.apply(words, *weights, order))  # type: ignore[no-untyped-call]


class _Recurrence(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        words: Tensor,
        inward: Tensor,
        recurrent: Tensor,
        bias: Tensor,
        recurrent_bias: Tensor,
        order: WordOrder,
    ) -> Tensor:
        """
        Args:
            words: (W, D) in packed order.
            inward, recurrent: (4H, D) and (4H, H), gates i, f, g, o.
            bias, recurrent_bias: (4H,).
        """
        autocast = torch.is_autocast_enabled("cpu")
        kind = torch.get_autocast_dtype("cpu") if autocast else recurrent.dtype
        size, full, ctx.kind = recurrent.shape[1], recurrent.dtype, words.dtype
        words, inward, recurrent = words.to(kind), inward.to(kind), recurrent.to(kind)
        gates = product(words, inward, (bias + recurrent_bias).to(kind)).to(full)  # (W, 4H)
        cells, bounded, states = (gates.new_empty(len(words), size) for _ in range(3))
        weight = laid_out(recurrent)
        start, previous = 0, 0  # places of the first words of this step and of the one before
        for n in order.sizes:
            now, before = slice(start, start + n), slice(previous, previous + n)
            gate = gates[now]
            if start:
                gate += product(states[before].to(kind), weight)
            gate[:, : 2 * size].sigmoid_()
            gate[:, 2 * size : 3 * size].tanh_()
            gate[:, 3 * size :].sigmoid_()
            i, f, g, o = gate.chunk(4, dim=1)
            torch.mul(i, g, out=cells[now])
            if start:
                cells[now].addcmul_(f, cells[before])
            torch.tanh(cells[now], out=bounded[now])
            torch.mul(o, bounded[now], out=states[now])
            previous, start = start, start + n
        ctx.order = order
        ctx.save_for_backward(words, inward, recurrent, gates, cells, bounded, states)
        return states

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, above: Tensor
    ) -> tuple[Tensor | None, Tensor, Tensor, Tensor, Tensor, None]:
        """`above` (W, H) is the gradient of the states."""
        words, inward, recurrent, gates, cells, bounded, states = ctx.saved_tensors
        order: WordOrder = ctx.order
        size, first, kind = recurrent.shape[1], order.sizes[0], recurrent.dtype
        last_cells, last_states = torch.zeros_like(cells), torch.zeros_like(states)
        last_cells[first:], last_states[first:] = cells[order.before], states[order.before]
        i, f, g, o = gates.chunk(4, dim=1)
        # (W, 4H) derivatives of cells and states by the gates before their nonlinearities. The loop
        # multiplies them by the gradients of cells and states.
        inner = torch.empty_like(gates)
        to_i, to_f, to_g, to_o = inner.chunk(4, dim=1)
        torch.mul(g, i * (1 - i), out=to_i)
        torch.mul(last_cells, f * (1 - f), out=to_f)
        torch.mul(i, 1 - g * g, out=to_g)
        torch.mul(bounded, o * (1 - o), out=to_o)
        to_cell = o * (1 - bounded * bounded)
        weight = laid_out(recurrent.mT)
        stop = len(above)
        state = cell = above.new_zeros((0, size))  # gradients that the later step hands back
        for n in reversed(order.sizes):
            now = slice(stop - n, stop)
            of_states = above[now].clone()
            of_states[: len(state)] += state
            of_cells = of_states * to_cell[now]
            of_cells[: len(cell)] += cell
            gate = inner[now]
            gate.view(n, 4, size)[:, :3].mul_(of_cells.unsqueeze(1))
            gate[:, 3 * size :].mul_(of_states)
            stop -= n
            if stop:
                state = product(gate.to(kind), weight).to(gate.dtype)
                cell = of_cells * f[now]
        bias = inner.sum(0)
        of_words = None
        if ctx.needs_input_grad[0]:
            of_words = product(inner.to(kind), inward.mT).to(ctx.kind)
        if kind == torch.bfloat16:  # torch gives these products to oneDNN, too
            inner, last_states, words = (fitted(v.to(kind)) for v in (inner, last_states, words))
        return (
            of_words,
            (inner.mT @ words).to(bias.dtype),
            (inner.mT @ last_states).to(bias.dtype),
            bias,
            # Gradients are changed in place (summed over parts, clipped): they share no memory.
            bias.clone(),
            None,
        )
