"""The one training loop, on taggers it does not know."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import nn

from featbert.encoders.alignment import align
from featbert.encoders.batching import TokenBudget, length_batches, ranges
from featbert.encoders.device import Device
from featbert.encoders.encoder import load_encoder
from featbert.encoders.layers import parse_layers
from featbert.encoders.source import find_encoder
from featbert.errors import InputError
from featbert.models.bilstm import BiLSTMTagger, FeatureBatch
from featbert.models.finetuned import FineTuneTagger
from featbert.training.gradients import GradientWatch
from featbert.training.inputs import PieceInputs
from featbert.training.loop import TrainingError, fit, predict
from featbert.training.settings import TrainingSettings
from tests.features.support import sentences_of

CPU = Device("cpu", "a processor", 1)


def dev_scores(f1: float, precision: float, recall: float) -> dict[str, float]:
    return {"f1": f1, "precision": precision, "recall": recall}


N_LABELS = 3
LENGTHS = np.random.default_rng(5).integers(1, 9, size=24)
N_WORDS = int(LENGTHS.sum())
SETTINGS = TrainingSettings(
    epochs=3, batch_size=8, learning_rate=1e-2, dropout=0.0, token_budget=10_000
)


class VectorInputs:
    """Random vectors of words as features; what the loop draws is noted."""

    def __init__(self, states: torch.Tensor, lengths=LENGTHS) -> None:
        self.offsets = np.concatenate([[0], np.cumsum(lengths)])
        self.costs = lengths
        self.states = states  # (k, N, H)
        self.drawn: list[list[int]] = []

    def parts(self, sentences, token_budget):
        for part in length_batches(self.costs[sentences], token_budget):
            yield sentences[part]

    def tokens(self, sentences) -> int:
        return len(sentences) * int(self.costs[sentences].max())

    def flops(self, tagger, sentences, *, training) -> float:
        return float(self.costs[sentences].sum()) * (3 if training else 1)

    def batch(self, sentences) -> FeatureBatch:
        self.drawn.append(sentences.tolist())
        words = ranges(self.offsets[sentences], self.costs[sentences])
        return FeatureBatch(self.states[:, words], self.costs[sentences])


@dataclass
class Task:
    """Labels that depend on the word before, so that context is needed."""

    inputs: VectorInputs
    labels: np.ndarray

    def tagger(self, *, seed=0, dropout=0.0) -> BiLSTMTagger:
        torch.manual_seed(seed)
        combination = parse_layers("weighted:0-1", 1)
        return BiLSTMTagger(combination, 6, N_LABELS, lstm_size=8, dropout=dropout)


@pytest.fixture
def task() -> Task:
    random = np.random.default_rng(3)
    kinds = random.integers(0, N_LABELS, size=N_WORDS)
    states = np.eye(6)[kinds] + 0.05 * random.normal(size=(2, N_WORDS, 6))
    inputs = VectorInputs(torch.from_numpy(states.astype(np.float16)))
    labels = np.roll(kinds, 1)
    labels[inputs.offsets[:-1]] = 0
    return Task(inputs, labels)


def scripted(scores):
    left = iter(scores)
    return lambda: dev_scores(next(left), 0.5, 0.5)


def rising():
    return scripted(np.linspace(0.1, 0.9, 100))


def run(task, tagger, settings=SETTINGS, *, seed=1, score_dev=None, **options):
    return fit(
        tagger,
        task.inputs,
        task.labels,
        settings,
        seed=seed,
        score_dev=score_dev or rising(),
        device=CPU,
        **options,
    )


def test_a_tiny_task_is_learnt(task):
    tagger = task.tagger()
    settings = dataclasses.replace(SETTINGS, epochs=40, batch_size=4, learning_rate=3e-2)
    fitted = run(task, tagger, settings)
    assert (predict(tagger, task.inputs, settings, device=CPU) == task.labels).all()
    losses = [row.train_loss for row in fitted.history]
    assert losses[-1] < 0.1 < 1.0 < losses[0]


def test_fine_tuning_learns_it_in_the_same_loop(encoder_folder):
    """The loop knows no model: a word's label is whether it is written with a capital."""
    texts = ["The fox said", "Jordan beat the Herald", "EU", "lazy dog near Hamilton"] * 2
    sentences = sentences_of(texts)
    labels = np.array([w[0].isupper() for s in sentences for w in s.words]).astype(np.int64)
    torch.manual_seed(0)
    tagger = FineTuneTagger(load_encoder(find_encoder(str(encoder_folder("bert")))), 2)
    alignment = align(sentences, tagger.encoder.wordpieces, positions=40)
    inputs = PieceInputs(alignment, tagger.encoder, CPU.torch)
    settings = dataclasses.replace(SETTINGS, epochs=40, batch_size=4, learning_rate=5e-3)
    fit(tagger, inputs, labels, settings, seed=1, score_dev=rising(), device=CPU)
    assert (predict(tagger, inputs, settings, device=CPU) == labels).all()


def weights(tagger) -> dict[str, torch.Tensor]:
    return {name: t.clone() for name, t in tagger.state_dict().items()}


def equal(a, b) -> bool:
    return all(torch.equal(a[name], b[name]) for name in a)


def test_the_same_seed_gives_the_same_weights_to_the_bit(task):
    def trained(seed):
        tagger = task.tagger(dropout=0.3)
        torch.seed()  # whatever was drawn before must not matter
        fitted = run(task, tagger, seed=seed)
        return weights(tagger), [row.train_loss for row in fitted.history]

    first, again, other = trained(1), trained(1), trained(2)
    assert equal(first[0], again[0])
    assert first[1] == again[1]
    assert not equal(first[0], other[0])


@pytest.fixture
def gradients(monkeypatch) -> list[list[torch.Tensor]]:
    """Those of every parameter, step by step, as the loop takes the steps."""
    found = []
    plain = GradientWatch.clip

    def clip(watch, *args):
        found.append([p.grad.clone() for _, p in watch._named])
        plain(watch, *args)

    monkeypatch.setattr(GradientWatch, "clip", clip)
    return found


@pytest.mark.parametrize("budget", [1, 9, 30])
def test_cutting_a_batch_changes_nothing_but_rounding(task, gradients, budget):
    """The loss of parts is summed and divided by the words of the whole batch."""

    def trained(settings):
        tagger = task.tagger()
        task.inputs.drawn.clear()
        gradients.clear()
        fitted = run(task, tagger, settings)
        return list(gradients), weights(tagger), fitted, len(task.inputs.drawn)

    whole = trained(SETTINGS)
    parts = trained(dataclasses.replace(SETTINGS, token_budget=budget))
    assert whole[3] == 9
    assert parts[3] >= 18  # two parts a step or more
    assert len(whole[0]) == len(parts[0]) == 9
    for a, b in zip(whole[0][0], parts[0][0], strict=True):
        torch.testing.assert_close(a, b, atol=1e-6, rtol=1e-4)
    for name, tensor in whole[1].items():
        torch.testing.assert_close(tensor, parts[1][name], atol=1e-3, rtol=1e-3)
    losses = [[row.train_loss for row in r[2].history] for r in (whole, parts)]
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4)


def test_gradients_are_those_of_the_mean_loss_over_words(task, gradients):
    """An independent oracle: one batch, the words' mean cross-entropy, no loop."""
    settings = dataclasses.replace(SETTINGS, epochs=1, batch_size=24, token_budget=20)
    run(task, task.tagger(), settings)
    tagger = task.tagger().train()
    logits = tagger(task.inputs.batch(np.arange(24)))
    loss = nn.functional.cross_entropy(logits, torch.from_numpy(task.labels))
    loss.backward()
    for found, expected in zip(gradients[0], tagger.parameters(), strict=True):
        torch.testing.assert_close(found, expected.grad, atol=1e-6, rtol=1e-4)


def test_gradients_are_clipped_over_the_whole_batch(task, monkeypatch):
    norms = []

    def noting(watch, norm, *about, plain=GradientWatch.clip):
        plain(watch, norm, *about)
        norms.append(float(torch.stack([p.grad.norm() for _, p in watch._named]).norm()))

    monkeypatch.setattr(GradientWatch, "clip", noting)
    settings = dataclasses.replace(SETTINGS, clip_norm=1e-3, token_budget=10)
    run(task, task.tagger(), settings)
    assert len(norms) == 9  # once a step, not once a part
    np.testing.assert_allclose(norms, 1e-3, rtol=1e-2)


def test_the_best_epochs_weights_are_kept_and_the_first_of_equals(task):
    tagger, seen = task.tagger(dropout=0.3), []
    scores = iter([0.2, 0.7, 0.5, 0.7, 0.1])

    def score_dev():
        seen.append(weights(tagger))
        return dev_scores(next(scores), 0.3, 0.4)

    fitted = run(task, tagger, dataclasses.replace(SETTINGS, epochs=5), score_dev=score_dev)
    assert fitted.best_epoch == 2
    assert equal(weights(tagger), seen[1])
    assert not any(equal(seen[1], seen[i]) for i in (0, 2, 3, 4))
    assert not tagger.training


def test_the_history(task):
    rows, steps = [], []
    tagger = task.tagger()
    fitted = run(
        task,
        tagger,
        score_dev=scripted([0.1, 0.3, 0.2]),
        on_epoch=rows.append,
        on_step=lambda done, total: steps.append((done, total)),
    )
    assert fitted.history == rows
    assert [row.epoch for row in rows] == [1, 2, 3]
    assert [row.dev_score for row in rows] == [0.1, 0.3, 0.2]
    assert {(row.dev["precision"], row.dev["recall"]) for row in rows} == {(0.5, 0.5)}
    assert steps == [(i, 9) for i in range(1, 10)]
    assert all(row.seconds > 0 for row in rows)
    assert fitted.seconds >= sum(row.seconds for row in rows)
    assert [g.name for g in rows[0].groups] == ["matrices", "vectors", "scalar_mix"]
    # Nine steps, one of warmup: the highest rate of an epoch is that of its first full step.
    rates = [row.groups[0].learning_rate / SETTINGS.learning_rate for row in rows]
    assert rates == pytest.approx([1, 6 / 8, 3 / 8])
    assert fitted.flops == 3 * 3 * N_WORDS  # as the inputs count them, each part once
    assert fitted.trained_parameters == sum(p.numel() for p in tagger.parameters())


def test_without_dev_all_epochs_are_trained_and_the_last_weights_kept(task):
    tagger = task.tagger()
    settings = dataclasses.replace(SETTINGS, patience=1)
    fitted = fit(tagger, task.inputs, task.labels, settings, seed=1, score_dev=None, device=CPU)
    last = task.tagger()
    run(task, last)  # dev rises, so its best weights are the last ones
    assert equal(weights(tagger), weights(last))
    assert fitted.best_epoch == 3
    assert [row.dev_score for row in fitted.history] == [None] * 3


def test_batches_by_document_are_counted_and_each_word_is_learnt_from_once(task):
    """The number of steps may differ by epoch; the schedule still ends with the last step."""
    documents = np.repeat([0, 1, 2, 3], [3, 11, 1, 9])
    steps = []
    fit(
        task.tagger(), task.inputs, task.labels, SETTINGS, seed=1, score_dev=None, device=CPU,
        documents=documents, on_step=lambda done, total: steps.append((done, total)),
    )  # fmt: skip
    assert steps == [(i + 1, len(steps)) for i in range(len(steps))]
    drawn = sorted(s for batch in task.inputs.drawn for s in batch)
    assert drawn == sorted(list(range(24)) * 3)


def test_the_loss_is_the_mean_over_words(task):
    """At a rate too small to move, it is the cross-entropy of the tagger as it began."""
    settings = dataclasses.replace(SETTINGS, epochs=1, learning_rate=1e-12, mix_learning_rate=1e-12)
    fitted = run(task, task.tagger(), settings)
    with torch.no_grad():
        logits = task.tagger().eval()(task.inputs.batch(np.arange(24)))
    expected = nn.functional.cross_entropy(logits, torch.from_numpy(task.labels)).item()
    assert fitted.history[0].train_loss == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("patience", "epochs", "best"), [(1, 3, 2), (2, 4, 2), (3, 8, 5), (None, 8, 5)]
)
def test_patience(task, patience, epochs, best):
    scores = [0.1, 0.5, 0.5, 0.4, 0.6, 0.1, 0.1, 0.1]
    settings = dataclasses.replace(SETTINGS, epochs=8, patience=patience)
    fitted = run(task, task.tagger(), settings, score_dev=scripted(scores))
    assert len(fitted.history) == epochs
    assert fitted.best_epoch == best


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_loss_that_is_not_finite_ends_training(task, value):
    task.inputs.states[:, 3] = value
    told = r"a finite loss expected, found nan in step [123] of epoch 1, from sentence 0; lower"
    with pytest.raises(TrainingError, match=told):
        run(task, task.tagger())


class Small(nn.Module):
    """A tagger for which more than so many padded tokens are too many."""

    def __init__(self, tagger: nn.Module, fits: int) -> None:
        super().__init__()
        self.tagger, self.fits, self.fitted = tagger, fits, []

    def forward(self, batch):
        tokens = len(batch.lengths) * int(batch.lengths.max())
        if tokens > self.fits:
            raise torch.OutOfMemoryError("out of memory. Tried to allocate 2.00 GiB")
        self.fitted.append(tokens)
        return self.tagger(batch)


def test_batches_that_do_not_fit(task):
    """Training says which budget to lower; prediction cuts its batches."""
    small = Small(task.tagger(), 40)
    settings = dataclasses.replace(SETTINGS, token_budget=1000)
    with pytest.raises(InputError, match="--token-budget"):
        run(task, small, settings)
    found = predict(small, task.inputs, settings, device=CPU, budget=TokenBudget(60))
    whole = predict(small.tagger, task.inputs, settings, device=CPU)
    assert 0 < max(small.fitted) <= 40
    assert found.tolist() == whole.tolist()


class Overflowing(nn.Module):
    """A tagger whose gradients are infinite where a sentence has the word; its loss is finite."""

    def __init__(self, tagger: nn.Module, word: torch.Tensor) -> None:
        super().__init__()
        self.tagger, self.word = tagger, word

    def forward(self, batch):
        logits = self.tagger(batch)
        if (batch.states == self.word).all(dim=2).any():
            logits.register_hook(lambda gradient: gradient * float("inf"))
        return logits


@pytest.mark.parametrize("sentence", [0, 17])
def test_gradients_that_are_not_finite_end_training_before_the_step(task, sentence):
    word = task.inputs.states[:, task.inputs.offsets[sentence]][:, None]
    tagger, seen = Overflowing(task.tagger(), word), {}

    def on_step(*_):
        seen.update(weights(tagger))

    settings = dataclasses.replace(SETTINGS, epochs=1)
    with pytest.raises(TrainingError) as refused:
        fit(
            tagger, task.inputs, task.labels, settings, seed=1, score_dev=None, device=CPU,
            on_step=on_step, told="the {}th".format,
        )  # fmt: skip
    found = re.fullmatch(
        r"finite gradients expected, found others for (\d+) parameters \(tagger\.\S+ first\) in "
        rf"step ([123]) of epoch 1, from the {sentence}th; lower --learning-rate, or use "
        "--precision fp32",
        str(refused.value),
    )
    assert found
    assert 1 <= int(found[1]) <= len(list(tagger.parameters()))
    # The weights are those after the last good step.
    assert all(t.isfinite().all() for t in weights(tagger).values())
    assert equal(weights(tagger), seen or weights(Overflowing(task.tagger(), word)))


def test_on_a_gpu_they_are_told_at_the_end_of_the_epoch(task, monkeypatch):
    """Nothing waits for a GPU within a step; what was found first is told all the same."""
    word = task.inputs.states[:, task.inputs.offsets[17]][:, None]
    plain = GradientWatch.__init__

    def init(watch, *args):
        plain(watch, *args)
        watch.tells_at_once = False

    monkeypatch.setattr(GradientWatch, "__init__", init)
    steps = []
    with pytest.raises(
        TrainingError, match=r"^finite gradients expected, found others for"
    ) as told:
        fit(
            Overflowing(task.tagger(), word), task.inputs, task.labels, SETTINGS, seed=1,
            score_dev=None, device=CPU, on_step=lambda done, _: steps.append(done),
        )  # fmt: skip
    assert steps == [1, 2, 3]
    assert re.search(r" in step [123] of epoch 1; lower --learning-rate", str(told.value))


def test_where_the_weights_are_wrong_no_sentence_is_blamed(task):
    tagger = task.tagger()
    with torch.no_grad():
        next(tagger.parameters()).fill_(float("nan"))
    with pytest.raises(TrainingError, match=r"from a batch with the \d+th; lower"):
        fit(
            tagger, task.inputs, task.labels, SETTINGS, seed=1, score_dev=None, device=CPU,
            told="the {}th".format,
        )  # fmt: skip


def test_a_dev_score_of_zero_still_keeps_an_epoch(task):
    assert run(task, task.tagger(), score_dev=scripted([0.0, 0.0, 0.0])).best_epoch == 1


def test_training_mode_in_training_whatever_scoring_leaves(task):
    tagger, modes = task.tagger(), []
    tagger.register_forward_pre_hook(lambda module, _: modes.append(module.training))

    def score_dev():
        predict(tagger, task.inputs, SETTINGS, device=CPU)
        return dev_scores(0.5, 0.5, 0.5)

    run(task, tagger, score_dev=score_dev)
    assert modes == [True, True, True, False] * 3


@pytest.mark.parametrize("budget", [1, 3, 7, 20, 10_000])
def test_predictions_are_in_the_order_of_the_split_whatever_the_budget(task, budget):
    class Echo(nn.Module):
        """The label of a word is its number modulo 7."""

        def forward(self, batch):
            return nn.functional.one_hot(batch.states[0, :, 0].long() % 7, 7).float()

    states = torch.arange(N_WORDS, dtype=torch.float32).reshape(1, N_WORDS, 1)
    inputs = VectorInputs(states)
    settings = dataclasses.replace(SETTINGS, token_budget=budget)
    found = predict(Echo(), inputs, settings, device=CPU)
    assert found.tolist() == [n % 7 for n in range(N_WORDS)]
    assert sorted(s for batch in inputs.drawn for s in batch) == list(range(24))
    if budget < 20:
        assert len(inputs.drawn) > 1


def test_bf16_trains(task):
    tagger = task.tagger()
    fitted = run(task, tagger, dataclasses.replace(SETTINGS, epochs=10), precision="bf16")
    assert fitted.history[-1].train_loss < fitted.history[0].train_loss
    assert {p.dtype for p in tagger.parameters()} == {torch.float32}  # weights stay exact
    assert len(predict(tagger, task.inputs, SETTINGS, device=CPU, precision="bf16")) == N_WORDS


def test_both_approaches_see_the_same_sentences_in_the_same_steps(encoder_folder):
    """Pieces and words cost differently; a step is the same set of sentences all the same."""
    texts = [
        "The fox",
        "Hamilton rejects unaffordable lamb " * 4 + ".",
        "EU",
        "x y z",
        "Jordan",
    ] * 4
    sentences = sentences_of(texts)
    lengths = np.array([len(s) for s in sentences])
    labels = np.arange(lengths.sum()) % N_LABELS
    settings = dataclasses.replace(SETTINGS, batch_size=3, token_budget=40)

    encoder = load_encoder(find_encoder(str(encoder_folder("bert"))))
    pieces = PieceInputs(align(sentences, encoder.wordpieces, positions=40), encoder, CPU.torch)
    drawn = []
    plain = pieces.batch
    pieces.batch = lambda ids: (drawn.append(ids.tolist()), plain(ids))[1]
    words = VectorInputs(torch.zeros(2, int(lengths.sum()), 6), lengths)
    words.drawn = drawn

    def steps(tagger, inputs):
        found = []

        def on_step(*_):
            found.append(sorted(s for part in drawn for s in part))
            drawn.clear()

        fit(
            tagger, inputs, labels, settings, seed=4, score_dev=rising(), device=CPU,
            on_step=on_step,
        )  # fmt: skip
        return found

    combination = parse_layers("weighted:0-1", 1)
    features = steps(BiLSTMTagger(combination, 6, N_LABELS, lstm_size=2), words)
    finetune = steps(FineTuneTagger(encoder, N_LABELS), pieces)
    assert features == finetune
    assert len(features) == 3 * 7
    assert sorted(s for step in features[:7] for s in step) == list(range(20))
