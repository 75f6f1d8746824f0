"""Language-model fine-tuning: the losses against transformers' own, the folder, what is refused."""

from __future__ import annotations

import copy
import dataclasses
import errno
import json
import math
import os
import shutil

import numpy as np
import pytest
import torch

from featbert.data.corpus import Corpus, Sentence, Split
from featbert.data.load import load_corpus
from featbert.encoders.device import find_device
from featbert.encoders.encoder import load_encoder
from featbert.encoders.fitting import TokenBudget
from featbert.encoders.source import find_encoder
from featbert.encoders.wordpieces import load_wordpieces
from featbert.errors import BusyError
from featbert.progress import noticed_by
from featbert.training import adaptation, adapted_folder
from featbert.training.adaptation import adapt
from featbert.training.adaptation_loop import (
    DEV,
    Surroundings,
    epoch_text,
    evaluate,
    fit_language_model,
)
from featbert.training.adaptation_plan import AdaptationError, decide_nsp, plan_adaptation
from featbert.training.adaptation_settings import AdaptSettings
from featbert.training.adapted_folder import AdaptedFolderError
from featbert.training.checkpoint import Checkpoint
from featbert.training.gradients import GradientWatch
from featbert.training.language_model import (
    LanguageModel,
    LanguageModelError,
    load_language_model,
)
from featbert.training.sentence_pairs import NO_PAIR, piece_text
from featbert.training.settings import SettingsError
from tests.processes import loaded
from tests.tiny_encoders import FAMILIES
from tests.workspace import write_corpus

QUICK = AdaptSettings(epochs=1, batch_size=4, learning_rate=1e-3)


def corpus_of(texts, documents=None, name="small"):
    """The same sentences as train and dev."""
    numbers = documents or [None] * len(texts)
    sentences = tuple(
        Sentence(tuple(t.split()), document=d) for t, d in zip(texts, numbers, strict=True)
    )
    return Corpus(name, {n: Split(n, sentences) for n in ("train", "dev")}, source=name)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """24 sentences in 8 documents; dev has 6 in 2."""
    return load_corpus(write_corpus(tmp_path_factory.mktemp("corpus") / "tiny"), targets=None)


@pytest.fixture
def bert(tiny_bert, tmp_path):
    """A copy of the tiny BERT that a test may change."""
    return shutil.copytree(tiny_bert, tmp_path / "bert")


def change_json(path, **values):
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | values), "utf-8")


def surroundings(model, seed=1):
    return Surroundings(min(32, model.positions), seed, find_device("cpu"), "fp32")


def rows_alone(model, read):
    """Each sequence built piece by piece, as a batch of its own, with its targets."""
    prefix, suffix = list(model.wordpieces.prefix), list(model.wordpieces.suffix)
    text, masked, found = read.text, read.masked, read.sequences
    for first, owned, second, label in zip(
        found.first, found.owned, found.second, found.labels, strict=True
    ):
        ids, targets, types = list(prefix), [-100] * len(prefix), [0] * len(prefix)
        for number, (span, asked) in enumerate([(first, owned), (second, second)]):
            for piece in range(*span):
                mine = asked[0] <= piece < asked[1]
                ids.append(int((masked.inputs if mine else text.pieces)[piece]))
                chosen = mine and masked.chosen[piece]
                targets.append(int(text.pieces[piece]) if chosen else -100)
                types.append(number)
            if number == 0 or span[1] > span[0]:
                ids += suffix
                targets += [-100] * len(suffix)
                types += [number] * len(suffix)
        yield torch.tensor([ids]), torch.tensor([targets]), torch.tensor([types]), int(label)


@pytest.mark.parametrize("family", FAMILIES)
def test_dev_losses_are_those_of_transformers_sequence_by_sequence(encoder_folder, family):
    """Padding, batching, the head on chosen pieces alone: none of it changes the loss."""
    texts = ["The fox", "Hamilton rejects unaffordable lamb " * 6 + ".", "EU", "Jordan Smith ."]
    source = find_encoder(str(encoder_folder(family)))
    model = load_language_model(source, nsp=False, seed=3)
    text = piece_text(corpus_of(texts)["dev"].sentences, model.wordpieces)
    settings = dataclasses.replace(QUICK, token_budget=70)
    where = surroundings(model)
    read = epoch_text(model, text, settings, where, DEV)
    assert (read.sequences.owned != read.sequences.first).any()  # there are windows
    found, without = evaluate(model, read, where, TokenBudget(settings.token_budget))
    total, n = 0.0, 0
    for ids, targets, _, _ in rows_alone(model, read):
        logits = model.model(input_ids=ids).logits
        assert ids.shape[1] <= where.max_length
        total += torch.nn.functional.cross_entropy(logits[0], targets[0], reduction="sum").item()
        n += int((targets != -100).sum())
    assert found == pytest.approx(total / n, rel=1e-4)
    assert n == read.masked.chosen.sum()
    assert without is None


def test_both_dev_losses_are_those_of_transformers(corpus, tiny_bert):
    model = load_language_model(find_encoder(str(tiny_bert)), nsp=True, seed=3)
    text = piece_text(corpus["dev"].sentences, model.wordpieces)
    read = epoch_text(model, text, QUICK, surroundings(model), DEV)
    found = evaluate(model, read, surroundings(model), TokenBudget(QUICK.token_budget))
    sums, counts = np.zeros(2), np.zeros(2)
    for ids, targets, types, label in rows_alone(model, read):
        given = {"input_ids": ids, "token_type_ids": types}
        n = np.array([int((targets != -100).sum()), int(label != NO_PAIR)])
        if label == NO_PAIR:
            logits = model.model(**given).prediction_logits
            loss = torch.nn.functional.cross_entropy(logits[0], targets[0])
            sums[0] += n[0] * loss.item()
        else:
            logits = model.model(**given).seq_relationship_logits
            nsp = torch.nn.functional.cross_entropy(logits, torch.tensor([label])).item()
            both = model.model(
                **given, labels=targets, next_sentence_label=torch.tensor([label])
            ).loss.item()
            sums += n * np.array([both - nsp, nsp])
        counts += n
    assert counts[1] >= 2
    assert found == pytest.approx(tuple(sums / counts), rel=1e-4)


def test_the_mask_of_dev_stays_and_that_of_train_does_not(corpus, tiny_bert):
    model = load_language_model(find_encoder(str(tiny_bert)), nsp=False, seed=1)
    text = piece_text(corpus["dev"].sentences, model.wordpieces)

    def masked(epoch, seed=1):
        return epoch_text(model, text, QUICK, surroundings(model, seed), epoch).masked.inputs

    assert (masked(DEV) == masked(DEV)).all()
    inputs = [masked(DEV).tolist(), *(masked(epoch).tolist() for epoch in (1, 2))]
    inputs.append(masked(DEV, seed=2).tolist())
    assert len({tuple(row) for row in inputs}) == 4


@pytest.mark.parametrize("family", FAMILIES)
def test_the_folder_is_the_trained_encoder(encoder_folder, corpus, tmp_path, monkeypatch, family):
    from transformers import AutoModel

    base = find_encoder(str(encoder_folder(family)))
    trained = {}

    def write(folder, source, model, record):
        trained.update(copy.deepcopy(model.base_model.state_dict()))
        plain(folder, source, model, record)

    plain = adaptation.write_folder
    monkeypatch.setattr(adaptation, "write_folder", write)
    done = adapt(corpus, base, settings=QUICK, models_dir=tmp_path, device="cpu", precision="fp32")
    assert not done.hit
    assert done.nsp == (family == "bert")
    assert done.fresh  # these checkpoints have no heads
    source = find_encoder(str(done.folder))
    assert (source.config["model_type"], source.hidden_size, source.num_layers) == (
        base.config["model_type"], base.hidden_size, base.num_layers
    )  # fmt: skip
    pooler = {"add_pooling_layer": False} if family in ("bert", "roberta", "xlm-roberta") else {}
    _, info = AutoModel.from_pretrained(source.folder, output_loading_info=True, **pooler)
    assert not info["missing_keys"]
    weights, before = (load_encoder(s).model.state_dict() for s in (source, base))
    assert weights.keys() == before.keys()
    assert weights.keys() <= trained.keys()
    assert all(torch.equal(weights[name], trained[name]) for name in weights)
    moved = [name for name in weights if weights[name].is_floating_point()
             and not torch.equal(weights[name], before[name])]  # fmt: skip
    assert len(moved) > 0.9 * len(before)
    words = [s.words for s in corpus["test"]]
    assert (
        load_wordpieces(source).pieces(words)[0] == load_wordpieces(base).pieces(words)[0]
    ).all()
    for path in source.folder.glob("tokenizer*"):
        assert path.read_bytes() == (base.folder / path.name).read_bytes()
    again = load_language_model(source, nsp=done.nsp, seed=1)
    assert again.fresh == ()
    assert len({p.stat().st_mode for p in source.folder.iterdir()}) == 1


def test_masked_lm_starts_from_the_checkpoints_own_head(corpus, tiny_bert, tmp_path):
    options = {"models_dir": tmp_path, "device": "cpu", "precision": "fp32"}
    first = adapt(corpus, str(tiny_bert), settings=QUICK, **options)
    second = adapt(corpus, str(first.folder), settings=QUICK, **options)
    assert second.fresh == ()
    # Same seed, same dev text and mask: it goes on where the first one ended.
    assert second.history[0].dev_mlm == pytest.approx(first.history[-1].dev_mlm, rel=1e-5)
    assert second.history[0].dev_nsp == pytest.approx(first.history[-1].dev_nsp, rel=1e-5)


def test_new_parts_are_named(bert):
    source = find_encoder(str(bert))
    heads = ("cls.predictions.bias", "cls.predictions.transform.LayerNorm",
             "cls.predictions.transform.dense")  # fmt: skip
    assert load_language_model(source, nsp=False, seed=1).fresh == heads
    fresh = load_language_model(source, nsp=True, seed=1).fresh
    assert {*fresh} - {"bert.pooler.dense"} == {*heads, "cls.seq_relationship"}


def test_equal_seeds_give_equal_weights_to_the_bit(corpus, tiny_bert, tmp_path):
    def weights(name, seed):
        torch.manual_seed(len(name))  # whatever was drawn before
        done = adapt(
            corpus, str(tiny_bert), settings=QUICK, out=tmp_path / name, seed=seed,
            device="cpu", precision="fp32",
        )  # fmt: skip
        return (done.folder / "model.safetensors").read_bytes()

    first = weights("a", 1)
    assert weights("another", 1) == first
    assert weights("b", 2) != first


def test_a_tiny_bert_learns(tiny_bert, tmp_path):
    """A sentence repeats its word, and its document the sentence."""
    texts = [("fox fox", "lamb lamb")[n // 4 % 2] for n in range(64)]
    corpus = corpus_of(texts, [n // 4 for n in range(64)])
    settings = AdaptSettings(epochs=20, batch_size=4, learning_rate=5e-3)
    rows, steps = [], []
    done = adapt(
        corpus, str(tiny_bert), settings=settings, models_dir=tmp_path, device="cpu",
        precision="fp32", on_epoch=rows.append, on_step=lambda *s: steps.append(s),
    )  # fmt: skip
    assert rows == done.history
    assert [row.epoch for row in rows] == list(range(21))
    assert (rows[0].train_mlm, rows[0].train_nsp) == (None, None)
    assert rows[-1].dev_perplexity < rows[0].dev_perplexity / 10
    assert rows[-1].train_mlm < rows[1].train_mlm - 2
    assert rows[-1].dev_perplexity == math.exp(rows[-1].dev_mlm)
    assert [s[0] for s in steps] == list(range(1, len(steps) + 1))
    assert {s[1] for s in steps} == {len(steps)}


def test_a_steps_gradients_are_those_of_both_mean_losses(corpus, bert, monkeypatch):
    """In parts or not: the mean over all chosen pieces, plus the mean over all pairs."""
    change_json(bert / "config.json", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    model = load_language_model(find_encoder(str(bert)), nsp=True, seed=3)
    text = piece_text(corpus["dev"].sentences, model.wordpieces)
    where = surroundings(model)
    mlm, nsp, asked, labelled = 0.0, 0.0, 0, 0
    for ids, targets, types, label in rows_alone(model, epoch_text(model, text, QUICK, where, 1)):
        found = model.model(input_ids=ids, token_type_ids=types)
        mlm += torch.nn.functional.cross_entropy(
            found.prediction_logits[0], targets[0], reduction="sum"
        )
        asked += int((targets != -100).sum())
        if label != NO_PAIR:
            nsp += torch.nn.functional.cross_entropy(
                found.seq_relationship_logits, torch.tensor([label])
            )
            labelled += 1
    (mlm / asked + nsp / labelled).backward()
    expected = {n: p.grad.clone() for n, p in model.named_parameters()}
    assert labelled >= 2
    assert expected["model.cls.seq_relationship.weight"].abs().max() > 0

    seen = []

    def record(watch, norm, step, loss):
        assert (norm, step) == (1.0, 1)
        seen.append([p.grad.clone() for _, p in watch._named])

    monkeypatch.setattr(GradientWatch, "clip", record)
    settings = dataclasses.replace(QUICK, batch_size=100, token_budget=40)
    fit_language_model(model, text, text, settings, where)
    assert len(seen) == 1
    for name, found in zip(expected, seen[0], strict=True):
        torch.testing.assert_close(found, expected[name], rtol=1e-3, atol=1e-6, msg=name)


def test_cutting_under_the_token_budget_changes_nothing_but_rounding(corpus, bert, tmp_path):
    change_json(bert / "config.json", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    found = []
    for budget in (4096, 30):
        settings = dataclasses.replace(QUICK, epochs=2, token_budget=budget)
        done = adapt(
            corpus, str(bert), settings=settings, models_dir=tmp_path, device="cpu",
            precision="fp32",
        )  # fmt: skip
        found.append([row.dev_mlm for row in done.history] + [row.dev_nsp for row in done.history])
    np.testing.assert_allclose(found[0], found[1], rtol=2e-4)


def test_bf16_trains_and_keeps_fp32_weights(corpus, tiny_bert, tmp_path):
    from safetensors.torch import load_file

    settings = dataclasses.replace(QUICK, epochs=5, learning_rate=5e-3)
    done = adapt(
        corpus, str(tiny_bert), settings=settings, models_dir=tmp_path, device="cpu",
        precision="bf16",
    )  # fmt: skip
    weights = load_file(done.folder / "model.safetensors")
    assert {t.dtype for t in weights.values()} == {torch.float32}
    assert done.history[-1].dev_mlm < done.history[0].dev_mlm


def test_the_record_says_what_it_is(corpus, tiny_bert, tmp_path):
    done = adapt(corpus, str(tiny_bert), settings=QUICK, models_dir=tmp_path, precision="fp32")
    record = json.loads((done.folder / "adaptation.json").read_text("utf-8"))
    source = find_encoder(str(tiny_bert))
    assert done.folder.name == f"tiny-bert--tiny--{record['identity'][:8]}"
    assert record["model"] == "tiny-bert"
    assert record["base"] == {"weights": source.weights_hash, "files": source.files_hash}
    assert record["corpus"] == "tiny"
    assert record["text"]["train"] == corpus["train"].text_fingerprint
    assert record["settings"]["nsp"] is True
    assert record["sequence_length"] == 40  # all that this encoder reads
    assert record["weights"] == find_encoder(str(done.folder)).weights_hash
    assert [row["epoch"] for row in record["history"]] == [0, 1]
    assert record["history"][1]["dev_perplexity"] == done.history[1].dev_perplexity
    assert record["versions"]["torch"]


def test_the_same_again_is_a_hit(corpus, tiny_bert, tmp_path, monkeypatch):
    options = {"models_dir": tmp_path / "models", "device": "cpu", "precision": "fp32"}
    done = adapt(corpus, str(tiny_bert), settings=QUICK, **options)

    def forbidden(*_, **__):
        raise AssertionError("it was trained again")

    with monkeypatch.context() as patch:
        patch.setattr("featbert.training.adaptation_loop.fit_language_model", forbidden)
        again = adapt(corpus, str(tiny_bert), settings=QUICK, **options)
        assert again == dataclasses.replace(done, hit=True)
        named = adapt(corpus, str(tiny_bert), settings=QUICK, out=done.folder, precision="fp32")
        assert named.hit
        with pytest.raises(AssertionError, match="trained again"):
            adapt(corpus, str(tiny_bert), settings=QUICK, overwrite=True, **options)
    for change in ({"seed": 2}, {"settings": dataclasses.replace(QUICK, share=0.2)}):
        other = adapt(corpus, str(tiny_bert), **({"settings": QUICK} | options | change))
        assert not other.hit
        assert other.folder != done.folder
    assert len(list((tmp_path / "models").iterdir())) == 3


def test_what_stands_in_the_folder_is_kept(corpus, tiny_bert, tmp_path):
    out = tmp_path / "out"
    options = {"settings": QUICK, "out": out, "device": "cpu", "precision": "fp32"}

    def refused(match, model=tiny_bert, **changes):
        with pytest.raises(AdaptedFolderError, match=match):
            adapt(corpus, str(model), **(options | changes))

    out.mkdir()
    done = adapt(corpus, str(tiny_bert), **options)  # an empty folder may be filled
    weights = (out / "model.safetensors").read_bytes()
    refused("of other settings, text or base model", seed=2)
    refused("is the encoder", model=out, overwrite=True)
    assert (out / "model.safetensors").read_bytes() == weights
    replaced = adapt(corpus, str(tiny_bert), **(options | {"seed": 2}), overwrite=True)
    assert replaced.folder == done.folder
    assert (out / "model.safetensors").read_bytes() != weights
    (out / "model.safetensors").write_bytes(weights)
    refused("it is damaged; --overwrite trains it again", seed=2)
    refused("is a file", out=out / "config.json")
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.txt").write_text("the only copy")
    refused("it holds other files", out=foreign, overwrite=True)
    assert (foreign / "thesis.txt").read_text() == "the only copy"


def test_a_failed_write_leaves_nothing_and_loses_nothing(corpus, tiny_bert, tmp_path, monkeypatch):
    options = {"settings": QUICK, "out": tmp_path / "out", "device": "cpu", "precision": "fp32"}

    def full(*_):
        raise OSError(errno.ENOSPC, "no space left")

    told = "out cannot be written: no space left; make room on that disk"

    with monkeypatch.context() as patch:
        patch.setattr(adapted_folder, "_copy_tokenizer", full)
        with pytest.raises(AdaptedFolderError, match=told):
            adapt(corpus, str(tiny_bert), **options)
        assert not list(tmp_path.iterdir())
    done = adapt(corpus, str(tiny_bert), **options)
    with monkeypatch.context() as patch:
        patch.setattr(adapted_folder, "_copy_tokenizer", full)
        with pytest.raises(AdaptedFolderError, match=told):
            adapt(corpus, str(tiny_bert), **options, overwrite=True)
    assert adapt(corpus, str(tiny_bert), **options) == dataclasses.replace(done, hit=True)
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


class Stopped(Exception):
    """In place of a kill."""


@pytest.fixture
def always_kept(monkeypatch):
    """A checkpoint after every epoch, however long writing it takes."""
    monkeypatch.setattr(Checkpoint, "is_due", lambda _: True)


@pytest.mark.parametrize("stop_after", [0, 1, 2, 3])
@pytest.mark.usefixtures("always_kept")
def test_a_stopped_adaptation_goes_on_to_the_same_weights(corpus, tiny_bert, tmp_path, stop_after):
    settings = dataclasses.replace(QUICK, epochs=3)
    options = {"settings": settings, "device": "cpu", "precision": "fp32"}
    rows, steps = [], []

    def stop(row):
        rows.append(timeless(row))
        if row.epoch == stop_after:
            raise Stopped

    expected = adapt(corpus, str(tiny_bert), out=tmp_path / "whole", **options)
    with pytest.raises(Stopped):
        adapt(corpus, str(tiny_bert), out=tmp_path / "stopped", **options, on_epoch=stop)
    left = [".stopped.partial"] if stop_after > 1 else []
    assert sorted(p.name for p in tmp_path.iterdir()) == [*left, "whole"]
    told = []
    done = adapt(
        corpus, str(tiny_bert), out=tmp_path / "stopped", **options,
        on_epoch=told.append, on_step=lambda step, total: steps.append((step, total)),
    )  # fmt: skip
    assert told == done.history
    assert [timeless(r) for r in told] == [timeless(r) for r in expected.history]
    per_epoch = steps[-1][1] // 3
    assert steps[0][0] == max(0, stop_after - 1) * per_epoch + 1
    assert weights_of(done) == weights_of(expected)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["stopped", "whole"]
    assert {p.name for p in done.folder.iterdir()} == {p.name for p in expected.folder.iterdir()}


@pytest.mark.usefixtures("always_kept")
def test_a_checkpoint_of_another_adaptation_is_not_gone_on_from(corpus, tiny_bert, tmp_path):
    settings = dataclasses.replace(QUICK, epochs=3)
    options = {"out": tmp_path / "out", "device": "cpu", "precision": "fp32"}

    def stop(row):
        if row.epoch == 2:
            raise Stopped

    with pytest.raises(Stopped):
        adapt(corpus, str(tiny_bert), settings=settings, **options, on_epoch=stop)
    other = dataclasses.replace(settings, learning_rate=5e-4)
    done = adapt(corpus, str(tiny_bert), settings=other, **options)
    alone = adapt(corpus, str(tiny_bert), settings=other, **options | {"out": tmp_path / "alone"})
    assert weights_of(done) == weights_of(alone)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["alone", "out"]


@pytest.mark.usefixtures("always_kept")
def test_a_failed_write_goes_on_from_the_last_epoch(corpus, tiny_bert, tmp_path, monkeypatch):
    settings = dataclasses.replace(QUICK, epochs=2)
    options = {"settings": settings, "out": tmp_path / "out", "device": "cpu", "precision": "fp32"}

    def full(*_):
        raise OSError(errno.ENOSPC, "no space left")

    with monkeypatch.context() as patch:
        patch.setattr(adapted_folder, "_copy_tokenizer", full)
        with pytest.raises(AdaptedFolderError, match="out cannot be written: no space left"):
            adapt(corpus, str(tiny_bert), **options)
    assert [p.name for p in (tmp_path / ".out.partial").iterdir()] == ["checkpoint.safetensors"]
    steps = []
    adapt(corpus, str(tiny_bert), **options, on_step=lambda *s: steps.append(s))
    assert steps[0][0] == steps[-1][1] // 2 + 1
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_two_processes_on_one_folder(corpus, tiny_bert, tmp_path, monkeypatch):
    """One works, the other says who does; what was finished meanwhile is not trained again."""
    out = tmp_path / "out"
    options = {"settings": QUICK, "out": out, "device": "cpu", "precision": "fp32"}
    plan = plan_adaptation(corpus, find_encoder(str(tiny_bert)), **options)
    with (
        adapted_folder.owned(out),
        pytest.raises(BusyError, match=str(os.getpid())),
    ):
        adapt(corpus, str(tiny_bert), **options)
    done = adapt(corpus, str(tiny_bert), **options)
    assert adaptation.run_adaptation(plan, corpus, find_encoder(str(tiny_bert))) == (
        dataclasses.replace(done, hit=True)
    )
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("whole", [True, False])
def test_a_kill_between_the_old_encoder_and_the_new_one(corpus, tiny_bert, tmp_path, whole):
    """The new one takes its place where it is whole; the old one comes back where it is not."""
    out = tmp_path / "out"
    options = {"settings": QUICK, "device": "cpu", "precision": "fp32"}
    old = adapt(corpus, str(tiny_bert), **options, out=tmp_path / "old", seed=2)
    new = adapt(corpus, str(tiny_bert), **options, out=tmp_path / "new")
    os.replace(old.folder, tmp_path / ".out.before")
    os.replace(new.folder, tmp_path / ".out.partial")
    options["out"] = out
    if not whole:
        (tmp_path / ".out.partial" / adapted_folder.RECORD_NAME).unlink()
    steps = []
    done = adapt(
        corpus, str(tiny_bert), **options, overwrite=True, on_step=lambda *s: steps.append(s)
    )
    assert bool(steps) != whole
    assert done.hit == whole
    assert timeless(done.history[-1]) == timeless(new.history[-1])
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_an_encoder_that_a_kill_moved_away_is_not_trained_over(corpus, tiny_bert, tmp_path):
    out = tmp_path / "out"
    options = {"settings": QUICK, "out": out, "device": "cpu", "precision": "fp32"}
    adapt(corpus, str(tiny_bert), **options, seed=2)
    os.replace(out, tmp_path / ".out.before")
    with pytest.raises(AdaptedFolderError, match="it is of other settings, text or base model"):
        adapt(corpus, str(tiny_bert), **options)
    assert adapt(corpus, str(tiny_bert), **options, seed=2).hit
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_failed_move_brings_the_old_encoder_back(corpus, tiny_bert, tmp_path, monkeypatch):
    out = tmp_path / "out"
    options = {"out": out, "device": "cpu", "precision": "fp32"}
    done = adapt(corpus, str(tiny_bert), settings=QUICK, **options)
    plain = os.replace

    def full(old, new):
        if str(old).endswith(".partial"):
            raise OSError(errno.ENOSPC, "no space left")
        plain(old, new)

    other = dataclasses.replace(QUICK, learning_rate=5e-4)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(AdaptedFolderError, match="out cannot be written: no space left"):
            adapt(corpus, str(tiny_bert), settings=other, **options, overwrite=True)
    assert adapt(corpus, str(tiny_bert), settings=QUICK, **options).history == done.history
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


@pytest.mark.usefixtures("always_kept")
def test_a_loss_that_is_not_finite_leaves_no_checkpoint(corpus, tiny_bert, tmp_path):
    """The same command would end so again, and other settings have a folder of their own."""
    settings = dataclasses.replace(QUICK, epochs=3)

    def spoil(row):
        if row.epoch == 2:
            torch.nn.functional.cross_entropy = broken

    plain = torch.nn.functional.cross_entropy

    def broken(*args, **options):
        return plain(*args, **options) * float("nan")

    try:
        with pytest.raises(AdaptationError, match="found nan"):
            adapt(
                corpus, str(tiny_bert), settings=settings, models_dir=tmp_path, device="cpu",
                precision="fp32", on_epoch=spoil,
            )  # fmt: skip
    finally:
        torch.nn.functional.cross_entropy = plain
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("out", ["/", "."])
def test_a_folder_without_a_name_beside_others(corpus, tiny_bert, tmp_path, monkeypatch, out):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    options = {"settings": QUICK, "out": out, "device": "cpu", "precision": "fp32"}
    source = find_encoder(str(tiny_bert))
    if out == "/":
        with pytest.raises((AdaptationError, AdaptedFolderError), match="expected"):
            plan_adaptation(corpus, source, **options)
    else:
        assert plan_adaptation(corpus, source, **options).folder == tmp_path / "here"


def test_what_a_kill_in_the_last_moment_left_is_taken_away(corpus, tiny_bert, tmp_path):
    options = {"settings": QUICK, "out": tmp_path / "out", "device": "cpu", "precision": "fp32"}
    done = adapt(corpus, str(tiny_bert), **options)
    (tmp_path / ".out.lock").write_text("process 1 on elsewhere\n")
    shutil.copytree(done.folder, tmp_path / ".out.before")
    (tmp_path / ".out.partial").mkdir()  # of one that was to take its place, and was killed
    (done.folder / "checkpoint.safetensors").write_bytes(b"left")
    assert adapt(corpus, str(tiny_bert), **options).hit
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
    assert "checkpoint.safetensors" not in {p.name for p in done.folder.iterdir()}


@pytest.mark.usefixtures("always_kept")
def test_halved_batches_are_recorded_and_stay_so(corpus, tiny_bert, tmp_path, monkeypatch):
    plain, told = LanguageModel.forward, []

    def small(model, batch):
        if batch.ids.numel() > 60:
            raise torch.OutOfMemoryError("out of memory. Tried to allocate 2.00 GiB")
        return plain(model, batch)

    def stop(row):
        if row.epoch == 2:
            raise Stopped

    def halved(folder):
        return json.loads((folder / adapted_folder.RECORD_NAME).read_text())["halved_to"]

    monkeypatch.setattr(LanguageModel, "forward", small)
    settings = dataclasses.replace(QUICK, epochs=2, token_budget=100)
    options = {"settings": settings, "device": "cpu", "precision": "fp32"}
    with noticed_by(told.append):
        done = adapt(corpus, str(tiny_bert), out=tmp_path / "whole", **options)
        assert len(told) == 2
        assert set(halved(done.folder)) == {"training", "scoring"}
        assert all(0 < n <= 60 for n in halved(done.folder).values())
        with pytest.raises(Stopped):
            adapt(corpus, str(tiny_bert), out=tmp_path / "stopped", **options, on_epoch=stop)
        assert len(told) == 4
        again = adapt(corpus, str(tiny_bert), out=tmp_path / "stopped", **options)
    assert len(told) == 4  # nothing is tried at a size that did not fit before
    assert halved(again.folder) == halved(done.folder)
    assert weights_of(again) == weights_of(done)


def timeless(row):
    return dataclasses.replace(row, seconds=0.0)


def weights_of(adapted):
    return (adapted.folder / "model.safetensors").read_bytes()


ONE_DOCUMENT = ["a b", "c"], [0, 0]
NO_NEIGHBOURS = ["a b", "c"], [0, 1]
NO_DOCUMENTS = ["a b", "c"], None


@pytest.mark.parametrize(
    ("family", "texts", "wanted", "expected"),
    [
        ("bert", ONE_DOCUMENT, "auto", True),
        ("bert", ONE_DOCUMENT, "on", True),
        ("bert", ONE_DOCUMENT, "off", False),
        ("bert", NO_NEIGHBOURS, "auto", False),
        ("bert", NO_DOCUMENTS, "auto", False),
        ("bert", NO_DOCUMENTS, "on", "at least two sentences expected .* train and dev of small"),
        ("bert", NO_NEIGHBOURS, "on", "documents of at least two sentences expected"),
        ("roberta", ONE_DOCUMENT, "auto", False),
        ("roberta", ONE_DOCUMENT, "on", r"a BERT with .* roberta is none \(roberta\); use --nsp"),
        ("roberta", NO_DOCUMENTS, "on", "a BERT with.*; documents of"),
    ],
)
def test_next_sentence_prediction_where_it_can_be(encoder_folder, family, texts, wanted, expected):
    source, corpus = find_encoder(str(encoder_folder(family))), corpus_of(*texts)
    if isinstance(expected, bool):
        assert decide_nsp(corpus, source, wanted) is expected
    else:
        with pytest.raises(AdaptationError, match=expected):
            decide_nsp(corpus, source, wanted)


def test_train_and_dev_are_needed(corpus, tiny_bert):
    source = find_encoder(str(tiny_bert))
    for left, lacks in (("train", "dev"), ("dev", "train")):
        less = Corpus("less", {left: corpus[left]})
        with pytest.raises(AdaptationError, match=f"a {lacks} split expected .*, less has {left}"):
            decide_nsp(less, source, "off")


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        ({"share": 0.0}, "share between 0 and 1 expected, found 0.0"),
        ({"mask_share": 0.8, "random_share": 0.3}, "at most 1 expected, found 1.1"),
        ({"epochs": 0, "nsp": "maybe"}, "epochs of at least 1 .*; nsp auto, on or off expected"),
        ({"max_length": 3}, "max_length of at least 8 expected, found 3"),
        ({"learning_rate": float("nan")}, "learning_rate between 0 and 10"),
    ],
)
def test_settings_out_of_range_are_named(setting, text):
    with pytest.raises(SettingsError, match=text):
        AdaptSettings(**setting)
    AdaptSettings(mask_share=0.9, random_share=0.1)


def test_sequences_longer_than_the_encoder_reads_are_refused(corpus, tiny_bert, tmp_path):
    settings = dataclasses.replace(QUICK, max_length=41)
    with pytest.raises(AdaptationError, match="--max-length of at most 40 expected for tiny-bert"):
        adapt(corpus, str(tiny_bert), settings=settings, models_dir=tmp_path)
    assert not list(tmp_path.iterdir())


def test_an_encoder_without_a_mask_token_is_refused(corpus, bert, tmp_path):
    path = bert / "tokenizer_config.json"
    config = json.loads(path.read_text("utf-8"))
    del config["mask_token"]
    path.write_text(json.dumps(config), "utf-8")
    with pytest.raises(LanguageModelError, match="a mask token expected in the tokenizer of bert"):
        adapt(corpus, str(bert), settings=QUICK, models_dir=tmp_path / "models")
    assert not (tmp_path / "models").exists()


def test_a_tokenizer_of_another_checkpoint_is_refused(encoder_folder, bert, tmp_path):
    for path in encoder_folder("roberta").glob("tokenizer*"):
        shutil.copy(path, bert)
    with pytest.raises(LanguageModelError, match=r"embeddings for piece 379 .* it has 160"):
        load_language_model(find_encoder(str(bert)), nsp=False, seed=1)


def test_a_loss_that_is_not_finite_ends_training(corpus, bert, tmp_path):
    from safetensors.torch import load_file, save_file

    weights = load_file(bert / "model.safetensors")
    weights["embeddings.LayerNorm.bias"][3] = float("nan")
    save_file(weights, bert / "model.safetensors", {"format": "pt"})
    with pytest.raises(AdaptationError, match="a finite loss expected, found nan in epoch 0"):
        adapt(corpus, str(bert), settings=QUICK, models_dir=tmp_path / "models")


def test_whole_words_and_other_shares_train(corpus, tiny_bert, tmp_path):
    settings = dataclasses.replace(
        QUICK, epochs=5, learning_rate=5e-3, nsp="off",
        whole_word=True, share=0.4, mask_share=0.0, random_share=0.5,
    )  # fmt: skip
    done = adapt(corpus, str(tiny_bert), settings=settings, models_dir=tmp_path)
    assert done.history[-1].train_nsp is None
    assert done.history[-1].dev_nsp is None
    assert done.history[-1].dev_mlm < done.history[0].dev_mlm


@pytest.mark.parametrize(("nsp", "windowed"), [("off", 1), ("on", 2)])
def test_what_is_unusual_is_counted(tiny_bert, tmp_path, nsp, windowed):
    # 10 and 20 and 40 pieces; 38 fit alone, and half of 37 into each side of a pair
    texts = [". " * 10, ". " * 19 + "\u200b", ". " * 40]
    corpus = corpus_of([*texts, *["."] * 4], [0, 0, 0, 1, 1, 2, 2])
    settings = dataclasses.replace(QUICK, nsp=nsp)
    done = adapt(corpus, str(tiny_bert), settings=settings, models_dir=tmp_path)
    # train and dev are the same text
    assert done.counts == {"windowed_sentences": 2 * windowed, "unknown_words": 2}
    assert adapt(corpus, str(tiny_bert), settings=settings, models_dir=tmp_path).counts == (
        done.counts
    )


def test_importing_is_light():
    assert loaded("import featbert.training.adaptation") == ()
