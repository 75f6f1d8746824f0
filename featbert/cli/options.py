"""Options that several commands share: one name, one meaning, one default."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from featbert.cli import completion
from featbert.errors import InputError, MissingError, nearest_path
from featbert.text import printable

if TYPE_CHECKING:
    from featbert.features.store.reader import FeatureStore

# As many digits as --seeds reads.
LARGEST_SEED = 999_999_999

Data = Annotated[
    str,
    typer.Option(
        "--data",
        metavar="CORPUS",
        help="Corpus folder with train, dev and test files; sample; or hf:NAME.",
        autocompletion=completion.corpora,
    ),
]
Model = Annotated[
    str,
    typer.Option(
        "--model",
        metavar="ENCODER",
        help="Encoder: folder, Hub id or installed package.",
        autocompletion=completion.models,
    ),
]
Features = Annotated[
    Path | None,
    typer.Option(
        "--features",
        metavar="STORE",
        help="Feature store.  [default: the only one in --cache-dir]",
        autocompletion=completion.stores,
    ),
]
CacheDir = Annotated[
    Path, typer.Option("--cache-dir", metavar="DIR", help="Folder of feature stores.")
]
RunsDir = Annotated[Path, typer.Option("--runs-dir", metavar="DIR", help="Folder of runs.")]
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
    str, typer.Option("--seeds", help="Random seeds, a run each: 1,2,3 or 1-5.", metavar="SEEDS")
]
BiasCorrection = Annotated[
    bool | None,
    typer.Option(
        "--bias-correction/--no-bias-correction",
        help="Adam's bias correction; the optimiser published with BERT has none.  "
        "[default: with it]",
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
TrainShare = Annotated[
    float | None,
    typer.Option(
        "--train-share",
        metavar="SHARE",
        help="Learn from a part of train, such as 0.25: whole documents, drawn with the seed.  "
        "[default: 1.0]",
    ),
]
Truecase = Annotated[
    bool,
    typer.Option(
        "--truecase",
        help="Give sentences in capitals the casing of the training split (cased encoders).",
    ),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Train again what is finished already.")
]
Language = Annotated[
    str | None,
    typer.Option(
        "--language",
        metavar="CODE",
        help="Language of the corpus, such as de.  [default: the folder's name, if it is a code]",
    ),
]
Encoding = Annotated[
    str,
    typer.Option(
        "--encoding",
        metavar="NAME",
        help="Text encoding of the corpus files.",
        autocompletion=completion.encodings,
    ),
]
Scheme = Annotated[
    str,
    typer.Option(
        "--scheme",
        metavar="SCHEME",
        help="Tag scheme of the files: auto, bio, iob1, io or bioes.",
        autocompletion=completion.schemes,
    ),
]
TokenColumn = Annotated[
    str | None,
    typer.Option(
        "--token-column",
        metavar="COLUMN",
        help="Column of the words, from 1; by name with hf:.  [default: the first]",
    ),
]
TagColumn = Annotated[
    str | None,
    typer.Option(
        "--tag-column",
        metavar="COLUMN",
        help="Column of the tags, from 1; by name with hf:.  [default: the last]",
    ),
]
LogWith = Annotated[
    str | None,
    typer.Option(
        "--log-with",
        metavar="TRACKER",
        help="Log every epoch while a run trains: tensorboard, to .tensorboard in --runs-dir.",
        autocompletion=completion.trackers,
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="The result alone: no progress, no remarks.")
]
ReportFormat = Annotated[
    Literal["text", "markdown", "latex", "csv", "json"],
    typer.Option("--format", help="How to print the tables; json has every number unrounded."),
]
Figures = Annotated[
    Path | None,
    typer.Option("--figures", metavar="DIR", help="Draw figures to this folder, as PNG and PDF."),
]
Report = Annotated[
    Path | None,
    typer.Option(
        "--report",
        metavar="FILE",
        help="Write everything that is known of the comparison to this HTML file.",
    ),
]
TableFormat = Annotated[
    Literal["text", "json"], typer.Option("--format", help="How to print the result.")
]


def check_log(tracker: str | None, runs_dir: Path) -> Path | None:
    """The folder that --log-with logs to; None without it. Raises what `log_folder` raises."""
    if tracker is None:
        return None
    from featbert.training.tracking import log_folder

    return log_folder(tracker, runs_dir)


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


def column(text: str | None) -> int | str | None:
    """A column by its number, or else by its name."""
    return int(text) if text is not None and text.isascii() and text.isdigit() else text


def reading_options(
    language: str | None,
    encoding: str,
    scheme: str,
    token_column: str | None,
    tag_column: str | None,
) -> dict[str, Any]:
    """Options for `load_corpus` that differ from its defaults."""
    given = {
        "language": (language, None),
        "encoding": (encoding, "utf-8"),
        "scheme": (scheme, "auto"),
        "token_column": (column(token_column), None),
        "tag_column": (column(tag_column), None),
    }
    return {name: value for name, (value, default) in given.items() if value != default}


def choose_store(features: Path | None, cache_dir: Path) -> FeatureStore:
    """The named store, else the only one in the cache, else the one that the user picks.

    Raises:
        MissingError: there is no store.
        InputError: there are several and no terminal to ask at.
    """
    from featbert.features.store.reader import FeatureStore

    if features is not None:
        return FeatureStore(features)
    found = sorted(cache_dir.glob("*.h5"))
    if not found:
        near = "" if cache_dir.exists() else nearest_path(cache_dir)
        raise MissingError(f"no feature store in {cache_dir}{near}; run featbert extract first")
    if len(found) == 1:
        return FeatureStore(found[0])
    names = "; ".join(str(path) for path in found)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InputError(
            f"{len(found)} feature stores in {cache_dir}; name one with --features: {names}"
        )
    for number, path in enumerate(found, 1):
        typer.echo(printable(f"{number}  {path.name}"), err=True)
    picked = typer.prompt("Which store (number)", type=int, err=True)
    if not 1 <= picked <= len(found):
        raise InputError(f"{picked} is not a number from 1 to {len(found)}")
    return FeatureStore(found[picked - 1])
