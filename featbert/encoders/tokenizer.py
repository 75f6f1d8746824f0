"""The tokenizer: splits the words of a corpus into wordpieces and never changes word boundaries.

Three settings of a checkpoint's tokenizer would silently change the text. Here truncation and
padding are off. Byte-level tokenizers get a space before every word, as inside a sentence. A word
of the corpus that spells a special token ("[SEP]") is text.
"""

import importlib.util
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from tokenizers import Encoding, Tokenizer
from tokenizers.models import WordPiece

from featbert.encoders.batching import Ints, ranges
from featbert.encoders.source import EncoderSource, hashed_folder, read_json, refusing
from featbert.errors import InputError
from featbert.progress import stage

# Distinct strings and characters per call of the tokenizer, and strings per text of a call: its
# results take many times the memory of the piece ids.
STRINGS_AT_A_TIME, STRINGS_OF_A_TEXT = 16_384, 64
CHARACTERS_AT_A_TIME = 1 << 20
# Strings of a call are not divided into words, and get no special pieces.
_PLAIN = {"is_pretokenized": True, "add_special_tokens": False}


@dataclass(frozen=True)
class WordPieces:
    """A word tokenizer with the special pieces that pre-training put around a text.

    Attributes:
        prefix, suffix: special piece ids before and after the pieces of a window.
        middle: special piece ids between the two texts of a pair.
        unknown_id: piece of a word for which the tokenizer emits nothing.
        space_id: piece of only the space before a string. -1 if there is none.
        lowercases: whether the tokenizer lowercases, i.e. the checkpoint is uncased.
    """

    backend: Tokenizer
    prefix: tuple[int, ...]
    suffix: tuple[int, ...]
    middle: tuple[int, ...]
    pad_id: int
    unknown_id: int
    space_id: int
    lowercases: bool

    @property
    def highest_id(self) -> int:
        """The highest id of a piece, specials included."""
        specials = (*self.prefix, *self.suffix, *self.middle, self.pad_id, self.unknown_id)
        return max(*self.backend.get_vocab().values(), *specials)

    @property
    def n_special(self) -> int:
        return len(self.prefix) + len(self.suffix)

    def pieces(
        self, texts: Sequence[Sequence[str]], touches: Sequence[Sequence[bool]] | None = None
    ) -> tuple[Ints, Ints, int]:
        """Wordpieces of the words of texts, in order, without specials.

        Words that touch are tokenized as one string, as in running text. A word has all pieces with
        a character of it, so a piece may belong to several words. A word without pieces has the
        piece before it. A lone "▁" before a string has no character of a word, and belongs only to
        a word that touches no other. If WordPiece has one unknown piece for several words, each of
        them is tokenized separately.

        Args:
            texts: the words of each text.
            touches: whether each word touches the one before it, by text. An empty sequence means
                that no words touch.

        Returns:
            pieces: (P,) piece ids.
            words: (N, 2) first and end piece of each word, at least one. Both rise.
            unknown: number of words with an unknown piece or without pieces. A string without
                pieces gets the unknown piece.
        """
        number_of: dict[tuple[str, ...], int] = {}
        pairs = zip(texts, touches or [()] * len(texts), strict=True)
        numbers = np.fromiter(
            (number_of.setdefault(s, len(number_of)) for text in pairs for s in _strings(*text)),
            dtype=np.int64,
        )
        distinct = list(number_of)
        sizes = np.array([len(word) for string in distinct for word in string], dtype=np.int64)
        n_words = np.array([*map(len, distinct)], dtype=np.int64)
        last = np.cumsum(n_words) - 1  # the last word of each string
        first = last - n_words + 1
        # Places of strings one after the other, with a gap between them
        ends = np.cumsum(sizes) + np.repeat(np.arange(len(distinct)), n_words)
        begins = ends - sizes
        encoded = self._without_shared_unknowns(
            self._encoded(["".join(string) for string in distinct]), distinct
        )
        silent = np.setdiff1d(np.arange(len(distinct)), encoded[1])  # strings without pieces
        whole = ends[last[silent]] - begins[first[silent]]
        rows = np.full_like(silent, self.unknown_id), silent, np.zeros_like(silent), whole
        encoded = np.concatenate([encoded, rows], axis=1)
        ids, of_string, starts, stops = encoded[:, np.argsort(encoded[1], kind="stable")]
        n_pieces = np.bincount(of_string, minlength=len(distinct))
        base = begins[first][of_string]
        starts, stops = (np.maximum.accumulate(base + places) for places in (starts, stops))
        until = np.cumsum(n_pieces)
        # (W, 2) of the words of distinct strings
        words = np.stack(
            [np.searchsorted(stops, begins, "right"), np.searchsorted(starts, ends)], 1
        )
        words[first, 0], words[last, 1] = until - n_pieces, until
        spaced = (n_words > 1) & (ids[words[first, 0]] == self.space_id)
        words[first, 0] += spaced & (words[first, 1] - words[first, 0] > 1)
        absent = words[:, 0] >= words[:, 1]
        words[absent, 0] = np.maximum(
            words[absent, 0] - 1, np.repeat(until - n_pieces, n_words)[absent]
        )
        words[:, 1] = np.maximum.accumulate(np.maximum(words[:, 1], words[:, 0] + 1))
        # Neighbours share at most one piece, so that windows divide words in their order.
        words[1:, 0] = np.maximum(words[1:, 0], words[:-1, 1] - 1)
        n_known = np.concatenate([[0], np.cumsum(ids != self.unknown_id)])  # before each piece
        unknown = absent | (n_known[words[:, 1]] - n_known[words[:, 0]] < np.diff(words)[:, 0])
        counts, of_words = n_pieces[numbers], n_words[numbers]
        flat = ids[ranges((until - n_pieces)[numbers], counts)]
        occurring = ranges(first[numbers], of_words)
        moved = np.cumsum(counts) - until[numbers]
        return (
            flat,
            words[occurring] + np.repeat(moved, of_words)[:, None],
            int(unknown[occurring].sum()),
        )

    def _without_shared_unknowns(self, pieces: Ints, strings: Sequence[tuple[str, ...]]) -> Ints:
        """`_encoded` pieces. An unknown piece of several words is replaced by pieces of each word.

        WordPiece has one for a clause of more than 100 characters, or with an unknown character.
        """
        if not isinstance(self.backend.model, WordPiece):
            return pieces
        runs: list[Ints] = []
        begin, measured = 0, -1
        for n in np.flatnonzero(pieces[0] == self.unknown_id).tolist():
            string, start, stop = pieces[1:, n].tolist()
            if string != measured:
                measured, ends = string, np.cumsum([len(word) for word in strings[string]])
            edges = ends[np.searchsorted(ends, start, "right") : np.searchsorted(ends, stop)]
            if not len(edges):
                continue
            text = "".join(strings[string])
            runs.append(pieces[:, begin:n])
            begin = n + 1
            for a, b in pairwise([start, *edges.tolist(), stop]):
                runs.append(_table(self.backend.encode([text[a:b]], **_PLAIN), string, a))
        return np.concatenate([*runs, pieces[:, begin:]], axis=1)

    def _encoded(self, strings: Sequence[str]) -> Ints:
        """(4, P) pieces of strings: id, number of the string, first and end character in it."""
        portions = [np.zeros((4, 0), dtype=np.int64)]
        characters = np.cumsum([len(string) for string in strings], dtype=np.int64)
        numbers = np.arange(len(strings)) // STRINGS_AT_A_TIME + characters // CHARACTERS_AT_A_TIME
        edges = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(strings)]
        with stage("tokenizing", "distinct words", len(strings)) as advance:
            for start, stop in pairwise(edges):
                firsts = range(start, stop, STRINGS_OF_A_TEXT)
                texts = [strings[n : min(n + STRINGS_OF_A_TEXT, stop)] for n in firsts]
                portions += map(_table, self.backend.encode_batch(texts, **_PLAIN), firsts)
                advance(stop - start)
        return np.concatenate(portions, axis=1)


def _table(encoded: Encoding, first: int, start: int = 0) -> Ints:
    """(4, P) pieces of strings, as `_encoded`. `first` is the number of the first string."""
    places = np.array(encoded.offsets, dtype=np.int64).reshape(-1, 2).T
    table: Ints = np.array([encoded.ids, encoded.word_ids, *places], dtype=np.int64)
    table += np.array([[0], [first], [start], [start]])
    return table


def _strings(words: Sequence[str], touches: Sequence[bool]) -> Iterator[tuple[str, ...]]:
    """The words of a text. Words that touch are one string."""
    if not any(touches):
        yield from zip(words)
        return
    edges = [n for n, joined in enumerate(touches) if not joined]
    for start, end in pairwise([*edges, len(words)]):
        yield tuple(words[start:end])


def load_wordpieces(source: EncoderSource) -> WordPieces:
    """The encoder's tokenizer. InputError if it is incomplete, slow, or lowercases wrongly."""
    tokenizer = pretrained_tokenizer(source)
    serialized = tokenizer.backend_tokenizer.to_str()
    if len(tokenizer) <= len(tokenizer.all_special_ids):
        raise InputError(
            f"the tokenizer in {source.folder} has no pieces but special ones; tokenizer.json or "
            "vocab.txt is missing"
        )
    backend = _word_backend(serialized)
    if _is_cased_vocabulary(backend) and _lowercases(backend):
        backend = _word_backend(serialized, keep_case=True)
        if _lowercases(backend):
            raise InputError(
                f"the vocabulary of {source.name} is cased but its tokenizer lowercases; "
                "set do_lower_case to false in its tokenizer_config.json"
            )
    with refusing(f"the tokenizer in {source.folder} cannot be used"):
        backend.encode("\U0010fffd", add_special_tokens=True)  # a character that no vocabulary has
    specials = tuple(backend.encode("", add_special_tokens=True).ids)
    mask = backend.encode("a", add_special_tokens=True).special_tokens_mask
    first = next((i for i, special in enumerate(mask) if not special), len(specials))
    prefix, suffix = specials[:first], specials[first:]
    if not specials and tokenizer.cls_token_id is not None and tokenizer.sep_token_id is not None:
        prefix, suffix = (tokenizer.cls_token_id,), (tokenizer.sep_token_id,)
    pair = backend.encode("a", "a", add_special_tokens=True)
    ids = [i for i, special in zip(pair.ids, pair.special_tokens_mask, strict=True) if special]
    middle = tuple(ids[len(prefix) : len(ids) - len(suffix)]) or suffix
    unknown, end = tokenizer.unk_token_id, tokenizer.eos_token_id
    if not middle and end is not None:  # pre-training has it between documents
        middle = (end,)
    if unknown is None and _has_byte_level(backend):  # all bytes have a piece
        unknown = end
    if unknown is None:
        raise InputError(f"the tokenizer of {source.name} has no unknown token")
    space = None
    if not isinstance(backend.model, WordPiece):
        space = backend.token_to_id("Ġ" if _has_byte_level(backend) else "▁")
    return WordPieces(
        backend,
        prefix,
        suffix,
        middle,
        pad_id=int(tokenizer.pad_token_id or 0),
        unknown_id=int(unknown),
        space_id=-1 if space is None else space,
        lowercases=_lowercases(backend),
    )


def pretrained_tokenizer(source: EncoderSource, **options: Any) -> Any:
    """The tokenizer as transformers loads it from the hashed files.

    InputError if it cannot be loaded, or is slow, i.e. not of the tokenizers library: a slow one
    has no offsets of pieces.
    """
    from transformers import AutoTokenizer, PreTrainedTokenizer, PreTrainedTokenizerFast
    from transformers.models.auto import tokenization_auto as auto

    names = {path.name: path for path in source.tokenizer_files}
    settings = read_json(names["tokenizer_config.json"]) if "tokenizer_config.json" in names else {}
    classes = auto.TOKENIZER_MAPPING_NAMES.get(str(source.config.get("model_type")))
    name = settings.get("tokenizer_class") or source.config.get("tokenizer_class") or classes
    models = [path for name, path in names.items() if name.endswith(".model")]
    if models and "tokenizer.json" not in names and not importlib.util.find_spec("sentencepiece"):
        raise InputError(
            f"{models[0]} is a SentencePiece model, which featbert reads with the package "
            "sentencepiece; pip install 'featbert[sentencepiece]'"
        )
    with hashed_folder(source, f"the tokenizer in {source.folder} cannot be loaded") as folder:
        kind: Any = auto.tokenizer_class_from_name(str(name))
        tokenizer: Any = None
        # A slow one may import packages that are not installed.
        if kind in (None, PreTrainedTokenizer) or issubclass(kind, PreTrainedTokenizerFast):
            tokenizer = AutoTokenizer.from_pretrained(
                folder, local_files_only=True, trust_remote_code=False, **options
            )
    if tokenizer is None or not tokenizer.is_fast:
        raise InputError(
            f"{source.name} has a slow tokenizer ({name}), featbert needs a fast one; use an "
            "encoder with a tokenizer.json, such as bert-base-multilingual-cased"
        )
    return tokenizer


def transformers_tokenizer(
    source: EncoderSource, pieces: WordPieces, *, positions: int, types: bool, raw: bool
) -> Any:
    """A tokenizer of transformers with the same pieces as `pieces`.

    It truncates at `positions`, and returns token types if the encoder has `types`. With `raw` it
    reads whole texts, else words. Characters between spaces are one string.
    """
    from tokenizers import processors
    from transformers import PreTrainedTokenizerFast

    checkpoint = pretrained_tokenizer(source)
    state, ours = (json.loads(t.to_str()) for t in (checkpoint.backend_tokenizer, pieces.backend))
    state |= {name: ours[name] for name in ("normalizer", "pre_tokenizer", "truncation", "padding")}
    if raw:
        parts = [{"type": "WhitespaceSplit"}, *filter(None, [ours["pre_tokenizer"]])]
        state["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": parts}
    for node in _nodes(state["pre_tokenizer"], "Metaspace") if raw else ():
        node["prepend_scheme"] = "always"
    backend = Tokenizer.from_str(json.dumps(state))
    specials = pieces.prefix, pieces.middle, pieces.suffix
    before, between, after = ([str(backend.id_to_token(i)) for i in ids] for ids in specials)
    template = processors.TemplateProcessing(
        single=[*before, "$A", *after],
        pair=[*before, "$A", *between, "$B:1", *(f"{token}:1" for token in after)],
        special_tokens=[(str(backend.id_to_token(i)), i) for ids in specials for i in ids],
    )
    trim = [processors.ByteLevel(trim_offsets=True)] if _has_byte_level(backend) else []
    backend.post_processor = processors.Sequence([*trim, template])
    names = {"pad_token": backend.id_to_token(pieces.pad_id)} | checkpoint.special_tokens_map
    make: Any = PreTrainedTokenizerFast
    return make(
        tokenizer_object=backend,
        model_max_length=positions,
        model_input_names=["input_ids", *["token_type_ids"] * types, "attention_mask"],
        split_special_tokens=True,
        **names,
    )


def is_uncased(source: EncoderSource) -> bool:
    """Whether the encoder's tokenizer lowercases. Reads only tokenizer.json if there is one."""
    path = source.folder / "tokenizer.json"
    if not path.is_file():
        return load_wordpieces(source).lowercases
    with refusing(f"{path} cannot be loaded"):
        backend = Tokenizer.from_file(str(path))
    return _lowercases(backend) and not _is_cased_vocabulary(backend)


def _word_backend(serialized: str, *, keep_case: bool = False) -> Tokenizer:
    """The tokenizer without truncation and padding, words beginning as inside a sentence."""
    state: dict[str, Any] = json.loads(serialized)
    state["truncation"] = state["padding"] = None
    cut = bool(_nodes(state.get("pre_tokenizer"), "Split"))
    for node in (byte_level := _nodes(state.get("pre_tokenizer"), "ByteLevel")):
        node["add_prefix_space"] = not cut
    if byte_level and cut:  # a space before a word, not before each part of it
        space = {"type": "Prepend", "prepend": " "}
        steps = [node for node in (state.get("normalizer"), space) if node]
        state["normalizer"] = {"type": "Sequence", "normalizers": steps}
    if keep_case:
        for node in _nodes(state.get("normalizer"), "BertNormalizer"):
            node["lowercase"] = False  # strip_accents follows it if it is null
    if state["model"].get("type") == "Unigram":
        _hide_specials(state)
    backend = Tokenizer.from_str(json.dumps(state))
    backend.encode_special_tokens = True
    return backend


def _hide_specials(state: dict[str, Any]) -> None:
    """Hides special pieces from a Unigram model by a NUL, which no word of a corpus contains."""
    special = {token["content"] for token in state["added_tokens"] if token["special"]}
    state["added_tokens"] = [t for t in state["added_tokens"] if not t["special"]]
    for piece in state["model"]["vocab"]:
        if piece[0] in special:
            piece[0] = "\0" + piece[0]


def _nodes(component: Any, kind: str | None = None) -> list[dict[str, Any]]:
    """A tokenizer component and, if it is a sequence, its parts. `kind`: only of this type."""
    if not isinstance(component, dict):
        return []
    parts = component.get("pretokenizers") or component.get("normalizers") or []
    nodes = [component, *(n for part in parts for n in _nodes(part))]
    return [node for node in nodes if kind in (None, node.get("type"))]


def _has_byte_level(backend: Tokenizer) -> bool:
    steps = backend.pre_tokenizer
    return steps is not None and bool(_nodes(json.loads(steps.__getstate__()), "ByteLevel"))


def _lowercases(backend: Tokenizer) -> bool:
    normalizer = backend.normalizer
    return normalizer is not None and normalizer.normalize_str("Aa").endswith("aa")


def _is_cased_vocabulary(backend: Tokenizer) -> bool:
    """Whether a noticeable share of the vocabulary's pieces has capital letters."""
    pieces = list(backend.get_vocab(with_added_tokens=False))
    if _has_byte_level(backend):
        # In the alphabet of bytes only ASCII stays the same. A space is the capital \u0120.
        pieces = ["".join(c for c in p if c.isascii()) for p in pieces]
    pieces = [p for p in pieces if not (p.lstrip("\0").startswith("[") or "<" in p)]
    capitals = sum(1 for p in pieces if p != p.lower())
    return capitals > len(pieces) // 100
