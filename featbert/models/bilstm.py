"""The body of the feature-based approach: a BiLSTM over the word vectors of a sequence.

Devlin et al. 2019, section 5.3: "a randomly initialized two-layer 768-dimensional BiLSTM before
the classification layer". The paper does not say whether 768 is the size per direction or in
total; featbert reads it as 768 units per direction.

On a processor the recurrence is its own: `nn.LSTM`'s numbers from fewer and larger products.

    i, f, o = sigmoid(W x_t + R h_{t-1} + b),  g = tanh(W x_t + R h_{t-1} + b)
    c_t = f * c_{t-1} + i * g,                 h_t = o * tanh(c_t)

Time has to be walked step by step, forwards for h and backwards for its gradient; everything else
has not, and the weight of a step's products is laid out for the processor once. The gradients of W,
R, b and x are one product each over all words, where autograd would make one a step; so is what the
gates contribute to their own gradients. W here is words, not a batch of padded steps: the input is
a packed sequence.

Under autocast products are of bfloat16; states, cells and gates stay in the weights' precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.utils.rnn import PackedSequence

from featbert.encoders.batching import Ints
from featbert.encoders.device import to_device
from featbert.encoders.kernels import Dropout, fitted, laid_out, product
from featbert.models.combination import full_precision


class BiLSTM(nn.Module):
    """Dropout, BiLSTM, dropout."""

    def __init__(self, width: int, *, dropout: float, lstm_size: int, lstm_layers: int) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.lstm = nn.LSTM(
            width,
            lstm_size,
            num_layers=lstm_layers,
            dropout=dropout if lstm_layers > 1 else 0.0,
            bidirectional=True,
        )
        self.width = 2 * lstm_size

    def forward(self, vectors: Tensor, lengths: Ints) -> Tensor:
        """(W, D) -> (W, width), unpadded; lengths (B,) are words of each sequence, at least 1."""
        packing = Packing.of(lengths)
        order = to_device(packing.order, vectors.device)
        # (W, D), time step by time step over the sequences that have not ended
        packed = self.dropout(vectors.index_select(0, order))
        states = self.dropout(self._recur(packed, packing).float())
        return torch.empty_like(states).index_copy(0, order, states)

    def _recur(self, vectors: Tensor, packing: Packing) -> Tensor:
        """(W, D) -> (W, 2H) in packed order."""
        if not vectors.is_cuda:
            return bilstm(self.lstm, vectors, packing, self.dropout)
        words = PackedSequence(vectors.float(), torch.tensor(packing.sizes))
        # Autocast turns cuDNN's LSTM into fp16, whatever precision it was asked for.
        with full_precision(vectors):
            return cast(Tensor, self.lstm(words)[0].data)


@dataclass(frozen=True)
class Packing:
    """How the flat words of B sentences become a packed sequence, without padding in between.

    Attributes:
        order: (W,) flat word at each place of the packed sequence.
        sizes: (longest,) sentences that have a word at each time step.
        mirror: (W,) place of the word that stands there when sentences are read backwards.
        before: (W - B,) place of the word before each one, for all but the first words.
    """

    order: Tensor
    sizes: list[int]
    mirror: Tensor
    before: Tensor

    @classmethod
    def of(cls, lengths: Ints) -> Packing:
        """The packing of sentences of these (B,) lengths in words."""
        longest_first = np.argsort(-lengths, kind="stable")
        sorted_lengths = lengths[longest_first]
        flat = (np.cumsum(lengths) - lengths)[longest_first]  # (B,) where a sentence begins
        steps = np.arange(lengths.max())[:, None]
        running = steps < sorted_lengths  # (longest, B)
        sizes = running.sum(1)
        places = (np.cumsum(sizes) - sizes)[:, None] + np.arange(len(lengths))  # (longest, B)
        # Where a sentence has ended the row is anything; `running` leaves it out.
        mirrored = np.maximum(sorted_lengths - 1 - steps, 0)
        return cls(
            torch.from_numpy((flat + steps)[running]),
            sizes.tolist(),
            torch.from_numpy(places[mirrored, np.arange(len(lengths))][running]),
            torch.from_numpy(places[:-1][running[1:]]),
        )


def bilstm(lstm: nn.LSTM, words: Tensor, packing: Packing, dropout: nn.Module) -> Tensor:
    """What a bidirectional `lstm` with biases gives for a packed sequence: (W, D) -> (W, 2H).

    `dropout` is between its layers.
    """
    for layer in range(lstm.num_layers):
        if layer:
            words = dropout(words)
        states = _Recurrence.apply(  # type: ignore[no-untyped-call]
            words,
            _directions(lstm, f"weight_ih_l{layer}").flatten(0, 1),
            _directions(lstm, f"weight_hh_l{layer}"),
            _directions(lstm, f"bias_ih_l{layer}").flatten(),
            _directions(lstm, f"bias_hh_l{layer}").flatten(),
            packing,
        )
        words = torch.cat([states[0], states[1][packing.mirror]], dim=1)
    return words


def _directions(lstm: nn.LSTM, name: str) -> Tensor:
    """A parameter of both directions, forwards first: (2, ...)."""
    return torch.stack([getattr(lstm, name), getattr(lstm, f"{name}_reverse")])


def _gates(joined: Tensor) -> tuple[Tensor, ...]:
    """(2, W, 4H) -> (2, W, H) each of i, f, g, o."""
    return joined.chunk(4, dim=2)


class _Recurrence(torch.autograd.Function):
    """One layer in both directions: (W, D) -> (2, W, H), the second direction mirrored."""

    @staticmethod
    def forward(
        ctx: Any,
        words: Tensor,
        inward: Tensor,
        onward: Tensor,
        bias: Tensor,
        onward_bias: Tensor,
        packing: Packing,
    ) -> Tensor:
        """
        Args:
            words: (W, D) in packed order.
            inward: (8H, D), gates i, f, g, o of the first direction, then of the second.
            onward: (2, 4H, H) by direction.
            bias, onward_bias: (8H,).
        """
        cast = torch.is_autocast_enabled("cpu")
        kind = torch.get_autocast_dtype("cpu") if cast else onward.dtype
        size, ctx.kind = onward.shape[2], words.dtype
        words, inward, low = words.to(kind), inward.to(kind), onward.to(kind)
        first, second = product(words, inward, (bias + onward_bias).to(kind)).chunk(2, dim=1)
        gates = torch.stack([first, second[packing.mirror]]).to(onward.dtype)  # (2, W, 4H)
        shape = (2, len(words), size)
        cells, bounded, states = (onward.new_empty(shape) for _ in range(3))
        onwards = [laid_out(weight) for weight in low]
        start, before = 0, 0
        for n in packing.sizes:
            now, then = slice(start, start + n), slice(before, before + n)
            gate = gates[:, now]
            if start:
                last = states[:, then].to(kind)
                for direction, weight in enumerate(onwards):
                    gate[direction] += product(last[direction], weight)
            gate[..., : 2 * size].sigmoid_()
            gate[..., 2 * size : 3 * size].tanh_()
            gate[..., 3 * size :].sigmoid_()
            i, f, g, o = _gates(gate)
            torch.mul(i, g, out=cells[:, now])
            if start:
                cells[:, now].addcmul_(f, cells[:, then])
            torch.tanh(cells[:, now], out=bounded[:, now])
            torch.mul(o, bounded[:, now], out=states[:, now])
            before, start = start, start + n
        ctx.packing = packing
        ctx.save_for_backward(words, inward, low, gates, cells, bounded, states)
        return states

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, above: Tensor
    ) -> tuple[Tensor | None, Tensor, Tensor, Tensor, Tensor, None]:
        """`above` is (2, W, H), the gradient of the states from what reads them."""
        words, inward, low, gates, cells, bounded, states = ctx.saved_tensors
        packing: Packing = ctx.packing
        size, first, kind = low.shape[2], packing.sizes[0], low.dtype
        earlier = torch.zeros_like(states)  # h_{t-1}
        earlier[:, first:] = states[:, packing.before]
        i, f, g, o = _gates(gates)
        # How the cell's gradient reaches the gates, and how the state's reaches the cell.
        share = torch.empty_like(gates)
        to_i, to_f, to_g, to_o = _gates(share)
        torch.mul(g, i * (1 - i), out=to_i)
        to_f[:, :first] = 0
        torch.mul(cells[:, packing.before], (f * (1 - f))[:, first:], out=to_f[:, first:])
        torch.mul(i, 1 - g * g, out=to_g)
        torch.mul(bounded, o * (1 - o), out=to_o)
        to_cell = o * (1 - bounded * bounded)
        stop = above.shape[1]
        state = cell = above.new_zeros((2, 0, size))  # what the step after hands back
        backwards = [laid_out(weight.mT) for weight in low]
        for n in reversed(packing.sizes):
            now = slice(stop - n, stop)
            upon = above[:, now].clone()
            upon[:, : state.shape[1]] += state
            within = upon * to_cell[:, now]
            within[:, : cell.shape[1]] += cell
            gate = share[:, now]
            gate.view(2, n, 4, size)[:, :, :3].mul_(within.unsqueeze(2))
            gate[..., 3 * size :].mul_(upon)
            stop -= n
            if stop:
                given = zip(gate.to(kind), backwards, strict=True)
                state = torch.stack([product(*both) for both in given]).to(gate.dtype)
                cell = within * f[:, now]
        # (W, 8H) gradients of the gates before their nonlinearities, by word again
        joined = torch.cat([share[0], share[1][packing.mirror]], dim=1)
        bias = joined.sum(0)
        of_words = None
        if ctx.needs_input_grad[0]:
            of_words = product(joined.to(kind), inward.mT).to(ctx.kind)
        if kind == torch.bfloat16:  # products that torch, too, gives to oneDNN
            rows = joined, share, earlier, words
            joined, share, earlier, words = (fitted(values.to(kind)) for values in rows)
        return (
            of_words,
            (joined.mT @ words).to(bias.dtype),
            torch.bmm(share.mT, earlier).to(bias.dtype),
            bias,
            # Gradients are changed in place (summed over parts, clipped): they share no memory.
            bias.clone(),
            None,
        )
