"""Multiple choice end to end: batches of whole examples, one softmax an example, equal numbers."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from featbert.api import extract
from featbert.data.load import load_corpus
from featbert.encoders.source import find_encoder
from featbert.inference.evaluate import evaluate
from featbert.runs.run import Run, find_runs
from tests.analysis.records import compare
from tests.runs.rows import FP32, assert_answers_again, frozen, tuned
from tests.workspace import command, ok

GOOD, OTHER = "Jordan", ["The", "quick", "Hamilton", "said", "lamb", "Herald", "EU"]


def write_corpus(folder: Path) -> Path:
    """The right one of two to four choices has a word that no other has."""
    random = np.random.default_rng(5)
    folder.mkdir()
    for split, n in (("train", 60), ("dev", 20), ("test", 20)):
        rows = []
        for _ in range(n):
            k = int(random.integers(2, 5))
            right = int(random.integers(k))
            texts = [random.choice(OTHER, random.integers(1, 6)).tolist() for _ in range(k + 1)]
            texts[right + 1].insert(int(random.integers(len(texts[right + 1]))), GOOD)
            context, *choices = map(" ".join, texts)
            rows.append({"context": context, "endings": choices, "label": right})
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{split}.jsonl").write_text(text, "utf-8")
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory, tiny_bert):
    """The corpus, and a store of each kind, by packing and what it keeps."""
    root = tmp_path_factory.mktemp("choices")
    folder = write_corpus(root / "endings")
    found = {"corpus": load_corpus(folder, targets="choices"), "model": str(tiny_bert)}
    for packing, keep in (("joint", "words"), ("joint", "pooled"), ("apart", "words")):
        found[packing, keep] = extract(
            load_corpus(folder, targets=None),
            find_encoder(str(tiny_bert)),
            cache_dir=root / f"{packing}-{keep}",
            packing=packing,
            keep=keep,
            **FP32,
        )
    return found


def trained(made, folder: Path, store=("joint", "words"), seed=1, layers="last", **given) -> Run:
    return frozen(made[store], layers, made["corpus"], "choice", folder, seed, **given)


def full(made, folder: Path, learning_rate=1e-3, **given) -> Run:
    given["learning_rate"] = learning_rate
    return tuned(made["model"], made["corpus"], "choice", folder, **given)


ROWS = [
    (("joint", "words"), {"sentence_pooling": "attention"}),
    (("joint", "words"), {"body": "bilstm"}),
    (("joint", "pooled"), {"sentence_pooling": "mean"}),
    (("apart", "words"), {"body": "bilstm"}),
    ("tuned", {"packing": "apart"}),
]


@pytest.mark.parametrize(("store", "head"), ROWS, ids=str)
def test_rows_have_a_softmax_of_each_example(made, tmp_path, store, head):
    tuned = store == "tuned"
    run = full(made, tmp_path, **head) if tuned else trained(made, tmp_path, store, **head)
    test = made["corpus"]["test"]
    shares = assert_answers_again(run, test)
    answers, ends = run.predictions("test").predicted, run.task.items(test)
    for answer, (first, end) in zip(answers, pairwise(ends), strict=True):
        right = shares[first:end, 1]
        assert right.sum() == pytest.approx(1, abs=1e-5)
        assert answer.index("1") == right.argmax()
    scores = run.record.scores["test"]
    sizes = np.diff(run.task.items(made["corpus"]["test"]))
    assert (scores.examples, run.record.train_sentences) == (20, 60)
    assert scores.floor == pytest.approx((1 / sizes).mean())
    kept = run.predictions("test")
    right = [gold == found for gold, found in zip(kept.gold, kept.predicted, strict=True)]
    assert scores.values == {"accuracy": np.mean(right)}


def test_both_approaches_learn(made, tmp_path):
    stored = trained(made, tmp_path, layers="embeddings", epochs=12, learning_rate=3e-2)
    for run in (stored, full(made, tmp_path, epochs=12)):
        assert run.record.scores["dev"].floor < 0.4
        assert run.record.score("dev") > 0.8


def test_cutting_a_batch_changes_no_number(made, tmp_path):
    """Losses are means over examples, however many choices these have."""
    whole, cut = (
        trained(
            made, tmp_path, sentence_pooling="max_mean", token_budget=budget, dropout=0.0
        ).record
        for budget in (10_000, 40)
    )
    assert [e.train_loss for e in whole.history] == pytest.approx(
        [e.train_loss for e in cut.history], rel=1e-5
    )
    assert whole.history[0].train_loss == pytest.approx(np.log(3), abs=0.15)
    assert whole.scores == cut.scores


def test_comparison_breakdown_browser_and_evaluation(made, tmp_path):
    for seed in (1, 2):
        trained(made, tmp_path, seed=seed)
        full(made, tmp_path, seed=seed)
    runs = {run.name: run for run in find_runs(tmp_path)}
    (comparison,) = compare(runs.values(), everything=True)
    assert comparison.sizes["test"][0] == 20
    run = runs[comparison.rows[0].runs[0].name]
    assert comparison.floors["test", "endings"] == run.record.scores["test"].floor
    assert {(d.units, d.estimate.units) for d in comparison.differences} == {("examples", 20)}
    facets = ("right", "choices", "length")
    broken = [one for one in comparison.breakdowns if one.facet in facets]
    assert [sum(b.gold.values()) for b in broken] == [20] * 6
    assert {name for b in broken if b.facet == "choices" for name in b.gold} <= {"2", "3", "4"}
    text = comparison.texts[0]
    place, words, *answers = text.sentences[0]
    row = rows_of(run.predictions_path(text.name))[place - 1]
    for ((first, stop, number),) in [answers[0], *filter(None, answers[1])]:
        assert " ".join(words[first:stop]) == row["choices"][int(number)]
    record = evaluate(run, made["corpus"], "dev", cache_dir=tmp_path / "cache", device="cpu")
    assert record.scores == run.record.scores["dev"]


def rows_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_a_file_is_predicted_with_a_probability_for_each_choice(made, tmp_path):
    run = trained(made, tmp_path / "runs")
    kept = rows_of(run.predictions_path("test"))
    rows = [{"ctx": row["context"], "choices": row["choices"]} for row in kept]
    file = tmp_path / "new.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    given = ("predict", run.name, file, "--runs-dir", tmp_path / "runs", "-q")
    shown = ok(command(*given, "--format", "jsonl")).stdout
    for line, own in zip(shown.splitlines(), kept, strict=True):
        row = json.loads(line)
        assert (row["choices"], row["answer"]) == (own["choices"], own["predicted"])
        assert len(row["probabilities"]) == len(row["choices"])
        assert sum(row["probabilities"]) == pytest.approx(1, abs=1e-5)
        assert row["probabilities"].index(max(row["probabilities"])) == row["answer"]
    columns = ok(command(*given)).stdout.splitlines()
    first = [kept[0]["context"], *kept[0]["choices"], str(kept[0]["predicted"])]
    assert columns[0].split("\t") == first
