"""A finished run loaded again gives exactly what it gave, whatever it was; or is refused."""

import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from featbert.api import load
from featbert.errors import FeatbertError, InputError, MissingError
from featbert.features.store import FeatureStore
from featbert.runs.run import Run, check_usable, find_run
from tests.runs.finished_runs import corpus_of, learned_run, write_corpus

READINGS = [
    "none casing=truecased tag_scheme=iob1 pooling=mean layers=weighted_all",
    "none context=document tag_scheme=iob1 layers=concat:2,0",
    "none context=document casing=truecased store_dtype=float32",
    "none precision=bf16 pooling=last",
    "full casing=truecased tag_scheme=iob1 pooling=mean",
    "full context=document tag_scheme=iob1 precision=bf16",
    "full context=document casing=truecased pooling=last",
]


@pytest.mark.parametrize("reading", READINGS)
def test_a_run_gives_what_it_gave(tmp_path, small_bert, monkeypatch, reading):
    """Answers of dev and test, and vectors of a store to the bit; in several blocks, too."""
    tuning, *options = reading.split()
    how = dict(option.split("=") for option in options)
    if "store_dtype" in how:
        monkeypatch.setattr("featbert.features.plan.BLOCK_WORDS", 11)
    run = learned_run(tuning, tmp_path, small_bert, write_corpus(tmp_path / "mine"), **how)
    loaded = load(run, device="cpu")
    assert not loaded.model.training
    corpus = corpus_of(run)
    for split in ("dev", "test"):
        kept = run.predictions(split)
        assert [tuple(words) for words in kept.words] == [s.words for s in corpus[split]]
        inputs = loaded.inputs(corpus[split].sentences)
        assert loaded.answers(inputs, corpus[split]) == kept.predicted
        tags, shares, _ = loaded.shares(inputs, corpus[split])
        assert tags == kept.predicted
        assert len(shares) == corpus[split].n_words
        if run.record.tuning == "none":
            (path,) = (tmp_path / "cache").glob("*.h5")
            stored, seconds = loaded.split_inputs(corpus, corpus[split], tmp_path / "cache")
            assert seconds is None
            assert loaded.answers(stored, corpus[split]) == kept.predicted
            vectors = FeatureStore(path).read(split, loaded.combination.indices)
            assert inputs.states.dtype == torch.from_numpy(vectors).dtype
            assert torch.equal(inputs.states, torch.from_numpy(vectors))


def refusal(run: Run, kind: type[FeatbertError] = InputError) -> str:
    with pytest.raises(kind) as caught:
        load(run, device="cpu")
    return str(caught.value)


@pytest.mark.parametrize("damage", ["gone", "cut", "last byte", "shape", "none"])
def test_weights_that_are_not_those_that_were_scored(run, damage):
    """The last byte: another value, or another seed's weights, are readable but not the run's."""
    path = run.folder / "weights.safetensors"
    data, weights = path.read_bytes(), load_file(path)
    name = max(n for n in weights if n.startswith("output."))
    if damage == "gone":
        path.unlink()
    elif damage == "cut":
        path.write_bytes(data[:400])
    elif damage == "last byte":
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    elif damage == "shape":
        save_file(weights | {name: weights[name][:-1].clone()}, path)
    else:
        del weights[name]
        save_file(weights, path)
    assert str(path) in refusal(run, MissingError if damage == "gone" else InputError)


def test_a_changed_encoder(run, tmp_path):
    config = tmp_path / "small-bert" / "config.json"
    text = config.read_text("utf-8")
    config.write_text(text + " ", "utf-8")
    assert run.record.signature.encoder_files[:8] in refusal(run)
    config.write_text(text, "utf-8")
    weights = tmp_path / "small-bert" / "model.safetensors"
    tensors = load_file(weights)
    tensors["embeddings.LayerNorm.bias"] += 1
    save_file(tensors, weights)
    message = refusal(run)
    assert run.record.signature.encoder_weights[:8] in message
    assert str(tmp_path / "small-bert") in message


def test_an_encoder_that_was_moved(run, tmp_path):
    there = (tmp_path / "small-bert").rename(tmp_path / "moved")
    assert "name it with model" in refusal(run, MissingError)
    loaded = load(run, device="cpu", model=str(there))
    test = corpus_of(run)["test"].sentences
    assert loaded.answers(loaded.inputs(test), test) == run.predictions("test").predicted


def test_a_training_text_that_is_gone_or_changed(run, tmp_path):
    """Its words say how capitals are read; its tags play no part."""
    path = tmp_path / "mine" / "train.conll"
    text = path.read_text("utf-8")
    path.write_text(text.replace("B-PER", "B-LOC"), "utf-8")
    load(run, device="cpu")
    path.write_text(text.replace("Chelsea", "CHELSEA"), "utf-8")
    assert str(tmp_path / "mine") in refusal(run)
    path.unlink()
    assert str(tmp_path / "mine") in refusal(run)
    shutil.rmtree(tmp_path / "mine")
    assert str(tmp_path / "mine") in refusal(run, MissingError)


def test_numbers_that_are_not_finite(run):
    loaded = load(run, device="cpu")
    sentences = corpus_of(run)["test"].sentences
    inputs = loaded.inputs(sentences)
    with torch.no_grad():
        for parameter in loaded.model.output.parameters():
            parameter[0] = float("nan")
        with pytest.raises(InputError, match=run.name):
            loaded.shares(inputs, sentences)
        if run.record.tuning == "none":
            pieces, *_ = loaded.encoder.wordpieces.pieces([["lazy"]])
            loaded.encoder.model.embeddings.word_embeddings.weight[pieces[0]] = float("inf")
            with pytest.raises(InputError, match=loaded.source.name):
                loaded.inputs(sentences)


def test_a_run_is_found_by_folder_or_name(both):
    run = both["none"]
    assert find_run(run.name, run.folder.parent).record == run.record
    assert find_run(str(run.folder), "elsewhere").record == run.record
    for name, where in ((run.name[1:], run.folder.parent), (str(run.folder.parent), "elsewhere")):
        with pytest.raises(MissingError, match=Path(name).name):
            find_run(name, where)
    with pytest.raises(MissingError, match="''"):
        find_run("", run.folder.parent)
    assert check_usable(both["full"]).classes == ("LOC", "MISC", "ORG", "PER")
