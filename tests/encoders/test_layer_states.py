"""Each layer's states as it arises, and no layer further than asked."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from featbert.encoders.alignment import align
from featbert.encoders.encoder import load_encoder
from featbert.encoders.flops import encoder_flops, matrix_entries
from featbert.encoders.layer_states import layer_stack, read_layers
from featbert.encoders.source import find_encoder
from tests.features.support import sentences_of
from tests.tiny_encoders import FAMILIES

TEXTS = ["The unaffordable fox jumps .", "Jordan", "EU rejects lamb"]


def prepared(folder):
    encoder = load_encoder(find_encoder(str(folder)))
    alignment = align(sentences_of(TEXTS), encoder.wordpieces, positions=encoder.positions)
    return encoder, alignment, encoder.sentence_batch(alignment, np.arange(3))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("layers", [[0], [1], [2], [0, 2], [3], [2, 3, 1], [0, 1, 2, 3]])
def test_what_transformers_gives_to_the_bit(encoder_folder, family, layers):
    encoder, _, batch = prepared(encoder_folder(family))
    inputs = {"input_ids": batch.ids, "attention_mask": batch.mask}
    with torch.inference_mode():
        everything = encoder.model(**inputs, output_hidden_states=True).hidden_states
        heard = []
        read_layers(encoder.model, 3, layers, lambda *found: heard.append(found), **inputs)
        words = encoder.hidden_states(batch, layers)
        whole = encoder.hidden_states(batch)
    assert [layer for layer, _ in heard] == sorted(layers)
    for layer, states in heard:
        assert torch.equal(states, everything[layer])
    for layer, states in zip(layers, words, strict=True):
        assert torch.equal(states, whole[layer])


@pytest.mark.parametrize("family", FAMILIES)
def test_higher_layers_are_not_computed(encoder_folder, family):
    encoder, _, batch = prepared(encoder_folder(family))
    stack = layer_stack(encoder.model, 3)
    assert stack is not None
    computed = []
    for number, layer in enumerate(stack, 1):
        layer.register_forward_hook(lambda *_, number=number: computed.append(number))
    with torch.inference_mode():
        for highest in range(4):
            computed.clear()
            encoder.hidden_states(batch, [0, highest])
            assert computed == list(range(1, highest + 1))
    # ... and nothing is left behind that would stop the next pass.
    assert not any(layer._forward_pre_hooks for layer in stack)


def test_an_encoder_that_shares_one_layer_gives_all_states():
    """ALBERT keeps no list of its layers: it runs to the end."""
    from transformers import AlbertConfig, AlbertModel

    sizes = {"hidden_size": 16, "embedding_size": 8, "intermediate_size": 32}
    torch.manual_seed(0)
    config = AlbertConfig(vocab_size=30, num_hidden_layers=3, num_attention_heads=2, **sizes)
    model = AlbertModel(config).eval()
    assert layer_stack(model, 3) is None
    ids = torch.tensor([[2, 5, 6, 3]])
    heard = []
    with torch.inference_mode():
        everything = model(ids, output_hidden_states=True).hidden_states
        read_layers(model, 3, [3, 1], lambda *found: heard.append(found), input_ids=ids)
    assert [layer for layer, _ in heard] == [1, 3]
    assert all(torch.equal(states, everything[layer]) for layer, states in heard)


def test_flops_count_no_layer_above(encoder_folder):
    encoder, alignment, _ = prepared(encoder_folder("bert"))
    lengths = alignment.window_lengths
    by_layer = [encoder_flops(encoder, lengths, highest=k) for k in range(4)]
    assert by_layer[0] == 0
    assert by_layer[3] == encoder_flops(encoder, lengths)
    assert np.allclose(np.diff(by_layer), by_layer[3] / 3)
    layer = 4.0 * 16 * float((lengths**2).sum())
    entries = matrix_entries(encoder.model.encoder.layer[0])
    assert by_layer[1] == 2.0 * entries * lengths.sum() + layer
