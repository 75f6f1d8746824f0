"""The encoder against transformers run plainly, one sentence at a time."""

import functools
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch.utils.flop_counter import FlopCounterMode

from featbert.data.corpus import Sentence
from featbert.encoders.encoder import Encoder, _usable_positions
from featbert.encoders.flops import forward_flops
from featbert.encoders.kernels import PRODUCT_FLOPS
from featbert.encoders.loading import load_encoder
from featbert.encoders.source import find_encoder
from featbert.errors import InputError
from featbert.models.model import matrix_entries
from featbert.training.assembly import set_trained
from featbert.training.inputs import PieceInputs
from tests.features.support import CLOSE, Plain, sentences_of
from tests.models.support import TUNED, logits_of, settings_of, stored, tuned
from tests.tiny_encoders import (
    DECODERS,
    FAMILIES,
    changed,
    write_model,
    write_tokenizer,
)

TEXTS = [
    "The unaffordable fox jumps .",
    "Jordan",
    "Chelsea beat Washington 3 - 1",
    "EU rejects internationalisation",
]


@pytest.fixture(scope="module")
def tiny(encoder_folder):
    """(encoder, plain oracle) by family and pooling; loaded once a module."""

    @functools.cache
    def get(family, pooling="first") -> tuple[Encoder, Plain]:
        return loaded(encoder_folder(family), pooling=pooling), Plain(encoder_folder(family))

    return get


def loaded(folder, **options) -> Encoder:
    return load_encoder(find_encoder(str(folder)), **options)


def plain_states(plain, texts) -> np.ndarray:
    """(L + 1, W, H) as transformers gives them, of texts of up to 64 positions."""
    return np.concatenate([plain.word_states(text.split(), 62) for text in texts], axis=1)


def prepared(folder):
    encoder = loaded(folder)
    alignment = encoder.align(sentences_of(TEXTS))
    return encoder, alignment, encoder.batcher.words(alignment, np.arange(len(TEXTS)))


def states_of(encoder, texts, order=None) -> np.ndarray:
    """(L + 1, W, H) of the sentences `order`, in one batch."""
    alignment = encoder.align(sentences_of(texts))
    ids = np.arange(len(texts)) if order is None else np.array(order)
    with torch.inference_mode():
        batch = encoder.batcher.words(alignment, ids)
        return torch.stack(encoder.hidden_states(batch)).numpy()


@pytest.mark.parametrize("family", FAMILIES)
def test_word_vectors_of_every_layer_are_those_of_transformers(tiny, family):
    encoder, plain = tiny(family)
    assert (encoder.num_layers, encoder.hidden_size) == (3, 16)
    found = states_of(encoder, TEXTS)
    np.testing.assert_allclose(found, plain_states(plain, TEXTS), **CLOSE)
    # Layers differ, or the comparison would not see one put for another.
    assert all(np.abs(found[i] - found[i + 1]).max() > 0.1 for i in range(3))


def padded_or_sparse(folder, name, **options):
    """A random encoder with RoBERTa's tokenizer and 64 positions."""
    sizes = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2}
    sizes |= {"intermediate_size": 32, "max_position_embeddings": 66, "pad_token_id": 1}
    vocabulary = len(write_tokenizer(folder, "roberta"))
    return write_model(folder, name, sizes | {"vocab_size": vocabulary} | options)


def test_longformer_s_own_padding_moves_no_vector(tmp_path):
    """It pads each sequence to a multiple of its attention window, after the batch is made."""
    folder = padded_or_sparse(tmp_path, "Longformer", attention_window=16)
    expected = plain_states(Plain(folder), TEXTS)
    np.testing.assert_allclose(states_of(loaded(folder), TEXTS), expected, **CLOSE)


def test_bigbird_attends_to_all_subwords_whatever_it_read_before(tmp_path):
    """transformers changes the attention for good at the first short batch."""
    folder = padded_or_sparse(tmp_path, "BigBird", block_size=2, num_random_blocks=1)
    plain, encoder = Plain(folder), loaded(folder)
    plain.model.set_attention_type("original_full")
    long = " ".join(TEXTS)
    for texts in ([long], ["Jordan"], ["Jordan", long]):
        found = states_of(encoder, texts)
        np.testing.assert_allclose(found, plain_states(plain, texts), **CLOSE)


def test_states_of_another_length_than_the_batch_are_refused(encoder_folder):
    encoder, alignment, _ = prepared(encoder_folder("bert"))
    batch = encoder.batcher.words(alignment, np.array([0]))  # without a mask
    encoder.model.embeddings.register_forward_hook(lambda _, __, output: output[:, :-1])
    for read in (encoder, encoder.hidden_states):
        with pytest.raises(InputError), torch.inference_mode():
            read(batch)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_cut_encoder_gives_the_states_of_the_lowest_layers(tiny, encoder_folder, family):
    whole, _ = tiny(family)
    cut = loaded(f"{encoder_folder(family)}:2", pooling="first")
    assert cut.num_layers == 2
    sizes = [sum(p.numel() for p in one.parameters()) for one in (cut, whole)]
    assert sizes[0] < sizes[1] or family == "albert"
    found, expected = states_of(cut, TEXTS), states_of(whole, TEXTS)[:3]
    # Some norm their last states once more.
    same = slice(0, 2 if family in ("modernbert", *DECODERS) else 3)
    assert np.array_equal(found[same], expected[same])


POOL = {"first": lambda s: s[:, 0], "last": lambda s: s[:, -1], "mean": lambda s: s.mean(1)}


@pytest.mark.parametrize("pooling", POOL)
@pytest.mark.parametrize(
    ("family", "words", "longest"),
    [
        *((family, TEXTS[0].split(), 1) for family in ("bert", "roberta")),
        ("roberta", ["fox", "ab" * 60, "."], 76),  # more than two windows, which own its pieces
    ],
    ids=["bert", "roberta", "a word longer than a window"],
)
def test_pooling(tiny, family, words, longest, pooling):
    encoder, plain = tiny(family, pooling)
    pieces = plain.pieces(words)
    assert max(map(len, pieces)) > longest
    by_word = torch.split(plain.piece_states(pieces, 38), [*map(len, pieces)], dim=1)
    expected = torch.stack([POOL[pooling](s) for s in by_word], dim=1).numpy()
    np.testing.assert_allclose(states_of(encoder, [words]), expected, **CLOSE)
    padded = states_of(encoder, [words, "EU beat Jordan"], [1, 0])
    np.testing.assert_allclose(padded[:, 3:], expected, **CLOSE)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_longest_sequence_is_read_and_is_the_longest(tiny, family):
    """RoBERTa's positions begin after its padding index: 42 in its config are 40 to read."""
    encoder, plain = tiny(family)
    assert encoder.positions == 40
    piece = plain.pieces(["."])[0][-1]
    plain.run([piece] * 40)
    if family not in ("modernbert", "deberta-v3", *DECODERS):  # these have no table that ends
        with pytest.raises((IndexError, RuntimeError)):
            plain.run([piece] * 41)


def test_the_dtype_is_the_one_asked_for_not_the_checkpoints(encoder_folder, tmp_path):
    def change(weights):
        weights |= {k: v.half() for k, v in weights.items() if v.is_floating_point()}

    folder = changed(encoder_folder("bert"), tmp_path / "half", "model.safetensors", change)
    config = folder / "config.json"
    config.write_text(config.read_text("utf-8").replace('"float32"', '"float16"'), "utf-8")
    assert '"float16"' in config.read_text("utf-8")
    for dtype in (torch.float32, torch.bfloat16):
        assert {p.dtype for p in loaded(folder, dtype=dtype).parameters()} == {dtype}


def test_missing_weights_are_refused(encoder_folder, tmp_path):
    gone = []

    def change(weights):
        gone.extend(weights.pop(k) for k in [*weights] if "layer.1.attention" in k)

    folder = changed(encoder_folder("bert"), tmp_path / "missing", "model.safetensors", change)
    assert gone
    with pytest.raises(InputError, match=rf"{len(gone)} weights.*layer.1.attention"):
        loaded(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state["model"]["vocab"].update(fox=900),
        lambda state: state["post_processor"]["special_tokens"]["[CLS]"].update(ids=[900]),
        lambda state: state["added_tokens"].append(
            dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
            | {"id": 160, "content": "fox"}
        ),
    ],
    ids=["piece", "special", "added"],
)
def test_more_pieces_than_embeddings_are_refused(encoder_folder, tmp_path, change):
    """Tokenizer and weights of two checkpoints: an id without a row would fail in the middle."""
    folder = changed(encoder_folder("bert"), tmp_path / "mixed", "tokenizer.json", change)
    rows = len(load_file(folder / "model.safetensors")["embeddings.word_embeddings.weight"])
    with pytest.raises(InputError, match=rf"{folder} .* up to (900|{rows}), .* 0 to {rows - 1};"):
        loaded(folder)


def test_encoders_that_read_no_mask_or_any_length_are_refused(encoder_folder, monkeypatch):
    source = find_encoder(str(encoder_folder("bert")))
    for kind in ("fnet", "convbert", "mobilebert", "nystromformer", "yoso"):
        source.config["model_type"] = kind
        with pytest.raises(InputError, match=kind):
            load_encoder(source)
    endless = torch.nn.Module()
    endless.config = SimpleNamespace(model_type="mamba")
    with pytest.raises(InputError, match="mamba has no max_position_embeddings"):
        _usable_positions(endless)
    monkeypatch.setattr("featbert.encoders.source.DECODERS", ())  # it is not known as one
    with pytest.raises(InputError, match="llama"):
        loaded(encoder_folder("llama"))


@pytest.mark.parametrize("family", FAMILIES)
def test_what_transformers_gives_to_the_bit_without_higher_layers(encoder_folder, family):
    encoder, _, batch = prepared(encoder_folder(family))
    computed, runs_to_the_end = [], family == "albert"
    stack = () if runs_to_the_end else encoder.model.get_submodule(encoder.stack)
    for number, layer in enumerate(stack, 1):
        layer.register_forward_hook(lambda *_, number=number: computed.append(number))
    with torch.inference_mode():
        inputs = {"input_ids": batch.ids, "attention_mask": batch.mask}
        expected = encoder.model(**inputs, output_hidden_states=True).hidden_states
        # At last all of them: nothing is left behind that would stop the next pass.
        for layers in ([0], [1, 0], [2, 0], [2, 3, 1], [0, 1, 2, 3]):
            computed.clear()
            words = encoder.hidden_states(batch, layers)
            assert computed == list(range(1, max(layers) + 1)) or runs_to_the_end
            for layer, states in zip(layers, words, strict=True):
                assert torch.equal(states, expected[layer].flatten(0, 1)[batch.positions])


@pytest.mark.parametrize("family", DECODERS)
def test_a_decoder_reads_windows_whose_memory_is_bounded(encoder_folder, tmp_path, family):
    long = {"max_position_embeddings": 32768}
    source = encoder_folder(family)
    folder = changed(source, tmp_path / family, "config.json", lambda c: c.update(long))
    encoder, _, batch = prepared(folder)
    assert (encoder.positions, encoder.pooling) == (512, "last")
    assert encoder.model(batch.ids, batch.mask).past_key_values is None


def test_flops_count_no_layer_above(encoder_folder):
    encoder, alignment, _ = prepared(encoder_folder("bert"))
    lengths = alignment.window_lengths
    by_layer = [forward_flops(encoder, lengths, highest=k) for k in range(4)]
    assert by_layer[0] == 0
    assert by_layer[3] == forward_flops(encoder, lengths)
    assert np.allclose(np.diff(by_layer), by_layer[3] / 3)
    layer = 4.0 * 16 * float((lengths**2).sum())
    entries = matrix_entries(encoder.model.encoder.layer[0])
    assert by_layer[1] == 2.0 * entries * lengths.sum() + layer


# torch's counter, with the products that it does not know.
count = functools.partial(FlopCounterMode, display=False, custom_mapping=PRODUCT_FLOPS)


def inputs_of(model, reads="words") -> PieceInputs:
    text = [Sentence(("The", "quick", "Hamilton", "fox")), Sentence(("Jordan", "said", "EU"))]
    return PieceInputs(model.encoder.align(text), model.encoder, torch.device("cpu"), reads=reads)


@pytest.mark.parametrize(
    ("family", "pooling"),
    [
        *(("bert", pooling) for pooling in ("none", "cls", "pooler", "mean")),
        *((family, "none") for family in ("albert", "deberta-v3", "mpnet", "qwen3")),
    ],
)
def test_a_tuned_model_against_torch_s_counter(encoder_folder, family, pooling) -> None:
    model = tuned(encoder_folder(family), sentence_pooling=pooling).eval()
    model.encoder.model.set_attn_implementation("eager")  # the counter ignores fused attention
    inputs = inputs_of(model, "cls" if pooling in ("cls", "pooler") else "words")
    counted = 0
    for number in (np.array([0]), np.array([1])):  # one at a time: nothing is padded
        with count() as counter, torch.no_grad():
            logits_of(model, inputs.batch(number), inputs.layout(number).lengths)
        counted += counter.get_total_flops()
        if family == "deberta-v3":  # queries and keys of 8 relative positions, in each of 3 layers
            counted -= 2 * 2 * 8 * 16 * 16 * 3
    assert inputs.flops(model, np.arange(2), training=False) == pytest.approx(counted, rel=1e-6)


@pytest.mark.parametrize(
    ("tuning", "given"),
    [
        *((name, {}) for name in TUNED),
        *(("full", {"freeze_to": k}) for k in (0, 3)),
        ("lora", {"dora": True}),
        ("lora", {"target_modules": "all", "rank": 1}),
    ],
)
def test_training_against_torch_s_counter(tiny_bert, tuning, given) -> None:
    """What is not trained has no gradients, and nothing passes below the lowest that is."""
    model = tuned(tiny_bert, tuning=tuning, **given).train()
    settings = settings_of(tuning, **given)
    set_trained(model, settings, settings.epochs)
    inputs = inputs_of(model)
    state = torch.random.get_rng_state()
    found = sum(inputs.flops(model, np.array([n]), training=True) for n in range(2))
    assert torch.equal(torch.random.get_rng_state(), state)  # dropout goes on as it would
    model.encoder.model.set_attn_implementation("eager")
    with count() as counter:
        for number in (np.array([0]), np.array([1])):
            logits_of(model, inputs.batch(number), inputs.lengths[number]).sum().backward()
    assert found == pytest.approx(counter.get_total_flops(), rel=1e-6)


def test_the_bilstm_by_hand() -> None:
    model = stored("concat:1-2", layers=4)
    # two directions, four gates of 8 units: 32 inputs then 16, and 8 of the state before
    by_hand = 2 * (4 * 8 * (32 + 8)) + 2 * (4 * 8 * (16 + 8)) + 16 * 5
    assert matrix_entries(model) == by_hand
