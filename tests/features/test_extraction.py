"""Extraction: no word is lost, a crash loses nothing finished, a hit does nothing."""

import dataclasses
import shutil
import tempfile
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file

from featbert.data.load import load_corpus
from featbert.encoders.device import computing_threads
from featbert.encoders.encoding import EncodingOptions
from featbert.encoders.source import find_encoder
from featbert.errors import BusyError, InputError
from featbert.features import extraction, plan
from featbert.features.blocks import map_batches
from featbert.features.plan import plan_extraction
from featbert.features.writer import StoreWriter
from featbert.progress import heard_by
from tests.features.stores import datasets
from tests.features.support import FP32, ODD_WORDS, TRAIN, WORDS, Plain, corpus_of, extracted
from tests.listening import Ear
from tests.tiny_encoders import changed

DEV = ["Jordan Smith of Chelsea", "the lazy dog"]


@pytest.fixture(scope="module")
def folder(encoder_folder):
    return encoder_folder("bert")


@pytest.fixture(scope="module")
def plain(folder):
    return Plain(folder)


@pytest.fixture(scope="module")
def corpus():
    return corpus_of(train=TRAIN, dev=DEV, documents={"train": [0, 0, 1, 1, 2, 2], "dev": [0, 1]})


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr("featbert.features.plan.BLOCK_WORDS", 6)


def planned(corpus, folder, cache, **options):
    encoding = EncodingOptions(**FP32 | options)
    return plan_extraction(corpus, find_encoder(str(folder)), encoding, cache_dir=cache)


ANY_WORD = st.one_of(
    st.sampled_from([*WORDS, *ODD_WORDS]),
    st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r\0"),
        min_size=1,
        max_size=12,
    ).filter(lambda w: w.strip(" ")),
)
TEXTS = st.lists(
    st.lists(ANY_WORD, min_size=1, max_size=9)
    | st.lists(st.sampled_from([*WORDS, *ODD_WORDS]), min_size=40, max_size=70),
    min_size=1,
    max_size=6,
)


@settings(max_examples=20)
@given(
    texts=TEXTS,
    dtype=st.sampled_from(["float16", "float32"]),
    budget=st.integers(8, 300),
    block=st.integers(6, 200),
)
@example(texts=[list(ODD_WORDS) * 4, ["\u200b"], ["x"]], dtype="float16", budget=64, block=6)
def test_no_word_is_lost_whatever_the_batches_and_blocks(
    folder, plain, texts, dtype, budget, block
):
    corpus = corpus_of(train=texts)
    with tempfile.TemporaryDirectory() as cache, pytest.MonkeyPatch.context() as patch:
        patch.setattr("featbert.features.plan.BLOCK_WORDS", block)
        store = extracted(corpus, folder, cache, store_dtype=dtype, token_budget=budget)
        assert store.verify() == []
        found, offsets = store.read("train").astype(np.float64), store.offsets("train")
    assert offsets.tolist() == np.cumsum([0, *map(len, texts)]).tolist()
    assert found.shape == (4, corpus["train"].n_words, 16)
    close = {"atol": 2e-5, "rtol": 1e-4}
    if dtype == "float16":
        close = {"atol": 3e-5, "rtol": 2**-11 + 1e-4}
    for first, end, words in zip(offsets, offsets[1:], texts, strict=False):
        np.testing.assert_allclose(found[:, first:end], plain.word_states(words, 38), **close)


def test_document_context(small_blocks, corpus, folder, plain, tmp_path):
    store = extracted(corpus, folder, tmp_path, context="document", store_dtype="float32")
    found, offsets = store.read("train"), store.offsets("train")
    for first, end in ((0, 2), (2, 4), (4, 6)):
        words = [w for s in corpus["train"].sentences[first:end] for w in s.words]
        part = found[:, offsets[first] : offsets[end]]
        np.testing.assert_allclose(part, plain.word_states(words, 38), atol=2e-5, rtol=1e-4)
    alone = extracted(corpus, folder, tmp_path, store_dtype="float32")
    assert alone.path != store.path
    # Sentence 2 is read after sentence 1, or not: not so in the embeddings.
    assert np.abs(alone.read("train", [3])[0, 5] - found[3, 5]).max() > 0.01
    assert store.manifest.splits["train"].counts["windowed_documents"] == 1


def test_the_manifest(corpus, folder, tmp_path):
    corpus = dataclasses.replace(corpus, reading={"encoding": "utf-8"})
    store = extracted(corpus, folder, tmp_path, token_budget=99)
    m, source = store.manifest, find_encoder(str(folder))
    assert m.reading == {"encoding": "utf-8"}
    assert (m.encoder_weights, m.encoder_files) == (source.weights_hash, source.files_hash)
    assert (m.num_layers, m.hidden_size, m.layers) == (3, 16, (0, 1, 2, 3))
    assert (m.token_budget, m.block_words) == (99, plan.BLOCK_WORDS)
    train = m.splits["train"]
    assert (train.text, train.sentences) == (corpus["train"].text_fingerprint, 6)
    assert train.words == corpus["train"].n_words
    assert train.counts == {"windowed_sentences": 1, "unknown_words": 2, "overlong_words": 0}
    assert m.seconds > 0
    assert m.peak_memory_bytes > 1 << 20
    weights = load_file(folder / "model.safetensors")
    assert m.encoder_parameters == sum(
        w.numel() for name, w in weights.items() if "pooler" not in name
    )
    vectors = m.words + sum(split.sentences for split in m.splits.values())
    assert m.data_bytes == vectors * 4 * 16 * 2 <= store.file_bytes <= m.data_bytes + (1 << 20)


@pytest.mark.parametrize(
    ("capabilities", "budgets"),
    [({"avx2": True}, (512, 512)), ({"avx512_bf16": True, "amx_bf16": True}, (512, 1024))],
)
def test_batches_suit_the_processor(corpus, folder, tmp_path, monkeypatch, capabilities, budgets):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
    source = find_encoder(str(folder))
    for precision, budget in zip(("fp32", "bf16"), budgets, strict=True):
        options = EncodingOptions(device="cpu", precision=precision)
        chosen = plan_extraction(corpus, source, options, cache_dir=tmp_path)
        assert chosen.manifest.token_budget == budget


def no_model(*_, **__):
    raise AssertionError("a model was loaded")


def test_fewer_layers_are_a_hit_and_more_are_added(corpus, folder, tmp_path, monkeypatch):
    some = extracted(corpus, folder, tmp_path, layers=[3, 1])
    assert some.layers == (1, 3)
    with monkeypatch.context() as patch:
        patch.setattr(extraction, "load_frozen", no_model)
        assert extracted(corpus, folder, tmp_path, layers=[3]).layers == (1, 3)
        copied = dataclasses.replace(corpus, name="copied")
        assert extracted(copied, folder, tmp_path, layers=[3]).path == some.path
        with pytest.raises(AssertionError, match="a model was loaded"):
            extracted(corpus, folder, tmp_path, layers=[0, 3])
    held = some.read("train", [1, 3])
    more = extracted(corpus, folder, tmp_path, layers=[0, 3])
    assert more.path == some.path
    assert more.layers == (0, 1, 3)
    np.testing.assert_array_equal(more.read("train", [1, 3]), held)
    whole = extracted(corpus, folder, tmp_path / "other")
    for layer in (0, 1, 3):
        np.testing.assert_array_equal(more.read("dev", [layer]), whole.read("dev", [layer]))


@pytest.mark.parametrize(
    "options", [{"layers": [4]}, {"layers": [-1, 2]}, {"layers": []}, {"store_dtype": "f8"}]
)
def test_what_cannot_be_stored_is_refused(corpus, folder, tmp_path, options):
    with pytest.raises(InputError):
        extracted(corpus, folder, tmp_path / "cache", **options)
    assert not (tmp_path / "cache").exists()


def count_writes(monkeypatch, stop=None, keep=None) -> list[tuple[str, int]]:
    """Blocks that are written. After `stop` what lies on disk is copied to `keep`, and it ends."""
    plain, note, calls = StoreWriter.write, StoreWriter._note, []

    def write(self, split, block, states, *rest):
        if len(calls) == stop:
            if keep is not None:
                self._wait()  # until the journal has the last block
                keep.mkdir()
                for path in (self.partial, self.journal):
                    shutil.copy(path, keep / path.name)
            raise KeyboardInterrupt
        calls.append((split, block))
        plain(self, split, block, states, *rest)

    def late_note(*arguments):
        time.sleep(0.2 * (len(calls) == stop))
        note(*arguments)

    monkeypatch.setattr(StoreWriter, "write", write)
    monkeypatch.setattr(StoreWriter, "_note", late_note)
    return calls


def interrupted(monkeypatch, k, *args, keep=None, **options):
    """An extraction that ends after `k` blocks."""
    with monkeypatch.context() as patch:
        count_writes(patch, k, keep)
        with pytest.raises(KeyboardInterrupt):
            extracted(*args, **options)


def disk(monkeypatch, free):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=free))


@pytest.fixture(scope="module")
def unbroken(corpus, folder, tmp_path_factory):
    """A store in small blocks, and the blocks in the order in which they were written."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("featbert.features.plan.BLOCK_WORDS", 6)
        blocks = count_writes(patch)
        return extracted(corpus, folder, tmp_path_factory.mktemp("unbroken")), blocks


@pytest.mark.parametrize(
    ("k", "killed", "lost"),
    [(0, False, 0), (0, True, 0), (4, False, 0), (4, True, 0), (4, True, 1)],
)
def test_an_interrupted_extraction_goes_on(
    small_blocks, unbroken, corpus, folder, tmp_path, monkeypatch, k, killed, lost
):
    """After an exception, and from what a kill at that moment leaves on disk.

    A kill loses the last block if the disk has not taken it yet. An exception waits for it.
    """
    whole, blocks = unbroken
    assert len(blocks) >= 5
    cache, kept, ear = tmp_path / "cache", tmp_path / "kept", Ear()
    interrupted(monkeypatch, k, corpus, folder, cache, keep=kept if killed else None)
    assert sorted(p.suffix for p in cache.iterdir()) == [".journal", ".partial"]
    cache = kept if killed else cache
    if lost:
        (journal,) = kept.glob("*.journal")
        lines = journal.read_text("utf-8").splitlines(keepends=True)
        journal.write_text("".join(lines[:-lost]), "utf-8")
    with monkeypatch.context() as patch, heard_by(ear):
        written = count_writes(patch)
        store = extracted(corpus, folder, cache)
    assert written == blocks[max(k - lost, 0) :]
    assert ear.stages["extracting"][1] == ear.done["extracting"] == store.manifest.words
    assert datasets(store.path) == datasets(whole.path)
    assert store.verify() == []
    assert [p.name for p in cache.iterdir()] == [whole.path.name]


def test_what_another_process_finished_meanwhile_is_not_written_again(corpus, folder, tmp_path):
    late = planned(corpus, folder, tmp_path)
    store = extracted(corpus, folder, tmp_path)
    before = store.path.stat().st_ino
    with pytest.raises(BusyError, match=store.path.name):
        extraction.run_extraction(late)
    assert store.path.stat().st_ino == before
    assert [p.name for p in tmp_path.iterdir()] == [store.path.name]


def test_adding_layers_goes_on_and_counts_its_seconds_and_its_disk(
    small_blocks, corpus, folder, tmp_path, monkeypatch
):
    """An interruption leaves the old store, and what was computed before it counts."""
    old = extracted(corpus, folder, tmp_path, layers=[1])
    before, plain = old.path.read_bytes(), StoreWriter.write

    def slow(*args):
        time.sleep(0.05)
        plain(*args)

    with monkeypatch.context() as patch:
        patch.setattr(StoreWriter, "write", slow)
        interrupted(patch, 4, corpus, folder, tmp_path)
    assert old.path.read_bytes() == before
    assert extracted(corpus, folder, tmp_path, layers=[1]).layers == (1,)
    (partial,) = tmp_path.glob("*.partial")
    assert partial.stat().st_size > 1000
    disk(monkeypatch, (1 << 20) + 1000)
    store = extracted(corpus, folder, tmp_path)
    assert (store.layers, store.verify()) == ((0, 1, 2, 3), [])
    assert store.manifest.seconds > 0.15


@pytest.mark.parametrize(
    ("value", "options", "todo"),
    [
        (1e5, {}, "store_dtype='float32'"),
        (1e5, {"precision": "bf16"}, "precision='fp32'"),
        (float("nan"), {"precision": "bf16"}, "precision='fp32'"),
        (float("inf"), {"store_dtype": "float32"}, "weights"),
    ],
)
def test_states_that_are_not_finite_are_refused_with_their_place(
    small_blocks, corpus, folder, tmp_path, value, options, todo
):
    def spoil(weights):  # the second layer makes a state of each piece infinite
        weights["encoder.layer.1.output.LayerNorm.bias"][3] = value

    cache = tmp_path / "cache"
    broken = changed(folder, tmp_path / "broken", "model.safetensors", spoil)
    with pytest.raises(InputError, match=r"6 words.*layer 2.*sentence 1 of train") as caught:
        extracted(corpus, broken, cache, layers=[1, 2], **options)
    assert todo in str(caught.value)
    assert not list(cache.glob("*.h5"))
    if "store_dtype" in todo:
        store = extracted(corpus, broken, cache, store_dtype="float32")
        assert store.read("train", [2]).max() > 65504


def test_not_enough_disk_is_refused_before_the_model_is_loaded(
    corpus, folder, tmp_path, monkeypatch
):
    plan = planned(corpus, folder, tmp_path)
    disk(monkeypatch, plan.manifest.data_bytes - 1)
    with monkeypatch.context() as patch:
        patch.setattr(extraction, "load_frozen", no_model)
        with pytest.raises(InputError, match=str(tmp_path)):
            extracted(corpus, folder, tmp_path)
    assert list(tmp_path.iterdir()) == []
    disk(monkeypatch, plan.manifest.data_bytes + (2 << 20))
    assert extracted(corpus, folder, tmp_path).verify() == []


def test_a_store_of_another_identity_under_this_name_is_refused(corpus, folder, tmp_path):
    store = extracted(corpus, folder, tmp_path)
    other = extracted(corpus, folder, tmp_path, pooling="mean")
    shutil.copy(other.path, store.path)
    with pytest.raises(InputError, match="pooling"):
        extracted(corpus, folder, tmp_path)


def name_of(corpus, folder, **options) -> str:
    return planned(corpus, folder, "nowhere", **options).path.name


def test_what_a_store_is_named_by(corpus, folder, tmp_path):
    plain_name = name_of(corpus, folder)
    renamed = dataclasses.replace(corpus, source="elsewhere", language="de")
    documents = {"train": [0, 0, 1, 1, 2, 2], "dev": [0, 1]}
    tagged = corpus_of(train=TRAIN, dev=DEV, documents=documents, tag="B-PER")
    assert name_of(renamed, folder) == name_of(tagged, folder) == plain_name
    assert name_of(corpus, folder, layers=[1], token_budget=7) == plain_name
    text = corpus_of(train=[*TRAIN[:-1], "said the Herald !"], dev=DEV, documents=documents)
    less = corpus_of(train=TRAIN, documents=documents)
    moved = corpus_of(train=TRAIN, dev=DEV, documents={**documents, "dev": [0, 0]})
    name = "embeddings.word_embeddings.weight"
    weights = changed(folder, tmp_path / "bert", "model.safetensors", lambda w: w[name].add_(1))
    names = [plain_name, name_of(corpus, weights)]
    names += [name_of(other, folder) for other in (text, less, moved)]
    names += [name_of(corpus, folder, pooling=pooling) for pooling in ("last", "mean")]
    for options in ({"context": "document"}, {"precision": "bf16"}, {"dtype": "float32"}):
        names.append(name_of(corpus, folder, **options))
    assert len(set(names)) == len(names)


def test_batches_are_computed_side_by_side_and_returned_in_order():
    met = threading.Barrier(3, timeout=20)

    def compute(batch):
        met.wait()  # passes once three batches are computed at a time
        assert torch.is_inference_mode_enabled()
        return batch * batch, torch.get_num_threads()

    cpu = torch.device("cpu")
    with computing_threads(3):
        assert [*map_batches(compute, range(12), cpu)] == [(n * n, 1) for n in range(12)]
        assert torch.get_num_threads() == 3
        # One batch has the threads of one of many.
        assert [*map_batches(lambda _: torch.get_num_threads(), [0], cpu)] == [1]
        with pytest.raises(ZeroDivisionError):
            list(map_batches(lambda batch: 1 / (batch - 2), range(100), cpu))


@pytest.mark.parametrize(
    ("family", "precision"),
    [("bert", "fp32"), ("bert", "bf16"), ("deberta-v3", "fp32"), ("qwen3", "fp32")],
)
def test_threads_change_no_byte_of_a_store(workspace, tmp_path, encoder_folder, family, precision):
    corpus, stores, folder = load_corpus(workspace.corpus), [], encoder_folder(family)
    for threads in (1, 4):
        with computing_threads(threads):
            stores.append(extracted(corpus, folder, tmp_path / str(threads), precision=precision))
    for split in stores[0].splits:
        np.testing.assert_array_equal(*(store.read(split) for store in stores))
