"""Training steps a minute, alone and beside a process that takes a core, by how threads wait.

    python -m benchmarks.busy --seconds 60 --rounds 3

Threads of OpenMP that wait for each other keep their core for a while ("not set"), or sleep. The
BiLSTM reads the last four layers of a store; fine-tuning trains all of the encoder; batches are of
32. Each measurement is a process of its own, since torch reads the policy when it is loaded; steps
are counted from the end of the first one.
"""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path

from benchmarks.harness import (
    Options,
    Parser,
    Record,
    add_text_options,
    count,
    in_turn,
    parser_of,
    ratio,
    run,
    work_folder,
)

TARGET = 0.4
WORKS = ("bilstm", "finetune")
# Variables of the processes that are measured, by name of the policy.
POLICIES = {
    "not set": {},
    "passive": {"OMP_WAIT_POLICY": "PASSIVE"},
    "spincount 1000": {"GOMP_SPINCOUNT": "1000"},
}
# torch is loaded first, before featbert sets a policy of its own.
CHILD = "import sys, torch; from benchmarks.busy import child; child(sys.argv[1:])"
BUSY = "while True: pass"
ROOT = Path(__file__).parents[1]


class Enough(Exception):
    """The time is over."""


def measure(options: Options) -> Record:
    """All works, policies and loads in turn."""
    from benchmarks.contestants import LAYERS, extract
    from benchmarks.machine import facts
    from benchmarks.text import corpus_of, described
    from featbert.encoders.layers import parse_layers
    from featbert.encoders.source import find_encoder

    text = corpus_of(options, ["train", "dev"], "entities")
    layers = parse_layers(LAYERS, find_encoder(options.model).num_layers)
    with work_folder(options) as folder:
        store = extract(text, options.model, folder, device="cpu", layers=layers.indices).store
        rate = partial(steps_a_minute, options, store.path, folder)
        works = {
            f"{work}, {policy}, {load}": partial(rate, work, POLICIES[policy], load == "beside")
            for work in WORKS
            for policy in options.policies
            for load in ("alone", "beside")
        }
        rates_by_work = in_turn(works, options.rounds)
    shares = {
        f"{work}, {policy}: beside over alone": ratio(
            *(rates_by_work[f"{work}, {policy}, {load}"] for load in ("beside", "alone"))
        )
        for work in WORKS
        for policy in options.policies
    }
    measured = {
        name: {"steps_a_minute": rates, "median": statistics.median(rates)}
        for name, rates in rates_by_work.items()
    }
    about = {**described(text), "model": options.model, "seconds": options.seconds}
    note = f"the target is {TARGET:.0%} of the undisturbed steps beside one process"
    return Record("busy", options.command, facts(), about, measured, shares, (note,))


def steps_a_minute(
    options: Options,
    store: Path,
    folder: Path,
    work: str,
    policy: dict[str, str],
    busy: bool,
    _: int,
) -> float:
    """What a process of its own prints."""
    environment = {
        n: v for n, v in os.environ.items() if n not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
    }
    words = [work, store, folder, *options.given]
    with beside() if busy else nullcontext():
        done = subprocess.run(
            [sys.executable, "-c", CHILD, *map(str, words)],
            env={**environment, **policy, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    return float(done.stdout)


@contextmanager
def beside() -> Iterator[None]:
    """Within the block another process takes a core."""
    with subprocess.Popen([sys.executable, "-c", BUSY]) as process:
        try:
            yield
        finally:
            process.kill()


def child(words: Sequence[str]) -> None:
    """Trains for a while and prints the steps a minute."""
    from benchmarks.contestants import finetune, train
    from benchmarks.text import corpus_of
    from featbert import FeatureStore
    from featbert.encoders.device import use_threads
    from featbert.progress import Message, heard_by

    work, store, folder, *arguments = words
    options = parser().parse_args(arguments)
    use_threads(options.threads)
    text, times = corpus_of(options, ["train", "dev"], "entities"), list[float]()

    trainings = set[str]()

    def listen(message: Message) -> None:
        kind, key, *values = message
        if kind == "begin" and values[0] == "training":
            trainings.add(key)
        elif kind == "advance" and key in trainings and values[0]:
            times.append(time.perf_counter())
            if times[-1] - times[0] >= options.seconds:
                raise Enough

    common = {"device": "cpu", "batch_size": 32, "epochs": options.epochs}
    with heard_by(listen), suppress(Enough):
        if work == "bilstm":
            train(FeatureStore(store), text, Path(folder), lstm_size=options.lstm_size, **common)
        else:
            finetune(text, options.model, Path(folder), **common)
    print(60 * (len(times) - 1) / (times[-1] - times[0]))


def parser() -> Parser:
    """The options of this program."""
    made = parser_of("busy", __doc__)
    add_text_options(made, sentences=4000)
    made.add_argument("--seconds", type=float, default=60.0, help="of each measurement")
    made.add_argument("--epochs", type=count, default=100, help="at most")
    made.add_argument("--lstm-size", type=count, help="units per direction")
    made.add_argument("--policies", nargs="+", choices=POLICIES, default=[*POLICIES])
    return made


def main(arguments: Sequence[str] | None = None) -> None:
    run(parser(), measure, arguments)


if __name__ == "__main__":
    main()
