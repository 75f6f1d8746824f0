"""Seconds that a person waits for `featbert --help` and `featbert compare`.

    python -m benchmarks.start --rounds 9

Each call is a process of its own. A first call, which is not counted, reads from the disk and shows
whether torch or transformers is imported. `compare` reads copies of the records of `layers`.
"""

import dataclasses
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from itertools import cycle, islice
from pathlib import Path

from benchmarks.harness import Options, Record, count, in_turn, parser_of, run, work_folder
from benchmarks.machine import facts
from featbert import FeatbertError
from featbert.runs.record import RECORD_NAME, write_json
from featbert.runs.run import find_runs

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "experiments" / "layers" / "results.jsonl.xz"
IMPORTED = """
import sys
from featbert.cli.main import main
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
        imported = {name: imports(words) for name, words in commands.items()}
        seconds = in_turn({n: partial(call, w) for n, w in commands.items()}, options.rounds)
    measured = {
        name: {"seconds": each, "median": statistics.median(each), "imported": imported[name]}
        for name, each in seconds.items()
    }
    return Record("start", options.command, facts(), {"runs": options.runs}, measured)


def write_runs(folder: Path, number: int) -> None:
    """Folders of `number` runs: kept records, with other seeds where they are too few."""
    records = [run.record for run in find_runs(KEPT)]
    for at, record in enumerate(islice(cycle(records), number)):
        seed = record.seed + 100 * (at // len(records))
        name = f"{record.name}-{at}"
        (folder / name).mkdir()
        write_json(folder / name / RECORD_NAME, dataclasses.replace(record, name=name, seed=seed))


def call(words: Sequence[str], _: int) -> float:
    """Seconds of a call of featbert."""
    started = time.perf_counter()
    python(["-m", "featbert", *words])
    return time.perf_counter() - started


def imports(words: Sequence[str]) -> str:
    """Which of torch and transformers the call imports."""
    return python(["-c", IMPORTED, *words]).rstrip().rpartition("\n")[2]


def python(words: Sequence[str]) -> str:
    """What Python prints; raises FeatbertError where it fails."""
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=False, cwd=ROOT
    )
    if done.returncode:
        raise FeatbertError(f"featbert {' '.join(words[-3:])} failed: {done.stderr.strip()}")
    return done.stdout


def main(arguments: Sequence[str] | None = None) -> None:
    parser = parser_of("start", __doc__, rounds=5)
    parser.add_argument("--runs", type=count, default=50, help="records that compare reads")
    run(parser, measure, arguments)


if __name__ == "__main__":
    main()
