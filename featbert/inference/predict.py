"""Answers of a finished run to a stream of text: blocks of sentences in, tagged sentences out.

Memory holds one block, a few thousand words, or one document if the run reads whole documents. In
CoNLL output (word, tab, tag), line k of raw text comes before the k-th blank line. JSONL has an
object for each sentence, also for a blank line:

    {"text": "Smith's in Rome .",
     "tokens": ["Smith", "'s", "in", "Rome", "."],
     "offsets": [[0, 5], [5, 7], [8, 10], [11, 15], [16, 17]],
     "tags": ["B-PER", "O", "O", "B-LOC", "O"],
     "entities": [{"type": "PER", "start": 0, "end": 1, "start_char": 0, "end_char": 5,
                   "text": "Smith", "probability": 0.98}, ...],
     "probabilities": [0.98, 0.999, 0.999, 0.97, 1.0]}

Offsets count Unicode code points of the line from 0, with exclusive ends. `start` and `end` count
tokens. Tokenised input has neither "text" nor offsets. An entity's probability is the product of
its tokens' probabilities.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice, pairwise
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from featbert.data.corpus import Sentence
from featbert.data.examples import TextReader
from featbert.data.files import BOM, DOCSTART
from featbert.data.options import ReadingOptions
from featbert.data.streaming import piece_of, read_texts
from featbert.data.tags import target_kind
from featbert.errors import InputError, spelling
from featbert.features.plan import BLOCK_WORDS
from featbert.inference.columns import stream_as_trained, trained_columns
from featbert.runs.record import RunRecord
from featbert.tasks.base import Task

Format = Literal["conll", "jsonl"]
# The columns of a line, and a JSON object (`Task.answered`).
Answered = tuple[list[str], dict[str, Any]]
# A line of the input, and a JSON object with its tags as the run would have recorded them.
TaggedPiece = tuple[Sentence, dict[str, Any]]


class Predictor(Protocol):
    """A loaded run: its task and record, its inputs for sentences, and the answers to them."""

    @property
    def task(self) -> Task: ...
    @property
    def record(self) -> RunRecord: ...
    def inputs(self, sentences: Sequence[Sentence]) -> Any: ...
    def shares(
        self, inputs: Any, sentences: Sequence[Sentence]
    ) -> tuple[Any, NDArray[Any], NDArray[Any]]: ...


def predicted_rows(run: Predictor, texts: Sequence[Any]) -> list[dict[str, Any]]:
    """The answers of `LoadedRun.predict`."""
    if not run.task.of_texts:
        pieces = (_piece(text, number) for number, text in enumerate(texts))
        return [row for _, row in predict_stream(run, pieces)]
    reader = target_kind(run.task.targets).reader or TextReader
    pairs = run.record.signature.packing is not None
    names = reader.names_of_texts[: 1 + pairs]
    lines = (_object_line(text, names, number) for number, text in enumerate(texts, 1))

    def read(lines: Iterator[str], options: ReadingOptions) -> Iterator[Sentence]:
        return read_texts(
            lines, "the texts", "jsonl", pairs=pairs, options=options, reader_type=reader
        )

    # Strings have no names of columns.
    trained = trained_columns(run.record) if isinstance(next(iter(texts), None), dict) else {}
    examples = stream_as_trained(lines, read, trained, ReadingOptions())
    return [row for _, row in predict_texts(run, examples)]


def _piece(text: Any, number: int) -> Sentence:
    """A text with this number, from 0, as a document."""
    if isinstance(text, dict):
        name = next((name for name, value in text.items() if isinstance(value, str)), "text")
        advice = f"give a column with strings or lists of words, such as table[{name!r}]"
        raise InputError(f"{text!r:.60} is no text, text {number + 1}; {advice}")
    try:
        return piece_of(_as_list(text), number)
    except InputError as error:
        raise InputError(f"{error}, text {number + 1}") from None


def _as_list(text: Any) -> Any:
    """An array of words or texts as a list. Anything else stays."""
    return text.tolist() if isinstance(text, np.ndarray) and text.ndim else text


def predict_stream(
    run: Predictor, pieces: Iterable[Sentence], *, block_words: int = BLOCK_WORDS
) -> Iterator[TaggedPiece]:
    """Tags lines as they come. A block is read, tagged and yielded before the next is read."""
    by_document = run.record.signature.context == "document"
    for block in cut_blocks(pieces, block_words, by_document=by_document):
        # Text before the first mark of a document is document 0.
        tagged = _tags(run, [Sentence(p.words, None, p.document or 0) for p in block if p.words])
        for piece in block:
            tags, shares = next(tagged) if piece.words else ([], [])
            yield piece, _row(piece, tags, shares, run.task)


def _tags(run: Predictor, sentences: list[Sentence]) -> Iterator[tuple[list[str], list[float]]]:
    """The tags of each sentence, and the probability of each tag."""
    answers, shares, numbers = run.shares(run.inputs(sentences), sentences)
    of_tags = shares[np.arange(len(numbers)), numbers]
    parts = np.split(of_tags, run.task.items(sentences)[1:-1])
    yield from zip(answers, (part.tolist() for part in parts), strict=True)


def cut_blocks(
    pieces: Iterable[Sentence], block_words: int, *, by_document: bool
) -> Iterator[list[Sentence]]:
    """Blocks of at least `block_words` words. The last block may have fewer.

    Nothing is read beyond a block, but for one line with whole documents. A line without words
    counts as one word.
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
    """The text of each line, line ends included, as it comes."""
    return _conll(pieces) if form == "conll" else (_line(row) for _, row in pieces)


def _line(row: dict[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n"


def _conll(pieces: Iterable[TaggedPiece]) -> Iterator[str]:
    document = None
    for number, (piece, row) in enumerate(pieces):
        rows = [f"{w}\t{t}\n" for w, t in zip(piece.words, row["tags"], strict=True)]
        if _names_document(piece) and piece.document != document:
            document = piece.document
            rows.insert(0, f"{DOCSTART}\tO\n\n")
        if not number and rows and rows[0].startswith(BOM):
            rows.insert(0, BOM)  # a reader removes the first one
        yield "".join(rows) + "\n"


def _row(piece: Sentence, tags: list[str], shares: list[float], task: Task) -> dict[str, Any]:
    """A line as a JSON object. `shares` are the probabilities of its tags."""
    text, places = (piece.texts[0], piece.places) if piece.texts else (None, None)
    row: dict[str, Any] = {"text": text, "tokens": piece.words, "offsets": places, "tags": tags}
    if (entities := task.phrases(tags)) is not None:
        row["entities"] = [_entity(piece, shares, *entity) for entity in entities]
    row["probabilities"] = [round(share, 6) for share in shares]
    if _names_document(piece):
        row["document"] = piece.document
    return {name: value for name, value in row.items() if value is not None}


def _names_document(piece: Sentence) -> bool:
    """Whether the input names documents, as column files and JSONL can. Raw text cannot."""
    return bool(piece.lines or not piece.texts)


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


def predict_texts(run: Predictor, sentences: Iterable[Sentence]) -> Iterator[Answered]:
    """Answers texts as they come. A block is read, answered and yielded before the next is read.

    A blank line, or a text without a word, is returned in its place, without an answer.
    """
    by_group = run.task.groups(()) is not None

    def is_blank(text: Sentence) -> bool:
        return not any(text.words) and not (by_group and text.words)

    for block in cut_blocks(sentences, BLOCK_WORDS, by_document=by_group):
        answers = _answers(run, [text for text in block if not is_blank(text)])
        for text in block:
            if is_blank(text):
                yield [*text.texts], {**run.task.shown([text]), "answer": None}
            else:
                yield from islice(answers, 1)


def _answers(run: Predictor, block: Sequence[Sentence]) -> Iterator[Answered]:
    answers, shares, _ = run.shares(run.inputs(block), block)
    groups = run.task.groups(block)
    edges = pairwise(range(len(block) + 1) if groups is None else groups)
    for (first, end), answer in zip(edges, answers, strict=True):
        rows = shares[first:end].round(6).tolist()  # without columns for scores
        by_class = [dict(zip(run.record.targets.classes, row, strict=False)) for row in rows]
        yield run.task.answered(block[first:end], answer, by_class)


def answer_rows(answers: Iterable[Answered], form: Format) -> Iterator[str]:
    """A line for each text: its texts and its answer, separated by tabs, or a JSON object.

    InputError for a text or class with a tab or line end, which columns cannot hold.
    """
    for cells, row in answers:
        if form == "jsonl":
            yield _line(row)
            continue
        if cell := next((c for c in cells if not {*"\t\n\r"}.isdisjoint(c)), None):
            raise InputError(
                f"a tab or line end in {cell[:60]!r}; write objects: {spelling('format', 'jsonl')}"
            )
        yield "\t".join(cells) + "\n"


def _object_line(text: Any, names: Sequence[str], number: int) -> str:
    """A line of JSONL for the texts of an example."""
    place, text = f"text {number}", _as_list(text)
    if isinstance(text, str):
        text = (text,)
    if isinstance(text, tuple | list):
        if len(text) != len(names):
            form = f"({', '.join(names)})" if len(names) > 1 else "a text"
            raise InputError(f"{text!r:.60}, {place}, is not what this run answers; give {form}")
        text = dict(zip(names, text, strict=True))
    if not isinstance(text, dict):
        raise InputError(f"{text!r:.60} is no text, {place}")
    try:
        # Columns that are not read may hold anything.
        return json.dumps(text, default=lambda v: v.tolist() if hasattr(v, "tolist") else str(v))
    except (TypeError, ValueError) as error:
        raise InputError(f"{text!r:.60} is no text, {place}: {error}") from None
