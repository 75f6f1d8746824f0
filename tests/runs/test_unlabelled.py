"""Examples and words without an answer: neither learned nor scored, always predicted."""

import json

import numpy as np
import pytest

from featbert.api import extract
from featbert.config import defaults
from featbert.data.corpus import UNLABELLED
from featbert.data.load import load_corpus
from featbert.errors import InputError
from featbert.inference.evaluate import evaluate
from featbert.runs.planned import check_trainable
from tests.analysis.records import compare
from tests.runs.rows import FP32, frozen, tuned

WORDS = ["good", "great", "fine", "bad", "poor", "awful", "film", "plot"]
FORMS = {
    "classification": ("classes", lambda i: {"label": ["pos", "neg"][i % 2]}),
    "multilabel": ("sets", lambda i: {"labels": [["a"], [], ["a", "b"], ["b", "c"]][i % 4]}),
    "regression": ("scores", lambda i: {"score": i % 5 / 2}),
    "choice": ("choices", lambda i: {"endings": ["it was", "the end"], "label": i % 2}),
    "spans": (
        "spans",
        lambda i: {"answers": [{"text": "was", "answer_start": 4}] if i % 3 else []},
    ),
}
TEXTS = {
    "choice": lambda text: {"context": text},
    "spans": lambda text: {"question": text, "context": "the was film"},
}


def rows_of(task: str, n: int, unlabelled=()) -> list[dict]:
    random = np.random.default_rng(n)
    rows = []
    for i in range(n):
        text = " ".join(random.choice(WORDS, 3 + i % 4))
        row = TEXTS.get(task, lambda text: {"text": text})(text) | FORMS[task][1](i)
        empty = {key: None for key in ("label", "labels", "score", "answers") if key in row}
        rows.append(row | (empty if i in unlabelled else {}))
    return rows


def write(folder, **parts):
    folder.mkdir()
    for name, rows in parts.items():
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, "utf-8")
    return folder


BALANCED = {"class_weight": "balanced"}


@pytest.mark.parametrize(
    ("task", "way", "given"),
    [
        *((task, "frozen", {}) for task in FORMS),
        ("classification", "tuned", BALANCED),
        ("spans", "tuned", {}),
        ("classification", "frozen", BALANCED),
        ("classification", "frozen", {"body": "logistic", **BALANCED}),
        ("multilabel", "frozen", BALANCED),
    ],
    ids=str,
)
def test_runs_are_those_without_the_examples_that_lack_an_answer(
    tmp_path, tiny_bert, task, way, given
):
    whole, lacking, found = range(20), {0, 3, 11}, {}
    for name, kept in (("lacking", whole), ("without", [i for i in whole if i not in lacking])):
        parts = {"train": rows_of(task, 20, lacking), "dev": rows_of(task, 20, lacking)}
        parts = {split: [rows[i] for i in kept] for split, rows in parts.items()}
        parts["test"] = rows_of(task, 4, range(4))  # as of a test set with hidden answers
        corpus = load_corpus(write(tmp_path / name, **parts), targets=FORMS[task][0])
        if way == "frozen":
            store = extract(corpus, str(tiny_bert), cache_dir=tmp_path / f"{name}-cache", **FP32)
            found[name] = frozen(store, "last", corpus, task, tmp_path / f"{name}-runs", **given)
        else:
            found[name] = tuned(str(tiny_bert), corpus, task, tmp_path / f"{name}-runs", **given)
    run, other = found["lacking"], found["without"]
    assert (run.record.train_sentences, run.record.counts["missing_answers"]) == (
        other.record.train_sentences,
        2 * len(lacking),
    )
    assert run.record.targets == other.record.targets
    losses = [[row.train_loss for row in one.record.history] for one in (run, other)]
    np.testing.assert_allclose(*losses, rtol=1e-2 if way == "frozen" else 1e-4)
    for split, n, unlabelled in (("dev", 20, lacking), ("test", 4, {0, 1, 2, 3})):
        lines = map(json.loads, run.predictions_path(split).read_text("utf-8").splitlines())
        golds = [line.get("gold", line.get("answers")) for line in lines]
        assert len(golds) == n
        assert {i for i, gold in enumerate(golds) if gold is None} == unlabelled
    assert [*run.record.scores] == ["dev"]
    forecasts = [one.record.scores["dev"].probabilities for one in (run, other)]
    assert len({sum(f.reliability.items) if f else None for f in forecasts}) == 1
    assert run.record.scores["dev"].examples == len(whole) - len(lacking)
    assert len(run.predictions("dev").gold) == len(whole) - len(lacking)
    assert run.counts("dev").units.sum() == pytest.approx(other.counts("dev").units.sum(), abs=3)


LABELS = {"the": "DET", "dog": "NOUN", "ran": "VERB", "far": "ADV"}
ENTITIES = {"the": "O", "dog": "B-PER", "ran": "I-PER", "far": "O"}


def word_rows(tags: dict[str, str], n: int, wrong: str | None = None) -> list[dict]:
    """Sentences of four words, each with one word that has no tag; `wrong` is its tag instead."""
    words = [*tags]
    return [
        {"tokens": words, "tags": [wrong if i % 4 == k else tags[w] for k, w in enumerate(words)]}
        for i in range(n)
    ]


@pytest.mark.parametrize(("task", "tags"), [("labels", LABELS), ("entities", ENTITIES)])
@pytest.mark.parametrize("given", [{}, {"output": "crf"}, {"output": "focal", **BALANCED}], ids=str)
def test_words_without_a_tag_are_neither_learned_nor_scored(tmp_path, tiny_bert, task, tags, given):
    folder = write(tmp_path / "c", train=word_rows(tags, 16), dev=word_rows(tags, 8))
    corpus = load_corpus(folder, targets=task)
    store = extract(corpus, str(tiny_bert), cache_dir=tmp_path / "cache", **FP32)
    steps = {"epochs": 10, "batch_size": 2, "learning_rate": 2e-2, "dropout": 0.0, "warmup": 0.0}
    run = frozen(store, "last", corpus, task, tmp_path / "runs", lstm_layers=1, **steps, **given)
    record = run.record
    assert UNLABELLED not in record.targets.classes
    assert (record.train_sentences, record.train_words) == (16, 64)
    assert record.counts["missing_answers"] == 24
    # Every word has one tag wherever it has one, and words differ in their vectors.
    assert next(iter(record.scores["dev"].values.values())) == 1.0
    found = run.predictions("dev")
    assert [len(row) for row in found.predicted] == [4] * 8
    assert [[g == "" for g in row] for row in found.gold] == [
        [p == "" for p in row] for row in found.predicted
    ]
    cells = [line.split("\t") for line in run.predictions_path("dev").read_text().splitlines()]
    assert [row for row in cells if len(row) == 3 and not row[2]] == []
    assert sum(len(row) == 3 and not row[1] for row in cells) == 8
    assert run.counts("dev").units.sum(axis=0)[-1] == (24 if task == "labels" else 8)
    # A tag of its own would have been learned instead.
    wrong = write(tmp_path / "wrong", test=word_rows(tags, 8, "X" if task == "labels" else "B-X"))
    other = evaluate(run, load_corpus(wrong, targets=task), device="cpu", cache_dir=tmp_path)
    assert next(iter(other.scores.values.values())) < 1
    again = evaluate(run, corpus, "dev", device="cpu", cache_dir=tmp_path / "cache")
    assert again.scores.values == record.scores["dev"].values
    (comparison,) = compare([run], by=["sentence"])
    assert comparison.breakdowns[0].rows


def test_a_run_on_train_and_dev_needs_answers_in_test(tmp_path):
    parts = {name: rows_of("classification", 12) for name in ("train", "dev")}
    test = rows_of("classification", 6, unlabelled=range(6))
    corpus = load_corpus(write(tmp_path / "texts", **parts, test=test), targets="classes")
    settings = defaults("none", "classification")
    check_trainable(corpus, settings)
    with pytest.raises(InputError, match="has no answers"):
        check_trainable(corpus, settings.but(train_on="train+dev"))
