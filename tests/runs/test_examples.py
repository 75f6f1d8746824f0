"""Classification and regression end to end: what rows share, what is equal, what is refused."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file

from featbert.analysis.frame import comparison_lines
from featbert.api import extract, load
from featbert.config import defaults
from featbert.data.load import load_corpus
from featbert.data.streaming import read_texts
from featbert.encoders.alignment import align
from featbert.encoders.layers import parse_layers
from featbert.encoders.loading import load_encoder
from featbert.encoders.source import find_encoder
from featbert.errors import InputError
from featbert.inference.evaluate import evaluate
from featbert.inference.predict import answer_rows, predict_texts
from featbert.models.combination import CombineLayers
from featbert.models.registry import OUTPUTS
from featbert.runs.run import Run
from featbert.tasks.base import TargetSummary
from featbert.training.assembly import make_model
from featbert.training.inputs import PieceInputs, stored_inputs
from tests.analysis.records import compare_runs
from tests.runs.rows import CPU, FP32, assert_answers_again, frozen, settings_of, tuned
from tests.single_runs import finetune, train

TWO = TargetSummary(("a", "b"))
WORDS = ["good", "great", "fine", "bad", "poor", "awful", "film", "plot", "actor", "the", "was"]


def write_corpus(folder: Path, *, pairs: bool) -> Path:
    """Texts of random words; their class and score follow from the words."""
    random = np.random.default_rng(2)
    folder.mkdir()
    for split, n in (("train", 40), ("dev", 16), ("test", 16)):
        rows = ["sentence1\tsentence2\tscore\tlabel" if pairs else "sentence\tscore\tlabel"]
        for _ in range(n):
            texts = [random.choice(WORDS, random.integers(2, 14)) for _ in range(1 + pairs)]
            good = sum(word in WORDS[:3] for text in texts for word in text)
            cells = [" ".join(text) for text in texts]
            rows.append("\t".join([*cells, f"{good / 2}", "pos" if good > 1 else "neg"]))
        (folder / f"{split}.tsv").write_text("\n".join(rows) + "\n", "utf-8")
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory, tiny_bert):
    """Corpora of texts and of pairs, and a store of each kind, by name."""
    root = tmp_path_factory.mktemp("examples")
    found = {"root": root, "model": str(tiny_bert)}
    for name in ("texts", "pairs"):
        folder = write_corpus(root / name, pairs=name == "pairs")
        for packing in ("joint", "apart") if name == "pairs" else ("joint",):
            for keep in ("words", "pooled"):
                cache, how = root / f"{name}-{packing}-{keep}", {"packing": packing, "keep": keep}
                corpus, source = load_corpus(folder, targets=None), find_encoder(str(tiny_bert))
                store = extract(corpus, source, cache_dir=cache, **how, **FP32)
                found[name, packing, keep] = store
    return found


def trained(made, store, task, folder: Path, layers="weighted_all", seed=1, **given) -> Run:
    corpus = load_corpus(made["root"] / store[0], targets=TARGETS[task.partition(":")[0]])
    return frozen(made[store], layers, corpus, task, folder, seed, **{"body": "linear"} | given)


TARGETS = {"classification": "classes", "regression": "scores"}
HEADS = [
    (("texts", "joint"), {"sentence_pooling": "cls"}),
    (("pairs", "joint"), {"body": "bilstm", "sentence_pooling": "attention"}),
    (("pairs", "apart"), {"sentence_pooling": "max"}),
    (("pairs", "apart"), {"body": "bilstm"}),
]


@pytest.mark.parametrize(
    ("store", "pooling", "layers"),
    [
        (("texts", "joint"), "max", "concat_last4"),
        (("pairs", "joint"), "mean", "weighted_all"),
        (("pairs", "apart"), "cls", "last"),
    ],
)
def test_pooled_stores_give_the_numbers_of_stores_of_words(made, tmp_path, store, pooling, layers):
    given = {"layers": layers, "sentence_pooling": pooling}
    words, pooled = (
        trained(made, (*store, keep), "classification", tmp_path / keep, **given).record
        for keep in ("words", "pooled")
    )
    assert [row.train_loss for row in words.history] == [row.train_loss for row in pooled.history]
    assert words.scores == pooled.scores
    assert words.name == pooled.name
    assert words.predictions == pooled.predictions


@pytest.mark.parametrize(("store", "head"), HEADS, ids=str)
def test_a_loaded_run_answers_as_it_did(made, tmp_path, store, head):
    run = trained(made, (*store, "words"), "classification", tmp_path, **head)
    corpus = load_corpus(made["root"] / store[0], targets="classes")
    sentences = corpus["test"].sentences
    kept = run.predictions("test")
    assert [tuple(words) for words in kept.words] == [s.words for s in sentences]
    sizes = [(len(s),) if s.pair is None else (s.pair, len(s) - s.pair) for s in sentences]
    assert kept.texts == sizes
    shares = assert_answers_again(run, corpus["test"])
    assert all(0.5 <= p <= 1 for p in shares.max(axis=1))
    scores = run.record.scores["test"]
    assert run.task.score(kept.gold, kept.predicted).values == scores.values
    assert (scores.examples, scores.words) == (16, corpus["test"].n_words)
    # A store of pooled vectors serves to evaluate a head that reads no others.
    keep = "words" if run.record.settings["body"] == "bilstm" else "pooled"
    cache = made[(*store, keep)].path.parent
    names = {"pos": "pos", "neg": "neg"}
    again = evaluate(run, corpus, "test", mapping=names, cache_dir=cache, device="cpu")
    assert again.scores == scores
    assert again.extraction_seconds is None
    if store[0] == "texts":  # F1 is of the positive class, also in a part without it
        pairs = zip(corpus["dev"], run.predictions("dev").predicted, strict=True)
        negative = tuple(s for s, answer in pairs if [*s.tags] == [*answer] == ["neg"])
        splits = {"test": dataclasses.replace(corpus["dev"], name="test", sentences=negative)}
        part = dataclasses.replace(corpus, splits=splits)
        assert evaluate(run, part, cache_dir=cache, device="cpu").scores.values["f1"] == 0.0
    name = "texts" if store[0] == "pairs" else "pairs"
    other = load_corpus(made["root"] / name, targets="classes")
    with pytest.raises(InputError):
        evaluate(run, other, cache_dir=cache, device="cpu")


@pytest.mark.parametrize(
    ("task", "packing"), [("classification:matthews", "joint"), ("regression", "apart")]
)
def test_tuned_rows_of_pairs(made, tmp_path, task, packing):
    corpus = load_corpus(made["root"] / "pairs", targets=TARGETS[task.partition(":")[0]])
    run = tuned(made["model"], corpus, task, tmp_path, packing=packing, learning_rate=1e-3)
    assert run.record.signature.packing == packing
    assert run.record.task == task
    assert next(iter(run.record.scores["dev"].values)) == run.task.measure.key
    assert_answers_again(run, corpus["dev"])


@pytest.mark.parametrize(
    ("tuning", "given", "trains"),
    [("bitfit", {}, True), ("full", {"freeze_to": 3}, True), ("full", {"freeze_to": 4}, False)],
)
def test_the_pooler_is_trained_with_the_encoder(made, tmp_path, tuning, given, trains):
    corpus = load_corpus(made["root"] / "pairs", targets="classes")
    given = {"sentence_pooling": "pooler", "learning_rate": 1e-3} | given
    settings = settings_of(tuning, "classification", **given)
    options = {"task": "classification", "settings": settings, "runs_dir": tmp_path, **FP32}
    run = finetune(corpus, made["model"], **options)
    assert run.record.settings["sentence_pooling"] == "pooler"
    kept = load_file(run.folder / "weights.safetensors")
    pooler = {f"states.model.pooler.dense.{name}" for name in ("weight", "bias")}
    bias = {"states.model.pooler.dense.bias"}
    wanted = bias if settings.tuning == "bitfit" else pooler if trains else set()
    assert kept.keys() & pooler == wanted
    before = load_file(Path(made["model"]) / "model.safetensors")["pooler.dense.bias"]
    assert all(not torch.equal(kept[name], before) for name in bias & kept.keys())
    assert_answers_again(run, corpus["test"])


@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize("store", [("texts", "joint"), ("pairs", "joint"), ("pairs", "apart")])
def test_before_any_step_a_tuned_encoder_gives_the_states_of_the_store(made, store, pooling):
    """The keystone: heads get the same vectors of texts."""
    name, packing = store
    sentences = load_corpus(made["root"] / name, targets="classes")["dev"].sentences
    kept, encoder = made[*store, "words"], load_encoder(find_encoder(made["model"]))
    last, packing = parse_layers("last", 4), packing if name == "pairs" else None
    given = {"positions": encoder.positions, "packing": packing}
    alignment = align(sentences, encoder.wordpieces, **given)
    heads = [
        settings_of(tuning, "classification", sentence_pooling=pooling)
        for tuning in ("none", "full")
    ]
    models = (
        make_model(
            CombineLayers(last, encoder.hidden_size), TWO, heads[0], kept.manifest.texts
        ).eval(),
        make_model(encoder, TWO, heads[1], kept.manifest.texts).eval(),
    )
    inputs = (
        stored_inputs(kept, ["dev"], last, heads[0].reads, CPU, sentences=sentences),
        PieceInputs(alignment, encoder, CPU, reads=heads[1].reads),
    )
    ids, both = np.array([3, 0, 7]), zip(models, inputs, strict=True)
    with torch.inference_mode():
        found = [model.vectors(read.batch(ids), read.layout(ids))[0] for model, read in both]
    torch.testing.assert_close(*found, atol=2e-3, rtol=2e-3)  # the store has float16


@pytest.mark.parametrize(
    ("task", "given"),
    [
        ("classification", {"body": "bilstm", "sentence_pooling": "cls"}),
        ("classification", {"sentence_pooling": "pooler"}),
        ("classification", {"output": "crf"}),
        ("regression", {"output": "softmax"}),
        ("entities", {"output": "span"}),
        ("spans", {"sentence_pooling": "mean"}),
        ("classification:pearson", {}),
    ],
)
def test_heads_that_do_not_fit_a_task_are_refused(task, given):
    with pytest.raises(InputError):
        settings_of("none", task, **given)


def test_settings_of_another_tuning_or_number_of_classes_are_refused(made, tmp_path):
    store, where = made["texts", "joint", "words"], {"runs_dir": tmp_path, **FP32}
    wrong = defaults("full", "classification")
    with pytest.raises(InputError, match="'full'"):
        train(store, "last", task="classification", settings=wrong, **where)
    with pytest.raises(InputError, match="none"):
        finetune("sample", made["model"], settings=defaults("none"), **where)
    with pytest.raises(InputError, match="keep='words'"):
        trained(made, ("texts", "joint", "pooled"), "classification", tmp_path, body="bilstm")
    for split in ("train", "dev"):
        (tmp_path / f"{split}.tsv").write_text("sentence\tlabel\na\tx\nb\ty\nc\tz\n", "utf-8")
    with pytest.raises(InputError, match="3"):
        finetune(str(tmp_path), made["model"], task="classification:f1", **where)


def test_a_later_setting_renames_no_finished_run(made, tmp_path, monkeypatch):
    def again(**given):
        return trained(made, ("texts", "joint", "pooled"), "classification", tmp_path, **given)

    with monkeypatch.context() as before:  # the setting did not exist
        before.setitem(OUTPUTS, "softmax", dataclasses.replace(OUTPUTS["softmax"], settings=()))
        old = again()
    for given in ({}, {"class_weight": "none"}):
        run = again(**given)
        assert (run.name, run.record.started) == (old.name, old.record.started)
        assert load(run, device="cpu").settings.class_weight == "none"
    changed = again(class_weight="balanced")
    assert changed.record.settings == old.record.settings | {"class_weight": "balanced"}
    assert changed.record.weights != old.record.weights
    assert_answers_again(changed, made["texts", "joint", "pooled"].corpus["test"])
    comparison, values = compare_runs([old, changed]), {"none", "balanced"}
    assert {row.label for row in comparison.rows} == {
        f"weighted_all (class_weight={value})" for value in values
    }
    assert {line["setting_class_weight"] for line in comparison_lines(comparison)} == values


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_texts_and_pairs_are_predicted_as_files_and_as_lines(made, tmp_path, task):
    run = trained(made, ("pairs", "joint", "words"), task, tmp_path / "runs")
    loaded = load(run, device="cpu")
    kept = run.predictions("test").predicted
    table = (made["root"] / "pairs" / "test.tsv").read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in table[1:]]
    lines = [f"{first}\t{second}" for first, second, *_ in rows]
    for kind, given in (("tsv", table), ("text", [*lines[:1], " ", *lines[1:], ""])):
        read = read_texts(iter(given), "test", kind, pairs=True)
        found = list(predict_texts(loaded, read))
        blank = [found.pop(i) for i in (1, -1) if kind == "text"]  # in their place, no answer
        assert blank == [([s], {"text": s, "answer": None}) for s in (" ", "") if kind == "text"]
        expected = [[*row[:2], *answer] for row, answer in zip(rows, kept, strict=True)]
        assert [cells for cells, _ in found] == expected
        shares = [row.get("probabilities") for _, row in found]
        assert all(s and abs(sum(s.values()) - 1) < 1e-5 for s in shares) == (
            task == "classification"
        )
        for text in ("one text", "a\tb\tc"):
            with pytest.raises(InputError, match="line 1"):
                list(read_texts(iter([text]), "input", pairs=True))
        objects = [json.loads(row) for row in answer_rows(found, "jsonl")]
        assert [str(row["answer"]) for row in objects] == [
            answer if task == "classification" else str(float(answer)) for (answer,) in kept
        ]
    table = pd.DataFrame({"premise": ["a", "b"], "hypothesis": ["c", "d"]})
    assert loaded.predict(table) == loaded.predict([*table.itertuples(index=False, name=None)])
    for others in (table.values.tolist(), table.values):
        assert loaded.predict(others) == loaded.predict(table)
    other = table.assign(when=pd.Timestamp("2020-02-02"), parts=[np.arange(2)] * 2)
    assert loaded.predict(other) == loaded.predict(table)
    for value in (None, float("nan"), ["a"], np.array("a"), b"a"):
        with pytest.raises(InputError, match="text 2"):
            loaded.predict([("a", "c"), value])
    without_words = loaded.predict([("", " "), ("", "a")])
    assert [row["answer"] is None for row in without_words] == [True, False]
