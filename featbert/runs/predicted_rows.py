"""Tagged sentences as text: column lines or JSONL, a sentence at a time.

CoNLL    word, tab, tag; a blank line after each sentence. A blank line of raw text is a blank line
         here, so that the k-th line of the input is what stands before the k-th blank line.
         -DOCSTART- where the input marks documents.
JSONL    an object a sentence, also for a blank line:

    {"text": "Smith's in Rome .",
     "tokens": ["Smith", "'s", "in", "Rome", "."],
     "offsets": [[0, 5], [5, 7], [8, 10], [11, 15], [16, 17]],
     "tags": ["B-PER", "O", "O", "B-LOC", "O"],
     "entities": [{"type": "PER", "start": 0, "end": 1, "start_char": 0, "end_char": 5,
                   "text": "Smith", "probability": 0.98}, ...],
     "probabilities": [0.98, 0.999, 0.999, 0.97, 1.0]}

Offsets count Unicode code points of the line from 0, ends exclusive; `start` and `end` of an
entity count tokens. Tokenised input has neither "text" nor offsets, and an entity's text is its
tokens with a space between them; it has "document" where the input has. Probabilities have six
decimals: of each token's label, and of an entity the product over its tokens.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from featbert.data.files import BOM, DOCSTART
from featbert.runs.predicting import TaggedPiece

Format = Literal["conll", "jsonl"]


def written(pieces: Iterable[TaggedPiece], form: Format) -> Iterator[str]:
    """The text of each piece, line ends included, as it comes."""
    return _conll(pieces) if form == "conll" else map(_json, pieces)


def _conll(pieces: Iterable[TaggedPiece]) -> Iterator[str]:
    document = None
    first = True
    for tagged in pieces:
        piece = tagged.piece
        rows = [f"{w}\t{t}\n" for w, t in zip(piece.words, tagged.tags, strict=True)]
        if piece.text is None and piece.document != document:
            document = piece.document
            rows.insert(0, f"{DOCSTART}\tO\n\n")
        if first and rows and rows[0].startswith(BOM):
            rows.insert(0, BOM)  # a reader takes one off
        first = False
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
    row["entities"] = _entities(tagged)
    row["probabilities"] = [round(p, 6) for p in tagged.probabilities]
    if piece.text is None and piece.document is not None:
        row["document"] = piece.document
    return json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n"


def _entities(tagged: TaggedPiece) -> list[dict[str, Any]]:
    piece = tagged.piece
    found = []
    for entity in tagged.entities:
        row: dict[str, Any] = {"type": entity.type, "start": entity.start, "end": entity.end}
        if piece.text is not None and piece.offsets is not None:
            start, end = piece.offsets[entity.start][0], piece.offsets[entity.end - 1][1]
            row |= {"start_char": start, "end_char": end, "text": piece.text[start:end]}
        else:
            row["text"] = " ".join(piece.words[entity.start : entity.end])
        row["probability"] = round(entity.probability, 6)
        found.append(row)
    return found
