"""Extraction to a finished store, against a transformers loop and the forward pass alone.

    python -m benchmarks.extract --rounds 5 --threads 2
    python -m benchmarks.extract --data wikigold

Contestants, in turn: the transformers loop of `baselines/extraction.py` (float32), featbert in
fp32, featbert with `--precision auto` where that is not fp32, and the forward pass over featbert's
own batches. Each goes from words in memory to a closed file, hashing and loading of the encoder
included; all layers, float16 on disk. What writing costs is told without the loading.
"""

from __future__ import annotations

import shutil
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.baselines.extraction import extract_plainly
from benchmarks.command import Options, add_text_options, carry_out, parser_of, work_folder
from benchmarks.corpora import WARM_UP, corpus_of, described, head, words_of
from benchmarks.forward import Forward, forward_alone
from benchmarks.machine import facts, matmul_rate, precisions
from benchmarks.ours import extract_once
from benchmarks.products import of_extraction
from benchmarks.record import Record, Spread, spread
from benchmarks.rounds import Work, in_turn, ratio
from featbert.data.corpus import Corpus
from featbert.encoders.device import Device, find_device
from featbert.encoders.source import find_encoder
from featbert.features.store.manifest import Manifest

BASELINE, FEATBERT, ALONE = "transformers loop fp32", "featbert", "forward alone"


class Contest:
    """One text and encoder, and what was seen in each round."""

    def __init__(self, corpus: Corpus, model: str, device: Device, folder: Path) -> None:
        self.corpus, self.model, self.device, self.folder = corpus, model, device, folder
        self.manifests: dict[str, Manifest] = {}
        self.forwards: dict[str, list[Forward]] = {}
        self.kept_words = 0

    def plainly(self, _: int) -> float:
        """The transformers loop."""
        path = self.folder / "plain.h5"
        started = time.perf_counter()
        self.kept_words = extract_plainly(self.corpus, find_encoder(self.model).folder, path)
        seconds = time.perf_counter() - started
        path.unlink()
        return seconds

    def extracting(self, precision: str) -> Work:
        """featbert in this precision."""

        def work(_: int) -> float:
            done = extract_once(
                self.corpus, self.model, self.folder, self.device, precision=precision
            )
            self.manifests[precision] = done.store.manifest
            shutil.rmtree(done.store.path.parent)
            return done.seconds

        return work

    def forward(self, precision: str) -> Work:
        """The forward pass alone; featbert in this precision has to have come before."""

        def work(_: int) -> float:
            manifest = self.manifests[precision]
            found = forward_alone(self.corpus, self.model, manifest, self.device)
            self.forwards.setdefault(precision, []).append(found)
            return found.loading + found.computing

        return work

    def works(self, compared: Sequence[str]) -> dict[str, Work]:
        """All contestants."""
        works: dict[str, Work] = {BASELINE: self.plainly}
        for precision in compared:
            works[f"{FEATBERT} {precision}"] = self.extracting(precision)
            works[f"{ALONE} {precision}"] = self.forward(precision)
        return works


def measure(options: Options) -> Record:
    """All contestants in turn."""
    device = find_device("cpu")
    corpus = corpus_of(options, ["train"])
    compared = precisions(device)
    with work_folder(options) as folder:
        small = Contest(head(corpus, WARM_UP), options.model, device, folder)
        in_turn(small.works(compared), 1)
        contest = Contest(corpus, options.model, device, folder)
        contest.manifests = dict(small.manifests)  # budgets do not depend on the text
        seconds = in_turn(contest.works(compared), options.rounds)
    words = words_of(corpus)
    rates = {p: matmul_rate(of_extraction(contest.manifests[p]), p, device) for p in compared}
    measured = {}
    ratios: dict[str, Spread] = {}
    for name, each in seconds.items():
        precision = name.rsplit(" ", 1)[1]
        flops = contest.manifests[precision].flops
        measured[name] = {
            "seconds": each,
            "words_per_second": words / statistics.median(each),
            "flops_per_second": flops / statistics.median(each),
            "share_of_matmul_rate": flops / statistics.median(each) / rates[precision],
        }
    for precision in compared:
        ours = seconds[f"{FEATBERT} {precision}"]
        ratios[f"{FEATBERT} {precision} over {BASELINE}"] = ratio(seconds[BASELINE], ours)
        ratios[f"{FEATBERT} {precision} over {ALONE} {precision}, loading not counted"] = spread(
            [
                f.computing / (s - f.loading)
                for s, f in zip(ours, contest.forwards[precision], strict=True)
            ]
        )
    return Record(
        "extract",
        options.command,
        facts(device),
        {
            **described(corpus),
            "wordpieces": contest.forwards["fp32"][0].pieces,
            "model": Path(options.model).name,
            "matmul": {
                str(of_extraction(contest.manifests[p])) + f" {p}": r for p, r in rates.items()
            },
        },
        measured,
        ratios,
        notes(words, contest.kept_words, compared),
    )


def notes(words: int, kept: int, compared: Sequence[str]) -> tuple[str, ...]:
    """What a reader must know beside the numbers."""
    found = []
    if len(compared) == 1:
        found.append("--precision auto is fp32 here: bfloat16 is not native")
    if kept != words:
        found.append(f"the transformers loop lost {words - kept} of {words} words")
    return tuple(found)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = parser_of("extract", __doc__)
    add_text_options(parser, sentences=2000)
    carry_out(parser, measure, arguments)


if __name__ == "__main__":
    main()
