"""Runs of every task end to end: equal answers, scores and files; examples without an answer."""

import dataclasses
import functools
import json
from itertools import chain, pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file

from featbert.analysis.frame import comparison_lines
from featbert.api import extract, load
from featbert.config import defaults
from featbert.data.corpus import UNLABELLED, Corpus, Sentence, Split
from featbert.data.load import load_corpus
from featbert.data.streaming import read_texts
from featbert.encoders.alignment import align
from featbert.encoders.batching import TokenBudget
from featbert.encoders.device import find_device
from featbert.encoders.layers import parse_layers
from featbert.encoders.loading import load_frozen
from featbert.encoders.source import find_encoder
from featbert.errors import InputError
from featbert.features import extraction
from featbert.features.store import FeatureStore
from featbert.inference.evaluate import evaluate, read_evaluation
from featbert.inference.predict import predict_texts
from featbert.models.registry import OUTPUTS
from featbert.report.figures.confusion import confusion
from featbert.runs.folder import evaluation_files
from featbert.runs.planned import check_trainable
from featbert.runs.run import Run, find_runs
from featbert.tasks.base import TargetSummary, get_task
from featbert.training import inputs as inputs_module
from featbert.training.assembly import make_model
from featbert.training.inputs import PieceInputs, stored_inputs
from featbert.training.loop import Backend, predict
from tests.analysis.records import compare, compare_runs
from tests.corpora import CORPORA, WORDS, write_lines, write_questions
from tests.features.support import FP32, Plain
from tests.runs.finished_runs import STEPS
from tests.runs.rows import CPU, assert_answers_again, frozen, settings_of, tuned
from tests.workspace import command, finetune, ok, train

# The corpora whose texts, or pairs of texts, have a class and a score.
TEXTS, PAIRS = "classification", "regression"


@pytest.fixture(scope="module")
def made(tmp_path_factory, tiny_bert):
    """Corpora by name and stores of their texts, made when they are asked for; runs on both."""
    root, source = tmp_path_factory.mktemp("tasks"), find_encoder(str(tiny_bert))

    @functools.cache
    def folder(name: str) -> Path:
        return CORPORA[name](root / name)

    @functools.cache
    def corpus(name: str, task: str = "") -> Corpus:
        return load_corpus(folder(name), targets=get_task(task or name).targets)

    def cache(name: str, packing: str, keep: str) -> Path:
        return root / f"{name}-{packing}-{keep}"

    @functools.cache
    def store(name: str, packing: str, keep: str) -> FeatureStore:
        text, how = load_corpus(folder(name), targets=None), {"packing": packing, "keep": keep}
        return extract(text, source, cache_dir=cache(name, packing, keep), **how, **FP32)

    def run(task: str, inputs: tuple[str, str], runs_dir: Path, **given) -> Run:
        """`inputs`: the packing of pairs, and what a store keeps, or "tuned"; `of` a corpus."""
        name, layers = given.pop("of", task.partition(":")[0]), given.pop("layers", "weighted_all")
        if inputs[1] == "tuned":
            given = {"packing": inputs[0], "learning_rate": 1e-3} | given
            return tuned(source, corpus(name, task), task, runs_dir, **given)
        return frozen(store(name, *inputs), layers, corpus(name, task), task, runs_dir, **given)

    return SimpleNamespace(
        folder=folder, corpus=corpus, cache=cache, store=store, run=run, source=source
    )


JOINT, APART, TUNED = ("joint", "words"), ("apart", "words"), ("joint", "tuned")
ROWS = [
    ("entities", JOINT, STEPS),
    ("entities", TUNED, {}),
    ("labels", JOINT, STEPS),
    ("classification", JOINT, {"body": "linear", "sentence_pooling": "cls"}),
    ("classification:matthews", TUNED, {}),
    ("multilabel", JOINT, {"body": "linear"}),
    ("multilabel", TUNED, {"thresholds": "each"}),
    ("regression", JOINT, {"body": "bilstm", "sentence_pooling": "attention"}),
    ("regression", APART, {"body": "linear", "sentence_pooling": "max"}),
    ("regression", APART, {"body": "bilstm"}),
    ("regression", ("apart", "tuned"), {}),
    ("choice", JOINT, {"sentence_pooling": "attention"}),
    ("choice", JOINT, {"body": "bilstm"}),
    ("choice", ("joint", "pooled"), {"sentence_pooling": "mean"}),
    ("choice", APART, {"body": "bilstm"}),
    ("choice", ("apart", "tuned"), {}),
    ("spans", JOINT, {"epochs": 8}),
    ("spans", JOINT, {"body": "linear", "epochs": 8, "learning_rate": 3e-2}),
    ("spans", TUNED, {}),
    ("spans", TUNED, {"body": "bilstm", "epochs": 1}),
    ("spans", APART, {"body": "linear"}),
    ("spans", ("apart", "tuned"), {"learning_rate": 1e-2}),
]


def answer_of(task: str, row: dict) -> list[str]:
    """The answer of a line of `predict`, as a run records it."""
    if task in ("entities", "labels"):
        return row["tags"]
    answer = row["answer"]
    if task == "choice":
        return [str(int(number == answer)) for number in range(len(row["choices"]))]
    if task == "spans":
        return [f"{row['answer_start']}:{answer}" if answer else ""]
    return ["|".join(answer) if task == "multilabel" else str(answer)]


@pytest.mark.parametrize(("task", "inputs", "given"), ROWS, ids=str)
def test_a_run_answers_evaluates_and_predicts_as_it_did(made, tmp_path, task, inputs, given):
    run, name = made.run(task, inputs, tmp_path, **given), task.partition(":")[0]
    record, corpus = run.record, made.corpus(name)
    is_pair = corpus["test"].sentences[0].pair is not None
    assert (record.task, record.signature.packing) == (task, inputs[0] if is_pair else None)
    assert next(iter(record.scores["dev"].values)) == run.task.measure.key
    best = record.history[record.best_epoch - 1].dev
    assert best.items() <= record.scores["dev"].values.items()
    for split in ("dev", "test"):
        scores, kept = record.scores[split], run.predictions(split)
        assert_answers_again(run, corpus[split])
        assert [*chain(*kept.gold)] == [tag for s in corpus[split] for tag in s.tags]
        assert run.task.score(kept.gold, kept.predicted).values == scores.values
        assert (scores.examples, scores.words) == (len(kept.gold), corpus[split].n_words)
    again = evaluate(run, corpus, cache_dir=made.cache(name, *inputs), device="cpu")
    assert (again.scores, again.extraction_seconds) == (record.scores["test"], None)
    (path,) = evaluation_files(run.folder)
    assert read_evaluation(run, path) == again
    (file,) = made.folder(name).glob("test.*")
    shown = ok(command("predict", run.folder, file, "--format", "jsonl", "-q")).stdout
    rows = [json.loads(line) for line in shown.splitlines()]
    assert [answer_of(name, row) for row in rows] == kept.predicted
    for row in rows:
        assert ("entities" in row) == (name == "entities")
        assert ("probabilities" in row) == (name != "regression")
        if name in ("classification", "choice"):
            by_answer = row["probabilities"]
            shares = [*by_answer.values()] if name == "classification" else by_answer
            assert sum(shares) == pytest.approx(1, abs=1e-5)
            assert by_answer[row["answer"]] == max(shares)


# Classes and scores -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "packing", "pooling", "layers"),
    [
        (TEXTS, "joint", "cls", "concat_last4"),
        (PAIRS, "joint", "mean", "weighted_all"),
        (PAIRS, "apart", "max", "last"),
    ],
)
def test_pooled_stores_give_the_numbers_of_stores_of_words(
    made, tmp_path, name, packing, pooling, layers
):
    given = {"of": name, "layers": layers, "body": "linear", "sentence_pooling": pooling}
    run, other = (
        made.run("classification", (packing, keep), tmp_path / keep, **given)
        for keep in ("words", "pooled")
    )
    words, pooled = run.record, other.record
    assert [row.train_loss for row in words.history] == [row.train_loss for row in pooled.history]
    assert words.scores == pooled.scores
    assert words.name == pooled.name
    assert words.predictions == pooled.predictions
    corpus, kept = made.corpus(name, "classification"), run.predictions("test")
    sentences = corpus["test"].sentences
    assert [tuple(words) for words in kept.words] == [s.words for s in sentences]
    sizes = [(len(s),) if s.pair is None else (s.pair, len(s) - s.pair) for s in sentences]
    assert kept.texts == sizes
    # A store of pooled vectors serves to evaluate a head that reads no others.
    where = {"cache_dir": made.cache(name, packing, "pooled"), "device": "cpu"}
    again = evaluate(run, corpus, "test", mapping={"pos": "pos", "neg": "neg"}, **where)
    assert (again.scores, again.extraction_seconds) == (words.scores["test"], None)
    if name == TEXTS:  # F1 is of the positive class, also in a part without it
        pairs = zip(corpus["dev"], run.predictions("dev").predicted, strict=True)
        negative = tuple(s for s, answer in pairs if [*s.tags] == [*answer] == ["neg"])
        splits = {"test": dataclasses.replace(corpus["dev"], name="test", sentences=negative)}
        part = dataclasses.replace(corpus, splits=splits)
        assert evaluate(run, part, **where).scores.values["f1"] == 0.0
    with pytest.raises(InputError):
        evaluate(run, made.corpus(TEXTS if name == PAIRS else PAIRS, "classification"), **where)


@pytest.mark.parametrize(
    ("tuning", "given", "trains"),
    [("bitfit", {}, True), ("full", {"freeze_to": 3}, True), ("full", {"freeze_to": 4}, False)],
)
def test_the_pooler_is_trained_with_the_encoder(made, tmp_path, tuning, given, trains):
    corpus = made.corpus(PAIRS, "classification")
    given = {"sentence_pooling": "pooler", "learning_rate": 1e-3} | given
    settings = settings_of(tuning, "classification", **given)
    options = {"task": "classification", "settings": settings, "runs_dir": tmp_path, **FP32}
    run = finetune(corpus, made.source, **options)
    assert run.record.settings["sentence_pooling"] == "pooler"
    kept = load_file(run.folder / "weights.safetensors")
    pooler = {f"states.model.pooler.dense.{name}" for name in ("weight", "bias")}
    bias = {"states.model.pooler.dense.bias"}
    wanted = bias if settings.tuning == "bitfit" else pooler if trains else set()
    assert kept.keys() & pooler == wanted
    before = load_file(made.source.folder / "model.safetensors")["pooler.dense.bias"]
    assert all(not torch.equal(kept[name], before) for name in bias & kept.keys())
    assert_answers_again(run, corpus["test"])


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
    store, where = made.store(TEXTS, *JOINT), {"runs_dir": tmp_path, **FP32}
    wrong = defaults("full", "classification")
    with pytest.raises(InputError, match="'full'"):
        train(store, "last", task="classification", settings=wrong, **where)
    with pytest.raises(InputError, match="none"):
        finetune("sample", made.source, settings=defaults("none"), **where)
    with pytest.raises(InputError, match="keep='words'"):
        made.run("classification", ("joint", "pooled"), tmp_path, body="bilstm")
    for split in ("train", "dev"):
        (tmp_path / f"{split}.tsv").write_text("sentence\tlabel\na\tx\nb\ty\nc\tz\n", "utf-8")
    with pytest.raises(InputError, match="3"):
        finetune(str(tmp_path), made.source, task="classification:f1", **where)


def test_a_later_setting_renames_no_finished_run(made, tmp_path, monkeypatch):
    def again(**given):
        return made.run("classification", ("joint", "pooled"), tmp_path, body="linear", **given)

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
    assert_answers_again(changed, made.corpus(TEXTS)["test"])
    comparison, values = compare_runs([old, changed]), {"none", "balanced"}
    assert {row.label for row in comparison.rows} == {
        f"weighted_all (class_weight={value})" for value in values
    }
    assert {line["setting_class_weight"] for line in comparison_lines(comparison)} == values


def test_pairs_are_predicted_as_lines_and_as_tables(made, tmp_path):
    run = made.run("classification", JOINT, tmp_path, of=PAIRS, body="linear")
    loaded, kept = load(run, device="cpu"), run.predictions("test").predicted
    _, *lines = (made.folder(PAIRS) / "test.tsv").read_text("utf-8").splitlines()
    rows = [line.split("\t")[:2] for line in lines]
    first, *others = map("\t".join, rows)
    read = read_texts(iter([first, " ", *others, ""]), "test", "text", pairs=True)
    found = [*predict_texts(loaded, read)]
    blank = [found.pop(i) for i in (1, -1)]  # in their place, no answer
    assert blank == [([s], {"text": s, "answer": None}) for s in (" ", "")]
    expected = [[*row, *answer] for row, answer in zip(rows, kept, strict=True)]
    assert [cells for cells, _ in found] == expected
    for text in ("one text", "a\tb\tc"):
        with pytest.raises(InputError, match="line 1"):
            list(read_texts(iter([text]), "input", pairs=True))
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


# Multiple choice ----------------------------------------------------------------------------------


def test_both_approaches_learn_with_a_softmax_of_each_example(made, tmp_path):
    stored = {"layers": "embeddings", "learning_rate": 3e-2}
    test, task = made.corpus("choice")["test"], get_task("choice")
    ends = task.items(test)
    for inputs, given in ((JOINT, stored), (TUNED, {})):
        run = made.run("choice", inputs, tmp_path, epochs=12, **given)
        kept, shares = run.predictions("test"), assert_answers_again(run, test)
        for answer, (first, end) in zip(kept.predicted, pairwise(ends), strict=True):
            right = shares[first:end, 1]
            assert right.sum() == pytest.approx(1, abs=1e-5)
            assert answer.index("1") == right.argmax()
        scores = run.record.scores["test"]
        assert (scores.examples, run.record.train_sentences) == (20, 60)
        assert scores.floor == pytest.approx((1 / np.diff(ends)).mean())
        right = [gold == found for gold, found in zip(kept.gold, kept.predicted, strict=True)]
        assert scores.values == {"accuracy": np.mean(right)}
        assert run.record.history[0].train_loss == pytest.approx(np.log(3), abs=0.15)
        assert run.record.scores["dev"].floor < 0.4
        assert run.record.score("dev") > 0.8


def lines_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_comparison_breakdown_and_browser_of_choices(made, tmp_path):
    for seed in (1, 2):
        for inputs in (JOINT, TUNED):
            made.run("choice", inputs, tmp_path, seed=seed)
    runs = {run.name: run for run in find_runs(tmp_path)}
    (comparison,) = compare(runs.values(), everything=True)
    assert comparison.sizes["test"][0] == 20
    run = runs[comparison.rows[0].runs[0].name]
    assert comparison.floors["test", "choice"] == run.record.scores["test"].floor
    assert {(d.units, d.estimate.units) for d in comparison.differences} == {("examples", 20)}
    facets = ("right", "choices", "length")
    broken = [one for one in comparison.breakdowns if one.facet in facets]
    assert [sum(b.gold.values()) for b in broken] == [20] * 6
    assert {name for b in broken if b.facet == "choices" for name in b.gold} <= {"2", "3", "4"}
    text = comparison.texts[0]
    place, words, *answers = text.sentences[0]
    row = lines_of(run.predictions_path(text.name))[place - 1]
    for ((first, stop, number),) in [answers[0], *filter(None, answers[1])]:
        assert " ".join(words[first:stop]) == row["choices"][int(number)]


def test_choices_without_an_answer_are_predicted_as_columns(made, tmp_path):
    run = made.run("choice", JOINT, tmp_path)
    kept, file = lines_of(run.predictions_path("test")), tmp_path / "new.jsonl"
    write_lines(file, [{"ctx": row["context"], "choices": row["choices"]} for row in kept])
    columns = ok(command("predict", run.folder, file, "-q")).stdout.splitlines()
    assert [line.split("\t") for line in columns] == [
        [row["context"], *row["choices"], str(row["predicted"])] for row in kept
    ]


# Spans --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("inputs", "longest"), [(JOINT, {"longest_answer": 2}), (APART, {})])
def test_questions_are_predicted_from_a_file_and_as_they_are_asked(made, tmp_path, inputs, longest):
    run = made.run("spans", inputs, tmp_path / "runs", epochs=8, **longest)
    record = run.record
    for split in ("dev", "test"):
        sentences, kept = made.corpus("spans")[split].sentences, run.predictions(split)
        assert kept.documents == [s.document + 1 for s in sentences]
        answers = json.loads((run.folder / f"{split}.squad.json").read_text("utf-8"))
        assert answers == {
            s.id: answer.partition(":")[2]
            for s, (answer,) in zip(sentences, kept.predicted, strict=True)
        }
    assert record.threshold is not None
    assert record.targets.classes == ("answerable", "unanswerable")
    assert record.settings["longest_answer"] == longest.get("longest_answer", 30)
    assert record.scores["dev"].floor == 0.5
    assert record.scores["dev"].values["f1"] >= 0.5  # the threshold can always refuse all
    test = made.folder("spans") / "test.json"
    given = ("predict", run.name, "--runs-dir", tmp_path / "runs", "-q")
    result = ok(command(*given, test, "--format", "jsonl"))
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert {row["id"]: row["answer"] for row in rows} == answers
    for row in rows:
        assert row["probabilities"].keys() == {"answerable", "unanswerable"}
        assert sum(row["probabilities"].values()) <= 1 + 1e-5
        start = row["answer_start"]
        assert (start is None) == (row["answer"] == "")
        assert start is None or row["context"].startswith(row["answer"], start)
    passage = tmp_path / "passage.txt"
    passage.write_text(rows[0]["context"] + "\n\n", "utf-8")
    asked = [part for row in rows[:2] for part in ("--question", row["question"])]
    result = ok(command(*given, *asked, "--passage", passage))
    lines = [line.split("\t") for line in result.stdout.splitlines()]
    assert lines == [[row["question"], row["answer"] or "(no answer)"] for row in rows[:2]]
    for words in (
        asked,
        ["--passage", passage],
        [*asked, "--passage", "no.txt"],
        [test, *asked, "--passage", passage],
    ):
        result = command(*given, *words)
        assert (result.exit_code, result.stderr.count("\n")) == (1, 1)


@pytest.mark.parametrize("chosen", [None, [3, 0, 9]])
@pytest.mark.parametrize(("names", "packing"), [(["dev"], "joint"), (["train", "dev"], "apart")])
def test_states_on_disk_are_those_in_memory(made, monkeypatch, chosen, names, packing):
    corpus, store = made.corpus("spans"), made.store("spans", packing, "words")
    sentences = [s for name in names for s in corpus[name]]
    numbers = None if chosen is None else np.array(chosen)
    asked = sentences if chosen is None else [sentences[i] for i in chosen]
    last = parse_layers("concat_last4", 4)
    held = stored_inputs(store, names, last, "sequence", CPU, chosen=numbers, sentences=asked)
    whole = stored_inputs(store, names, last, "sequence", CPU, sentences=sentences)
    monkeypatch.setattr(inputs_module, "available_memory", lambda: 100)
    mapped = stored_inputs(store, names, last, "sequence", CPU, chosen=numbers, sentences=asked)
    for ids in ([0], [2, 1], [1, 0, 2]):
        there = np.array(ids) if chosen is None else numbers[ids]
        expected = whole.batch(there)
        assert torch.equal(held.batch(np.array(ids)), expected)
        assert torch.equal(mapped.batch(np.array(ids)), expected)


def test_the_threshold_of_train_and_dev_is_that_of_train(made, tmp_path):
    base = made.run("spans", JOINT, tmp_path)
    both = made.run("spans", JOINT, tmp_path, train_on="train+dev")
    assert both.record.epochs_from == base.name
    assert both.record.threshold == base.record.threshold
    assert [*both.record.scores] == ["test"]


def test_what_learned_no_question_without_an_answer_always_answers(tmp_path, made):
    folder = write_questions(tmp_path / "always", unanswerable=False)
    corpus = load_corpus(folder, targets="spans")
    store = extract(load_corpus(folder, targets=None), made.source, cache_dir=tmp_path, **FP32)
    run = frozen(store, "weighted_all", corpus, "spans", tmp_path / "runs")
    assert run.record.threshold is None
    assert all(answer for (answer,) in run.predictions("test").predicted)
    assert {"no_answer"}.isdisjoint(run.record.scores["test"].values)
    assert confusion.draw(compare([run], figures=["confusion"])[0], "test", None) is None
    record = evaluate(run, made.corpus("spans"), "test", cache_dir=tmp_path, device="cpu")
    assert record.unseen_types == ["unanswerable"]
    assert {"no_answer", "has_answer_f1"} <= {*record.scores.values}


def test_apart_a_passage_is_stored_once_as_the_encoder_reads_it_alone(made, tiny_bert):
    store, plain = made.store("spans", *APART), Plain(tiny_bert)
    for name, split in made.corpus("spans").splits.items():
        texts = [text for s in split for text in (s.words[: s.pair], s.words[s.pair :])]
        vectors, places = store.read(name), store.index(name).places()
        assert vectors.shape[1] == sum(map(len, set(texts)))
        firsts = store.read(name, kind="cls")
        assert firsts.shape[1] == len(set(texts))
        for text, (begin, end) in zip(texts[:6], places.reshape(-1, 2), strict=False):
            expected = plain.word_states(text, 38)
            np.testing.assert_allclose(vectors[:, begin:end], expected, atol=2e-3, rtol=2e-3)
    assert store.manifest.data_bytes < 0.6 * made.store("spans", *JOINT).manifest.data_bytes


def test_rows_are_compared_by_passage_and_shown(made, tmp_path):
    for seed in (1, 2):
        made.run("spans", JOINT, tmp_path, seed=seed)
        made.run("spans", TUNED, tmp_path, seed=seed, epochs=1)
    runs = {run.name: run for run in find_runs(tmp_path)}
    (comparison,) = compare(runs.values(), everything=True)
    assert not [n for n in comparison.remarks if "not tested" in n or "no scores" in n]
    assert {d.estimate.units for d in comparison.differences} == {8}
    (gold, *_) = (one.gold for one in comparison.breakdowns if one.facet == "answer")
    assert gold == {"answerable": 8, "unanswerable": 8}
    # The browser shows question, passage and spans.
    judged, *_ = comparison.texts
    sentences = made.corpus("spans")[judged.name].sentences
    kept = [runs[row.run].predictions(judged.name).predicted for row in judged.rows]
    for number, words, _, answers in judged.sentences:
        sentence = sentences[number - 1]
        cut = sentence.pair
        assert [*words] == [*sentence.words[:cut], "‖", *sentence.words[cut:]]
        for predicted, found in zip(kept, answers, strict=True):
            text = predicted[number - 1][0].partition(":")[2]
            if found and text:
                ((first, stop, _),) = found
                assert " ".join(words[first:stop]) == text
            assert found is not None or text in [tag.partition(":")[2] for tag in sentence.tags]
    assert judged.sentences


@pytest.mark.parametrize("packing", ["joint", "apart"])
def test_a_passage_of_any_length_takes_the_memory_of_a_short_one(
    made, tmp_path, monkeypatch, packing
):
    """Extracted and answered by one softmax over its words, a few windows at a time."""
    largest: list[int] = []

    def watched(*args, **how):
        encoder = load_frozen(*args, **how)
        encoder.model.register_forward_pre_hook(
            lambda module, args, named: largest.append(named["input_ids"].numel()), with_kwargs=True
        )
        return encoder

    monkeypatch.setattr(extraction, "load_frozen", watched)
    short = made.corpus("spans")["dev"].sentences[0]
    passage = short.words[short.pair :]
    words = (*short.words[: short.pair], *(passage * (20_000 // len(passage))))
    question = Sentence(words, pair=short.pair)
    corpus = Corpus("long", {"train": Split("train", (question,))}, source="long")
    options = {"token_budget": 2048, "layers": [1], "packing": packing} | FP32
    store = extract(corpus, made.source, cache_dir=tmp_path, **options)
    assert store.read("train").shape[1] == len(question.words)
    assert max(largest) <= 2048
    assert len(largest) > 10
    largest.clear()
    encoder = watched(made.source, CPU, dtype=torch.float32)
    alignment = align([question], encoder.wordpieces, positions=encoder.positions, packing=packing)
    settings = settings_of("full", "spans")
    model = make_model(encoder, TargetSummary(("answerable", "unanswerable")), settings).eval()
    inputs = PieceInputs(alignment, encoder, CPU, reads=settings.reads)
    compute = Backend(find_device("cpu"))
    (answers,) = predict(model, inputs, np.arange(2), compute, TokenBudget(2048))
    ((first, last, _),) = answers.tolist()
    assert question.pair < first <= last <= len(question.words)
    assert max(largest) <= 2048
    assert len(largest) > 10


# Without an answer: neither learned nor scored, always predicted ----------------------------------

ANSWERS = {
    "classification": lambda i: {"label": ["pos", "neg"][i % 2]},
    "multilabel": lambda i: {"labels": [["a"], [], ["a", "b"], ["b", "c"]][i % 4]},
    "regression": lambda i: {"score": i % 5 / 2},
    "choice": lambda i: {"endings": ["it was", "the end"], "label": i % 2},
    "spans": lambda i: {"answers": [{"text": "was", "answer_start": 4}] if i % 3 else []},
}
TEXT_OF = {
    "choice": lambda text: {"context": text},
    "spans": lambda text: {"question": text, "context": "the was film"},
}


def example_rows(task: str, n: int, unlabelled=()) -> list[dict]:
    random = np.random.default_rng(n)
    rows = []
    for i in range(n):
        text = " ".join(random.choice(WORDS, 3 + i % 4))
        row = TEXT_OF.get(task, lambda text: {"text": text})(text) | ANSWERS[task](i)
        empty = {key: None for key in ("label", "labels", "score", "answers") if key in row}
        rows.append(row | (empty if i in unlabelled else {}))
    return rows


def write(folder, **parts):
    folder.mkdir()
    for name, rows in parts.items():
        write_lines(folder / f"{name}.jsonl", rows)
    return folder


BALANCED = {"class_weight": "balanced"}


@pytest.mark.parametrize(
    ("task", "way", "given"),
    [
        *((task, "frozen", {}) for task in ANSWERS),
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
        parts = {"train": example_rows(task, 20, lacking), "dev": example_rows(task, 20, lacking)}
        parts = {split: [rows[i] for i in kept] for split, rows in parts.items()}
        parts["test"] = example_rows(task, 4, range(4))  # as of a test set with hidden answers
        corpus = load_corpus(write(tmp_path / name, **parts), targets=get_task(task).targets)
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
        lines = lines_of(run.predictions_path(split))
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
    run = frozen(store, "last", corpus, task, tmp_path / "runs", lstm_layers=1, **STEPS, **given)
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
    parts = {name: example_rows("classification", 12) for name in ("train", "dev")}
    test = example_rows("classification", 6, unlabelled=range(6))
    corpus = load_corpus(write(tmp_path / "texts", **parts, test=test), targets="classes")
    settings = defaults("none", "classification")
    check_trainable(corpus, settings)
    with pytest.raises(InputError, match="has no answers"):
        check_trainable(corpus, settings.but(train_on="train+dev"))
