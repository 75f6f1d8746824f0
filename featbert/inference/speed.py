"""The time in which a finished run answers, from words to answers.

<run>/speed.json    the newest measurement
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import numpy as np
import pydantic.dataclasses
from pydantic import Field

from featbert.config import TIMED_SENTENCES
from featbert.data.corpus import Sentence
from featbert.runs.record import read_json, read_or_left_out, write_json
from featbert.runs.run import Run, learned_corpus
from featbert.schema import STRICT, Count, Moment, Seconds

if TYPE_CHECKING:
    from featbert.inference.load import LoadedRun

FILE = "speed.json"


@pydantic.dataclasses.dataclass(frozen=True, config=STRICT)
class Speed:
    """Seconds in which a run answered sentences: tokenizer, encoder and head, without loading.

    Attributes:
        corpus, split, text: source of the sentences, spread evenly across the split, and the
            fingerprint of its text.
        sentences, words: number of sentences (or other examples) and of their words.
        one_by_one: seconds of each repetition with every sentence by itself, or every document if
            the run reads whole documents.
        batched: the same in blocks of a few thousand words, as `featbert predict` reads a file.
        device: "cpu", "cuda" or "mps".
        started: UTC, ISO 8601.
    """

    run: str
    corpus: str
    split: str
    text: str
    sentences: Annotated[Count, Field(ge=1)]
    words: Count
    one_by_one: Annotated[list[Seconds], Field(min_length=1)]
    batched: Annotated[list[Seconds], Field(min_length=1)]
    device: str
    device_name: str
    threads: Count
    versions: dict[str, str]
    started: Moment

    @property
    def place(self) -> str:
        """The machine, as comparisons name it."""
        return f"{self.device_name}, threads: {self.threads}"

    @property
    def one_by_one_seconds(self) -> float:
        """For 1,000 sentences, each by itself: the median of the repetitions."""
        return statistics.median(self.one_by_one) * TIMED_SENTENCES / self.sentences

    @property
    def batched_seconds(self) -> float:
        """For 1,000 sentences in blocks: the median of the repetitions."""
        return statistics.median(self.batched) * TIMED_SENTENCES / self.sentences


def read_speed(run: Run) -> Speed | None:
    """The newest measurement of a run, if there is one. A notice names an unreadable file."""
    return read_or_left_out(read_json, run.folder / FILE, Speed, "")


def measure_speed(loaded: LoadedRun, *, sentences: int = 200, repeats: int = 5) -> Speed:
    """Times answers to sentences of the run's test text (dev without one). Writes `speed.json`.

    MissingError if that text is gone, InputError if its words have changed.
    """
    from featbert.features.plan import BLOCK_WORDS
    from featbert.inference.predict import cut_blocks

    task, record = loaded.task, loaded.record
    started = datetime.now(UTC).isoformat(timespec="seconds")
    name = [*(record.scores or record.signature.splits)][-1]
    corpus = learned_corpus(record, [name], task.targets)
    grouped = task.groups(()) is not None
    whole = grouped or record.signature.context == "document"
    units = [*cut_blocks(corpus[name].sentences, 1, by_document=whole)]
    sizes = [1 if grouped else len(unit) for unit in units]
    n_units = min(len(units), max(1, round(sentences * len(units) / sum(sizes))))
    chosen = np.linspace(0, len(units) - 1, n_units).round().astype(int).tolist()
    single = [units[i] for i in chosen]
    flat = [*itertools.chain(*single)]
    blocks = [*cut_blocks(flat, BLOCK_WORDS, by_document=whole)]
    _seconds(loaded, single[:3])  # loads a frozen encoder
    speed = Speed(
        run=record.name,
        corpus=record.signature.corpus,
        split=name,
        text=record.signature.splits[name].text,
        sentences=sum(sizes[i] for i in chosen),
        words=sum(len(sentence.words) for sentence in flat),
        one_by_one=[_seconds(loaded, single) for _ in range(repeats)],
        batched=[_seconds(loaded, blocks) for _ in range(repeats)],
        started=started,
        **loaded.device.facts,
    )
    write_json(loaded.folder / FILE, speed)
    return speed


def _seconds(loaded: LoadedRun, blocks: Sequence[list[Sentence]]) -> float:
    clock = time.perf_counter()
    for block in blocks:
        loaded.answers(loaded.inputs(block), block)
    return time.perf_counter() - clock
