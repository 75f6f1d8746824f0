"""A coverage-guided fuzzer over the targets of the property tests, for `make soak`.

atheris watches which lines an input reaches and keeps what reaches new ones, so that it finds its
way into formats without a description of them. The process ends with the first input that breaks
a promise, whose traceback and bytes it shows; otherwise after the seconds given.

    python -m tests.hostile.coverage_fuzz 60 conll
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["featbert"]):
    from tests.hostile import targets
    from tests.hostile.strategies import EXPERIMENTS, RECORD, ROOT

# Inputs to begin with, so that the first minute is not spent on finding a bracket.
_CONLL = (ROOT / "featbert/data/sample/test.conll").read_bytes()[:600]
_SEEDS: dict[str, list[bytes]] = {
    "conll": [_CONLL, b"# newdoc\n-DOCSTART- O\n\na\tB-X\nb\tI-X\n"],
    "jsonl": [b'{"tokens": ["a", "b"], "tags": ["O", "B-X"], "document": 1}\n'],
    "tags": [b"O B-PER I-PER E-LOC S-ORG PER"],
    "layers": [b"concat:9,10-12", b"weighted_last4", b"layer:7"],
    "experiment": [text.encode() for text in EXPERIMENTS],
    "record": [json.dumps(RECORD).encode()],
}


def _targets(folder: Path) -> dict[str, Callable[[bytes], None]]:
    def of_text(target: Callable[[str], None]) -> Callable[[bytes], None]:
        return lambda data: target(data.decode("utf-8", "replace"))

    return {
        "conll": lambda data: targets.conll(data, folder / "train.conll"),
        "jsonl": lambda data: targets.jsonl(data, folder / "train.jsonl"),
        "tags": of_text(lambda text: targets.tags(text.split(" "), "BIOES")),
        "layers": of_text(lambda text: targets.layers(text, 12)),
        "experiment": lambda data: targets.experiment_text(data, folder / "trial.toml"),
        "record": of_text(targets.record),
    }


def main() -> None:
    seconds, name = sys.argv[1:]
    folder = Path(tempfile.mkdtemp(prefix="featbert-fuzz-"))
    corpus = folder / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(_SEEDS[name]):
        (corpus / str(number)).write_bytes(seed)
    # libFuzzer ends the process itself; its last lines tell how many inputs there were.
    options = [f"-max_total_time={seconds}", "-timeout=20", "-rss_limit_mb=3000", "-max_len=4096"]
    os.chdir(folder)
    atheris.Setup(
        [sys.argv[0], *options, "-verbosity=0", "-print_final_stats=1", str(corpus)],
        _targets(folder)[name],
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main()
