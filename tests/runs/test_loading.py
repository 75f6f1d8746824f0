"""A finished run loaded again gives exactly what it gave, whatever it was; or says why not."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from featbert.data.corpus import Corpus
from featbert.data.load import load_corpus
from featbert.errors import FeatbertError, InputError, MissingError
from featbert.features.store import FeatureStore
from featbert.runs.loading import load_tagger
from featbert.runs.run import Run
from featbert.runs.usable import check_usable, find_run
from tests.runs.finished_runs import learned_run, write_corpus


def corpus_of(run: Run) -> Corpus:
    return load_corpus(run.record.signature.source, **run.record.reading)


def assert_gives_what_it_gave(run: Run, folder: Path) -> None:
    """Tags of dev and test equal the run's files; vectors equal its store's, to the bit."""
    loaded = load_tagger(run, device="cpu")
    assert not loaded.tagger.training
    corpus = corpus_of(run)
    for split in ("dev", "test"):
        kept = run.predictions(split)
        assert [tuple(words) for words in kept.words] == [s.words for s in corpus[split]]
        inputs = loaded.inputs(corpus[split].sentences)
        assert loaded.tags(inputs) == kept.predicted
        tags, probabilities = loaded.probable_tags(inputs)
        assert tags == kept.predicted
        assert [len(row) for row in probabilities] == [len(row) for row in tags]
        if run.record.tuning == "none":
            (path,) = (folder / "cache").glob("*.h5")
            store = FeatureStore(path)
            assert loaded.tags(loaded.stored(store, split)) == kept.predicted
            expected = torch.from_numpy(store.read(split, loaded.usable.combination.indices))
            assert inputs.states.dtype == expected.dtype
            assert torch.equal(inputs.states, expected)


FEATURES = [
    {"context": "sentence", "casing": "original", "tag_scheme": "bio", "layers": "weighted_all"},
    {"context": "sentence", "casing": "truecased", "tag_scheme": "iob1", "pooling": "mean"},
    {"context": "document", "casing": "original", "tag_scheme": "iob1", "layers": "concat:2,0"},
    {"context": "document", "casing": "truecased", "tag_scheme": "bio", "dtype": "float32"},
    {"precision": "bf16", "pooling": "last"},
]
FINETUNE = [
    {"context": "sentence", "casing": "original", "tag_scheme": "bio"},
    {"context": "sentence", "casing": "truecased", "tag_scheme": "iob1", "pooling": "mean"},
    {"context": "document", "casing": "original", "tag_scheme": "iob1", "precision": "bf16"},
    {"context": "document", "casing": "truecased", "tag_scheme": "bio", "pooling": "last"},
]


@pytest.mark.parametrize(
    ("approach", "how"),
    [*(("features", how) for how in FEATURES), *(("finetune", how) for how in FINETUNE)],
    ids=lambda value: value if isinstance(value, str) else " ".join(value.values()),
)
def test_a_run_gives_what_it_gave(
    tmp_path: Path, small_bert: Path, approach: str, how: dict[str, str]
) -> None:
    run = learned_run(approach, tmp_path, small_bert, write_corpus(tmp_path / "mine"), **how)
    assert_gives_what_it_gave(run, tmp_path)


def test_several_blocks_are_those_of_the_store(
    tmp_path: Path, small_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    monkeypatch.setattr("featbert.features.plan.BLOCK_WORDS", 11)
    run = learned_run("features", tmp_path, small_bert, write_corpus(tmp_path / "mine"))
    assert_gives_what_it_gave(run, tmp_path)


@pytest.mark.parametrize("approach", ["features", "finetune"])
def test_probabilities_are_those_of_each_sentence_alone(
    both: dict[str, Run], approach: str
) -> None:
    """The oracle: the tagger called by hand, a sentence at a time, and numpy's softmax."""
    loaded = load_tagger(both[approach], device="cpu")
    sentences = corpus_of(both[approach])["test"].sentences
    _, found = loaded.probable_tags(loaded.inputs(sentences))
    for sentence, row in zip(sentences, found, strict=True):
        inputs = loaded.inputs([sentence])
        with torch.no_grad():
            logits = loaded.tagger(inputs.batch(np.array([0]))).double().numpy()
        shares = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
        np.testing.assert_allclose(row, shares.max(1), atol=1e-4)


def refusal(run: Run, kind: type[FeatbertError] = InputError, **options) -> str:
    with pytest.raises(kind) as caught:
        load_tagger(run, device="cpu", **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_copy_itself_loads(run: Run) -> None:
    loaded = load_tagger(run, device="cpu")
    inputs = loaded.inputs(corpus_of(run)["test"].sentences)
    assert loaded.tags(inputs) == run.predictions("test").predicted


def test_missing_weights(run: Run) -> None:
    (run.folder / "weights.safetensors").unlink()
    assert "weights.safetensors does not exist" in refusal(run, MissingError)


@pytest.mark.parametrize("keep", [0, 5, 400, -1])
def test_truncated_weights(run: Run, keep: int) -> None:
    path = run.folder / "weights.safetensors"
    path.write_bytes(path.read_bytes()[:keep])
    assert f"intact weights expected in {path}" in refusal(run)


def test_weights_of_another_shape(run: Run) -> None:
    path = run.folder / "weights.safetensors"
    weights = load_file(path)
    save_file(weights | {"classifier.bias": weights["classifier.bias"][:-1].clone()}, path)
    n = len(run.record.labels)
    assert f"classifier.bias of shape ({n},) expected in {path}, found shape ({n - 1},)" in refusal(
        run
    )
    del weights["classifier.bias"]
    save_file(weights, path)
    assert f"classifier.bias of shape ({n},) expected in {path}, found none" in refusal(run)


def test_weights_that_were_not_scored(run: Run) -> None:
    """A flipped bit, or another seed's weights: readable, and not what the record is about."""
    path = run.folder / "weights.safetensors"
    data = bytearray(path.read_bytes())
    data[-100] ^= 1
    path.write_bytes(bytes(data))
    assert f"the weights that {run.name} was scored with expected" in refusal(run)


def test_a_changed_encoder(run: Run, tmp_path: Path) -> None:
    config = tmp_path / "small-bert" / "config.json"
    text = config.read_text("utf-8")
    config.write_text(text + " ", "utf-8")
    told = refusal(run)
    assert "with config and tokenizer" in told
    assert run.record.signature.encoder_files[:12] in told
    config.write_text(text, "utf-8")
    weights = tmp_path / "small-bert" / "model.safetensors"
    tensors = load_file(weights)
    tensors["embeddings.LayerNorm.bias"] += 1
    save_file(tensors, weights)
    told = refusal(run)
    assert f"small-bert with weights {run.record.signature.encoder_weights[:12]} expected" in told
    assert str(tmp_path / "small-bert") in told


def test_an_encoder_that_lies_elsewhere_now(run: Run, tmp_path: Path) -> None:
    there = (tmp_path / "small-bert").rename(tmp_path / "moved")
    assert "--model" in refusal(run, MissingError)
    loaded = load_tagger(run, device="cpu", model=str(there))
    inputs = loaded.inputs(corpus_of(run)["test"].sentences)
    assert loaded.tags(inputs) == run.predictions("test").predicted


def test_a_training_text_that_is_gone_or_changed(run: Run, tmp_path: Path) -> None:
    """Its words say how capitals are read; its tags play no part."""
    path = tmp_path / "mine" / "train.conll"
    text = path.read_text("utf-8")
    path.write_text(text.replace("B-PER", "B-LOC"), "utf-8")
    load_tagger(run, device="cpu")
    path.write_text(text.replace("Chelsea", "CHELSEA"), "utf-8")
    assert "it holds other words now" in refusal(run)
    path.unlink()
    assert "it holds no train split now" in refusal(run)
    shutil.rmtree(tmp_path / "mine")
    assert "does not exist" in refusal(run, MissingError)


def with_record(run: Run, **changes) -> Run:
    return Run(run.folder, dataclasses.replace(run.record, **changes))


def test_records_that_say_too_little_or_too_much(run: Run) -> None:
    assert "train the run again" in refusal(with_record(run, labels=[]))
    settings = run.record.settings | {"dropout": "much"}
    assert "settings of" in refusal(with_record(run, settings=settings))
    unknown = run.record.settings | {"what_came_later": 1}
    load_tagger(with_record(run, settings=unknown), device="cpu")
    nowhere = dataclasses.replace(run.record.signature, source="")
    assert "was not trained on files" in refusal(with_record(run, signature=nowhere))


def test_fp16_needs_a_gpu(run: Run) -> None:
    fp16 = dataclasses.replace(run.record.signature, encoder_precision="fp16")
    assert "a GPU expected" in refusal(with_record(run, signature=fp16))


def test_layers_that_are_not_those_of_their_name(both: dict[str, Run]) -> None:
    damaged = with_record(both["features"], layer_indices=[0, 2])
    assert "the record is damaged" in refusal(damaged)


def test_numbers_that_are_not_finite(run: Run) -> None:
    loaded = load_tagger(run, device="cpu")
    with torch.no_grad():
        loaded.tagger.classifier.bias[0] = float("nan")
    inputs = loaded.inputs(corpus_of(run)["test"].sentences)
    with pytest.raises(InputError, match="finite probabilities expected"):
        loaded.probable_tags(inputs)


def test_hidden_states_that_are_not_finite(both: dict[str, Run]) -> None:
    loaded = load_tagger(both["features"], device="cpu")
    embeddings = loaded.encoder.model.embeddings.word_embeddings.weight
    sentences = corpus_of(both["features"])["test"].sentences
    pieces, *_ = loaded.encoder.wordpieces.pieces([["lazy"]])
    with torch.no_grad():
        embeddings[pieces[0]] = float("inf")
    with pytest.raises(InputError, match="'Smith jumps over the lazy dog'"):
        loaded.inputs(sentences)


def test_a_run_is_found_by_folder_or_name(both: dict[str, Run]) -> None:
    run = both["features"]
    assert find_run(run.name, run.folder.parent).record == run.record
    assert find_run(str(run.folder), "elsewhere").record == run.record
    with pytest.raises(MissingError, match="did you mean"):
        find_run(run.name[:-1], run.folder.parent)
    with pytest.raises(MissingError, match="is a folder of 2 runs"):
        find_run(str(run.folder.parent), "elsewhere")
    with pytest.raises(MissingError, match="a finished run expected"):
        find_run("", run.folder.parent)


def test_what_a_run_was_taught(both: dict[str, Run]) -> None:
    assert check_usable(both["finetune"]).entity_types == ("LOC", "MISC", "ORG", "PER")
