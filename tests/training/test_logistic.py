"""The bodies "logistic" and "ridge" against scikit-learn, and what their trainers leave out."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler

from featbert import evaluate, export, extract, finetune, load, train
from featbert.config import defaults
from featbert.data.load import load_corpus
from featbert.encoders.layers import parse_layers
from featbert.errors import InputError
from featbert.tasks.base import get_task
from featbert.training import checkpoint
from featbert.training.tracking import scalars
from featbert.training.trainers.logistic import LogisticPath
from tests.failing import failing

TEXTS = {"good": ["a fine fox", "the quick lamb won", "Jordan beat the Herald", "fine EU"]}
TEXTS["bad"] = ["a lazy dog", "rejects British lamb", "the dog rejects EU", "lazy Hamilton"]
TEXTS["mixed"] = ["fine but lazy", "the quick dog rejects", "Jordan and Herald", "won or lost"]
CHOSEN = {"train": [0, 1, 2], "dev": [1, 3], "test": [0, 3]}
# What stands in the column of answers, by task. All texts have the class "text".
TARGETS = {"classification": "classes", "multilabel": "sets", "regression": "scores"}
ANSWERS = {
    "classification": lambda kind, text: kind,
    "multilabel": lambda kind, text: "|".join(["text", *(n for n in TEXTS if n[0] in text[2:])]),
    "regression": lambda kind, text: str(len(text) + 5 * (kind == "good")),
}
BODIES = {"classification": "logistic", "multilabel": "logistic", "regression": "ridge"}


@pytest.fixture(scope="module")
def stores(tmp_path_factory, small_bert):
    folder, made = tmp_path_factory.mktemp("logistic"), {}

    def store(task):
        if task not in made:
            (folder / task).mkdir()
            for split, texts in CHOSEN.items():
                pairs = [(kind, TEXTS[kind][i]) for i in texts for kind in TEXTS]
                # Classes differ in size. There are more scores than numbers in a vector.
                pairs += pairs[:1] * (8 if task == "regression" else 4)
                lines = ["text\tlabel", *(f"{t}\t{ANSWERS[task](k, t)}" for k, t in pairs)]
                (folder / task / f"{split}.tsv").write_text("\n".join(lines) + "\n", "utf-8")
            corpus = load_corpus(folder / task, targets=TARGETS[task])
            options = {"precision": "fp32", "device": "cpu", "cache_dir": folder / "cache"}
            made[task] = extract(corpus, str(small_bert), task=task, **options, progress=False)
        return made[task]

    return store


def run_of(store, folder, task="classification", layers="last", *, seed=1, **given):
    how = {"task": task, "precision": "bf16", "device": "cpu", "runs_dir": folder}
    body = BODIES[task]
    return train(store, layers, body=body, seeds=seed, progress=False, **how, **given)[0]


def answers_of(run, store, folder):
    """Answers and probabilities on test, of the loaded run."""
    loaded, test_set = load(run), store.corpus["test"]
    inputs, _ = loaded.split_inputs(store.corpus, test_set, folder)
    return loaded.shares(inputs, test_set.sentences)[:2]


def answers_in(store, split):
    return [row[0] for row in store.corpus[split].tags]


def chosen(run):
    (value,) = run.record.history[run.record.best_epoch - 1].step_value.values()
    return value


def vectors_in(store, layers):
    """Standardised vectors of train and of test."""
    train_set, test_set = (
        np.concatenate([*store.read(split, layers, kind="mean").astype(float)], axis=1)
        for split in ("train", "test")
    )
    scaler = StandardScaler().fit(train_set)
    return scaler.transform(train_set), scaler.transform(test_set)


def logistic(run, weighting):
    balance = None if weighting == "none" else weighting
    return LogisticRegression(C=chosen(run), max_iter=1000, tol=1e-8, class_weight=balance)


@pytest.mark.parametrize("weighting", ["none", "balanced"])
def test_classes_are_as_scikit_learn_predicts_them(stores, tmp_path, weighting):
    store = stores("classification")
    run = run_of(store, tmp_path, epochs=7, class_weight=weighting)
    record = run.record
    assert [row.step_value["C"] for row in record.history] == pytest.approx(
        10 ** (-4 + np.arange(7) / 2)
    )
    assert scalars(record.history[2])["train/C"] == pytest.approx(1e-3)
    train_set, test_set = vectors_in(store, (2,))
    solver = logistic(run, weighting).fit(train_set, answers_in(store, "train"))
    order = [list(solver.classes_).index(label) for label in record.targets.classes]
    shares = answers_of(run, store, tmp_path)[1]
    np.testing.assert_allclose(shares, solver.predict_proba(test_set)[:, order], atol=2e-3)


@pytest.mark.parametrize(("n_classes", "rows"), [(2, 1), (3, 3)])
def test_operations_are_of_the_rows_that_are_solved(n_classes, rows):
    random = np.random.default_rng(0)
    path = object.__new__(LogisticPath)
    path.vectors, path.n_logits = random.normal(size=(40, 5)), n_classes
    path.targets = random.integers(n_classes, size=40)
    path.columns, path.weights, path.solvers = [path.targets], [None], [LogisticRegression()]
    solution = path.solve(1.0)
    assert solution.flops == 4 * path.solvers[0].n_iter_[0] * 40 * 5 * rows


@pytest.mark.parametrize("weighting", ["none", "balanced"])
def test_independent_classes_have_a_regression_each(stores, tmp_path, weighting):
    store = stores("multilabel")
    run = run_of(store, tmp_path, "multilabel", "concat:1,2", epochs=6, class_weight=weighting)
    classes = run.record.targets.classes
    rows = [answer.split("|") for answer in answers_in(store, "train")]
    members = np.array([[name in row for name in classes] for row in rows]).astype(int)
    train_set, test_set = vectors_in(store, (1, 2))
    solver = OneVsRestClassifier(logistic(run, weighting))
    with pytest.warns(UserWarning, match="text|present"):  # one class is in all texts
        solver.fit(train_set, members)
    shares = answers_of(run, store, tmp_path)[1]
    np.testing.assert_allclose(shares, solver.predict_proba(test_set), atol=2e-3)
    assert (shares[:, classes.index("text")] == 1).all()
    assert run.record.threshold is not None


@pytest.mark.parametrize(("layers", "indices"), [("last", (2,)), ("concat:1,2", (1, 2))])
def test_scores_are_of_ridge_regression(stores, tmp_path, layers, indices):
    """With more texts than numbers in a vector, and with fewer."""
    store = stores("regression")
    vectors, test_set = vectors_in(store, indices)
    assert (len(vectors) < vectors.shape[1]) is (layers != "last")
    run = run_of(store, tmp_path, "regression", layers, epochs=9)
    alphas = [row.step_value["alpha"] for row in run.record.history]
    assert alphas == pytest.approx(10 ** (4 - np.arange(9) / 2))
    losses = [row.train_loss for row in run.record.history]
    assert losses == sorted(losses, reverse=True)
    scores = np.array(answers_in(store, "train"), dtype=float)
    expected = Ridge(alpha=chosen(run)).fit(vectors, scores).predict(test_set)
    predicted = np.array(answers_of(run, store, tmp_path)[0], dtype=float).ravel()
    np.testing.assert_allclose(predicted, expected, atol=1e-3)


@pytest.mark.parametrize("task", BODIES)
def test_the_record_has_what_it_reads_and_no_more(stores, tmp_path, task):
    first, second = (run_of(stores(task), tmp_path, task, seed=seed, epochs=3) for seed in (1, 2))
    assert first.record.signature.training_precision == "fp64"
    unread = {"learning_rate", "batch_size", "warmup", "schedule", "dropout", "weight_decay"}
    assert unread.isdisjoint(first.record.settings)
    assert {"body", "epochs", "patience", "token_budget"} <= first.record.settings.keys()
    assert first.record.weights == second.record.weights
    assert first.name != second.name


@pytest.mark.parametrize(
    ("task", "given", "name"),
    [
        ("classification", {"learning_rate": 0.1}, "learning.rate"),
        ("classification", {"dropout": 0.0}, "dropout"),
        ("classification", {"sentence_pooling": "attention"}, "attention"),
        ("classification", {"layers": "weighted_all"}, "weighted_all"),
        ("regression", {"layers": "weighted_all"}, "weighted_all"),
        ("regression", {"body": "logistic"}, "score"),
        ("multilabel", {"body": "ridge"}, "sigmoid"),
        ("classification", {"epochs": 21}, "20"),
        ("regression", {"epochs": 21}, "20"),
    ],
    ids=str,
)
def test_what_it_cannot_use_is_refused(stores, tmp_path, task, given, name):
    options = {"layers": "last", "body": BODIES[task], "device": "cpu"} | given
    with pytest.raises(InputError, match=name):
        train(stores(task), task=task, runs_dir=tmp_path, progress=False, **options)
    assert not [*tmp_path.iterdir()]


def resumed(monkeypatch, trainer, epochs, make):
    """What `make` gives after a kill before each of these epochs of a trainer."""
    monkeypatch.setattr(checkpoint, "COST", 1e9)
    for killed_at in epochs:
        killed = failing(trainer, "train", lambda _, epoch, *rest, at=killed_at: epoch == at)
        with killed, pytest.raises(KeyboardInterrupt):
            make()
    trained, plain = [], trainer.train
    with monkeypatch.context() as patch:
        patch.setattr(trainer, "train", lambda t, n, *rest: trained.append(n) or plain(t, n, *rest))
        result = make()
    assert trained[0] == epochs[-1]  # earlier ones are not trained again
    return result


@pytest.mark.parametrize("task", BODIES)
def test_it_resumes_to_the_same_weights(stores, tmp_path, monkeypatch, task):
    def make(name="other"):
        return run_of(stores(task), tmp_path / name, task, epochs=5).record

    trainer = defaults("none", task, BODIES[task]).trainer.load()
    whole, other = make("whole"), resumed(monkeypatch, trainer, (4,), make)
    assert len(other.history) == 5
    assert other.weights == whole.weights


def test_train_and_dev_end_at_the_chosen_value(stores, tmp_path):
    store = stores("classification")
    run = run_of(store, tmp_path, epochs=6, train_on="train+dev")
    on_train = run_of(store, tmp_path, epochs=6)
    assert chosen(run) == chosen(on_train)
    assert run.record.epochs_from == on_train.name
    assert run.record.train_sentences == 23
    part = run_of(store, tmp_path, epochs=6, train_share=0.5)
    assert part.record.train_sentences < on_train.record.train_sentences


@pytest.mark.parametrize("task", BODIES)
def test_it_is_used_like_other_runs(stores, tmp_path, task):
    store, cache = stores(task), tmp_path / "cache"
    run = run_of(store, tmp_path / "runs", task, epochs=5)
    (scored,) = evaluate([run], store.corpus, split="test", cache_dir=cache, device="cpu")
    assert scored.record.scores.values == run.record.scores["test"].values
    exported = load(export(run, tmp_path / "exported"), device="cpu")
    texts = [sentence.texts[0] for sentence in store.corpus["test"]]
    assert exported.predict(texts) == load(run, device="cpu").predict(texts)
    with pytest.raises(InputError):  # transformers has no head on means
        export(run, tmp_path / "transformers", format="transformers")


def test_an_encoder_is_tuned_from_its_head(stores, tmp_path, small_bert):
    store = stores("classification")
    head = run_of(store, tmp_path, epochs=3, sentence_pooling="cls")
    how = {"tuning": "head-then-full", "head_from": head.id, "epochs": 1, "seeds": 1}
    where = {"runs_dir": tmp_path, "precision": "fp32", "device": "cpu", "progress": False}
    (tuned,) = finetune(store.corpus, model=str(small_bert), task="classification", **how, **where)
    assert tuned.record.settings["head_from"] == head.id
    assert tuned.record.settings["body"] == "linear"


def test_words_are_refused():
    settings = defaults("none", "entities", "logistic")
    with pytest.raises(InputError, match="words"):
        settings.trainer.load().check(settings, get_task("entities"), parse_layers("last", 2))
