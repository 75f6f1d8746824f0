"""Raw texts: subwords of running text, and vectors of whole texts as in sentence-transformers.

The oracle is transformers, run plainly: the checkpoint's own tokenizer on the text, all last states
by its attention mask, their mean and their maximum.
"""

from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from featbert.config import defaults
from featbert.data.corpus import Corpus, Sentence, Split
from featbert.data.examples import example_of
from featbert.data.files import RawRow
from featbert.encoders.alignment import align
from featbert.encoders.layers import parse_layers
from featbert.encoders.loading import load_encoder
from featbert.encoders.source import find_encoder
from featbert.encoders.tokenizer import load_wordpieces, transformers_tokenizer
from featbert.models.combination import CombineLayers
from featbert.tasks.base import TargetSummary
from featbert.training.assembly import make_model
from featbert.training.inputs import PieceInputs, stored_inputs
from tests.encoders.test_alignment import assert_owned_once
from tests.features.support import CLOSE, Plain, extracted
from tests.tiny_encoders import changed

CPU = torch.device("cpu")
SHORT = [
    "The lazy fox, (of Jordan's)...",
    "世界 says: 3-1!",
    "ที่เมือง fox",
    "Éu e\u0301té x",
    "",
    ".",
]
LONG = [
    "unaffordable internationalisation, " * 6,
    "很" * 60 + " fox.",
    "on" * 49,  # one word of more pieces than a window has
    "The fox. " + "ที่" * 50,
]
FAMILIES = ("bert", "xlm-roberta", "roberta", "llama")


def is_read_alone(family: str, text: str) -> bool:
    """Whether WordPiece knows nothing of a clause, which featbert then reads by characters."""
    return family == "bert" and "ที่" in text


def example(*texts: str) -> Sentence:
    names = ("text", "pair")[: len(texts)]
    return example_of(RawRow(dict(zip(names, texts, strict=True)), "here", 1), *names)


def corpus_of(*examples: Sentence) -> Corpus:
    return Corpus("tiny", {"train": Split("train", examples)}, targets=None)


def wordpieces_of(folder):
    return load_wordpieces(find_encoder(str(folder)))


def split(wordpieces, *sentences):
    """Pieces, places of words among them, and the number of unknown pieces."""
    return wordpieces.pieces([s.words for s in sentences], [s.touches for s in sentences])


stored = partial(extracted, store_dtype="float32", token_budget=70)


@pytest.mark.parametrize("family", FAMILIES)
def test_subwords_and_means_are_those_of_sentence_transformers(encoder_folder, tmp_path, family):
    plain = Plain(encoder_folder(family))
    store = stored(corpus_of(*map(example, SHORT)), encoder_folder(family), tmp_path)
    assert store.manifest.kinds == ("words", "cls", "mean", "max")
    encoder = load_encoder(find_encoder(str(encoder_folder(family))))
    alignment = encoder.align([*map(example, SHORT)])
    for n, text in enumerate(SHORT[:4]):
        if is_read_alone(family, text):
            continue
        given = plain.tokenizer(plain.space + text, return_tensors="pt")
        start, end = alignment.owned_pieces[alignment.units[n : n + 2]]
        inner = given["input_ids"][0, len(encoder.wordpieces.prefix) :]
        assert alignment.pieces[start:end].tolist() == inner[: end - start].tolist()
        assert given["input_ids"].shape[1] == end - start + alignment.n_special
        with torch.inference_mode():
            output = plain.model(**given, output_hidden_states=True)
        mask = given["attention_mask"][0].bool()
        states = torch.stack(output.hidden_states)[:, 0, mask]
        for kind, expected in (("mean", states.mean(1)), ("max", states.amax(1))):
            found = store.read("train", kind=kind)[:, n]
            np.testing.assert_allclose(found[: len(expected)], expected.numpy(), **CLOSE)


@pytest.mark.parametrize("family", ["bert", "xlm-roberta", "roberta", "modernbert"])
def test_an_exported_tokenizer_gives_the_subwords_of_texts(encoder_folder, family):
    source = find_encoder(str(encoder_folder(family)))
    wordpieces = load_wordpieces(source)
    tokenizer = transformers_tokenizer(source, wordpieces, positions=400, types=False, raw=True)
    texts = (*SHORT[:4], *LONG, " The  fox\n.", "a\u3000b")
    for text in (one for one in texts if not is_read_alone(family, one)):
        words = example(text)
        pieces, *_ = wordpieces.pieces([words.words], [words.touches])
        expected = [*wordpieces.prefix, *pieces, *wordpieces.suffix]
        assert tokenizer(text)["input_ids"] == expected, text


@pytest.mark.parametrize("packing", [None, "joint", "apart"])
@pytest.mark.parametrize(("family", "pooling"), [("bert", "first"), ("xlm-roberta", "mean")])
def test_long_texts_are_all_of_their_pieces(encoder_folder, tmp_path, family, packing, pooling):
    """Brute force: each window run alone, what it owns and its specials."""
    folder = encoder_folder(family)
    texts = [*LONG, *SHORT]
    if packing is None:
        examples = [*map(example, texts)]
    else:
        examples = [example(a, b) for a, b in zip(texts, [*texts[3:], *texts[:3]], strict=True)]
    options = {"packing": packing or "joint", "pooling": pooling}
    store = stored(corpus_of(*examples), folder, tmp_path, **options)
    pooled = stored(corpus_of(*examples), folder, tmp_path / "pooled", keep="pooled", **options)
    encoder = load_encoder(find_encoder(str(folder)), pooling=pooling).eval()
    alignment = encoder.align(examples, packing=packing)
    assert alignment.counts["overlong_words"] > 0
    places = store.index("train").places("mean")
    for unit in range(len(alignment.units) - 1):
        states = []
        for v in range(alignment.units[unit], alignment.units[unit + 1]):
            batch = encoder.batcher.windows(alignment, np.array([v]))
            numbers = []  # of the piece at each place; -1 for a special
            for part, (start, end) in enumerate(alignment.windows[v]):
                numbers += [-1] * len(
                    encoder.wordpieces.middle if part else encoder.wordpieces.prefix
                )
                numbers += range(start, end)
            numbers += [-1] * len(encoder.wordpieces.suffix)
            first, end = alignment.owned_pieces[v : v + 2]
            types = {} if batch.types is None else {"token_type_ids": batch.types}
            with torch.inference_mode():
                output = encoder.model(batch.ids, **types).last_hidden_state[0]
            kept = [i for i, p in enumerate(numbers) if p == -1 or first <= p < end]
            states.append(output[kept])
        whole = torch.cat(states)
        rows = np.flatnonzero((places[..., 0] == unit).any(axis=1))
        assert len(rows)
        for kind, expected in (("mean", whole.mean(0)), ("max", whole.amax(0))):
            for one in (store, pooled):
                found = one.read("train", [encoder.num_layers], kind=kind)[0, unit]
                np.testing.assert_allclose(found, expected.numpy(), **CLOSE)


@pytest.mark.parametrize("packing", [None, "joint", "apart"])
@pytest.mark.parametrize("family", ["bert", "roberta", "qwen3"])
def test_a_tuned_encoder_begins_with_the_vectors_of_the_store(
    encoder_folder, tmp_path, family, packing
):
    """The keystone, for whole texts with words longer than a window, in parts of any size."""
    texts = [*LONG, *SHORT]
    pairs = zip(texts, texts[::-1], strict=True)
    examples = [*map(example, texts)] if packing is None else [example(*pair) for pair in pairs]
    folder = encoder_folder(family)
    store = stored(corpus_of(*examples), folder, tmp_path, packing=packing or "joint")
    encoder = load_encoder(find_encoder(str(folder))).eval()
    combination, n_texts = parse_layers("last", encoder.num_layers), 1 + (packing == "apart")
    alignment = encoder.align(examples, packing=packing)
    pair_classes = TargetSummary(("a", "b"))
    for how in ("cls", "mean", "max", "max_mean", "word_mean", "attention"):
        heads = [defaults(t, "classification").but(sentence_pooling=how) for t in ("none", "full")]
        frozen = make_model(
            CombineLayers(combination, encoder.hidden_size), pair_classes, heads[0], n_texts
        )
        tuned = make_model(encoder, pair_classes, heads[1], n_texts)
        tuned.pooling.load_state_dict(frozen.pooling.state_dict())
        reads = heads[0].reads
        kept = stored_inputs(store, ["train"], combination, reads, CPU, sentences=examples)
        pieces = PieceInputs(alignment, encoder, CPU, reads=reads)
        for rows in (np.array([5, 1, 0]), np.array([2]), np.arange(len(texts))):
            with torch.inference_mode():
                expected = frozen.eval().vectors(kept.batch(rows), kept.layout(rows))[0]
                for budget in (None, 45):
                    batch = pieces.batch(rows, budget)
                    found = tuned.eval().vectors(batch, pieces.layout(rows))[0]
                    torch.testing.assert_close(found, expected, **CLOSE, msg=how)
            assert len(found) == len(rows)
            parts = np.concatenate([*pieces.parts(rows, 90)])
            assert sorted(parts.tolist()) == sorted(rows.tolist())


# What normalisers expand, delete or reorder; scripts with and without spaces.
SIGNS = [*"aT.,'(界世① ที\u0e48\u200b\u0301é1ﬁ½㌀㍿Ａﾊﾟ豈\u0e33ໜ\u00ad\u200d\ufe0fİぱ"]
SIGNS += ["👩\u200d👩\u200d👧", "か\u3099", "ខ្មែ", "မြန်"]
TEXTS = st.lists(st.sampled_from(SIGNS), min_size=1, max_size=24).map("".join)


@settings(max_examples=150, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=4))
@pytest.mark.parametrize("family", ["bert", "roberta", "xlm-roberta", "albert", "llama", "qwen2"])
def test_words_of_texts_have_the_pieces_that_have_a_character_of_them(
    encoder_folder, family, texts
):
    """In order, within their string, at most one piece of two neighbours; pieces of the string."""
    wordpieces = wordpieces_of(encoder_folder(family))
    examples = [*map(example, texts)]
    pieces, words, _ = split(wordpieces, *examples)
    assert (np.diff(words)[:, 0] >= 1).all()
    assert (words[1:] >= words[:-1]).all()
    assert (words[1:, 0] >= words[:-1, 1] - 1).all()
    strings: list[list[str]] = []
    for one in examples:
        for word, touches in zip(one.words, one.touches, strict=True):
            if not touches:
                strings.append([])
            strings[-1].append(word)
    at = end = 0
    for string in strings:
        first, last = at, at + len(string)
        start, end, at = end, int(words[last - 1, 1]), last
        alone, _, unknown = wordpieces.pieces([["".join(string)]])
        if family != "bert" or not unknown:
            assert pieces[start:end].tolist() == alone.tolist()
        lone = len(string) > 1 and pieces[start] == wordpieces.space_id and end - start > 1
        assert start <= words[first, 0] <= start + lone
        inside = {n for a, b in words[first:last] for n in range(a, b)}
        assert inside >= {*range(start + lone, end)}
    assert end == len(pieces)
    # What windows own does not depend on how many pieces a window has.
    for positions in (6, 11):
        assert_owned_once(align(examples, wordpieces, positions=positions), positions)


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("ที่เมือง" * 20, ()),  # longer than WordPiece reads
        ("ที่ญเมือง", ("ญ",)),
        ("Romeที่ญ世界ที่.", ("ญ",)),
        ("ที่ญ (ญที่)", ("ญ", "ญ")),
        ("fox" * 40 + " fox", ("fox" * 40,)),  # one word, as BERT reads it
        ("fox" * 40 + "ที่", ("fox" * 40,)),
    ],
)
def test_characters_of_a_clause_that_wordpiece_does_not_know_are_read_alone(
    tmp_path, encoder_folder, text, unknown
):
    letters = sorted({*"ที่เมือง", *"Romefox.()", "世", "界"})

    def known(state):
        vocab = state["model"]["vocab"]
        for piece in (*letters, *(f"##{letter}" for letter in letters)):
            vocab.setdefault(piece, len(vocab))

    folder = changed(encoder_folder("bert"), tmp_path / "thai", "tokenizer.json", known)
    wordpieces, read = wordpieces_of(folder), example(text)
    pieces, places, count = split(wordpieces, read)
    by_word = [(word, pieces[a:b]) for word, (a, b) in zip(read.words, places, strict=True)]
    assert [word for word, ids in by_word if wordpieces.unknown_id in ids] == [*unknown]
    assert count == len(unknown) == np.sum(pieces == wordpieces.unknown_id)
    name = wordpieces.backend.id_to_token
    for word, ids in by_word:
        if word not in unknown:
            assert "".join(name(int(n)).removeprefix("##") for n in ids) == word


@pytest.mark.parametrize("family", ["xlm-roberta", "qwen2"])
def test_a_lone_space_is_no_character(encoder_folder, family):
    wordpieces = wordpieces_of(encoder_folder(family))
    space = wordpieces.space_id
    pieces, words, _ = split(wordpieces, example("世界 fox"))
    assert pieces[0] == space
    assert words[0, 0] == 1
    assert space not in pieces[words[0, 0] : words[1, 1]]
    alone, places, _ = wordpieces.pieces([["世", "fox"]])  # words of a column file
    assert alone[places[0, 0]] == space
    assert pieces[slice(*words[2])].tolist() == alone[slice(*places[1])].tolist()


@pytest.mark.parametrize("text", ["很老的罗马", "漢字" * 40])
def test_with_and_without_spaces_characters_of_bert_are_the_same(encoder_folder, tmp_path, text):
    """BERT's own tokenizer puts spaces around Han: nothing of a text may depend on them."""
    spaced = corpus_of(example(" ".join(text)))
    plain = corpus_of(example(text))
    assert spaced["train"].text_fingerprint != plain["train"].text_fingerprint
    stores = [stored(one, encoder_folder("bert"), tmp_path) for one in (plain, spaced)]
    for kind in ("words", "cls", "mean", "max"):
        found, expected = (store.read("train", kind=kind) for store in stores)
        assert found.shape == expected.shape
        np.testing.assert_array_equal(found, expected)
