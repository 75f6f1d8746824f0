"""Text answered by a finished run, as a stream: blocks of sentences in, tagged sentences out.

Memory is that of one block, a few thousand words, or of one document where the run reads whole
documents. Line k of raw text is before the k-th blank line of CoNLL output (word, tab, tag). JSONL
has an object a sentence, also for a blank line:

    {"text": "Smith's in Rome .",
     "tokens": ["Smith", "'s", "in", "Rome", "."],
     "offsets": [[0, 5], [5, 7], [8, 10], [11, 15], [16, 17]],
     "tags": ["B-PER", "O", "O", "B-LOC", "O"],
     "entities": [{"type": "PER", "start": 0, "end": 1, "start_char": 0, "end_char": 5,
                   "text": "Smith", "probability": 0.98}, ...],
     "probabilities": [0.98, 0.999, 0.999, 0.97, 1.0]}

Offsets count Unicode code points of the line from 0, ends exclusive; `start` and `end` count
tokens. Tokenised input has neither "text" nor offsets. An entity's probability is the product over
its tokens.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, TypeVar

import numpy as np

from featbert.data.corpus import Sentence
from featbert.data.files import BOM, DOCSTART
from featbert.data.streaming import Piece
from featbert.errors import InputError
from featbert.features.plan import BLOCK_WORDS
from featbert.runs.load import LoadedRun

Format = Literal["conll", "jsonl"]
Words = TypeVar("Words", Piece, Sentence)
# An example's texts, its answer as text, and both as a JSON object (`Task.answered`).
AnsweredText = tuple[tuple[str, ...], str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class TaggedPiece:
    """A piece of the input with its tags (T,), as the run would have recorded them.

    `entities` are type, first word and the word after the last one of each, in order, as they are
    scored; None for a task that has none.
    """

    piece: Piece
    tags: tuple[str, ...]
    probabilities: tuple[float, ...]
    entities: list[tuple[str, int, int]] | None


def predict_stream(
    run: LoadedRun, pieces: Iterable[Piece], *, block_words: int = BLOCK_WORDS
) -> Iterator[TaggedPiece]:
    """Tags pieces as they come; a block is read, tagged and yielded before the next is read."""
    by_document = run.usable.record.signature.context == "document"
    for block in cut_blocks(pieces, block_words, by_document=by_document):
        yield from _tag(run, block)


def cut_blocks(
    pieces: Iterable[Words], block_words: int, *, by_document: bool
) -> Iterator[list[Words]]:
    """The pieces in blocks of at least `block_words` words, the last one excepted.

    Nothing is read beyond a block, except one piece with whole documents. A piece without words
    counts as one.
    """
    block: list[Words] = []
    size = 0
    for piece in pieces:
        if by_document and size >= block_words and piece.document != block[-1].document:
            yield block
            block, size = [], 0
        block.append(piece)
        size += max(1, len(piece.words))
        if not by_document and size >= block_words:
            yield block
            block, size = [], 0
    if block:
        yield block


def _tag(run: LoadedRun, block: list[Piece]) -> Iterator[TaggedPiece]:
    # Text before the first mark of a document is a document too, number 0.
    sentences = [Sentence(p.words, None, p.document or 0) for p in block if p.words]
    rows: Iterator[tuple[list[str], list[float]]] = iter(())
    if sentences:
        found, shares = run.shares(run.inputs(sentences), sentences)
        ends = run.usable.task.items(sentences)[1:-1]
        chosen = [part.tolist() for part in np.split(shares.max(axis=1), ends)]
        rows = zip(found, chosen, strict=True)
    for piece in block:
        tags, probabilities = next(rows) if piece.words else ([], [])
        entities = run.usable.task.phrases(tags)
        yield TaggedPiece(piece, tuple(tags), tuple(probabilities), entities)


def rows_of(pieces: Iterable[TaggedPiece], form: Format) -> Iterator[str]:
    """The text of each piece, line ends included, as it comes."""
    return _conll(pieces) if form == "conll" else map(_json, pieces)


def _conll(pieces: Iterable[TaggedPiece]) -> Iterator[str]:
    document = None
    for number, tagged in enumerate(pieces):
        piece = tagged.piece
        rows = [f"{w}\t{t}\n" for w, t in zip(piece.words, tagged.tags, strict=True)]
        if piece.text is None and piece.document != document:
            document = piece.document
            rows.insert(0, f"{DOCSTART}\tO\n\n")
        if not number and rows and rows[0].startswith(BOM):
            rows.insert(0, BOM)  # a reader takes one off
        yield "".join(rows) + "\n"


def _json(tagged: TaggedPiece) -> str:
    piece = tagged.piece
    row: dict[str, Any] = {}
    if piece.text is not None:
        row["text"] = piece.text
    row["tokens"] = piece.words
    if piece.offsets is not None:
        row["offsets"] = piece.offsets
    row["tags"] = tagged.tags
    if tagged.entities is not None:
        row["entities"] = [_entity(tagged, *one) for one in tagged.entities]
    row["probabilities"] = [round(p, 6) for p in tagged.probabilities]
    if piece.text is None and piece.document is not None:
        row["document"] = piece.document
    return json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n"


def _entity(tagged: TaggedPiece, kind: str, start: int, end: int) -> dict[str, Any]:
    piece = tagged.piece
    row: dict[str, Any] = {"type": kind, "start": start, "end": end}
    if piece.text is not None and piece.offsets is not None:
        first, after = piece.offsets[start][0], piece.offsets[end - 1][1]
        row |= {"start_char": first, "end_char": after, "text": piece.text[first:after]}
    else:
        row["text"] = " ".join(piece.words[start:end])
    return row | {"probability": round(math.prod(tagged.probabilities[start:end]), 6)}


# Texts and pairs ----------------------------------------------------------------------------------


def predict_texts(
    run: LoadedRun, sentences: Iterable[Sentence], *, block_words: int = BLOCK_WORDS
) -> Iterator[AnsweredText]:
    """Answers texts as they come; a block is read, answered and yielded before the next is read."""
    task, classes = run.usable.task, run.usable.record.labels
    by_group = task.groups(()) is not None
    for block in cut_blocks(sentences, block_words, by_document=by_group):
        answers, shares = run.shares(run.inputs(block), block)
        groups = task.groups(block)
        edges = pairwise(range(len(block) + 1) if groups is None else groups)
        for (first, end), answer in zip(edges, answers, strict=True):
            yield task.answered(block[first:end], answer, classes, shares[first:end])


def answer_rows(found: Iterable[AnsweredText], form: Format) -> Iterator[str]:
    """A line for each text: its texts and its answer, separated by tabs, or a JSON object.

    InputError for a text with a tab or line end, which columns cannot hold.
    """
    for texts, answer, row in found:
        if form == "jsonl":
            yield json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n"
            continue
        if any(sign in text for text in texts for sign in "\t\n\r"):
            raise InputError(
                f"a tab or line end in {texts[0][:60]!r}; write objects: --format jsonl"
            )
        yield "\t".join([*texts, answer]) + "\n"
