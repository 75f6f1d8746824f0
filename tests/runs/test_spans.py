"""Spans end to end: frozen and tuned rows, windows, the threshold, loaded runs."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from featbert.api import extract
from featbert.data.corpus import Corpus, Sentence, Split
from featbert.data.load import load_corpus
from featbert.encoders.alignment import align
from featbert.encoders.batching import TokenBudget
from featbert.encoders.device import find_device
from featbert.encoders.layers import parse_layers
from featbert.encoders.loading import load_encoder, load_frozen
from featbert.encoders.source import find_encoder
from featbert.features import extraction
from featbert.inference.evaluate import evaluate, read_evaluation
from featbert.report.figures.confusion import confusion
from featbert.runs.folder import evaluation_files
from featbert.runs.run import Run, find_runs
from featbert.tasks.base import TargetSummary
from featbert.training import inputs as inputs_module
from featbert.training.assembly import make_model
from featbert.training.inputs import PieceInputs, stored_inputs
from featbert.training.loop import Backend, predict
from tests.analysis.records import compare
from tests.features.support import Plain
from tests.runs.questions import write_questions
from tests.runs.rows import CPU, FP32, assert_answers_again, frozen, settings_of, tuned
from tests.tiny_encoders import FAMILIES
from tests.workspace import command, ok


@pytest.fixture(scope="module")
def made(tmp_path_factory, tiny_bert):
    root = tmp_path_factory.mktemp("spans")
    folder = write_questions(root / "questions")
    corpus = load_corpus(folder, targets="spans")
    source = find_encoder(str(tiny_bert))
    text, options = load_corpus(folder, targets=None), {"cache_dir": root / "cache"} | FP32
    stores = {way: extract(text, source, packing=way, **options) for way in ("joint", "apart")}
    return {"folder": folder, "corpus": corpus, "source": source, **stores}


def trained(made, folder: Path, *, corpus=None, packing="joint", **given) -> Run:
    text = corpus or made["corpus"]
    return frozen(made[packing], "weighted_all", text, "spans", folder, **given)


def full(made, folder: Path, **given) -> Run:
    return tuned(made["source"], made["corpus"], "spans", folder, **given)


ROWS = {
    "bilstm": lambda made, folder: trained(made, folder, epochs=8),
    "linear": lambda made, folder: trained(made, folder, body="linear", longest_answer=2),
    "tuned": lambda made, folder: full(made, folder, learning_rate=1e-3),
    "tuned-bilstm": lambda made, folder: full(made, folder, body="bilstm", epochs=1),
    "apart-linear": lambda made, folder: trained(made, folder, packing="apart", body="linear"),
    "apart-tuned": lambda made, folder: full(made, folder, packing="apart"),
}


@pytest.mark.parametrize("row", ROWS)
def test_a_loaded_run_answers_as_it_did(made, tmp_path, row):
    run = ROWS[row](made, tmp_path / "runs")
    corpus, record = made["corpus"], run.record
    for split in ("dev", "test"):
        sentences, kept = corpus[split].sentences, run.predictions(split)
        assert_answers_again(run, corpus[split])
        assert kept.gold == [list(s.tags) for s in sentences]
        assert kept.documents == [s.document + 1 for s in sentences]
        assert run.task.score(kept.gold, kept.predicted).values == record.scores[split].values
        given = json.loads((run.folder / f"{split}.squad.json").read_text("utf-8"))
        assert given == {
            s.id: answer.partition(":")[2]
            for s, (answer,) in zip(sentences, kept.predicted, strict=True)
        }
    assert record.threshold is not None
    assert record.targets.classes == ("answerable", "unanswerable")
    assert record.settings["longest_answer"] == (2 if row == "linear" else 30)
    assert record.scores["dev"].floor == 0.5
    assert record.scores["dev"].values["f1"] >= 0.5  # the threshold can always refuse all
    best = record.history[record.best_epoch - 1].dev
    assert best == record.scores["dev"].values
    evaluated = evaluate(run, corpus, "test", cache_dir=tmp_path / "cache", device="cpu")
    assert evaluated.scores.values == record.scores["test"].values
    (path,) = evaluation_files(run.folder)
    assert read_evaluation(run, path) == evaluated


@pytest.mark.parametrize(
    ("family", "packing", "pooling"),
    [
        *((family, "joint", "mean") for family in FAMILIES),
        *(("bert", "joint", "first"), ("qwen2", "joint", "last")),
        *((family, "apart", "mean") for family in ("bert", "llama")),
    ],
)
def test_sequences_of_every_family_are_those_of_the_store(
    made, encoder_folder, tmp_path, family, packing, pooling
):
    """The keystone: first pieces and words of stores and of tuned encoders, in windows too."""
    source = find_encoder(str(encoder_folder(family)))
    dev = made["corpus"]["dev"]
    split = dataclasses.replace(dev, sentences=dev.sentences[:4])
    corpus = dataclasses.replace(made["corpus"], splits={"dev": split})
    options = {"cache_dir": tmp_path, "pooling": pooling, "store_dtype": "float32", **FP32}
    store = extract(corpus, source, packing=packing, **options)
    encoder = load_encoder(source, pooling=pooling)
    alignment = align(
        split.sentences, encoder.wordpieces, positions=encoder.positions, packing=packing
    )
    assert alignment.counts["windowed_sentences"] >= 1
    pieces = PieceInputs(alignment, encoder, CPU, reads="sequence")
    last = parse_layers("last", encoder.num_layers)
    vectors = stored_inputs(store, ["dev"], last, "sequence", CPU, sentences=split.sentences)
    ids = np.array([2, 3, 0])
    with torch.inference_mode():
        found = encoder(pieces.batch(ids))
    torch.testing.assert_close(vectors.batch(ids)[0], found, atol=2e-5, rtol=1e-4)
    lengths = [[1 + s.pair, len(s) - s.pair] for s in (split.sentences[i] for i in ids)]
    assert vectors.layout(ids).lengths.tolist() == pieces.layout(ids).lengths.tolist() == lengths


@pytest.mark.parametrize("chosen", [None, [3, 0, 9]])
@pytest.mark.parametrize(("names", "packing"), [(["dev"], "joint"), (["train", "dev"], "apart")])
def test_states_on_disk_are_those_in_memory(made, monkeypatch, chosen, names, packing):
    corpus, store = made["corpus"], made[packing]
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
    base = trained(made, tmp_path)
    both = trained(made, tmp_path, train_on="train+dev")
    assert both.record.epochs_from == base.name
    assert both.record.threshold == base.record.threshold
    assert [*both.record.scores] == ["test"]


def test_what_learned_no_question_without_an_answer_always_answers(tmp_path, made):
    folder = write_questions(tmp_path / "always", unanswerable=False)
    corpus = load_corpus(folder, targets="spans")
    store = extract(load_corpus(folder, targets=None), made["source"], cache_dir=tmp_path, **FP32)
    run = trained({"joint": store}, tmp_path / "runs", corpus=corpus)
    assert run.record.threshold is None
    assert all(answer for (answer,) in run.predictions("test").predicted)
    assert {"no_answer"}.isdisjoint(run.record.scores["test"].values)
    assert confusion.draw(compare([run], figures=["confusion"])[0], "test", None) is None
    record = evaluate(run, made["corpus"], "test", cache_dir=tmp_path, device="cpu")
    assert record.unseen_types == ["unanswerable"]
    assert {"no_answer", "has_answer_f1"} <= {*record.scores.values}


def test_apart_a_passage_is_stored_once_as_the_encoder_reads_it_alone(made, tiny_bert):
    store, plain = made["apart"], Plain(tiny_bert)
    for name, split in made["corpus"].splits.items():
        texts = [text for s in split for text in (s.words[: s.pair], s.words[s.pair :])]
        vectors, places = store.read(name), store.index(name).places()
        assert vectors.shape[1] == sum(map(len, set(texts)))
        firsts = store.read(name, kind="cls")
        assert firsts.shape[1] == len(set(texts))
        for text, (begin, end) in zip(texts[:6], places.reshape(-1, 2), strict=False):
            expected = plain.word_states(text, 38)
            np.testing.assert_allclose(vectors[:, begin:end], expected, atol=2e-3, rtol=2e-3)
    assert store.manifest.data_bytes < 0.6 * made["joint"].manifest.data_bytes


def test_rows_are_compared_by_passage_and_shown(made, tmp_path):
    for seed in (1, 2):
        trained(made, tmp_path, seed=seed)
        full(made, tmp_path, seed=seed, epochs=1)
    runs = {run.name: run for run in find_runs(tmp_path)}
    (comparison,) = compare(runs.values(), everything=True)
    assert not [n for n in comparison.remarks if "not tested" in n or "no scores" in n]
    assert {d.estimate.units for d in comparison.differences} == {8}
    (gold, *_) = (one.gold for one in comparison.breakdowns if one.facet == "answer")
    assert gold == {"answerable": 8, "unanswerable": 8}
    # The browser shows question, passage and spans.
    judged, *_ = comparison.texts
    sentences = made["corpus"][judged.name].sentences
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
def test_questions_are_predicted_from_a_file_and_as_they_are_asked(made, tmp_path, packing):
    run = trained(made, tmp_path / "runs", epochs=8, packing=packing)
    test = made["folder"] / "test.json"
    given = ("predict", run.name, "--runs-dir", tmp_path / "runs", "-q")
    result = ok(command(*given, test, "--format", "jsonl"))
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    kept = json.loads((run.folder / "test.squad.json").read_text("utf-8"))
    assert {row["id"]: row["answer"] for row in rows} == kept
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
    short = made["corpus"]["dev"].sentences[0]
    passage = short.words[short.pair :]
    words = (*short.words[: short.pair], *(passage * (20_000 // len(passage))))
    question = Sentence(words, pair=short.pair)
    corpus = Corpus("long", {"train": Split("train", (question,))}, source="long")
    options = {"token_budget": 2048, "layers": [1], "packing": packing} | FP32
    store = extract(corpus, made["source"], cache_dir=tmp_path, **options)
    assert store.read("train").shape[1] == len(question.words)
    assert max(largest) <= 2048
    assert len(largest) > 10
    largest.clear()
    encoder = watched(made["source"], CPU, dtype=torch.float32)
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
