"""Contrastive tuning: its pairs and loss, its head, and what it refuses."""

import itertools
from collections import Counter

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from featbert import export, load
from featbert.config import defaults
from featbert.data.load import load_corpus
from featbert.encoders.loading import load_encoder
from featbert.encoders.source import find_encoder
from featbert.errors import InputError
from featbert.training.trainers.contrastive import PENALTIES, ContrastiveRounds, Pairs
from tests.training.test_logistic import TEXTS, resumed
from tests.workspace import finetune


class Texts:
    """Stands for the inputs of texts, each of one token."""

    def tokens(self, texts):
        return len(texts)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("few")
    for name, texts in zip(("train", "dev", "test"), ([0, 1, 2], [1, 3], [0, 3]), strict=True):
        rows = [f"{TEXTS[kind][i]}\t{kind}" for i in texts for kind in TEXTS]
        (folder / f"{name}.tsv").write_text("text\tlabel\n" + "\n".join(rows) + "\n", "utf-8")
    return load_corpus(folder, targets="classes")


def run_of(corpus, model, folder, **given):
    options = {"tuning": "contrastive", "task": "classification", "runs_dir": folder} | given
    return finetune(corpus, str(model), precision="fp32", device="cpu", **options)


def test_pairs_are_drawn_as_by_setfit():
    classes = np.array([1, 0, 2, 0, 1, 0])
    every = [*itertools.combinations_with_replacement(range(6), 2)]
    same = {pair for pair in every if classes[pair[0]] == classes[pair[1]]}
    pairs = Pairs(Texts(), classes, 1000)
    pairs.draw(np.random.default_rng(0))
    drawn = [tuple(sorted(pair)) for pair in pairs.members.tolist()]
    ours, others = Counter(drawn[: pairs.n_each]), Counter(drawn[pairs.n_each :])
    assert {*ours} == same
    assert {*others} == {*every} - same
    assert set(others.values()) == {1}  # the commoner kind, each once
    assert max(ours.values()) - min(ours.values()) <= 1
    bounded = Pairs(Texts(), classes, 7)
    bounded.draw(np.random.default_rng(0))
    assert len(bounded.members) == 6
    parts = [*pairs.parts(np.arange(20), 5)]
    assert sorted(np.concatenate(parts)) == [*range(20)]
    assert all(pairs.tokens(part) <= 5 for part in parts)


def test_a_tuned_encoder_separates_classes_and_its_head_is_scikit_learns(
    corpus, small_bert, tmp_path
):
    run = run_of(corpus, small_bert, tmp_path, epochs=10, learning_rate=5e-3, batch_size=4)
    history, train = run.record.history, corpus["train"]
    assert [row.step_value["C"] for row in history] == [*PENALTIES, *PENALTIES]
    assert [row.step_value["passes"] for row in history] == [1.0] * 5 + [2.0] * 5
    assert [len(row.groups) > 0 for row in history] == ([True] + [False] * 4) * 2
    loaded = load(run)
    inputs, _ = loaded.split_inputs(corpus, train, tmp_path)
    ids = np.arange(len(train))

    def vectors(model):
        with torch.inference_mode():
            return model.vectors(inputs.batch(ids), inputs.layout(ids))[0].double().numpy()

    labels = np.array([tags[0] for tags in train.tags])
    scaler = StandardScaler().fit(vectors(loaded.model))
    solver = LogisticRegression(C=history[run.record.best_epoch - 1].step_value["C"], tol=1e-8)
    solver.fit(scaler.transform(vectors(loaded.model)), labels)
    order = [list(solver.classes_).index(label) for label in run.record.targets.classes]
    expected = solver.predict_proba(scaler.transform(vectors(loaded.model)))[:, order]
    shares = loaded.shares(inputs, train.sentences)[1]
    np.testing.assert_allclose(shares, expected, atol=2e-3)

    def contrast(values):
        values = values / np.linalg.norm(values, axis=1, keepdims=True)
        alike = labels[:, None] == labels
        return (values @ values.T)[alike].mean() - (values @ values.T)[~alike].mean()

    tuned = contrast(vectors(loaded.model))
    loaded.model.states = load_encoder(find_encoder(str(small_bert)))
    assert tuned > contrast(vectors(loaded.model)) + 0.2
    assert run.record.cost.training_flops > 0
    assert run.record.cost.trained_parameters == run.record.cost.total_parameters


def test_it_resumes_within_a_round_to_the_same_weights(corpus, small_bert, tmp_path, monkeypatch):
    def make(name="other"):
        return run_of(corpus, small_bert, tmp_path / name, epochs=7, max_pairs=8).record

    whole, other = make("whole"), resumed(monkeypatch, ContrastiveRounds, (3, 6), make)
    assert other.weights == whole.weights
    assert other.cost.training_flops == whole.cost.training_flops
    # Its settings are its own.
    assert whole.settings["max_pairs"] == 8
    assert {"dropout", "head_learning_rate"}.isdisjoint(whole.settings)
    for tuning in ("full", "lora", "none"):
        assert "max_pairs" not in defaults(tuning, "classification").used()
    with pytest.raises(InputError, match="contrastive"):
        defaults("full", "classification").check_given(["max_pairs"])


def test_settings_that_are_not_in_its_name_change_nothing(corpus, small_bert, tmp_path):
    few = defaults("contrastive", "classification").but(
        epochs=5, max_pairs=8, train_share=0.5, sentence_pooling="mean"
    )
    runs = [
        run_of(corpus, small_bert, tmp_path / str(equal), settings=few.but(equal_steps=equal))
        for equal in (False, True)
    ]
    assert len({run.name for run in runs}) == 1
    assert len({run.record.weights for run in runs}) == 1


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"sentence_pooling": "attention"}, "cls, mean"),
        ({"body": "bilstm"}, "linear"),
        ({"body": "logistic"}, "logistic"),
        ({"dropout": 0.5}, "dropout"),
        ({"task": "entities"}, "one class for each text"),
    ],
    ids=str,
)
def test_what_it_cannot_use_is_refused(corpus, small_bert, tmp_path, given, name):
    text = "sample" if "task" in given else corpus
    with pytest.raises(InputError, match=name):
        run_of(text, small_bert, tmp_path, **given)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("packing", ["joint", "apart"])
def test_pairs_are_tuned_predicted_and_exported(small_bert, tmp_path, packing):
    rows = [
        f"{first}\t{second}\t{'same' if kind == other else 'other'}"
        for kind, first in ((kind, text) for kind in TEXTS for text in TEXTS[kind][:2])
        for other, second in ((other, TEXTS[other][2]) for other in TEXTS)
    ]
    for name in ("train", "dev", "test"):
        text = "\n".join(["sentence1\tsentence2\tlabel", *rows])
        (tmp_path / f"{name}.tsv").write_text(f"{text}\n", "utf-8")
    corpus = load_corpus(tmp_path, targets="classes")
    run = run_of(corpus, small_bert, tmp_path / "runs", epochs=2, max_pairs=16, packing=packing)
    pairs = [tuple(row.split("\t")[:2]) for row in rows]
    answers = [row["answer"] for row in load(run).predict(pairs)]
    assert [(answer,) for answer in answers] == [*map(tuple, run.predictions("test").predicted)]
    with pytest.raises(InputError, match="mean"):
        export(run, tmp_path / "transformers", format="transformers")
    export(run, tmp_path / "out", format="featbert")
    assert [row["answer"] for row in load(tmp_path / "out").predict(pairs)] == answers
