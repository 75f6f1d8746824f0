"""Pairs of texts: their windows, their special pieces, and the vectors of transformers alone."""

import numpy as np
import pytest
import torch
from tokenizers.processors import TemplateProcessing
from transformers import AutoModel, AutoModelForSequenceClassification, AutoTokenizer

from featbert.data.corpus import Sentence
from featbert.encoders.loading import load_encoder
from featbert.encoders.source import find_encoder
from featbert.errors import InputError
from tests.features.support import CLOSE
from tests.tiny_encoders import DECODERS, FAMILIES, POOLERS, changed

PAIRS = [
    ("The quick fox jumps .", "EU rejects internationalisation"),
    ("Jordan", "Chelsea beat Washington 3 - 1"),
    ("unaffordable", "fox"),
]
LONG = ("Hamilton " * 30 + ".", "The quick fox jumps .")


def pairs_of(texts):
    return [Sentence((*a.split(), *b.split()), pair=len(a.split())) for a, b in texts]


@pytest.fixture(scope="module")
def tokenized(encoder_folder):
    """A pair as transformers' tokenizer of a family gives it, with types of texts on request."""

    def make(family, a, b, types):
        tokenizer = AutoTokenizer.from_pretrained(encoder_folder(family))
        if family.startswith("qwen"):  # it puts nothing between texts; an end, as in pre-training
            eos = (tokenizer.eos_token, tokenizer.eos_token_id)
            tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
                single="$A", pair=f"$A {eos[0]} $B:1", special_tokens=[eos]
            )
        space = " " if "ByteLevel" in str(tokenizer.backend_tokenizer) else ""
        words = ([space + word for word in text.split()] for text in (a, b))
        both = tokenizer(*words, is_split_into_words=True, return_tensors="pt")
        both.pop("token_type_ids", None)
        if types:
            both["token_type_ids"] = torch.tensor([both.encodings[0].type_ids])
        return both

    return make


@pytest.mark.parametrize("family", FAMILIES)
def test_vectors_of_pairs_are_those_of_transformers(encoder_folder, tokenized, family):
    encoder = load_encoder(find_encoder(str(encoder_folder(family))))
    model = AutoModel.from_pretrained(encoder_folder(family)).eval()
    alignment = encoder.align(pairs_of(PAIRS), packing="joint")
    with torch.inference_mode():
        found = encoder(encoder.batcher.words(alignment, np.arange(len(PAIRS))))
        firsts = encoder(encoder.batcher.firsts(alignment, np.arange(len(PAIRS))))
    at = 0
    for number, (a, b) in enumerate(PAIRS):
        both = tokenized(family, a, b, encoder.has_types)
        with torch.inference_mode():
            states = model(**both).last_hidden_state[0]
        words = list(zip(both.sequence_ids(), both.word_ids(), strict=True))
        wanted = [(0, w) for w in range(len(a.split()))] + [(1, w) for w in range(len(b.split()))]
        places = {word: place for place, word in enumerate(words)}  # of the last piece
        if family not in DECODERS:
            places = {word: words.index(word) for word in wanted}
        expected = states[[places[word] for word in wanted]]
        torch.testing.assert_close(found[at : at + len(wanted)], expected, **CLOSE)
        first = states[-1 if family in DECODERS else 0]
        torch.testing.assert_close(firsts[number], first, **CLOSE)
        at += len(wanted)
    assert at == len(found)


@pytest.mark.parametrize("family", POOLERS)
def test_the_pooler_gives_what_transformers_gives(encoder_folder, tokenized, family):
    source = find_encoder(str(encoder_folder(family)))
    encoder = load_encoder(source, pooler=True)
    model = AutoModelForSequenceClassification.from_pretrained(source.folder).eval()
    if family != "bert":  # their classifiers have layers of their own, or none
        model = AutoModel.from_pretrained(source.folder).eval()
    alignment = encoder.align(pairs_of([*PAIRS, LONG]), packing="joint")
    batch = encoder.batcher.firsts(alignment, np.arange(4))
    with torch.inference_mode():
        found = encoder(batch)
        types = {} if batch.types is None else {"token_type_ids": batch.types}
        windows = encoder.model(batch.ids, batch.mask, **types).pooler_output
        torch.testing.assert_close(found[3], windows[batch.segments == 3].mean(0), **CLOSE)
        assert found[3].abs().max() > 0.1
        for vector, (a, b) in zip(found, PAIRS, strict=False):
            output = model(**tokenized(family, a, b, encoder.has_types))
            read, expected = vector, output.get("pooler_output")
            if family == "bert":
                read, expected = model.classifier(vector), output.logits
            torch.testing.assert_close(read, expected[0], **CLOSE)


@pytest.mark.parametrize("family", ["distilbert", "modernbert", "llama", "roberta"])
def test_a_checkpoint_without_pooler_is_refused(encoder_folder, tmp_path, family):
    folder = encoder_folder(family)
    if family == "roberta":  # a language model's, as they are published

        def change(weights):
            for name in ("weight", "bias"):
                del weights[f"pooler.dense.{name}"]

        folder = changed(folder, tmp_path / family, "model.safetensors", change)
        load_encoder(find_encoder(str(folder)))
    with pytest.raises(InputError, match=family):
        load_encoder(find_encoder(str(folder)), pooler=True)


@pytest.mark.parametrize("texts", [LONG, LONG[::-1]])
def test_the_shorter_text_is_repeated_in_every_window(encoder_folder, texts):
    """And the first piece is the mean over the windows; texts that are no pairs are refused."""
    encoder = load_encoder(find_encoder(str(encoder_folder("bert"))))
    alignment = encoder.align(pairs_of([texts]), packing="joint")
    assert len(alignment.windows) > 1
    with torch.inference_mode():
        batch = encoder.batcher.firsts(alignment, np.array([0]))
        each = encoder.model(batch.ids, batch.mask, token_type_ids=batch.types).last_hidden_state
        torch.testing.assert_close(encoder(batch)[0], each[:, 0].mean(0), **CLOSE)
    with pytest.raises(InputError):
        encoder.align([*pairs_of(PAIRS), Sentence(("alone",))], packing="joint")
    short = alignment.windows[:, int(texts[1] == LONG[1])]
    assert len(np.unique(short, axis=0)) == 1
    assert (alignment.window_lengths <= encoder.positions).all()
    assert alignment.counts["windowed_sentences"] == 1
