"""Reading some layers of a store, against reading the whole file.

    python -m benchmarks.store --megabytes 4000

A store of random vectors (13 layers of 768, float16) is written and read cold: before each reading
the system is told to forget the file. Time and bytes should follow the layers asked for. Bytes are
those the process asked for, and those that came from the disk, reading ahead included.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.command import Options, carry_out, count, parser_of, work_folder
from benchmarks.corpora import described
from benchmarks.machine import facts
from benchmarks.reading import Read, read_cold
from benchmarks.record import Record, spread
from benchmarks.rounds import Work, in_turn
from benchmarks.stores import write_random_store
from benchmarks.text import MEAN, Size, generated_corpus
from featbert.features.store.reader import FeatureStore

CHUNK = 4 << 20
WHOLE = "whole file"


def measure(options: Options) -> Record:
    """One layer, the last four, all, and the file from end to end."""
    layers, hidden = options.layers, options.hidden
    word = (layers + 1) * hidden * 2
    sentences = max(1, round(options.megabytes * 1e6 / word / MEAN))
    corpus = generated_corpus({"train": Size(sentences)})
    reads: dict[str, list[Read]] = {}
    with work_folder(options) as folder:
        store = write_random_store(corpus, folder, num_layers=layers, hidden_size=hidden)
        path, size = store.path, store.file_bytes

        def reading(name: str, wanted: Sequence[int] | None) -> Work:
            def read() -> object:
                return (
                    read_whole(path) if wanted is None else FeatureStore(path).read("train", wanted)
                )

            def work(_: int) -> float:
                reads.setdefault(name, []).append(read_cold(path, read))
                return reads[name][-1].seconds

            return work

        wanted = {
            "one layer": [layers],
            "last four": list(range(max(0, layers - 3), layers + 1)),
            "all layers": list(range(layers + 1)),
        }
        works = {name: reading(name, which) for name, which in wanted.items()}
        seconds = in_turn({**works, WHOLE: reading(WHOLE, None)}, options.rounds)
    measured = {
        name: {
            "seconds": seconds[name],
            "bytes_asked": spread([float(r.asked) for r in found]).median,
            "bytes_from_disk": spread([float(r.from_disk) for r in found]).median,
            "share_of_layers": len(wanted.get(name, range(layers + 1))) / (layers + 1),
            "share_of_bytes": spread([r.asked / size for r in found]).median,
        }
        for name, found in reads.items()
    }
    return Record(
        "store",
        options.command,
        facts(),
        {**described(corpus), "layers": layers + 1, "hidden_size": hidden, "file_bytes": size},
        measured,
        {
            f"seconds of {WHOLE} over {name}": spread(
                [a / b for a, b in zip(seconds[WHOLE], seconds[name], strict=True)]
            )
            for name in works
        },
    )


def read_whole(path: Path) -> int:
    """Bytes of the file, read from end to end."""
    buffer = bytearray(CHUNK)
    total = 0
    with path.open("rb", buffering=0) as file:
        while found := file.readinto(buffer):
            total += found
    return total


def main(arguments: Sequence[str] | None = None) -> None:
    parser = parser_of("store", __doc__)
    parser.add_argument("--megabytes", type=count, default=1000, help="of the store")
    parser.add_argument("--layers", type=count, default=12, help="transformer layers")
    parser.add_argument("--hidden", type=count, default=768, help="hidden size")
    carry_out(parser, measure, arguments)


if __name__ == "__main__":
    main()
