"""Learning from a part of train: the very same sentences for both approaches, whole documents."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from featbert.data.corpus import Corpus
from featbert.data.load import load_corpus
from featbert.data.share import drawn_part
from featbert.encoders.device import find_device
from featbert.encoders.source import find_encoder
from featbert.features.extraction import extract
from featbert.features.store import FeatureStore
from featbert.runs.identity import CorpusError, run_name
from featbert.runs.loading import load_tagger
from featbert.runs.planning import (
    PlannedRun,
    RunOptions,
    plan_features_run,
    plan_finetune_run,
)
from featbert.runs.preparing import Prepared, prepare_features, prepare_finetune
from featbert.runs.record import RunRecord
from featbert.runs.running import finetune, train
from featbert.training.sampler import epoch_batches
from featbert.training.settings import TrainingSettings
from tests.workspace import Workspace, error_of, write_corpus

SETTINGS = TrainingSettings(
    epochs=1, batch_size=4, learning_rate=1e-3, dropout=0.0, lstm_size=4, train_share=0.4
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """60 training sentences in 20 documents."""
    return load_corpus(str(write_corpus(tmp_path_factory.mktemp("data") / "ten", repeat=10)))


@pytest.fixture(scope="module", params=["sentence", "document"])
def store(
    request: pytest.FixtureRequest,
    corpus: Corpus,
    small_bert: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> FeatureStore:
    return extract(
        corpus,
        str(small_bert),
        cache_dir=tmp_path_factory.mktemp("cache"),
        context=request.param,
        precision="fp32",
        dtype="float32",
        device="cpu",
    )


def options(folder: Path, seed: int, settings: TrainingSettings = SETTINGS) -> RunOptions:
    return RunOptions(seed, settings, folder, find_device("cpu"), "fp32")


def prepared(
    store: FeatureStore, corpus: Corpus, model: Path, folder: Path, seed: int
) -> tuple[Prepared, Prepared]:
    """What both approaches would train on."""
    how = options(folder, seed)
    source = find_encoder(str(model))
    frozen = plan_features_run(store.manifest, store.path, corpus, "last", how)
    m = store.manifest
    tuned = plan_finetune_run(source, corpus, how, context=m.context, pooling=m.pooling)
    return prepare_features(frozen, store, corpus), prepare_finetune(tuned, source, corpus)


@pytest.mark.parametrize("seed", [1, 2])
def test_both_approaches_learn_from_the_same_sentences(
    store, corpus, small_bert, tmp_path, seed
) -> None:
    features, finetuned = prepared(store, corpus, small_bert, tmp_path, seed)
    expected = drawn_part(corpus["train"], 0.4, seed=seed)
    assert 24 <= len(expected) < 27
    assert features.train.sentences == finetuned.train.sentences == expected.sentences
    assert features.labels == finetuned.labels
    ours, theirs = features.inputs["train"], finetuned.inputs["train"]
    assert ours.offsets.tolist() == theirs.offsets.tolist()
    assert ours.offsets[-1] == expected.n_words
    numbers = np.array([s.document for s in expected])
    assert len({*numbers.tolist()}) * 3 == len(expected)  # every document whole
    for documents in (None, numbers):
        drawn = [
            epoch_batches(np.diff(one.offsets), 4, seed=seed, epoch=2, documents=documents)
            for one in (ours, theirs)
        ]
        assert [b.tolist() for b in drawn[0]] == [b.tolist() for b in drawn[1]]
    # Dev, which chooses the epoch, and test stay whole.
    for name in ("dev", "test"):
        assert features.inputs[name].offsets[-1] == corpus[name].n_words


def test_the_states_of_a_part_are_those_of_the_whole_text(
    store, corpus, small_bert, tmp_path
) -> None:
    """A document that is drawn is whole, so that its words see what they see in the store."""
    features, finetuned = prepared(store, corpus, small_bert, tmp_path, 1)
    encoder = finetuned.tagger.eval().encoder  # type: ignore[union-attr]
    ids = np.arange(len(features.train))[::-1].copy()
    with torch.inference_mode():
        states = encoder(finetuned.inputs["train"].batch(ids))
    held = features.inputs["train"].batch(ids).states[0]
    torch.testing.assert_close(held, states, atol=2e-5, rtol=1e-4)


def test_another_seed_draws_another_part(store, corpus, small_bert, tmp_path) -> None:
    parts = [prepared(store, corpus, small_bert, tmp_path, seed)[0].train for seed in (1, 2)]
    assert parts[0].text_fingerprint != parts[1].text_fingerprint


@pytest.fixture(scope="module")
def records(
    corpus: Corpus, small_bert: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, RunRecord]:
    folder = tmp_path_factory.mktemp("runs")
    store = extract(
        corpus, str(small_bert), cache_dir=folder, precision="fp32", dtype="float32", device="cpu"
    )
    where = {"settings": SETTINGS, "runs_dir": folder, "device": "cpu", "precision": "fp32"}
    return {
        "features": train(store, "last", corpus=corpus, **where).record,
        "finetune": finetune(corpus, str(small_bert), **where).record,
    }


@pytest.mark.parametrize("approach", ["features", "finetune"])
def test_the_record_says_what_was_learned_from(records, corpus, approach) -> None:
    record = records[approach]
    part = drawn_part(corpus["train"], 0.4, seed=1)
    assert (record.train_sentences, record.train_words) == (len(part), part.n_words)
    assert record.settings["train_share"] == 0.4
    # The signature identifies the whole text, of which the part can be drawn again.
    assert record.signature.splits["train"].text == corpus["train"].text_fingerprint


def test_a_run_on_all_of_train_keeps_its_name(corpus, small_bert, tmp_path) -> None:
    whole = dataclasses.replace(SETTINGS, train_share=1.0)
    source = find_encoder(str(small_bert))

    def plan(settings: TrainingSettings) -> PlannedRun:
        how = options(tmp_path, 1, settings)
        return plan_finetune_run(source, corpus, how, context="sentence", pooling="first")

    before = {name: value for name, value in plan(whole).settings.items() if name != "train_share"}
    expected = run_name(plan(whole).signature, "finetune", None, before, 1)
    assert plan(whole).folder.name == expected
    assert plan(SETTINGS).folder.name != expected


def test_a_type_outside_of_the_part_is_not_learned_and_counts_as_missed(
    small_bert, tmp_path
) -> None:
    """One document of three has entities; the seed that leaves it out teaches none."""
    folder = tmp_path / "rare"
    folder.mkdir()
    documents = ["Jordan B-PER\nis O\n", "no O\nentity O\n", "none O\nhere O\n"]
    text = "".join(f"-DOCSTART- O\n\n{d}\n" for d in documents)
    for name in ("train", "dev", "test"):
        (folder / f"{name}.conll").write_text(text, "utf-8")
    corpus = load_corpus(str(folder))
    settings = dataclasses.replace(SETTINGS, train_share=0.3)
    seed = next(
        s
        for s in range(20)
        if drawn_part(corpus["train"], 0.3, seed=s).sentences[0].words[0] != "Jordan"
    )
    run = finetune(
        corpus,
        str(small_bert),
        seed=seed,
        settings=settings,
        runs_dir=tmp_path,
        device="cpu",
        precision="fp32",
    )
    assert run.record.labels == ["O"]
    (person,) = run.record.scores["test"].by_class.values()
    assert (person["gold"], person["correct"], run.record.score("test")) == (1, 0, 0.0)
    loaded = load_tagger(run, device="cpu")
    assert loaded.tags(loaded.inputs(corpus["test"].sentences)) == [["O", "O"]] * 3


def test_one_document_cannot_be_parted(small_bert, tmp_path) -> None:
    folder = tmp_path / "one"
    folder.mkdir()
    for name in ("train", "dev"):
        (folder / f"{name}.conll").write_text("-DOCSTART- O\n\na O\n\nb O\n", "utf-8")
    corpus = load_corpus(str(folder))
    source = find_encoder(str(small_bert))
    with pytest.raises(CorpusError, match=r"share of 0.4 from, .*train.conll is one document;"):
        plan_finetune_run(source, corpus, options(tmp_path, 1), context="sentence", pooling="first")


def test_the_commands_take_a_share(workspace: Workspace) -> None:
    assert workspace.extract("--layers", "last").exit_code == 0
    for result in (
        workspace.train("--layers", "last", "--train-share", 0.5),
        workspace.finetune("--train-share", 0.5),
    ):
        assert result.exit_code == 0, result.output
        assert "50% of train  seed 1" in result.stdout
    shown = json.loads(workspace.compare("--format", "json").stdout)
    assert [row["settings"]["train_share"] for row in shown["rows"]] == [0.5, 0.5]
    told = error_of(workspace.finetune("--train-share", 50))
    assert "train_share above 0 and at most 1 expected, found 50" in told
    told = error_of(workspace.finetune("--train-share", 0.5, "--train-on", "train+dev"))
    assert "train_share of 1 expected with train_on train+dev" in told
