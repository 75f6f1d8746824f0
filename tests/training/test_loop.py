"""The one training loop, on models it does not know; gradients are clipped as by torch."""

from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import nn

from featbert.config import Settings, defaults
from featbert.encoders.alignment import align
from featbert.encoders.batching import TokenBudget
from featbert.encoders.device import Device
from featbert.errors import InputError
from featbert.models.model import Model
from featbert.progress import heard_by
from featbert.training.fitting import Fitting
from featbert.training.history import Progress
from featbert.training.inputs import FeatureInputs, PieceInputs
from featbert.training.loop import (
    Backend,
    GoldAnswers,
    GradientSteps,
    TrainingText,
    predict,
)
from tests.features.support import sentences_of
from tests.listening import Ear
from tests.models.support import logits_of, settings_of, stored, tuned

CPU = Backend(Device("cpu", "a processor", 1))
N_LABELS = 3
LENGTHS = np.random.default_rng(5).integers(1, 9, size=24)
OFFSETS = np.concatenate([[0], np.cumsum(LENGTHS)])
N_WORDS = int(LENGTHS.sum())
GIVEN = {"batch_size": 8, "learning_rate": 1e-2, "dropout": 0.0, "token_budget": 10_000}
SETTINGS = settings_of("none", epochs=3, clip_norm=0.9, **GIVEN)


class VectorInputs(FeatureInputs):
    """Vectors of words as features; what the loop draws is kept."""

    prediction_factor: ClassVar = {"cpu": 1.0}

    def __init__(self, states: torch.Tensor, lengths=LENGTHS) -> None:
        ends = np.cumsum(lengths)
        places = np.stack([ends - lengths, ends], axis=1)[:, None]
        super().__init__(states, places, torch.device("cpu"))
        self.drawn: list[list[int]] = []

    def batch(self, sentences, token_budget=None) -> torch.Tensor:
        self.drawn.append(sentences.tolist())
        return super().batch(sentences)


def model_of(*, seed=0, dropout=0.0) -> Model:
    torch.manual_seed(seed)
    return stored("weighted:0-1", N_LABELS, hidden=6, layers=1, dropout=dropout)


RANDOM = np.random.default_rng(3)
KINDS = RANDOM.integers(0, N_LABELS, size=N_WORDS)
STATES = (np.eye(6)[KINDS] + 0.05 * RANDOM.normal(size=(2, N_WORDS, 6))).astype(np.float16)
LABELS = np.roll(KINDS, 1)  # that of the word before, so that context is needed
LABELS[OFFSETS[:-1]] = 0


@pytest.fixture
def inputs() -> VectorInputs:
    return VectorInputs(torch.from_numpy(STATES.copy()))


def values(f1: float) -> dict[str, float]:
    return {"f1": f1, "precision": 0.5}


def scripted(scores):
    return map(values, scores).__next__


def rising():
    return scripted(np.linspace(0.1, 0.9, 100))


def fit(
    model, text, settings: Settings, *, seed=1, backend=CPU, score_dev=None, checkpoint=None
) -> Progress:
    """The result of a fitting, whose epochs have the dev values of a function."""
    fitting = Fitting(model, text, settings, backend, seed=seed, checkpoint=checkpoint)
    for epoch in fitting.epochs():
        fitting.add(epoch, score_dev and score_dev())
    return fitting.end()


def run(
    inputs, model, settings: Settings = SETTINGS, *, documents=None, score_dev=rising, **given
) -> Progress:
    answers = GoldAnswers(torch.from_numpy(LABELS), inputs.offsets)
    text = TrainingText(inputs, answers, documents, "<{}>".format)
    score_dev = score_dev() if score_dev is rising else score_dev
    return fit(model, text, settings, score_dev=score_dev, **given)


def predicted(model, inputs, budget=10_000) -> np.ndarray:
    return predict(model, inputs, inputs.offsets, CPU, TokenBudget(budget))[0]


def weights(model) -> dict[str, torch.Tensor]:
    return {name: t.clone() for name, t in model.state_dict().items()}


def equal(a, b) -> bool:
    return all(torch.equal(a[name], b[name]) for name in a)


def test_the_same_seed_gives_the_same_weights_to_the_bit(inputs):
    def trained(seed):
        model = model_of(dropout=0.3)
        torch.seed()  # earlier draws must not matter
        fitted = run(inputs, model, seed=seed)
        return weights(model), [row.train_loss for row in fitted.history]

    first, again, other = trained(1), trained(1), trained(2)
    assert equal(first[0], again[0])
    assert first[1] == again[1]
    assert not equal(first[0], other[0])


@pytest.fixture
def gradients(monkeypatch) -> list[list[torch.Tensor]]:
    """Those of every parameter, step by step, before they are clipped to the norm of SETTINGS."""
    found, plain = [], nn.utils.clip_grad_norm_

    def clip(parameters, norm):
        assert norm == SETTINGS.clip_norm != defaults("none").clip_norm
        found.append([p.grad.clone() for p in parameters])
        return plain(parameters, norm)

    monkeypatch.setattr(nn.utils, "clip_grad_norm_", clip)
    return found


@pytest.mark.parametrize("budget", [1, 9, 30])
def test_cutting_a_batch_changes_nothing_but_rounding(inputs, gradients, budget):
    """The loss of parts is summed and divided by the items of the whole batch."""

    def trained(settings):
        model = model_of()
        inputs.drawn.clear()
        gradients.clear()
        fitted = run(inputs, model, settings)
        return list(gradients), weights(model), fitted, len(inputs.drawn)

    whole, parts = trained(SETTINGS), trained(SETTINGS.but(token_budget=budget))
    assert whole[3] == 9
    assert parts[3] >= 18  # two parts a step or more
    assert len(whole[0]) == len(parts[0]) == 9
    for a, b in zip(whole[0][0], parts[0][0], strict=True):
        torch.testing.assert_close(a, b, atol=1e-6, rtol=1e-4)
    for name, tensor in whole[1].items():
        torch.testing.assert_close(tensor, parts[1][name], atol=1e-3, rtol=1e-3)
    losses = [[row.train_loss for row in r[2].history] for r in (whole, parts)]
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4)


def test_gradients_and_loss_are_those_of_the_mean_over_words(inputs, gradients):
    """An independent oracle: one batch, the words' mean cross-entropy, no loop."""
    settings = SETTINGS.but(
        epochs=1, batch_size=24, token_budget=20, learning_rate=1e-12, mix_learning_rate=1e-12
    )
    fitted = run(inputs, model_of(), settings)
    model = model_of().train()
    logits = logits_of(model, inputs.batch(np.arange(24)), LENGTHS)
    loss = nn.functional.cross_entropy(logits, torch.from_numpy(LABELS))
    loss.backward()
    for found, expected in zip(gradients[0], model.parameters(), strict=True):
        torch.testing.assert_close(found, expected.grad, atol=1e-6, rtol=1e-4)
    assert fitted.history[0].train_loss == pytest.approx(loss.item(), rel=1e-5)


def test_the_best_epochs_weights_are_kept_and_the_first_of_equals(inputs):
    model, seen = model_of(dropout=0.3), []
    scores = iter([0.2, 0.7, 0.5, 0.7, 0.1])

    def score_dev():
        seen.append(weights(model))
        return values(next(scores))

    fitted = run(inputs, model, SETTINGS.but(epochs=5), score_dev=score_dev)
    assert fitted.best_epoch == 2
    assert equal(weights(model), seen[1])
    assert not any(equal(seen[1], seen[i]) for i in (0, 2, 3, 4))
    assert not model.training


def test_the_history(inputs):
    model = model_of()
    fitted = run(inputs, model, score_dev=scripted([0.1, 0.3, 0.2]))
    rows = fitted.history
    assert [row.epoch for row in rows] == [1, 2, 3]
    assert [row.dev_score for row in rows] == [0.1, 0.3, 0.2]
    assert [row.dev for row in rows] == [values(f1) for f1 in (0.1, 0.3, 0.2)]
    assert all(row.seconds > 0 for row in rows)
    assert fitted.seconds >= sum(row.seconds for row in rows)
    assert [g.name for g in rows[0].groups] == ["matrices", "vectors", "scalar_mix"]
    # Nine steps, one of warmup: the highest rate of an epoch is that of its first full step.
    rates = [row.groups[0].learning_rate / SETTINGS.learning_rate for row in rows]
    assert rates == pytest.approx([1, 6 / 8, 3 / 8])
    of_epoch = inputs.flops(model, np.arange(24), training=True)
    assert fitted.flops == pytest.approx(3 * of_epoch)  # each part once
    assert fitted.trained == {n: p.numel() for n, p in model.named_parameters()}
    # Without dev all epochs are trained and the last weights kept; a rising dev keeps them, too.
    model, last = model_of(), model_of()
    fitted = run(inputs, model, SETTINGS.but(patience=1), score_dev=None)
    run(inputs, last)
    assert equal(weights(model), weights(last))
    assert fitted.best_epoch == 3
    assert [row.dev_score for row in fitted.history] == [None] * 3


def test_batches_by_document_are_counted_and_each_word_is_learnt_from_once(inputs):
    """The number of steps may differ by epoch; the schedule still ends with the last step."""
    ear = Ear()
    with heard_by(ear):
        run(inputs, model_of(), score_dev=None, documents=np.repeat([0, 1, 2, 3], [3, 11, 1, 9]))
    assert sum(ear.done.values()) == len(inputs.drawn)
    drawn = sorted(s for batch in inputs.drawn for s in batch)
    assert drawn == sorted(list(range(24)) * 3)


@pytest.mark.parametrize(
    ("patience", "epochs", "best"), [(1, 3, 2), (2, 4, 2), (3, 8, 5), (None, 8, 5)]
)
def test_patience(inputs, patience, epochs, best):
    scores = [0.1, 0.5, 0.5, 0.4, 0.6, 0.1, 0.1, 0.1]
    settings = SETTINGS.but(epochs=8, patience=patience)
    fitted = run(inputs, model_of(), settings, score_dev=scripted(scores))
    assert len(fitted.history) == epochs
    assert fitted.best_epoch == best


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_loss_that_is_not_finite_ends_training(inputs, value):
    inputs.states[:, 3] = value
    with pytest.raises(InputError, match=r"step 1 of epoch 1.*<0>"):
        run(inputs, model_of())
    model = model_of()
    with torch.no_grad():
        next(model.parameters()).fill_(float("nan"))
    with pytest.raises(InputError, match=r"batch with <\d+>"):  # no sentence is blamed
        run(inputs, model, score_dev=None)


def test_a_batch_that_does_not_fit_is_refused_in_training_and_halved_in_prediction(
    inputs, monkeypatch
):
    def refused(*_):
        raise torch.OutOfMemoryError("out of memory. Tried to allocate 2.00 GiB")

    def vectors(batch, layout):
        large = len(layout.lengths) * int(layout.lengths.max()) > 40
        return refused() if large else plain(batch, layout)

    model = model_of()
    expected, plain, budget = predicted(model, inputs), model.vectors, TokenBudget(60)
    monkeypatch.setattr(model, "vectors", vectors)
    assert predict(model, inputs, OFFSETS, CPU, budget)[0].tolist() == expected.tolist()
    assert budget.tokens <= 40
    monkeypatch.setattr(model, "loss", refused)
    with pytest.raises(InputError, match=r"token_budget.* 500\b"):
        run(inputs, model, SETTINGS.but(token_budget=1000))


def overflowing(inputs, sentence, monkeypatch) -> Model:
    """A model with infinite gradients where a batch has a sentence; the loss is finite."""
    model = model_of()
    word, plain = inputs.states[:, OFFSETS[sentence]][:, None], model.vectors

    def vectors_of(batch, layout):
        vectors, layout = plain(batch, layout)
        if (batch == word).all(dim=2).any():
            vectors.register_hook(lambda gradient: gradient * float("inf"))
        return vectors, layout

    monkeypatch.setattr(model, "vectors", vectors_of)
    return model


@pytest.mark.parametrize("sentence", [0, 17])
@pytest.mark.parametrize("on_gpu", [False, True])
def test_gradients_that_are_not_finite_end_training(inputs, sentence, on_gpu, monkeypatch):
    """Before the step on a processor; at the end of the epoch on a GPU, for which nothing waits."""
    if on_gpu:
        late = property(lambda _: False, lambda *_: None)
        monkeypatch.setattr(GradientSteps, "checks_each_step", late, raising=False)
    model, ear = overflowing(inputs, sentence, monkeypatch), Ear()
    with (
        pytest.raises(
            InputError, match=rf"step [123] of epoch 1{'' if on_gpu else f'.*<{sentence}>'}"
        ),
        heard_by(ear),
    ):
        run(inputs, model, SETTINGS.but(epochs=1), score_dev=None)
    if on_gpu:
        assert sum(ear.done.values()) == 3
    else:
        assert all(t.isfinite().all() for t in weights(model).values())


def test_training_mode_in_training_whatever_scoring_leaves(inputs):
    model, modes = model_of(), []
    model.body.register_forward_pre_hook(lambda module, _: modes.append(module.training))

    def score_dev():
        predicted(model, inputs)
        return values(0.5)

    run(inputs, model, score_dev=score_dev)
    assert modes == [True, True, True, False] * 3


@pytest.mark.parametrize("budget", [1, 3, 7, 20, 10_000])
def test_predictions_are_in_the_order_of_the_split_whatever_the_budget(inputs, budget, monkeypatch):
    """The answer for a word is its number modulo 7."""
    inputs = VectorInputs(torch.arange(N_WORDS, dtype=torch.float32).reshape(1, N_WORDS, 1))
    model = model_of()
    monkeypatch.setattr(model, "vectors", lambda batch, layout: (batch[0], layout.lengths))
    monkeypatch.setattr(model.output, "decode", lambda vectors, _: vectors[:, 0].long() % 7)
    assert predicted(model, inputs, budget).tolist() == [n % 7 for n in range(N_WORDS)]
    assert sorted(s for batch in inputs.drawn for s in batch) == list(range(24))
    if budget < 20:
        assert len(inputs.drawn) > 1


def test_bf16_trains(inputs):
    model = model_of()
    compute = Backend(CPU.device, "bf16")
    fitted = run(inputs, model, SETTINGS.but(epochs=10), backend=compute)
    assert fitted.history[-1].train_loss < fitted.history[0].train_loss
    assert {p.dtype for p in model.parameters()} == {torch.float32}  # weights stay exact
    assert len(predict(model, inputs, OFFSETS, compute, TokenBudget(100))[0]) == N_WORDS


def test_stored_and_tuned_rows_see_the_same_sentences_in_the_same_steps(
    encoder_folder, monkeypatch
):
    """Subwords and words cost differently; a step is the same set of sentences all the same."""
    long = "Hamilton rejects unaffordable lamb " * 4 + "."
    sentences = sentences_of(["The fox", long, "EU", "x y z", "Jordan"] * 4)
    lengths = np.array([len(s) for s in sentences])
    labels = np.arange(lengths.sum()) % N_LABELS
    model = tuned(encoder_folder("bert"), N_LABELS)
    alignment = align(sentences, model.encoder.wordpieces, positions=40)
    pieces = PieceInputs(alignment, model.encoder, torch.device("cpu"))
    words = VectorInputs(torch.zeros(2, int(lengths.sum()), 6), lengths)
    plain = nn.utils.clip_grad_norm_

    def steps(model, inputs, tuning):
        drawn, found = [], []
        batch = inputs.batch
        monkeypatch.setattr(
            inputs, "batch", lambda ids, _: (drawn.append(ids.tolist()), batch(ids))[1]
        )

        def clip(*args):
            found.append(sorted(s for part in drawn for s in part))
            drawn.clear()
            return plain(*args)

        monkeypatch.setattr(nn.utils, "clip_grad_norm_", clip)
        settings = settings_of(tuning, epochs=3, batch_size=3, token_budget=40)
        answers = GoldAnswers(torch.from_numpy(labels), inputs.offsets)
        fit(model, TrainingText(inputs, answers), settings, seed=4)
        return found

    stored_steps = steps(model_of(), words, "none")
    assert stored_steps == steps(model, pieces, "full")
    assert len(stored_steps) == 3 * 7
    assert sorted(s for step in stored_steps[:7] for s in step) == list(range(20))


def test_a_sequence_with_one_loss_counts_once():
    offsets = np.array([0, 3, 5])
    apart, joint = (GoldAnswers(torch.zeros(5), offsets, joint) for joint in (False, True))
    assert [t.losses(np.array([1, 0])) for t in (apart, joint)] == [5, 2]
    some = GoldAnswers(torch.zeros(5), offsets, counted=np.array([1, 0, 1, 0, 0], dtype=bool))
    assert [some.losses(np.array(rows)) for rows in ([0, 1], [0], [1])] == [2, 2, 0]


def test_a_norm_too_large_for_float32_ends_training(inputs, monkeypatch):
    """Every gradient is finite, and so is the norm of each parameter."""
    model, plain = model_of(), nn.utils.clip_grad_norm_

    def clip(parameters, norm):
        for parameter in parameters:
            parameter.grad = torch.zeros_like(parameter)
            parameter.grad.view(-1)[0] = 1.5e19
        return plain(parameters, norm)

    monkeypatch.setattr(nn.utils, "clip_grad_norm_", clip)
    with pytest.raises(InputError, match="step 1 of epoch 1"):
        run(inputs, model, SETTINGS.but(epochs=1), score_dev=None)
