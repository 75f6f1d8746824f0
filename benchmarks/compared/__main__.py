"""Runs programs in turn: see `benchmarks.compared`."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from seqeval.metrics import f1_score

import benchmarks.compared
from benchmarks.compared.contests import CONTESTS, Contest
from benchmarks.machine import facts
from featbert.config import parse_seeds
from featbert.data.corpus import SPLITS, Corpus, Split
from featbert.data.load import load_corpus
from featbert.data.share import learned_part
from featbert.errors import InputError

ROOT = Path(__file__).parents[2]


def examples_of(split: Split, targets: str) -> Iterator[dict[str, Any]]:
    """The examples of a split for `files`."""
    documents: set[Any] = set()
    for sentence, tags in zip(split, split.tags, strict=True):
        if targets == "classes":
            yield {"text": " ".join(sentence.words), "label": tags[0]}
            continue
        new = sentence.document not in documents
        documents.add(sentence.document)
        yield {"words": list(sentence.words), "tags": list(tags), "starts_document": new}


def write(corpus: Corpus, contest: Contest, seed: int, folder: Path) -> list[Any]:
    """Writes the files of a contest and gives the answers of test."""
    for name in SPLITS:
        split = corpus[name]
        if name == "train" and contest.shots:
            split, _ = learned_part(split, 1.0, shots=contest.shots, seed=seed)
        examples = [*examples_of(split, contest.targets)]
        (folder / f"{name}.json").write_text(json.dumps(examples))
    key = "label" if contest.targets == "classes" else "tags"
    return [example[key] for example in examples]


def score(contest: Contest, given: list[Any], predicted: list[Any]) -> float:
    """Entity F1 or accuracy, in percent."""
    if len(given) != len(predicted):
        raise InputError(f"{len(predicted)} predictions for {len(given)} examples of test")
    if contest.targets == "entities":
        return 100 * float(f1_score(given, predicted))
    n_right = sum(bool(a == b) for a, b in zip(given, predicted, strict=True))
    return 100 * n_right / len(given)


def measured(command: list[str], log: Path) -> tuple[float, float]:
    """Processor seconds and largest memory in GB of a command with one thread."""
    environment = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    environment |= {"PYTHONPATH": str(ROOT)}
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if status:
        tail = log.read_text(errors="replace")[-2000:]
        raise InputError(f"{' '.join(command)} ended with {status}:\n{tail}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 2**20


def rows_of(
    name: str, options: argparse.Namespace, pythons: Mapping[str, str], finished: set[Any]
) -> Iterator[dict[str, Any]]:
    """A row for each seed and method that is not finished."""
    contest = CONTESTS[name]
    corpus = load_corpus(Path(options.corpora) / contest.corpus, targets=contest.targets)
    for seed in parse_seeds(options.seeds):
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            given = write(corpus, contest, seed, folder)
            for program, method, _ in contest.entrants:
                if (name, program, method, seed) in finished or program in options.without:
                    continue
                out, module = folder / "out.json", f"benchmarks.compared.with_{program}"
                python = pythons.get(program, sys.executable)
                command = [python, "-m", module, str(folder), method, "--model", options.model]
                command += ["--seed", str(seed), "--out", str(out)]
                seconds, memory = measured(command, folder / "log")
                answer = json.loads(out.read_text())
                yield {
                    "contest": name,
                    "program": program,
                    "method": method,
                    "version": answer["version"],
                    "seed": seed,
                    "test": round(score(contest, given, answer["predictions"]), 2),
                    "seconds": round(seconds, 1),
                    "without_imports": round(answer["without_imports"], 1),
                    "memory_gb": round(memory, 2),
                }


def main(words: Sequence[str] | None = None) -> None:
    """Adds a line of JSON for each method and seed to a file; finished ones stay."""
    parser = argparse.ArgumentParser(
        "benchmarks.compared",
        description=benchmarks.compared.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("contests", nargs="+", choices=CONTESTS)
    parser.add_argument("--model", required=True, help="folder of the encoder")
    parser.add_argument("--corpora", default="corpora")
    parser.add_argument("--seeds", default="1-3")
    parser.add_argument("--python", action="append", default=[], metavar="PROGRAM=PATH")
    parser.add_argument("--without", action="append", default=[], metavar="PROGRAM")
    parser.add_argument("--out", type=Path, required=True, help="file of lines of JSON")
    options = parser.parse_args(words)
    pythons = dict(pair.split("=", 1) for pair in options.python)
    lines = options.out.read_text().splitlines() if options.out.exists() else []
    rows, machine = [json.loads(line) for line in lines], {"machine": facts()}
    of_methods = [row for row in rows if "contest" in row]
    finished = {(r["contest"], r["program"], r["method"], r["seed"]) for r in of_methods}
    with options.out.open("a") as file:
        if machine != next((row for row in reversed(rows) if "machine" in row), None):
            print(json.dumps(machine), file=file, flush=True)
        for name in options.contests:
            for row in rows_of(name, options, pythons, finished):
                print(json.dumps(row), file=file, flush=True)
                print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
