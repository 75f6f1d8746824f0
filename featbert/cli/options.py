"""Options that several commands share: one name, one meaning, one default."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from featbert.errors import InputError

Data = Annotated[
    str,
    typer.Option("--data", help="Corpus folder with train, dev and test files; or sample."),
]
Model = Annotated[
    str,
    typer.Option("--model", help="Encoder: a folder, a Hub id, or an installed package's encoder."),
]
CacheDir = Annotated[Path, typer.Option("--cache-dir", help="Folder of feature stores.")]
RunsDir = Annotated[Path, typer.Option("--runs-dir", help="Folder of runs.")]
Device = Annotated[
    Literal["auto", "cpu", "cuda"],
    typer.Option("--device", help="Where to compute; auto takes a GPU when there is one."),
]
Context = Annotated[
    Literal["sentence", "document"],
    typer.Option("--context", help="What a word sees: its sentence or its whole document."),
]
Pooling = Annotated[
    Literal["first", "last", "mean"],
    typer.Option("--pooling", help="Wordpiece that stands for a word, or the mean of all."),
]
Precision = Annotated[
    Literal["auto", "fp32", "bf16", "fp16"],
    typer.Option("--precision", help="Precision to compute in; auto is bf16 where it is native."),
]
Seeds = Annotated[
    str, typer.Option("--seeds", help="Random seeds, a run each: 1,2,3.", metavar="SEEDS")
]
Epochs = Annotated[
    int | None, typer.Option("--epochs", help="Passes over the training split.", min=1)
]
BatchSize = Annotated[
    int | None, typer.Option("--batch-size", help="Sentences of a training step.", min=1)
]
LearningRate = Annotated[
    float | None, typer.Option("--learning-rate", help="Highest learning rate of AdamW.")
]
Dropout = Annotated[float | None, typer.Option("--dropout", help="Dropout of the tagger.")]
Warmup = Annotated[
    float | None,
    typer.Option("--warmup", help="Share of the steps in which the rate rises from 0."),
]
Schedule = Annotated[
    Literal["linear", "constant"] | None,
    typer.Option("--schedule", help="The rate after the warmup: down to 0, or constant."),
]
BiasCorrection = Annotated[
    bool | None,
    typer.Option(
        "--bias-correction/--no-bias-correction",
        help="Adam's bias correction; the optimiser published with BERT has none.",
    ),
]
TagScheme = Annotated[
    Literal["bio", "iob1"],
    typer.Option("--tag-scheme", help="Scheme of the labels that the tagger learns."),
]
TrainOn = Annotated[
    Literal["train", "train+dev"],
    typer.Option(
        "--train-on",
        help="With train+dev: as many epochs as were best with train alone, which is run first.",
    ),
]
Truecase = Annotated[
    bool,
    typer.Option(
        "--truecase",
        help="Give sentences in capitals the casing of the training split (cased encoders).",
    ),
]
Patience = Annotated[
    int | None,
    typer.Option("--patience", help="Stop after so many epochs without a better dev F1.", min=1),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Train again what is finished already.")
]
Language = Annotated[
    str | None, typer.Option("--language", help="Language code of the corpus, such as de.")
]
Encoding = Annotated[str, typer.Option("--encoding", help="Text encoding of the corpus files.")]
Scheme = Annotated[
    str,
    typer.Option("--scheme", help="Tag scheme of the files: auto, bio, iob1, io or bioes."),
]
TokenColumn = Annotated[
    int | None, typer.Option("--token-column", help="Column of the words, from 1.", min=1)
]
TagColumn = Annotated[
    int | None, typer.Option("--tag-column", help="Column of the tags, from 1.", min=1)
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")]
ReportFormat = Annotated[
    Literal["text", "markdown", "latex", "csv", "json"],
    typer.Option("--format", help="How to print the tables; json has every number unrounded."),
]
Figures = Annotated[
    Path | None,
    typer.Option("--figures", metavar="DIR", help="Draw figures to this folder, as PNG and PDF."),
]
TableFormat = Annotated[
    Literal["text", "json"], typer.Option("--format", help="How to print the result.")
]


def check_folder(path: Path, option: str) -> None:
    """Raises InputError where a folder to write into is a file, or lies in one."""
    for place in (path, *path.parents):
        if place.exists():
            if not place.is_dir():
                raise InputError(f"a folder expected for {option}, {place} is a file; name another")
            return


def parse_seeds(text: str) -> list[int]:
    """Seeds of "1,2,3" or "1-5".

    Raises:
        InputError: anything else, or a seed twice.
    """
    seeds: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*([0-9]{1,9})\s*(?:-\s*([0-9]{1,9})\s*)?", part)
        if match is None or (match[2] and not 0 <= int(match[2]) - int(match[1]) < 1000):
            raise InputError(f"seeds such as 1,2,3 or 1-5 expected for --seeds, found {text!r}")
        seeds += range(int(match[1]), int(match[2] or match[1]) + 1)
    if len(set(seeds)) != len(seeds):
        raise InputError(f"each seed once expected for --seeds, found {text!r}")
    return seeds


def reading_options(
    language: str | None,
    encoding: str,
    scheme: str,
    token_column: int | None,
    tag_column: int | None,
) -> dict[str, Any]:
    """Options for `load_corpus` that differ from its defaults."""
    given = {
        "language": (language, None),
        "encoding": (encoding, "utf-8"),
        "scheme": (scheme, "auto"),
        "token_column": (token_column, None),
        "tag_column": (tag_column, None),
    }
    return {name: value for name, (value, default) in given.items() if value != default}
