"""The body "logistic" against scikit-learn, and what its trainer leaves out of a run."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from featbert import extract, load, train
from featbert.config import defaults
from featbert.data.load import load_corpus
from featbert.errors import InputError
from featbert.training import checkpoint
from featbert.training.tracking import scalars
from featbert.training.trainers.logistic import LogisticPath

TEXTS = {"good": ["a fine fox", "the quick lamb won", "Jordan beat the Herald", "fine EU"]}
TEXTS["bad"] = ["a lazy dog", "rejects British lamb", "the dog rejects EU", "lazy Hamilton"]
TEXTS["mixed"] = ["fine but lazy", "the quick dog rejects", "Jordan and Herald", "won or lost"]


@pytest.fixture(scope="module")
def store(tmp_path_factory, small_bert):
    folder = tmp_path_factory.mktemp("logistic")
    for name, texts in zip(("train", "dev", "test"), ([0, 1, 2], [1, 3], [0, 3]), strict=True):
        rows = [f"{TEXTS[kind][i]}\t{kind}" for i in texts for kind in TEXTS]
        rows += rows[:1] * 4  # classes differ in size
        (folder / f"{name}.tsv").write_text("text\tlabel\n" + "\n".join(rows) + "\n", "utf-8")
    corpus = load_corpus(folder, targets="classes")
    options = {"precision": "fp32", "device": "cpu", "cache_dir": folder / "cache"}
    return extract(corpus, str(small_bert), task="classification", **options, progress=False)


def run_of(store, folder, *, seed=1, **given):
    how = {"task": "classification", "precision": "bf16", "device": "cpu", "runs_dir": folder}
    return train(store, "last", body="logistic", seeds=seed, progress=False, **how, **given)[0]


@pytest.mark.parametrize("class_weight", ["none", "balanced"])
def test_it_predicts_as_scikit_learn(store, tmp_path, class_weight):
    run = run_of(store, tmp_path, epochs=7, class_weight=class_weight)
    record, train_set, test_set = run.record, store.corpus["train"], store.corpus["test"]
    assert [row.step_value["C"] for row in record.history] == pytest.approx(
        10 ** (-4 + np.arange(7) / 2)
    )
    assert scalars(record.history[2])["train/C"] == pytest.approx(1e-3)
    chosen = record.history[record.best_epoch - 1].step_value["C"]
    loaded = load(run)
    inputs, _ = loaded.split_inputs(store.corpus, test_set, tmp_path)
    shares = loaded.shares(inputs, test_set.sentences)[1]

    def vectors(name):
        return store.read(name, [2], kind="mean")[0].astype(float)

    scaler = StandardScaler().fit(vectors("train"))
    balance = None if class_weight == "none" else class_weight
    solver = LogisticRegression(C=chosen, max_iter=1000, tol=1e-8, class_weight=balance)
    solver.fit(scaler.transform(vectors("train")), [tags[0] for tags in train_set.tags])
    order = [list(solver.classes_).index(label) for label in record.targets.classes]
    expected = solver.predict_proba(scaler.transform(vectors("test")))[:, order]
    np.testing.assert_allclose(shares, expected, atol=2e-3)


def test_the_record_has_what_it_reads_and_no_more(store, tmp_path):
    first, second = (run_of(store, tmp_path, seed=seed, epochs=3) for seed in (1, 2))
    assert first.record.signature.training_precision == "fp64"
    unread = {"learning_rate", "batch_size", "warmup", "schedule", "dropout", "weight_decay"}
    assert unread.isdisjoint(first.record.settings)
    assert {"body", "epochs", "patience", "token_budget"} <= first.record.settings.keys()
    assert first.record.weights == second.record.weights
    assert first.name != second.name
    defaults("none").check_given(["learning_rate"])


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"learning_rate": 0.1}, "learning.rate"),
        ({"dropout": 0.0}, "dropout"),
        ({"sentence_pooling": "attention"}, "pooled"),
        ({"layers": "weighted_all"}, "weighted_all"),
    ],
)
def test_what_it_cannot_use_is_refused(store, tmp_path, given, name):
    layers = given.pop("layers", "last")
    options = {"body": "logistic", "task": "classification", "device": "cpu"}
    with pytest.raises(InputError, match=name):
        train(store, layers, runs_dir=tmp_path, progress=False, **options, **given)
    assert not [*tmp_path.iterdir()]


def test_it_resumes_to_the_same_weights(store, tmp_path, monkeypatch):
    whole = run_of(store, tmp_path / "whole", epochs=5)
    monkeypatch.setattr(checkpoint, "COST", 1e9)
    plain = LogisticPath.train

    def killed(path, epoch, *rest):
        if epoch == 4:
            raise KeyboardInterrupt
        return plain(path, epoch, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(LogisticPath, "train", killed)
        with pytest.raises(KeyboardInterrupt):
            run_of(store, tmp_path / "other", epochs=5)
    resumed = run_of(store, tmp_path / "other", epochs=5)
    assert len(resumed.record.history) == 5
    assert resumed.record.weights == whole.record.weights
