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

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice, pairwise
from typing import Any, Literal

import numpy as np

from featbert.data.corpus import Sentence
from featbert.data.examples import Examples
from featbert.data.files import BOM, DOCSTART
from featbert.data.streaming import piece_of, read_texts
from featbert.data.tags import targets_of
from featbert.errors import InputError
from featbert.features.plan import BLOCK_WORDS
from featbert.inference.load import LoadedRun
from featbert.tasks.base import Task

Format = Literal["conll", "jsonl"]
# The columns of a line, and a JSON object (`Task.answered`).
Answered = tuple[list[str], dict[str, Any]]
# A piece of the input, and as a JSON object with its tags as the run would have recorded them.
TaggedPiece = tuple[Sentence, dict[str, Any]]


def predict_stream(
    run: LoadedRun, pieces: Iterable[Sentence], *, block_words: int = BLOCK_WORDS
) -> Iterator[TaggedPiece]:
    """Tags pieces as they come; a block is read, tagged and yielded before the next is read."""
    by_document = run.record.signature.context == "document"
    for block in cut_blocks(pieces, block_words, by_document=by_document):
        # Text before the first mark of a document is a document too, number 0.
        sentences = [Sentence(p.words, None, p.document or 0) for p in block if p.words]
        answered: Iterator[tuple[list[str], list[float]]] = iter(())
        if sentences:
            found, shares = run.shares(run.inputs(sentences), sentences)
            ends = run.task.items(sentences)[1:-1]
            highest = [part.tolist() for part in np.split(shares.max(axis=1), ends)]
            answered = zip(found, highest, strict=True)
        for piece in block:
            tags, chosen = next(answered) if piece.words else ([], [])
            yield piece, _row(piece, tags, chosen, run.task)


def cut_blocks(
    pieces: Iterable[Sentence], block_words: int, *, by_document: bool
) -> Iterator[list[Sentence]]:
    """The pieces in blocks of at least `block_words` words, the last one excepted.

    Nothing is read beyond a block, except one piece with whole documents. A piece without words
    counts as one.
    """
    documents = (list(group) for _, group in groupby(pieces, key=lambda piece: piece.document))
    block: list[Sentence] = []
    size = 0
    for unit in documents if by_document else ([piece] for piece in pieces):
        block += unit
        size += sum(max(1, len(piece.words)) for piece in unit)
        if size >= block_words:
            yield block
            block, size = [], 0
    if block:
        yield block


def rows_of(pieces: Iterable[TaggedPiece], form: Format) -> Iterator[str]:
    """The text of each piece, line ends included, as it comes."""
    return _conll(pieces) if form == "conll" else (_line(row) for _, row in pieces)


def _line(row: dict[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n"


def _conll(pieces: Iterable[TaggedPiece]) -> Iterator[str]:
    document = None
    for number, (piece, row) in enumerate(pieces):
        rows = [f"{w}\t{t}\n" for w, t in zip(piece.words, row["tags"], strict=True)]
        if not piece.texts and piece.document != document:
            document = piece.document
            rows.insert(0, f"{DOCSTART}\tO\n\n")
        if not number and rows and rows[0].startswith(BOM):
            rows.insert(0, BOM)  # a reader takes one off
        yield "".join(rows) + "\n"


def _row(piece: Sentence, tags: list[str], shares: list[float], task: Task) -> dict[str, Any]:
    """A piece as a JSON object; `shares` are the probabilities of its tags."""
    text, places = (piece.texts[0], piece.places) if piece.texts else (None, None)
    row: dict[str, Any] = {"text": text, "tokens": piece.words, "offsets": places, "tags": tags}
    if (entities := task.phrases(tags)) is not None:
        row["entities"] = [_entity(piece, shares, *one) for one in entities]
    row["probabilities"] = [round(share, 6) for share in shares]
    if not piece.texts:
        row["document"] = piece.document
    return {name: value for name, value in row.items() if value is not None}


def _entity(
    piece: Sentence, shares: list[float], kind: str, start: int, end: int
) -> dict[str, Any]:
    row: dict[str, Any] = {"type": kind, "start": start, "end": end}
    if piece.texts:
        first, after = piece.places[start][0], piece.places[end - 1][1]
        row |= {"start_char": first, "end_char": after, "text": piece.texts[0][first:after]}
    else:
        row["text"] = " ".join(piece.words[start:end])
    return row | {"probability": round(math.prod(shares[start:end]), 6)}


# Texts and pairs ----------------------------------------------------------------------------------


def predict_texts(
    run: LoadedRun, sentences: Iterable[Sentence], *, block_words: int = BLOCK_WORDS
) -> Iterator[Answered]:
    """Answers texts as they come; a block is read, answered and yielded before the next is read.

    A blank line is given back in its place, without an answer.
    """
    by_group = run.task.groups(()) is not None
    for block in cut_blocks(sentences, block_words, by_document=by_group):
        found = _answers(run, [text for text in block if text.words])
        for text in block:
            blank = [text.texts[0]], {"text": text.texts[0], "answer": None}
            yield from islice(found, 1) if text.words else [blank]


def _answers(run: LoadedRun, block: Sequence[Sentence]) -> Iterator[Answered]:
    answers, shares = run.shares(run.inputs(block), block)
    groups = run.task.groups(block)
    edges = pairwise(range(len(block) + 1) if groups is None else groups)
    for (first, end), answer in zip(edges, answers, strict=True):
        rows = shares[first:end].round(6).tolist()  # without columns for scores
        by_class = [dict(zip(run.record.labels, row, strict=False)) for row in rows]
        yield run.task.answered(block[first:end], answer, by_class)


def answer_rows(found: Iterable[Answered], form: Format) -> Iterator[str]:
    """A line for each text: its texts and its answer, separated by tabs, or a JSON object.

    InputError for a text with a tab or line end, which columns cannot hold.
    """
    for cells, row in found:
        if form == "jsonl":
            yield _line(row)
            continue
        if any(sign in cell for cell in cells[:-1] for sign in "\t\n\r"):
            raise InputError(
                f"a tab or line end in {cells[0][:60]!r}; write objects: --format jsonl"
            )
        yield "\t".join(cells) + "\n"


def answered(run: LoadedRun, given: Sequence[Any]) -> list[dict[str, Any]]:
    """The answers to texts as JSON objects; see `LoadedRun.predict`."""
    if not run.task.of_texts:
        pieces = (piece_of(one, number) for number, one in enumerate(given))
        return [row for _, row in predict_stream(run, pieces)]
    form = targets_of(run.task.targets).form or Examples
    pairs = run.record.signature.packing is not None
    lines = (_object_line(one, form.names_of_texts[: 1 + pairs]) for one in given)
    read = read_texts(lines, "the texts", "jsonl", pairs=pairs, form=form)
    return [row for _, row in predict_texts(run, read)]


def _object_line(given: Any, names: Sequence[str]) -> str:
    """A line of JSONL for the texts of an example."""
    if isinstance(given, str):
        given = (given,)
    if isinstance(given, tuple):
        if len(given) != len(names):
            wanted = f"({', '.join(names)})" if len(names) > 1 else "a text"
            raise InputError(f"{given!r:.60} is not what this run answers; give {wanted}")
        given = dict(zip(names, given, strict=True))
    try:
        return json.dumps(given)
    except (TypeError, ValueError) as error:
        raise InputError(f"{given!r:.60} is no text: {error}") from None
