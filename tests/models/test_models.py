"""What every model must do; and the BiLSTM against nn.LSTM run the ordinary way."""

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn.utils.rnn import (
    PackedSequence,
    pack_padded_sequence,
    pad_packed_sequence,
    pad_sequence,
)

from featbert.encoders.alignment import align
from featbert.encoders.batching import ranges
from featbert.encoders.kernels import ONEDNN_DTYPES
from featbert.encoders.layers import parse_layers
from featbert.models.bilstm import (
    BiLSTM,
    WordOrder,
    bilstm,
    fused_states,
    packed_states,
)
from featbert.models.model import BatchLayout, Model
from featbert.models.registry import BODIES
from tests.features.support import CLOSE, sentences_of
from tests.models.support import logits_of, stored, tuned
from tests.tiny_encoders import FAMILIES

TEXTS = [
    "The quick fox jumps .",
    "Jordan",
    "Hamilton rejects unaffordable lamb " * 5 + ".",  # windowed
    "EU \u200b x",
]
LENGTHS = np.array([len(t.split(" ")) for t in TEXTS])
OFFSETS = np.concatenate([[0], LENGTHS.cumsum()])
N_LABELS = 5
CPU = torch.device("cpu")


@dataclass
class Case:
    """A model and its input for chosen sentences."""

    model: Model
    batch: Any
    again: Any = field(repr=False)  # a fresh model with other weights

    def logits(self, ids) -> torch.Tensor:
        ids = np.array(ids)
        return logits_of(self.model, self.batch(ids), LENGTHS[ids])


def feature_case(spec="weighted:0-3", **options) -> Case:
    indices = parse_layers(spec, 3).indices
    shape = (len(indices), int(LENGTHS.sum()), 16)
    states = torch.from_numpy(np.random.default_rng(0).normal(size=shape).astype(np.float16))

    def make():
        return stored(spec, **options)

    torch.manual_seed(0)
    return Case(make(), lambda ids: states[:, ranges(OFFSETS[ids], LENGTHS[ids])], make)


@pytest.fixture
def make_case(encoder_folder):
    def make(kind) -> Case:
        name, _, spec = kind.partition(" ")
        if spec:
            return feature_case(spec, body=name)
        name, _, with_body = kind.partition("+")

        def model():
            return tuned(encoder_folder(name), body=with_body or "linear")

        torch.manual_seed(0)
        first = model()
        encoder = first.encoder
        alignment = align(sentences_of(TEXTS), encoder.wordpieces, positions=encoder.positions)
        return Case(first, lambda ids: encoder.batcher.words(alignment, ids), model)

    return make


SOME = [
    *("bilstm layer:3", "bilstm concat:0-3"),
    *(f"{body} weighted:0-3" for body in BODIES),
    *("bert", "albert", "qwen3", "bert+bilstm"),
]
KINDS = [*SOME, *(family for family in FAMILIES if family not in SOME)]


def logits(case, ids) -> torch.Tensor:
    case.model.eval()
    with torch.inference_mode():
        return case.logits(ids)


@pytest.mark.parametrize("kind", KINDS)
def test_batches_change_no_prediction_and_gradients_reach_every_parameter(make_case, kind):
    case = make_case(kind)
    rows = logits(case, [0, 1, 2, 3]).split(LENGTHS.tolist())
    for order in ([0], [1], [2], [3], [3, 1, 0, 2], [1, 2]):
        expected = torch.cat([rows[i] for i in order])
        torch.testing.assert_close(logits(case, order), expected, **CLOSE)
    case.model.train()
    torch.manual_seed(1)
    targets = torch.arange(int(LENGTHS.sum())) % N_LABELS
    case.model.loss(case.batch(np.arange(4)), BatchLayout(LENGTHS), targets).backward()
    gradients = {n: p.grad for n, p in case.model.named_parameters()}  # nothing is frozen
    without = [n for n, g in gradients.items() if g is None or not g.any()]
    # A key's bias adds the same to all scores of a row: softmax, and the loss, do not change.
    assert [n for n in without if not n.endswith(("key.bias", "k_lin.bias"))] == []
    assert all(g.isfinite().all() for g in gradients.values() if g is not None)


@pytest.mark.parametrize("kind", SOME)
def test_saved_and_loaded_it_gives_equal_logits_and_drops_out_in_training_only(
    make_case, kind, tmp_path
):
    case = make_case(kind)
    with torch.no_grad():
        for parameter in case.model.parameters():  # as if trained
            parameter.add_(0.01 * torch.randn_like(parameter))
    before = logits(case, [0, 1, 2, 3])
    save_file(case.model.state_dict(), tmp_path / "weights.safetensors")
    torch.manual_seed(99)
    case.model = case.again()
    assert not torch.equal(logits(case, [0, 1, 2, 3]), before)
    case.model.load_state_dict(load_file(tmp_path / "weights.safetensors"))
    assert torch.equal(logits(case, [0, 1, 2, 3]), before)
    case.model.train()
    with torch.no_grad():
        assert not torch.equal(case.logits([0, 1]), case.logits([0, 1]))


@pytest.mark.parametrize("kind", ["bilstm layer:3", "bilstm weighted:0-3"])
def test_the_last_word_changes_the_first_words_output_and_no_other_sentences(make_case, kind):
    case = make_case(kind)
    case.model.eval()
    states, lengths = case.batch(np.array([0, 3])), LENGTHS[[0, 3]]
    with torch.inference_mode():
        before = logits_of(case.model, states, lengths)
        states = states.clone()
        states[:, LENGTHS[0] - 1] += 1
        after = logits_of(case.model, states, lengths)
    changed = (before - after).abs().amax(1) > 0
    assert changed[: LENGTHS[0]].all()
    assert not changed[LENGTHS[0] :].any()


def ordinary(model, states, lengths) -> torch.Tensor:
    """The BiLSTM as it is usually written: padded, packed, padded again."""
    vectors = model.states(states).split(lengths.tolist())
    padded = pad_sequence(list(vectors), batch_first=True)  # (B, T, D)
    packed = pack_padded_sequence(
        padded, torch.from_numpy(lengths), batch_first=True, enforce_sorted=False
    )
    found, _ = pad_packed_sequence(model.body.lstm(packed)[0], batch_first=True)
    rows = [model.output.classifier(found[i, :n]) for i, n in enumerate(lengths)]
    return torch.cat(rows)


class _KeepsVectors(BiLSTM):
    """Only the dropout of a BiLSTM."""

    def _states(self, words: torch.Tensor, order: WordOrder) -> torch.Tensor:
        return words


@pytest.mark.parametrize("by_sequence", [False, True])
def test_variational_dropout_has_one_mask_for_the_words_of_a_sequence(by_sequence):
    torch.manual_seed(0)
    sizes = {"lstm_size": 4, "lstm_layers": 2}
    body = _KeepsVectors(400, dropout=0.3, variational_dropout=by_sequence, **sizes)
    lengths = np.array([2, 4, 1, 3])
    vectors = body.train()(torch.ones(10, 400), lengths)
    of_sequences = vectors.split(lengths.tolist())
    assert [bool((words == words[0]).all()) for words in of_sequences] == [
        by_sequence or len(words) == 1 for words in of_sequences
    ]
    assert len({tuple(words[0].tolist()) for words in of_sequences}) == 4
    kept = (vectors > 0).float().mean().item()  # by both masks
    assert abs(kept - 0.7**2) < 0.03
    torch.testing.assert_close(vectors[vectors > 0].unique(), torch.tensor([1 / 0.7**2]))
    assert (body.eval()(torch.ones(10, 400), lengths) == 1).all()


@pytest.mark.parametrize(("layers", "spec"), [(1, "weighted:0-3"), (2, "concat:0-3"), (3, "last")])
@pytest.mark.parametrize("order", [[3, 2, 1, 0], [1, 1, 0]])
def test_the_bilstm_is_that_of_torch_run_the_ordinary_way(layers, spec, order):
    case = feature_case(spec, dropout=0.0, lstm_layers=layers)
    states, lengths = case.batch(np.array(order)), LENGTHS[order]
    found = []
    for run in (logits_of, ordinary):
        case.model.zero_grad()
        logits = run(case.model, states, lengths)
        (logits * torch.arange(logits.numel()).view(logits.shape).sin()).sum().backward()
        found.append([logits.detach(), *(p.grad.clone() for p in case.model.parameters())])
    torch.testing.assert_close(*found, atol=1e-4, rtol=1e-4)


@contextmanager
def units(direction):
    """Computes directions in one way, whatever the number of units."""
    limit = {fused_states: 9999, packed_states: 0}[direction]
    with mock.patch("featbert.models.bilstm.FUSED_UNITS", limit):
        yield


DIRECTIONS = [fused_states, packed_states]


@pytest.mark.parametrize("direction", DIRECTIONS)
@settings(max_examples=25)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=5), st.integers(1, 3))
def test_in_float64_states_and_gradients_are_torch_s(direction, lengths, layers):
    torch.manual_seed(0)
    lstm = nn.LSTM(3, 2, layers, bidirectional=True).double()
    order = WordOrder.of(np.array(lengths), CPU)
    words = torch.randn(sum(lengths), 3, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(sum(lengths), 4, dtype=torch.float64)
    results = []
    with units(direction):
        ours = bilstm(lstm, words, order, nn.Identity())
    for states in (ours, lstm(PackedSequence(words, torch.tensor(order.sizes)))[0].data):
        tensors = (words, *lstm.parameters())
        results.append([states.detach(), *torch.autograd.grad((states * weights).sum(), tensors)])
    for found, expected in zip(*results, strict=True):
        torch.testing.assert_close(found, expected, atol=1e-12, rtol=1e-10)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_gradients_under_autocast_are_torch_s_but_for_rounding(direction):
    torch.manual_seed(0)
    lstm, order = nn.LSTM(8, 4, 2, bidirectional=True), WordOrder.of(np.array([30, 1, 22, 14]), CPU)
    words, weights = torch.randn(67, 8, requires_grad=True), torch.randn(67, 8)
    packed = PackedSequence(words, torch.tensor(order.sizes))
    with units(direction), torch.autocast("cpu", dtype=torch.bfloat16):
        ours = bilstm(lstm, words, order, nn.Identity())
    inputs = (words, *lstm.parameters())
    casts, exacts = (
        torch.autograd.grad((states * weights).sum(), inputs)
        for states in (ours, lstm(packed)[0].data)
    )
    for cast, exact in zip(casts, exacts, strict=True):
        assert cast.dtype == exact.dtype
        assert not torch.equal(cast, exact)
        assert (cast - exact).norm() < 0.02 * exact.norm()
    # They share no memory: they are changed in place, summed over parts of a batch and clipped.
    for number, gradient in enumerate(casts):
        gradient.fill_(number)
    for number, gradient in enumerate(casts):
        assert torch.equal(gradient, torch.full_like(gradient, number))


@pytest.mark.parametrize("spec", ["last", "weighted:0-3"])
@pytest.mark.parametrize("lengths", [[1], [1, 1, 1], [7, 7, 7], LENGTHS])
def test_under_autocast_the_bilstm_is_torch_s(spec, lengths):
    model, lengths = feature_case(spec, dropout=0.0).model, np.array(lengths)
    shape = (4 if "-" in spec else 1, int(lengths.sum()), 16)
    states = torch.randn(shape, generator=torch.Generator().manual_seed(1)).half()
    plain = logits_of(model.train(), states, lengths)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        cast = logits_of(model, states, lengths)
        usual = ordinary(model, states, lengths) if torch.bfloat16 in ONEDNN_DTYPES else plain
        with torch.inference_mode():
            predicted = logits_of(model.eval(), states, lengths)
    assert cast.dtype == torch.float32
    for found in (cast, predicted, usual.float()):
        torch.testing.assert_close(found, plain, atol=2e-2, rtol=2e-2)
    assert not torch.equal(cast, plain)
    cast.sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
