"""Text tagged by a finished run, as a stream: blocks of sentences in, tagged sentences out.

Memory is that of one block, a few thousand words, or of one document where the run reads whole
documents. Sentences come out in the order in which they went in, with the same words; a piece
without words, such as a blank line, comes out as it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from featbert.data.corpus import Sentence
from featbert.data.streaming import Piece
from featbert.data.tags import spans
from featbert.features.plan import BLOCK_WORDS
from featbert.runs.loading import LoadedTagger


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity: words start <= i < end of one sentence.

    Attributes:
        probability: the product of its words' probabilities. Given the text, the tagger labels
            each word by itself, so that this is its probability of exactly these labels for these
            words; it falls with their number.
    """

    type: str
    start: int
    end: int
    probability: float


@dataclass(frozen=True, slots=True)
class TaggedPiece:
    """A piece of the input with its tags.

    Attributes:
        tags: (T,) BIO, as the run would have recorded them: ill-formed ones (I- after O) stay.
        probabilities: (T,) of the label that each word was given.
    """

    piece: Piece
    tags: tuple[str, ...]
    probabilities: tuple[float, ...]

    @property
    def entities(self) -> list[Entity]:
        """Entities in order, the conlleval way, as they are scored."""
        return [
            Entity(type_, start, end, math.prod(self.probabilities[start:end]))
            for type_, start, end in spans(self.tags)
        ]


def predict_stream(
    tagger: LoadedTagger, pieces: Iterable[Piece], *, block_words: int = BLOCK_WORDS
) -> Iterator[TaggedPiece]:
    """Tags pieces as they come; a block is read, tagged and given on before the next is read.

    Args:
        block_words: a block ends with the sentence (in document context: the document) in which
            it has so many words. The blocks of an extraction end alike.

    Raises:
        UnusableRunError: numbers that are not finite.
    """
    by_document = tagger.usable.record.signature.context == "document"
    for block in cut_blocks(pieces, block_words, by_document=by_document):
        yield from _tag(tagger, block)


def cut_blocks(
    pieces: Iterable[Piece], block_words: int, *, by_document: bool
) -> Iterator[list[Piece]]:
    """The pieces in blocks of at least `block_words` words, the last one excepted.

    Sentences are read no further than their block. A document's end shows in what follows it, so
    that with whole documents one piece is read ahead. A piece without words counts as one.
    """
    block: list[Piece] = []
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


def _tag(tagger: LoadedTagger, block: list[Piece]) -> Iterator[TaggedPiece]:
    # What stands before the first mark of a document is a document too, number 0.
    sentences = [Sentence(p.words, None, p.document or 0) for p in block if p.words]
    rows: Iterator[tuple[list[str], list[float]]] = iter(())
    if sentences:
        rows = zip(*tagger.probable_tags(tagger.inputs(sentences)), strict=True)
    for piece in block:
        tags, probabilities = next(rows) if piece.words else ([], [])
        yield TaggedPiece(piece, tuple(tags), tuple(probabilities))
