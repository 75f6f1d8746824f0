"""Operations by shape, against torch's own counter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from featbert.data.corpus import Sentence
from featbert.encoders.alignment import align
from featbert.encoders.encoder import load_encoder
from featbert.encoders.layers import parse_layers
from featbert.encoders.source import find_encoder
from featbert.models.bilstm import BiLSTMTagger
from featbert.models.finetuned import FineTuneTagger
from featbert.training.inputs import PieceInputs


def test_the_fine_tuned_tagger_against_torch_s_counter(tiny_bert: Path) -> None:
    encoder = load_encoder(find_encoder(str(tiny_bert)))
    encoder.model.set_attn_implementation("eager")  # the counter passes over fused attention
    tagger = FineTuneTagger(encoder, 5).eval()
    text = [Sentence(("The", "quick", "Hamilton", "fox")), Sentence(("Jordan", "said", "EU"))]
    alignment = align(text, encoder.wordpieces, positions=encoder.positions)
    inputs = PieceInputs(alignment, encoder, torch.device("cpu"))
    counted = 0
    for sentence in range(len(text)):  # one at a time: nothing is padded
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            tagger(inputs.batch(np.array([sentence])))
        counted += counter.get_total_flops()
    everything = np.arange(len(text))
    assert inputs.flops(tagger, everything, training=False) == pytest.approx(counted, rel=1e-6)


@pytest.mark.parametrize("frozen_below", [0, 1, 2, 3, 4])
def test_training_with_frozen_layers_against_torch_s_counter(tiny_bert, frozen_below) -> None:
    """Layers below the lowest one that is trained cost their forward pass alone."""
    encoder = load_encoder(find_encoder(str(tiny_bert)))
    encoder.model.set_attn_implementation("eager")
    tagger = FineTuneTagger(encoder, 5).train()
    tagger.freeze_below(frozen_below)
    text = [Sentence(("The", "quick", "Hamilton", "fox"))]
    alignment = align(text, encoder.wordpieces, positions=encoder.positions)
    inputs = PieceInputs(alignment, encoder, torch.device("cpu"))
    with FlopCounterMode(display=False) as counter:
        tagger(inputs.batch(np.array([0]))).sum().backward()
    counted = counter.get_total_flops()
    # The lowest trained layer and the classifier need no gradients of what comes in.
    found = inputs.flops(tagger, np.array([0]), training=True)
    assert found == pytest.approx(counted, rel=0.12)
    assert found >= counted


def test_the_bilstm_by_hand() -> None:
    from featbert.encoders.flops import matrix_entries

    tagger = BiLSTMTagger(parse_layers("concat:1-2", 4), 16, 5, lstm_size=8)
    # two directions, four gates of 8 units: 32 inputs then 16, and 8 of the state before
    by_hand = 2 * (4 * 8 * (32 + 8)) + 2 * (4 * 8 * (16 + 8)) + 16 * 5
    assert matrix_entries(tagger) == by_hand
