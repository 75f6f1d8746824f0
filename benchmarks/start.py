"""Seconds that a person waits for `featbert --help` and `featbert compare`.

    python -m benchmarks.start --rounds 9

Each call is a process of its own. A first one, which reads from the disk, is not counted: it tells
whether torch or transformers was imported.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.command import Options, carry_out, count, parser_of, work_folder
from benchmarks.machine import facts
from benchmarks.record import Record
from benchmarks.rounds import Work, in_turn
from benchmarks.run_records import write_runs
from featbert.errors import InputError

ROOT = Path(__file__).parents[1]
IMPORTED = """
import sys
from featbert.cli import main
try:
    main()
finally:
    found = [name for name in ("torch", "transformers") if name in sys.modules]
    print("\\n" + (" ".join(found) or "neither"))
"""


def measure(options: Options) -> Record:
    """Both commands in turn."""
    with work_folder(options) as folder:
        write_runs(folder, options.runs)
        commands = {
            "--help": ["--help"],
            f"compare, {options.runs} runs": ["compare", "--runs-dir", str(folder)],
        }
        works = {name: calling(words) for name, words in commands.items()}
        imported = {name: imports(words) for name, words in commands.items()}
        seconds = in_turn(works, options.rounds)
    measured = {
        name: {"seconds": each, "median": statistics.median(each), "imported": imported[name]}
        for name, each in seconds.items()
    }
    return Record("start", options.command, facts(), {"runs": options.runs}, measured)


def calling(words: Sequence[str]) -> Work:
    """A call of featbert, with its seconds."""

    def work(_: int) -> float:
        started = time.perf_counter()
        call(["-m", "featbert", *words])
        return time.perf_counter() - started

    return work


def imports(words: Sequence[str]) -> str:
    """Which of torch and transformers the call imports."""
    return call(["-c", IMPORTED, *words]).rstrip().rpartition("\n")[2]


def call(words: Sequence[str]) -> str:
    """What Python prints; raises InputError where it fails."""
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=False, cwd=ROOT
    )
    if done.returncode:
        told = done.stderr.strip().rpartition("\n")[2]
        raise InputError(f"featbert {' '.join(words[-3:])} expected to end well: {told}")
    return done.stdout


def main(arguments: Sequence[str] | None = None) -> None:
    parser = parser_of("start", __doc__, rounds=5)
    parser.add_argument("--runs", type=count, default=50, help="records that compare reads")
    carry_out(parser, measure, arguments)


if __name__ == "__main__":
    main()
