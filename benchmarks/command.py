"""What the commands of all benchmarks share: options, one-line mistakes, where a record goes."""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from benchmarks.record import Record, as_json, as_text
from featbert.encoders.source import DEFAULT_MODEL
from featbert.errors import FeatbertError

Options = argparse.Namespace
# Options that say where files lie; they change nothing that is measured.
PLACES = ("--json", "--work", "--figure")


class Parser(argparse.ArgumentParser):
    """argparse with its mistakes in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def count(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a whole number of at least 1 expected, found {text!r}")
    return int(text)


def counts(text: str) -> list[int]:
    """Whole numbers of at least 1 with commas between."""
    return [count(part) for part in text.split(",")]


def share(text: str) -> float:
    """A number above 0 and at most 1."""
    try:
        if 0 < float(text) <= 1:
            return float(text)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"a number above 0 and at most 1 expected, found {text!r}")


def file_to_write(text: str) -> Path:
    """A file in a folder that exists, so that hours of work do not end at a missing folder."""
    path = Path(text)
    if not path.absolute().parent.is_dir() or path.is_dir():
        raise argparse.ArgumentTypeError(f"a file in a folder that exists expected, found {text!r}")
    return path


def folder(text: str) -> Path:
    """A folder that exists."""
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"a folder that exists expected, found {text!r}")
    return Path(text)


def parser_of(name: str, doc: str | None, *, rounds: int = 3) -> Parser:
    """A parser with the options of every benchmark.

    Args:
        name: of the module under `benchmarks`.
        doc: its docstring, whose first line describes the command.
        rounds: how often everything is measured by default.
    """
    parser = Parser(prog=f"python -m benchmarks.{name}", description=(doc or "").split("\n")[0])
    parser.add_argument("--rounds", type=count, default=rounds, help="times that all is measured")
    parser.add_argument("--threads", type=count, help="threads of torch; its own choice by default")
    parser.add_argument("--json", type=file_to_write, metavar="FILE", help="writes the record")
    parser.add_argument(
        "--work", type=folder, metavar="FOLDER", help="where temporary files are made"
    )
    return parser


def add_text_options(parser: Parser, *, sentences: int) -> None:
    """`--sentences`, `--data` and `--model`, for benchmarks that read a text with an encoder."""
    parser.add_argument(
        "--sentences",
        type=count,
        help=f"of the training split; {sentences} generated ones by default, or all of --data",
    )
    parser.add_argument("--data", help="a corpus instead of the generated text")
    parser.add_argument("--model", default=DEFAULT_MODEL, help="encoder: folder, package or Hub id")
    parser.set_defaults(generated_sentences=sentences)


def carry_out(
    parser: Parser,
    measure: Callable[[Options], Record],
    arguments: Sequence[str] | None,
    *,
    show: Callable[[Record], str] = as_text,
) -> None:
    """Measures as the arguments say, prints the record, and writes it where it is asked for."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = parser.parse_args(given)
    if options.threads:
        import torch

        torch.set_num_threads(options.threads)
    options.command = command_line(parser.prog, given)
    try:
        record = measure(options)
    except FeatbertError as error:
        parser.exit(1, f"{parser.prog}: {error}\n")
    print(show(record))
    if options.json is not None:
        options.json.write_text(as_json(record), "utf-8")


def command_line(prog: str, given: Sequence[str]) -> str:
    """The command as it can be given again elsewhere: no places, of folders the last part."""
    kept: list[str] = []
    words = iter(given)
    for word in words:
        option, _, value = word.partition("=")
        if option in PLACES:
            if not value:
                next(words, None)
            continue
        kept.append(f"{option}={_last_part(value)}" if value else _last_part(word))
    return shlex.join([*prog.split(), *kept])


def _last_part(word: str) -> str:
    return Path(word).absolute().name if Path(word).exists() else word


@contextmanager
def work_folder(options: Options) -> Iterator[Path]:
    """A temporary folder, gone at the end."""
    # A process that was interrupted may still be closing files when the folder is removed.
    with tempfile.TemporaryDirectory(
        prefix="featbert-benchmark-", dir=options.work, ignore_cleanup_errors=True
    ) as made:
        yield Path(made)
