"""Corpora of plain words, and the oracle: transformers run plainly, one sequence at a time."""

from pathlib import Path

import numpy as np
import torch

from featbert.api import extract
from featbert.data.corpus import Corpus, Sentence, Split
from featbert.encoders.alignment import plan_windows
from featbert.features.store import FeatureStore

# Settings of exact vectors, and the tolerance between vectors of different batches.
FP32 = {"precision": "fp32", "device": "cpu"}
CLOSE = {"atol": 2e-5, "rtol": 1e-4}
# Every unusual kind of word: emoji and their joiners, combining marks, words that no tokenizer
# gives a piece for, other scripts, inner spaces, and words of many pieces.
ODD_WORDS = (
    *(
        "\u200b",
        "\u0301",
        "\ufe0f",
        "👩‍👩‍👧",
        "🙂🙂",
        "e\u0301te\u0301",
        "नमस्ते",
        "中文字",
        "\u00a0x",
    ),
    *("New York", "internationalisation" * 3, "ab" * 60),
)
# Sentences of which one is longer than a window.
TRAIN = [
    "The quick fox jumps .",
    "Jordan",
    "Hamilton rejects unaffordable lamb " * 6 + ".",
    "EU \u200b x",
    "Chelsea beat Washington 3 - 1 on Sunday",
    "said the Herald .",
]
WORDS = ("The", "quick", "fox", "jumps", "unaffordable", "Hamilton", ".", "Chelsea", "3", "Jordan")


def sentences_of(texts, documents=None) -> tuple[Sentence, ...]:
    """Untagged sentences; a text is a list of words, or words joined by single spaces."""
    rows = [t.split(" ") if isinstance(t, str) else t for t in texts]
    numbers = documents or [None] * len(rows)
    return tuple(Sentence(tuple(words), document=n) for words, n in zip(rows, numbers, strict=True))


def corpus_of(*, documents=None, tag="O", **splits) -> Corpus:
    """A corpus whose words all have the tag `tag`; documents by split name."""
    made = {}
    for name, texts in splits.items():
        rows = sentences_of(texts, (documents or {}).get(name))
        tagged = tuple(Sentence(s.words, (tag,) * len(s), s.document) for s in rows)
        made[name] = Split(name, tagged)
    return Corpus("tiny", made, source="tiny")


def extracted(corpus: Corpus, folder: Path, cache: Path, **options) -> FeatureStore:
    """The store of a corpus, by default computed in fp32 on the processor."""
    return extract(corpus, str(folder), cache_dir=cache, **FP32 | options)


class Plain:
    """A checkpoint as a user of transformers would run it, without batches."""

    def __init__(self, folder: Path) -> None:
        from transformers import AutoModel, AutoTokenizer

        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        # A word as inside a sentence: some tokenizers do not put a space before it.
        self.space = " " if "ByteLevel" in str(self.tokenizer.backend_tokenizer) else ""
        special = self.tokenizer("")["input_ids"]
        self.prefix, self.suffix = special[:1], special[1:]
        self.model = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()

    def encode(self, words) -> tuple[list[int], list[int | None]]:
        """Piece ids with specials, and the word of each piece, by the tokenizer itself."""
        options = {"truncation": False, "padding": False, "add_special_tokens": False}
        ids = [self.tokenizer(self.space + word, **options)["input_ids"] for word in words]
        owners = [word for word, pieces in enumerate(ids) for _ in pieces]
        numbers = [None] * len(self.prefix) + owners + [None] * len(self.suffix)
        return [*self.prefix, *(p for word in ids for p in word), *self.suffix], numbers

    def pieces(self, words) -> list[list[int]]:
        """Piece ids by word; a word without pieces has the unknown piece."""
        ids, owners = self.encode(words)
        by_word = [[] for _ in words]
        for piece, word in zip(ids, owners, strict=True):
            if word is not None:
                by_word[word].append(piece)
        return [p or [self.tokenizer.unk_token_id] for p in by_word]

    def run(self, ids) -> torch.Tensor:
        """(L + 1, len(ids), H) of one sequence of ids, specials included."""
        with torch.no_grad():
            found = self.model(input_ids=torch.tensor([ids]), output_hidden_states=True)
        return torch.stack([state[0] for state in found.hidden_states])

    def run_pieces(self, pieces) -> torch.Tensor:
        """(L + 1, words, P, H) as a list by word: the specials around flat pieces are cut off."""
        flat = [p for word in pieces for p in word]
        states = self.run([*self.prefix, *flat, *self.suffix])[:, len(self.prefix) :]
        states = states[:, : len(flat)]
        return torch.split(states, [len(word) for word in pieces], dim=1)

    def word_states(self, words, capacity: int) -> np.ndarray:
        """(L + 1, T, H) first-piece states; where the pieces exceed `capacity`, each word is read
        from the window that `plan_windows` (which has tests of its own) gives it, run alone."""
        pieces = self.pieces(words)
        firsts = np.cumsum([0, *map(len, pieces[:-1])])
        return self.piece_states(pieces, capacity)[:, firsts].numpy()

    def piece_states(self, pieces, capacity: int) -> torch.Tensor:
        """(L + 1, P, H) of all pieces, given by word, each read from its window, run alone."""
        flat = [p for word in pieces for p in word]
        windows, owned = plan_windows(np.array([*map(len, pieces)]), capacity)
        rows = []
        for (start, end), first, stop in zip(windows, owned[:-1], owned[1:], strict=True):
            (states,) = self.run_pieces([flat[start:end]])
            rows.append(states[:, first - start : stop - start])
        return torch.cat(rows, dim=1)
