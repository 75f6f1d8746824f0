"""The word tokenizer: it deepens words, and nothing in a checkpoint's tokenizer may change that."""

import json
import shutil

import numpy as np
import pytest
from tokenizers import Tokenizer, normalizers

from featbert.encoders import tokenizer as module
from featbert.encoders.source import find_encoder
from featbert.encoders.tokenizer import load_wordpieces
from featbert.errors import InputError
from tests.features.support import ODD_WORDS, WORDS, Plain
from tests.tiny_encoders import FAMILIES, changed, write_encoder


def load(folder):
    return load_wordpieces(find_encoder(str(folder)))


@pytest.mark.parametrize("family", FAMILIES)
def test_pieces_are_those_of_transformers_word_by_word(encoder_folder, family):
    texts = [list(WORDS), [*ODD_WORDS, "x"], ["x"], list(ODD_WORDS)]
    wordpieces, plain = load(encoder_folder(family)), Plain(encoder_folder(family))
    pieces, places, unknown = wordpieces.pieces(texts)
    expected = [p for words in texts for p in plain.pieces(words)]
    assert [pieces[a:b].tolist() for a, b in places] == expected
    assert places[:, 0].tolist() == [0, *places[:-1, 1]]
    assert unknown == sum(wordpieces.unknown_id in ids for ids in expected)
    if FAMILIES[family].tokenizer == "WordPiece":
        assert unknown > 0  # or the test shows nothing


def test_words_are_tokenized_in_portions_to_the_same_pieces(encoder_folder, monkeypatch):
    wordpieces = load(encoder_folder("bert"))
    texts = [WORDS[: 1 + number % 5] for number in range(11)] + [ODD_WORDS]
    whole = wordpieces.pieces(texts)
    for portion, of_a_text in ((1, 1), (4, 3), (12, 64), (1000, 2)):
        monkeypatch.setattr(module, "STRINGS_AT_A_TIME", portion)
        monkeypatch.setattr(module, "STRINGS_OF_A_TEXT", of_a_text)
        found = wordpieces.pieces(texts)
        np.testing.assert_array_equal(found[0], whole[0])
        np.testing.assert_array_equal(found[1], whole[1])
        assert found[2] == whole[2] > 0


def test_specials_where_the_tokenizer_file_adds_none(encoder_folder, tmp_path):
    def forget(state):
        state["post_processor"] = None

    source = encoder_folder("bert")
    bare, whole = load(changed(source, tmp_path / "bare", "tokenizer.json", forget)), load(source)
    specials = [(loaded.prefix, loaded.middle, loaded.suffix) for loaded in (bare, whole)]
    assert specials[0] == specials[1]


@pytest.mark.parametrize("family", FAMILIES)
def test_words_that_spell_special_tokens_are_text(encoder_folder, family):
    wordpieces = load(encoder_folder(family))
    tokenizer = Plain(encoder_folder(family)).tokenizer
    spelled = ["[SEP]", "[CLS]", "[PAD]", "[MASK]", "<s>", "</s>", "<pad>", "<mask>", "x</s>"]
    pieces, places, _ = wordpieces.pieces([["fox", *spelled, "fox"]])
    assert len(places) == len(spelled) + 2
    special = set(tokenizer.all_special_ids) - {wordpieces.unknown_id}
    assert special.isdisjoint(pieces.tolist())
    # The words beside them are read as ever.
    alone, _, _ = wordpieces.pieces([["fox"]])
    assert pieces[: places[0, 1]].tolist() == pieces[places[-1, 0] :].tolist() == alone.tolist()


def test_an_uncased_checkpoint_is_told(tmp_path):
    uncased = load(write_encoder(tmp_path / "uncased", cased=False))
    assert uncased.lowercases
    upper, lower = (uncased.pieces([[word]])[0].tolist() for word in ("FOX", "fox"))
    assert upper == lower


def lowercase(state):
    state["normalizer"]["lowercase"] = True


def test_a_cased_vocabulary_is_never_lowercased(encoder_folder, tmp_path):
    folder = changed(encoder_folder("bert"), tmp_path / "wrong", "tokenizer.json", lowercase)
    as_saved = Tokenizer.from_file(str(folder / "tokenizer.json"))
    upper, lower = (as_saved.encode(word).ids for word in ("Hamilton", "hamilton"))
    assert upper == lower  # the trap is set
    wordpieces, right = load(folder), load(encoder_folder("bert"))
    assert not wordpieces.lowercases
    words = [["Hamilton", "hamilton", "é", "EU"]]
    assert wordpieces.pieces(words)[0].tolist() == right.pieces(words)[0].tolist()


def test_an_uncased_byte_level_checkpoint_is_uncased(encoder_folder, tmp_path):
    """Letters of the byte alphabet (Ġ for a space) are no capitals of the vocabulary."""

    def change(state):
        lowercased(state)
        vocab = state["model"]["vocab"]
        capitals = [p for p in vocab if any("A" <= c <= "Z" for c in p)]
        for n, piece in enumerate(capitals):
            vocab[f"unused{n}"] = vocab.pop(piece)
        state["model"]["merges"] = []

    folder = changed(encoder_folder("roberta"), tmp_path / "uncased", "tokenizer.json", change)
    assert load(folder).lowercases


def lowercased(state):
    state["normalizer"] = json.loads(normalizers.Lowercase().__getstate__())


@pytest.mark.parametrize(
    ("name", "change", "named"),
    [
        # A cased vocabulary of another normaliser cannot be read as it was trained.
        ("tokenizer.json", lowercased, "do_lower_case"),
        ("tokenizer_config.json", lambda c: c.pop("unk_token"), "spoilt"),
    ],
)
def test_what_cannot_be_read_is_refused(encoder_folder, tmp_path, name, change, named):
    folder = changed(encoder_folder("xlm-roberta"), tmp_path / "spoilt", name, change)
    with pytest.raises(InputError, match=named):
        load(folder)


def test_a_tokenizer_without_vocabulary_is_refused(encoder_folder, tmp_path):
    def change(config):
        config["tokenizer_class"] = "BertTokenizer"

    source = encoder_folder("bert")
    folder = changed(source, tmp_path / "spoilt", "tokenizer_config.json", change)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(InputError, match="spoilt"):
        load(folder)


def test_a_sentencepiece_model_alone_needs_its_package(encoder_folder, tmp_path, monkeypatch):
    folder = shutil.copytree(encoder_folder("deberta-v3"), tmp_path / "spm")
    (folder / "tokenizer.json").rename(folder / "spm.model")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"spm\.model.*featbert\[sentencepiece\]"):
        load(folder)


def test_with_a_piece_for_every_byte_none_is_needed(encoder_folder, tmp_path):
    """Llama 3 has an end of text and no unknown piece."""

    def change(config):
        config["eos_token"] = config.pop("unk_token")

    source = encoder_folder("modernbert")
    folder = changed(source, tmp_path / "bytes", "tokenizer_config.json", change)
    _, places, unknown = load(folder).pieces([[*ODD_WORDS, ""]])
    assert (np.diff(places).min(), unknown) == (1, 1)  # the empty word
