"""Finished runs on a small corpus, of every kind that a run can be: what using one again needs."""

from pathlib import Path

from featbert.api import extract
from featbert.config import defaults
from featbert.data.corpus import Corpus
from featbert.data.load import load_corpus
from featbert.data.options import ReadingOptions
from featbert.runs.run import Run
from tests.features.support import FP32
from tests.workspace import finetune, train, write_splits

SENTENCES = [
    ("Jordan Smith of Chelsea beat Washington", "B-PER I-PER O B-ORG O B-LOC"),
    ("HAMILTON REJECTS GERMAN CALL", "B-PER O B-MISC O"),
    ("The Herald Chelsea said Hamilton was unaffordable", "O B-ORG B-ORG O B-PER O O"),
    ("EU rejects German call", "B-ORG O B-MISC O"),
    ("THE HERALD NEAR WASHINGTON", "O B-ORG O B-LOC"),
    ("Hamilton is near Washington . " * 8, "B-LOC O O B-LOC O " * 8),
    ("No entity here at all", "O O O O O"),
    ("Smith jumps over the lazy dog", "B-PER O O O O O"),
]
# Enough for a random encoder's states to tell entities apart, and no more.
STEPS = {"epochs": 10, "batch_size": 2, "learning_rate": 2e-2, "dropout": 0.0, "warmup": 0.0}
LSTM = {"lstm_size": 8, "lstm_layers": 1, "output": "softmax"}
STORED = defaults("none").but(schedule="constant", **STEPS, **LSTM)
TUNED = defaults("full", output="softmax").but(
    epochs=12, batch_size=2, learning_rate=6e-3, dropout=0.1, warmup=0.0
)


def write_corpus(folder: Path, *, rename: tuple[str, str] | None = None) -> Path:
    """Two documents a split; train twice as long, test in another order than dev."""
    rows = [(words, tags.replace(*rename) if rename else tags) for words, tags in SENTENCES]
    return write_splits(folder, rows * 2, rows, rows[::-1], in_document=4)


def corpus_of(run: Run) -> Corpus:
    return load_corpus(run.record.signature.source, ReadingOptions(**run.record.reading))


def stored_run(
    folder: Path,
    model: Path,
    corpus: Path,
    *,
    seed: int = 1,
    tag_scheme: str = "bio",
    layers: str = "sum:1,2",
    overwrite: bool = False,
    **how,
) -> Run:
    """A run on frozen features; `how` is what an extraction may differ in."""
    read = load_corpus(corpus)
    store = extract(read, str(model), cache_dir=folder / "cache", **FP32 | how)
    options = {"seed": seed, "tag_scheme": tag_scheme, "overwrite": overwrite} | FP32
    return train(store, layers, data=read, settings=STORED, runs_dir=folder / "runs", **options)


def tuned_run(folder: Path, model: Path, corpus: Path, **how) -> Run:
    """A run with a tuned encoder; `how` is what the encoder's reading may differ in."""
    options = {"settings": TUNED, "runs_dir": folder / "runs"} | FP32 | how
    return finetune(load_corpus(corpus), str(model), **options)


MAKERS = {"none": stored_run, "full": tuned_run}


def learned_run(tuning: str, folder: Path, model: Path, corpus: Path, **how) -> Run:
    """A run that gives several tags: equality with a run that only ever says O would say little.

    Of so few steps on a random encoder now and then nothing comes; then another seed is taken.
    """
    for seed in (1, 2, 3, 4):
        run = MAKERS[tuning](folder, model, corpus, seed=seed, **how)
        if len({tag for row in run.predictions("test").predicted for tag in row}) > 2:
            return run
    raise AssertionError(f"no seed of {tuning} {how} learned anything")
