"""Corpora: sentences, readers and writers, tag schemes, the corpus check, the embedded sample."""

from featbert.data.check import CorpusReport, HeldOutReport, SplitReport, check_corpus
from featbert.data.conll import read_conll
from featbert.data.conll_write import write_conll
from featbert.data.corpus import SPLITS, Corpus, ReadingNotes, Split
from featbert.data.folder import load_corpus
from featbert.data.jsonl import read_jsonl, write_jsonl
from featbert.data.raw import RawFile, RawSentence
from featbert.data.schemes import (
    SCHEMES,
    Span,
    TagError,
    detect_scheme,
    from_bio,
    scheme_name,
    spans,
    to_bio,
)
from featbert.data.sentence import Sentence

__all__ = [
    "SCHEMES",
    "SPLITS",
    "Corpus",
    "CorpusReport",
    "HeldOutReport",
    "RawFile",
    "RawSentence",
    "ReadingNotes",
    "Sentence",
    "Span",
    "Split",
    "SplitReport",
    "TagError",
    "check_corpus",
    "detect_scheme",
    "from_bio",
    "load_corpus",
    "read_conll",
    "read_jsonl",
    "scheme_name",
    "spans",
    "to_bio",
    "write_conll",
    "write_jsonl",
]
