"""Language-model adaptation: what is masked and paired, the losses, the folder, resuming."""

import dataclasses
import itertools
import json
import logging
import os
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import cross_entropy
from transformers import DataCollatorForTokenClassification

from featbert.adaptation import adapt as adaptation
from featbert.adaptation import language_model as lm
from featbert.adaptation.plan import decide_nsp, plan_adaptation
from featbert.adaptation.text import (
    FOLLOWS,
    NONE,
    RANDOM,
    Block,
    MaskedText,
    Vocabulary,
    cut_blocks,
    mask_pieces,
    pair_blocks,
)
from featbert.api import adapt
from featbert.config import Adapt, Compute, validated
from featbert.data.corpus import Corpus, Sentence, Split
from featbert.data.load import load_corpus
from featbert.encoders.loading import load_encoder
from featbert.encoders.source import find_encoder
from featbert.encoders.tokenizer import load_wordpieces
from featbert.errors import BusyError, FeatbertError, InputError
from featbert.io import owning
from featbert.progress import heard_by, logged_by
from tests.failing import failing
from tests.features.support import FP32
from tests.listening import Ear
from tests.tiny_encoders import DECODERS, FAMILIES, changed
from tests.workspace import write_corpus

QUICK = Adapt(epochs=1, batch_size=4, learning_rate=1e-3)
STAGE = "adapting tiny-bert"
MASKED = [family for family in FAMILIES if family not in DECODERS]
# Pieces 0 .. 4 are special, 4 is [MASK]; 5 .. 24 are ordinary.
VOCABULARY = Vocabulary(4, np.arange(5, 25), np.arange(5))


def quick(**given):
    return validated(Adapt, QUICK.model_dump() | given)


def corpus_of(texts, documents=None):
    """The same sentences as train and dev."""
    numbers = documents or [None] * len(texts)
    sentences = tuple(
        Sentence(tuple(t.split()), document=d) for t, d in zip(texts, numbers, strict=True)
    )
    return Corpus("small", {n: Split(n, sentences) for n in ("train", "dev")}, source="small")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """24 sentences in 8 documents; dev has 6 in 2."""
    return load_corpus(write_corpus(tmp_path_factory.mktemp("corpus") / "tiny"), targets=None)


def masked(n, seed=0, sizes=(1,), **settings):
    """n words with as many pieces as `sizes` says, all of piece 7, after masking."""
    words = np.repeat(np.arange(n), np.resize(sizes, n))
    pieces = np.full(len(words), 7)
    random = np.random.default_rng(seed)
    return *mask_pieces(pieces, words, quick(**settings), VOCABULARY, random), words


@pytest.mark.parametrize("share", [0.01, 0.15, 0.5, 0.99])
def test_the_share_of_each_sequence_is_masked_and_at_least_one_piece(share):
    for n in range(1, 150):
        _, chosen, _ = masked(n, n, predict_share=share)
        assert chosen.sum() >= 1
        assert abs(chosen.sum() - max(1, share * n)) <= 0.5 + 1e-9


@pytest.mark.parametrize("whole_word", [False, True])
def test_masks_random_pieces_and_kept_ones_have_their_shares(whole_word):
    options = {
        "mask_share": 0.6,
        "random_share": 0.3,
        "predict_share": 0.5,
        "whole_word": whole_word,
    }
    read, chosen, _ = masked(40_000, sizes=(1, 2, 3), **options)
    assert chosen.mean() == pytest.approx(0.5, abs=1e-4)
    found = read[chosen]
    shares = [np.mean(found == 4), np.mean((found >= 5) & (found != 7)), np.mean(found == 7)]
    # A random piece is the same one in 1 of 20 cases.
    np.testing.assert_allclose(shares, [0.6, 0.3 * 19 / 20, 0.1 + 0.3 / 20], atol=0.015)
    assert (read[~chosen] == 7).all()
    assert set(read) == {4, *range(5, 25)}


@given(st.lists(st.integers(1, 9), min_size=1, max_size=40), st.integers(0, 99))
def test_whole_words_are_masked_whole_and_share_one_fate(sizes, seed):
    options = {"whole_word": True, "mask_share": 0.5, "random_share": 0.0}
    read, chosen, words = masked(len(sizes), seed, sizes, **options)
    assert chosen.any()
    for word in range(len(sizes)):
        assert len(set(chosen[words == word])) == 1
        assert len(set(read[words == word])) == 1


def test_special_pieces_are_neither_masked_nor_drawn():
    pieces = np.tile([1, 9, 10], 2000)  # 1: a word that the tokenizer does not know
    settings = quick(predict_share=0.6, mask_share=0.0, random_share=1.0)
    random = np.random.default_rng(0)
    read, chosen = mask_pieces(pieces, np.arange(6000), settings, VOCABULARY, random)
    assert not chosen[pieces == 1].any()
    assert chosen.sum() == round(0.6 * 4000)
    assert (read[chosen] >= 5).all()
    assert not mask_pieces(pieces[:1], np.arange(1), settings, VOCABULARY, random)[1].any()


@given(
    st.lists(st.tuples(st.integers(1, 30), st.booleans()), min_size=1, max_size=30),
    st.integers(2, 20),
    st.booleans(),
)
def test_blocks_hold_every_piece_once_in_order(text, capacity, even):
    """Blocks are of one document, as long as fits, and split sentences between words only."""

    class TwoPieces:
        """Two pieces a word: the word's number twice."""

        def pieces(self, texts, touches):
            assert not any(map(any, touches))
            words = np.array([int(w) for words in texts for w in words])
            firsts = 2 * np.arange(len(words))
            return np.repeat(words, 2), np.stack([firsts, firsts + 2], axis=1), 0

    numbers, document, sentences = itertools.count(), 0, []
    for size, begins in text:
        document += begins
        sentences.append(
            Sentence(tuple(str(next(numbers)) for _ in range(size)), document=document)
        )
    blocks, counts = cut_blocks(sentences, TwoPieces(), capacity, even=even)
    n_words = next(numbers)
    assert np.concatenate([b.pieces for b in blocks]).tolist() == sorted([*range(n_words)] * 2)
    of_word = {int(w): s.document for s in sentences for w in s.words}
    for block in blocks:
        assert 1 <= len(block.pieces) <= capacity
        assert len({of_word[w] for w in block.pieces.tolist()}) == 1
        assert len(block.pieces) % 2 == 0
    assert counts["split_sentences"] == sum(2 * size > capacity for size, _ in text)
    for left, right in itertools.pairwise(blocks):  # no room was left for the next sentence
        if left.document == right.document and not even:
            begun = next(s for s in sentences if str(right.pieces[0]) in s.words)
            assert len(left.pieces) + min(2 * len(begun), capacity) > capacity - 1


@pytest.mark.parametrize("family", ["xlm-roberta", "roberta"])
def test_a_space_before_touching_words_stays_with_them(encoder_folder, family):
    """A lone "▁" is in the block of its text, with the word that it is before."""
    encoder = load_encoder(find_encoder(str(encoder_folder(family))))
    wordpieces = encoder.wordpieces
    sentences = [Sentence(words, touches=(False, True)) for words in (("(", "fox"), ("Ku", "ick"))]
    blocks, _ = cut_blocks(sentences, wordpieces, 38)
    alignment = encoder.align(sentences)
    for number, (block, ((start, end),)) in enumerate(zip(blocks, alignment.windows, strict=True)):
        assert block.pieces.tolist() == alignment.pieces[start:end].tolist()
        assert block.pieces[0] == wordpieces.space_id
        assert block.words[:2].tolist() == [2 * number] * 2
    long = Sentence(("(", "fox") * 20, touches=(False, True) * 20)
    parts, _ = cut_blocks([long], wordpieces, 9)
    assert len(parts) > 1
    assert np.concatenate([part.pieces for part in parts]).tolist() == [*blocks[0].pieces] * 20
    assert not any(part.pieces[-1] == wordpieces.space_id for part in parts)


@pytest.mark.parametrize("sizes", [[2, 2], [4, 6, 3, 1, 8], [20, 2, 2], [1, 1], [2], [7]])
def test_pairs_hold_each_block_once_and_half_of_them_are_of_other_documents(sizes):
    documents = np.repeat(np.arange(len(sizes)), sizes)
    blocks = [Block(np.full(5, 7), np.arange(5), document) for document in documents]
    rows = pair_blocks(blocks, np.random.default_rng(1))
    used = [b for a, b, _ in rows for b in (a, b) if b >= 0]
    assert sorted(used) == list(range(len(blocks)))
    labels = [label for *_, label in rows]
    pairs = sum(size // 2 for size in sizes)
    assert labels.count(NONE) == len(rows) - pairs == sum(size % 2 for size in sizes)
    assert labels.count(RANDOM) == (max(2, pairs // 2) if pairs > 1 else 0)
    for a, b, label in rows:
        assert (label == FOLLOWS) == (b == a + 1 and blocks[a].document == blocks[b].document)
        if label == RANDOM and max(sizes) // 2 <= pairs // 4:
            assert blocks[a].document != blocks[b].document


def text_of(corpus, source, nsp, settings=QUICK, capacity=15, split="dev"):
    wordpieces = load_wordpieces(source)
    model, tokenizer, _ = lm.load_language_model(source, nsp=nsp, seed=1)
    blocks, _ = cut_blocks(corpus[split].sentences, wordpieces, capacity, even=nsp)
    text = MaskedText(blocks, wordpieces, lm.vocabulary_of(tokenizer), settings, nsp=nsp, seed=1)
    return model, tokenizer, text


def test_a_pair_as_bert_reads_it(corpus, tiny_bert):
    _, tokenizer, text = text_of(corpus, find_encoder(str(tiny_bert)), nsp=True)
    (cls,), (sep,) = text.wordpieces.prefix, text.wordpieces.suffix
    batch = DataCollatorForTokenClassification(tokenizer)([text[row] for row in range(len(text))])
    seen = []
    for row, (a, b, label) in enumerate(text.rows):
        first, second = text.blocks[a].pieces, text.blocks[b].pieces if b >= 0 else None
        whole = [cls, *first, sep, *([] if second is None else [*second, sep])]
        ids, labels = batch["input_ids"][row].numpy(), batch["labels"][row].numpy()
        assert np.where(labels >= 0, labels, ids)[: len(whole)].tolist() == whole
        assert (batch["attention_mask"][row] == 1).sum() == len(whole)
        assert batch["token_type_ids"][row].sum() == (0 if second is None else len(second) + 1)
        assert batch["next_sentence_label"][row] == label
        assert (labels[len(whole) :] == -100).all()
        seen.append((labels >= 0).sum())
    assert min(seen) >= 1


def test_masks_of_train_change_with_the_epoch_and_the_seed(corpus, tiny_bert):
    *_, text = text_of(corpus, find_encoder(str(tiny_bert)), nsp=False)
    read = set()
    for seed, epoch in ((1, 0), (1, 1), (1, 2), (2, 0), (1, 0)):
        text.seed = seed
        text.set_epoch(epoch)
        read.add(tuple(itertools.chain(*(text[i]["input_ids"] for i in range(len(text))))))
    assert len(read) == 4


def expected_losses(model, text):
    """Mean losses by transformers' own forward, a row at a time."""
    sums, counts = np.zeros(2), np.zeros(2)
    for row in (text[i] for i in range(len(text))):
        row = {key: torch.tensor(value) for key, value in row.items()}
        given = {k: row[k][None] for k in ("input_ids", "token_type_ids") if k in row}
        with torch.no_grad():
            output = model(**given)
        logits = output.prediction_logits if text.nsp else output.logits
        sums[0] += cross_entropy(logits[0], row["labels"], reduction="sum").item()
        counts[0] += (row["labels"] >= 0).sum().item()
        if text.nsp and row["next_sentence_label"] >= 0:
            label = row["next_sentence_label"][None]
            sums[1] += cross_entropy(output.seq_relationship_logits, label).item()
            counts[1] += 1
    return sums / np.maximum(counts, 1)


@pytest.mark.parametrize(("family", "nsp"), [*((f, "off") for f in MASKED), ("bert", "on")])
def test_losses_are_those_of_transformers_and_the_folder_is_an_encoder(
    encoder_folder, corpus, tmp_path, family, nsp
):
    """Padding, batches, parts of batches, the head on masked pieces: none of it changes losses."""
    base = find_encoder(str(encoder_folder(family)))
    settings = quick(nsp=nsp, max_length=33, token_budget=70)
    model, _, text = text_of(corpus, base, nsp == "on", settings, 15 if nsp == "on" else 31)
    expected = expected_losses(model.eval(), text)
    done = adapt(corpus, base, settings=settings, models_dir=tmp_path, **FP32)
    row = done.history[0]
    assert row.dev_mlm == pytest.approx(expected[0], rel=1e-4)
    assert (row.dev_nsp or 0) == pytest.approx(expected[1], rel=1e-4)
    assert (row.train_mlm, row.train_nsp) == (None, None)
    assert [p.name for p in tmp_path.iterdir()] == [done.folder.name]
    assert (done.hit, bool(done.fresh)) == (False, True)
    source = find_encoder(str(done.folder))
    assert (source.config["model_type"], source.adapted_epochs) == (base.config["model_type"], 1)
    after, before = (load_encoder(s).model.state_dict() for s in (source, base))
    assert after.keys() == before.keys()
    moved = [n for n in after if not torch.equal(after[n], before[n])]
    assert len(moved) > 0.9 * len([n for n in after if after[n].is_floating_point()])
    for path in source.folder.glob("tokenizer*"):
        assert path.read_bytes() == (base.folder / path.name).read_bytes()
    assert len({p.stat().st_mode for p in source.folder.iterdir()}) == 1
    # Trained further, it begins with its own heads.
    model, _, fresh = lm.load_language_model(source, nsp=nsp == "on", seed=1)
    assert fresh == ()
    kept = [done.history[-1].dev_mlm, done.history[-1].dev_nsp or 0]
    assert kept == pytest.approx(expected_losses(model.eval(), text), rel=1e-4)


def test_training_losses_are_means_over_the_whole_batch_in_parts_or_not(
    corpus, tiny_bert, tmp_path
):
    still = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    bert = changed(tiny_bert, tmp_path / "bert", "config.json", lambda c: c.update(still))
    model, _, text = text_of(corpus, find_encoder(str(bert)), nsp=True, capacity=18, split="train")
    found = []
    for budget in (4096, 40):
        # One step an epoch, so that the first losses are those of the weights before it.
        settings = quick(epochs=3, batch_size=60, token_budget=budget)
        done = adapt(corpus, str(bert), settings=settings, models_dir=tmp_path, **FP32)
        row = done.history[1]
        assert (row.train_mlm, row.train_nsp) == pytest.approx(
            expected_losses(model.eval(), text), rel=1e-4
        )
        found.append([x for row in done.history for x in (row.dev_mlm, row.dev_nsp)])
    assert found[0][0] != found[0][4]
    np.testing.assert_allclose(found[0], found[1], rtol=2e-4)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_tiny_bert_learns(tiny_bert, tmp_path, precision):
    """A sentence repeats its word, and its document the sentence."""
    texts = [("fox fox", "lamb lamb")[n // 4 % 2] for n in range(64)]
    corpus = corpus_of(texts, [n // 4 for n in range(64)])
    settings = quick(epochs=15, learning_rate=5e-3, whole_word=precision == "bf16")
    where = {"models_dir": tmp_path, "device": "cpu", "precision": precision}
    ear, lines = Ear(), []
    with heard_by(ear), logged_by(lambda _, line: lines.append(line), logging.INFO):
        done = adapt(corpus, str(tiny_bert), settings=settings, **where)
    rows = done.history
    assert [line for line in lines if line.startswith("epoch")] == [*map(str, rows)]
    assert [row.epoch for row in rows] == list(range(16))
    assert rows[-1].dev_perplexity < rows[0].dev_perplexity / 10
    assert rows[-1].train_mlm < rows[1].train_mlm - 1.5
    assert (ear.begun[STAGE], ear.stages[STAGE]) == (0, ("steps", ear.done[STAGE]))
    assert {p.dtype for p in load_encoder(find_encoder(str(done.folder))).parameters()} == {
        torch.float32
    }


def test_a_finished_one_is_found_again_and_other_ones_have_other_names(
    corpus, tiny_bert, tmp_path, monkeypatch
):
    options = {"settings": QUICK, "models_dir": tmp_path, **FP32}
    done = adapt(corpus, str(tiny_bert), **options)
    record = json.loads((done.folder / "adaptation.json").read_text("utf-8"))
    assert done.folder.name == f"tiny-bert--tiny--{record['identity'][:8]}"
    assert (record["settings"]["nsp"], record["sequence_length"]) == (True, 40)
    assert record["weights"] == find_encoder(str(done.folder)).weights_hash
    with monkeypatch.context() as patch:
        patch.setattr(lm, "train_language_model", None)  # a call would be a TypeError
        assert adapt(corpus, str(tiny_bert), **options) == dataclasses.replace(done, hit=True)
    same = adapt(corpus, str(tiny_bert), **options, overwrite=True)
    assert weights_of(same) == weights_of(done)  # to the bit
    for change in ({"seed": 2}, {"settings": quick(predict_share=0.2)}):
        other = adapt(corpus, str(tiny_bert), **(options | change))
        assert (other.hit, weights_of(other) == weights_of(done)) == (False, False)
    assert len(list(tmp_path.iterdir())) == 3


def test_what_is_in_the_folder_is_kept(corpus, tiny_bert, tmp_path):
    out = tmp_path / "out"
    options = {"settings": QUICK, "out": out, **FP32}

    def refused(model=tiny_bert, **changes):
        with pytest.raises(InputError):
            adapt(corpus, str(model), **(options | changes))

    out.mkdir()
    done = adapt(corpus, str(tiny_bert), **options)  # an empty folder may be filled
    refused(seed=2)
    refused(model=out, overwrite=True)
    refused(out=out / "config.json")
    assert adapt(corpus, str(tiny_bert), **options) == dataclasses.replace(done, hit=True)
    replaced = adapt(corpus, str(tiny_bert), **(options | {"seed": 2}), overwrite=True)
    (out / "model.safetensors").write_bytes(weights_of(replaced)[:-4] + b"four")
    refused(seed=2)  # damaged
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "thesis.txt").write_text("the only copy")
    refused(out=tmp_path / "foreign", overwrite=True)
    assert (tmp_path / "foreign" / "thesis.txt").read_text() == "the only copy"
    refused(out="/")


def test_a_checkpoint_of_the_same_settings_is_used_and_no_other_or_incomplete_one(
    corpus, tiny_bert, tmp_path, monkeypatch
):
    monkeypatch.setattr("featbert.training.checkpoint.COST", 1e9)
    options = {"settings": quick(epochs=3), "out": tmp_path / "out", "overwrite": True, **FP32}

    def stop(_, line):
        if line.startswith("epoch 2 "):
            raise KeyboardInterrupt

    def resumed(spoil, **changes):
        """Steps that are not done again, and all."""
        with logged_by(stop, logging.INFO), pytest.raises(KeyboardInterrupt):
            adapt(corpus, str(tiny_bert), **options)
        (kept,) = (tmp_path / ".out.partial").iterdir()
        spoil(kept)
        ear = Ear()
        with heard_by(ear):
            adapt(corpus, str(tiny_bert), **(options | changes))
        return ear.begun[STAGE], ear.done[STAGE]

    begun, done = resumed(lambda kept: None)
    assert begun == done // 3 > 0
    assert resumed(lambda kept: None, settings=quick(epochs=3, predict_share=0.3))[0] == 0
    assert resumed(lambda kept: (kept / lm.COMPUTATION).unlink())[0] == 0


def test_a_kill_during_the_move_to_the_final_name(corpus, tiny_bert, tmp_path):
    """The new encoder is whole by then: it is neither lost nor trained again."""
    out = tmp_path / "out"
    options = {"settings": QUICK, "out": out, **FP32}
    adapt(corpus, str(tiny_bert), **options, seed=2)
    killed = failing(os, "replace", lambda old, new: Path(new) == out)
    with killed, pytest.raises(KeyboardInterrupt):
        adapt(corpus, str(tiny_bert), **options, overwrite=True)
    assert not out.exists()
    assert adapt(corpus, str(tiny_bert), **options).hit
    assert [*tmp_path.iterdir()] == [out]


def test_a_failed_write_loses_nothing(corpus, tiny_bert, tmp_path):
    options = {"settings": QUICK, "out": tmp_path / "out", **FP32}

    def fail(**changes):
        full = failing(adaptation, "_copy_tokenizer", error=OSError(28, "no space left"))
        with full, pytest.raises(FeatbertError, match=str(tmp_path)):
            adapt(corpus, str(tiny_bert), **options, **changes)

    fail()
    assert not list(tmp_path.iterdir())
    done = adapt(corpus, str(tiny_bert), **options)
    fail(overwrite=True)
    assert adapt(corpus, str(tiny_bert), **options) == dataclasses.replace(done, hit=True)
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_two_processes_on_one_folder(corpus, tiny_bert, tmp_path):
    """One works, the other is refused; what was finished meanwhile is not trained again."""
    out, source = tmp_path / "out", find_encoder(str(tiny_bert))
    where = {"models_dir": tmp_path, "out": out}
    plan = plan_adaptation(corpus, source, QUICK, compute=Compute(**FP32), seed=1, **where)
    with owning(out), pytest.raises(BusyError):
        adapt(corpus, source, settings=QUICK, out=out, **FP32)
    done = adapt(corpus, source, settings=QUICK, out=out, **FP32)
    assert adaptation.run_adaptation(plan) == dataclasses.replace(done, hit=True)
    assert [*tmp_path.iterdir()] == [out]


@pytest.mark.parametrize("epoch", [0, 1])
def test_a_loss_that_is_not_finite_ends_training(corpus, tiny_bert, tmp_path, monkeypatch, epoch):
    monkeypatch.setattr("featbert.training.checkpoint.COST", 1e9)

    def spoil(_=None, line=f"epoch {epoch} "):
        if line.startswith(f"epoch {epoch} "):
            broken = lambda *a, **k: cross_entropy(*a, **k) * float("nan")  # noqa: E731
            monkeypatch.setattr(lm, "cross_entropy", broken)

    if epoch == 0:
        spoil()
    with logged_by(spoil, logging.INFO), pytest.raises(InputError, match="nan"):
        adapt(corpus, str(tiny_bert), settings=quick(epochs=3), models_dir=tmp_path, **FP32)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("family", "documents", "auto"),
    [
        ("bert", [0, 0], True),
        ("bert", [0, 1], False),  # no neighbours
        ("bert", None, False),
        ("roberta", [0, 0], False),
    ],
)
def test_next_sentence_prediction_where_it_can_be(encoder_folder, family, documents, auto):
    source, corpus = find_encoder(str(encoder_folder(family))), corpus_of(["a b", "c"], documents)
    assert decide_nsp(corpus, source, "auto") is auto
    assert decide_nsp(corpus, source, "off") is False
    with nullcontext() if auto else pytest.raises(InputError):
        assert decide_nsp(corpus, source, "on")
    for name in ("train", "dev"):  # both are needed
        with pytest.raises(InputError):
            decide_nsp(Corpus("less", {name: corpus[name]}), source, "off")


def test_encoders_that_cannot_be_used_are_refused_and_nothing_is_left(corpus, tiny_bert, tmp_path):
    models, name = tmp_path / "models", "tokenizer_config.json"
    bert = changed(tiny_bert, tmp_path / "bert", name, lambda config: config.pop("mask_token"))
    for folder, settings, named in ((tiny_bert, quick(max_length=41), "40"), (bert, QUICK, "bert")):
        with pytest.raises(InputError, match=named):
            adapt(corpus, str(folder), settings=settings, models_dir=models, **FP32)
    assert not (tmp_path / "models").exists()


@pytest.mark.parametrize(("nsp", "split"), [("off", 1), ("on", 2)])
def test_what_is_unusual_is_counted(tiny_bert, tmp_path, nsp, split):
    # 10 and 20 and 40 pieces; 38 fit alone, and half of 37 into each side of a pair
    texts = [". " * 10, ". " * 19 + "\u200b", ". " * 40]
    corpus = corpus_of([*texts, *["."] * 4], [0, 0, 0, 1, 1, 2, 2])
    done = adapt(corpus, str(tiny_bert), settings=quick(nsp=nsp), models_dir=tmp_path)
    assert done.counts == {"split_sentences": 2 * split, "unknown_words": 2}  # of train and dev


def weights_of(adapted):
    return (adapted.folder / "model.safetensors").read_bytes()


def test_a_corpus_that_seems_misread_is_named(tiny_bert, tmp_path, caplog):
    """As by `extract`: a table of texts without a header is read as words with tags."""
    for split in ("train", "dev"):
        rows = "".join(f"Ada went to Rome {n} times.\tpos\n" for n in range(20))
        (tmp_path / f"{split}.tsv").write_text(rows, "utf-8")
    adapt(tmp_path, tiny_bert, epochs=1, max_length=32, device="cpu", models_dir=tmp_path / "m")
    (doubt,) = (r.getMessage() for r in caplog.records if "hold spaces" in r.getMessage())
    assert "text=1" in doubt
