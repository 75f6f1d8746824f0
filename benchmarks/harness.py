"""What all benchmarks share: options, contestants in turn, the record and how it is printed.

A record has the command, the machine, what was measured on, a row of figures for each contestant,
and ratios over rounds. A list of numbers has one number per round; text shows median and range.
"""

import argparse
import dataclasses
import gc
import json
import shlex
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from featbert.encoders.device import use_threads
from featbert.errors import FeatbertError

Options = argparse.Namespace
Parser = argparse.ArgumentParser
Row = Mapping[str, Any]
# Does its work in a round (numbered from 1) and returns the seconds that count.
Work = Callable[[int], float]
MODEL = "all-MiniLM-L6-v2"
# Options with paths of this machine; they change nothing that is measured.
PATHS = ("--json", "--work")


@dataclass(frozen=True)
class Spread:
    """One number per round, with median and range."""

    median: float
    low: float
    high: float
    each: tuple[float, ...]

    def __str__(self) -> str:
        return f"{figure(self.median)} ({figure(self.low)} to {figure(self.high)})"


def spread(values: Sequence[float]) -> Spread:
    """Median and range of at least one number."""
    return Spread(statistics.median(values), min(values), max(values), tuple(values))


def ratio(slower: Sequence[float], faster: Sequence[float]) -> Spread:
    """How many times faster, round by round: contestants of one round ran close in time."""
    return spread([s / f for s, f in zip(slower, faster, strict=True)])


def in_turn(works: Mapping[str, Work], rounds: int) -> dict[str, list[float]]:
    """Seconds of each contestant by round.

    Every round runs all contestants, every second round in the opposite order, so that other load
    on the machine and a warm processor affect all alike.
    """
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for number in range(1, rounds + 1):
        for name in list(works) if number % 2 else list(works)[::-1]:
            gc.collect()
            seconds[name].append(works[name](number))
    return seconds


@dataclass(frozen=True)
class Record:
    """One benchmark on one machine.

    Attributes:
        benchmark: name of its module.
        command: as it was given, without paths.
        machine: see `benchmarks.machine.facts`.
        about: what was measured on: text, encoder, settings.
        measured: figures by contestant; a list has one number per round.
        ratios: by name; larger is better for featbert.
        notes: what a reader must know to judge the numbers.
    """

    benchmark: str
    command: str
    machine: Row
    about: Row
    measured: Mapping[str, Row]
    ratios: Mapping[str, Spread] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def as_json(record: Record) -> str:
    return json.dumps(dataclasses.asdict(record), indent=1, ensure_ascii=False) + "\n"


def as_text(record: Record) -> str:
    """The record as text: command, machine, a table, ratios, notes."""
    names = list(dict.fromkeys(name for row in record.measured.values() for name in row))
    cells = [["", *(name.replace("_", " ") for name in names)]]
    cells += [
        [contestant, *(_cell(row.get(name)) for name in names)]
        for contestant, row in record.measured.items()
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [record.command, _pairs(record.machine), _pairs(record.about), ""]
    lines += ["  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in cells]
    lines += ["", *(f"{name}  {value}" for name, value in record.ratios.items())]
    lines += [f"note: {note}" for note in record.notes]
    return "\n".join(lines)


def figure(value: float) -> str:
    """A number with at most three significant digits, or a whole number."""
    if isinstance(value, int) or 1000 <= abs(value) < 1e6:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _cell(value: Any) -> str:
    if value is None or value == []:
        return "–"
    if isinstance(value, list | tuple):
        return str(spread(value)) if len(value) > 1 else _cell(value[0])
    return figure(value) if isinstance(value, int | float) else str(value)


def _pairs(facts: Row) -> str:
    return ", ".join(
        f"{name.replace('_', ' ')} "
        + (f"({_pairs(value)})" if isinstance(value, Mapping) else _cell(value))
        for name, value in facts.items()
        if value is not None
    )


def count(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least 1")
    return int(text)


def counts(text: str) -> list[int]:
    """Whole numbers of at least 1, separated by commas."""
    return [count(part) for part in text.split(",")]


def parser_of(name: str, doc: str | None, *, rounds: int = 3) -> Parser:
    """A parser with the options of every benchmark, for the module `name` and its docstring."""
    parser = Parser(prog=f"python -m benchmarks.{name}", description=(doc or "").split("\n")[0])
    parser.add_argument("--rounds", type=count, default=rounds, help="repeated measurements")
    parser.add_argument("--threads", type=count, help="threads of torch; its own choice by default")
    parser.add_argument("--json", type=Path, metavar="FILE", help="writes the record")
    parser.add_argument("--work", type=Path, metavar="FOLDER", help="folder for temporary files")
    return parser


def add_text_options(parser: Parser, *, sentences: int) -> None:
    """`--sentences`, `--data` and `--model`, for benchmarks that read a text with an encoder."""
    parser.add_argument(
        "--sentences",
        type=count,
        help=f"of the training split; {sentences} generated ones by default, or all of --data",
    )
    parser.add_argument("--data", help="a corpus instead of the generated text")
    parser.add_argument("--model", default=MODEL, help="encoder: folder, package or Hub id")
    parser.set_defaults(generated_sentences=sentences)


def run(
    parser: Parser,
    measure: Callable[[Options], Record],
    arguments: Sequence[str] | None,
    *,
    show: Callable[[Record], str] = as_text,
) -> None:
    """Measures as the arguments say, prints the record and writes it to `--json`."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    options = parser.parse_args(words)
    use_threads(options.threads)
    options.given, options.command = words, command_line(parser.prog, words)
    if options.json is not None:
        options.json.touch()  # refused now, or never
    try:
        record = measure(options)
    except FeatbertError as error:
        parser.exit(1, f"{parser.prog}: {error}\n")
    print(show(record))
    if options.json is not None:
        options.json.write_text(as_json(record), "utf-8")


def command_line(prog: str, given: Sequence[str]) -> str:
    """The command as it can be given elsewhere: without paths, folders by their last part."""
    shown: list[str] = []
    words = iter(given)
    for word in words:
        option, _, value = word.partition("=")
        if option in PATHS:
            if not value:
                next(words, None)
            continue
        shown.append(Path(word).absolute().name if Path(word).exists() else word)
    return shlex.join([*prog.split(), *shown])


@contextmanager
def work_folder(options: Options) -> Iterator[Path]:
    """A temporary folder, removed at the end."""
    with tempfile.TemporaryDirectory(
        prefix="featbert-benchmark-", dir=options.work, ignore_cleanup_errors=True
    ) as made:
        yield Path(made)
