"""Training on vectors that stay on disk, against vectors in memory.

    python -m benchmarks.streaming --rounds 3

A store of random vectors is trained on for one epoch, once read into memory and once mapped from
disk. Before every batch the process and the system are made to forget all that they hold of the
file, so that each batch comes from the disk: the worst case, a store beside which memory is
nothing. Where a part of it fits, less is read. Words a second are over everything from opening the
store; dev is not scored.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from benchmarks.command import Options, carry_out, count, parser_of, work_folder
from benchmarks.corpora import WARM_UP, described, head
from benchmarks.machine import facts
from benchmarks.reading import counters, forget
from benchmarks.record import Record
from benchmarks.rounds import Work, in_turn, ratio
from benchmarks.stores import write_random_store
from benchmarks.text import Size, generated_corpus
from featbert.data.corpus import Corpus
from featbert.encoders.device import find_device
from featbert.features.store.reader import FeatureStore
from featbert.models.bilstm import FeatureBatch
from featbert.runs.labels import label_ids
from featbert.runs.planning import RunOptions, plan_features_run
from featbert.runs.preparing import prepare_features
from featbert.training.inputs import FeatureInputs, Inputs
from featbert.training.loop import fit
from featbert.training.settings import DEFAULTS, TrainingSettings, used_settings

LAYERS = "concat_last4"
MEMORY, DISK = "in memory", "from disk"
DEPTH, HIDDEN = 6, 384  # of the random features, as all-MiniLM-L6-v2 has them
DONTNEED = 4  # madvise of Linux
Ints = NDArray[np.int64]


class Forgetful:
    """Mapped vectors of which nothing is kept from one batch to the next."""

    def __init__(self, inputs: FeatureInputs, path: Path) -> None:
        self.inputs, self.path = inputs, path
        self.offsets = inputs.offsets

    def parts(self, sentences: Ints, token_budget: int) -> Iterator[Ints]:
        """As the mapped inputs."""
        return self.inputs.parts(sentences, token_budget)

    def tokens(self, sentences: Ints) -> int:
        """As the mapped inputs."""
        return self.inputs.tokens(sentences)

    def batch(self, sentences: Ints) -> FeatureBatch:
        """Read from the disk."""
        assert not isinstance(self.inputs.states, Tensor)
        for layers in self.inputs.states:
            for layer in layers:
                unmap(layer)
        forget(self.path)
        return self.inputs.batch(sentences)

    def flops(self, tagger: nn.Module, sentences: Ints, *, training: bool) -> float:
        """As the mapped inputs."""
        return self.inputs.flops(tagger, sentences, training=training)


def unmap(mapped: Tensor) -> None:
    """Takes the process's pages of a mapped tensor away; they are read again when touched."""
    page = os.sysconf("SC_PAGE_SIZE")
    first = mapped.data_ptr() // page * page
    size = mapped.data_ptr() + mapped.nbytes - first
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.madvise(ctypes.c_void_p(first), ctypes.c_size_t(size), DONTNEED):
        raise OSError(ctypes.get_errno(), "madvise")


def measure(options: Options) -> Record:
    """Both in turn."""
    corpus = generated_corpus({"train": Size(options.sentences), "dev": Size(1)})
    settings = DEFAULTS["features"].but(epochs=1, batch_size=32, lstm_size=options.lstm_size)
    from_disk: dict[str, list[float]] = {MEMORY: [], DISK: []}
    with work_folder(options) as folder:

        def stored(text: Corpus) -> FeatureStore:
            return write_random_store(text, folder, num_layers=DEPTH, hidden_size=HIDDEN)

        def training(name: str, text: Corpus, store: FeatureStore) -> Work:
            def work(seed: int) -> float:
                forget(store.path)
                before = counters()[1]
                seconds = train(text, store, settings, seed=seed, on_disk=name == DISK)
                from_disk[name].append(float(counters()[1] - before))
                return seconds

            return work

        warm_up = head(corpus, WARM_UP)
        store = stored(warm_up)
        in_turn({name: training(name, warm_up, store) for name in from_disk}, 1)
        for each in from_disk.values():
            each.clear()
        store = stored(corpus)
        seconds = in_turn(
            {name: training(name, corpus, store) for name in from_disk}, options.rounds
        )
        size = store.file_bytes
    measured = {
        name: {
            "seconds": each,
            "words_per_second": corpus["train"].n_words / median(each),
            "bytes_from_disk": from_disk[name],
        }
        for name, each in seconds.items()
    }
    return Record(
        "streaming",
        options.command,
        facts(),
        {
            **described(corpus),
            "layers": LAYERS,
            "file_bytes": size,
            "settings": used_settings(settings, "features"),
        },
        measured,
        {f"{DISK} over {MEMORY}": ratio(seconds[MEMORY], seconds[DISK])},
    )


def train(
    corpus: Corpus, store: FeatureStore, settings: TrainingSettings, *, seed: int, on_disk: bool
) -> float:
    """Seconds of an epoch, from opening the store."""
    started = time.perf_counter()
    store, device = FeatureStore(store.path), find_device("cpu")
    options = RunOptions(seed, settings, Path("runs"), device, "fp32")
    plan = plan_features_run(store.manifest, store.path, corpus, LAYERS, options)
    left = 1 if on_disk else 1 << 60
    with mock.patch("featbert.training.inputs.available_memory", return_value=left):
        prepared = prepare_features(plan, store, corpus)
    inputs: Inputs = prepared.inputs["train"]
    if on_disk:
        assert isinstance(inputs, FeatureInputs)
        inputs = Forgetful(inputs, store.path)
    labels = label_ids(prepared.train, prepared.labels)
    fit(prepared.tagger, inputs, labels, settings, seed=seed, score_dev=None, device=device)
    return time.perf_counter() - started


def main(arguments: Sequence[str] | None = None) -> None:
    parser = parser_of("streaming", __doc__)
    parser.add_argument("--sentences", type=count, default=1000)
    parser.add_argument("--lstm-size", type=count, help="units per direction")
    carry_out(parser, measure, arguments)


if __name__ == "__main__":
    main()
