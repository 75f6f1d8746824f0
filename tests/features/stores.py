"""Stores of random states, and what they are to hold."""

from pathlib import Path

import h5py
import numpy as np

from featbert.features.index import SplitIndex
from featbert.features.manifest import Manifest, StoredSplit
from featbert.features.store import FeatureStore
from featbert.features.writer import StoreWriter


class Written:
    """A plan with random states: what a store is to hold."""

    def __init__(self, lengths, block, *, layers=(0, 1, 2), hidden=4, dtype="float16", seed=0):
        random = np.random.default_rng(seed)
        self.offsets = {n: np.cumsum([0, *ls], dtype=np.int64) for n, ls in lengths.items()}
        words = {n: int(o[-1]) for n, o in self.offsets.items()}
        self.blocks = {
            n: np.array([*range(0, w, block), w] if w else [0], dtype=np.int64)
            for n, w in words.items()
        }
        self.manifest = Manifest(
            corpus="tiny",
            source="tiny",
            language="en",
            reading={"encoding": "utf-8"},
            splits={  # a unit a word
                n: StoredSplit("0" * 64, len(ls), words[n], words[n]) for n, ls in lengths.items()
            },
            model="bert",
            model_source="/bert",
            encoder_weights="1" * 64,
            encoder_files="2" * 64,
            uncased=False,
            num_layers=max(layers),
            hidden_size=hidden,
            layers=tuple(layers),
            context="sentence",
            pooling="first",
            precision="fp32",
            dtype=dtype,
            token_budget=64,
            block_words=5,
            device="cpu",
            device_name="a processor",
            threads=1,
            versions={"torch": "2"},
        )
        self.states = {
            n: random.normal(size=(len(layers), w, hidden)).astype(dtype) for n, w in words.items()
        }

    def writer(self, path: Path) -> StoreWriter:
        path.parent.mkdir(exist_ok=True)
        indexes = {
            n: SplitIndex(o, np.arange(int(o[-1]) + 1), self.blocks[n])
            for n, o in self.offsets.items()
        }
        return StoreWriter(path, self.manifest, indexes)

    def todo(self):
        return [(n, k) for n, edges in self.blocks.items() for k in range(len(edges) - 1)]

    def write(self, writer: StoreWriter, split: str, k: int) -> None:
        start, stop = self.blocks[split][k], self.blocks[split][k + 1]
        words = self.states[split][:, start:stop]
        writer.write(split, k, {"words": words, "cls": -words})  # of units their first pieces

    def finish(self, writer: StoreWriter) -> list[tuple[str, int]]:
        """Writes the blocks that are missing. Returns the others."""
        kept = list(writer.finished)
        for split, k in self.todo():
            if (split, k) not in kept:
                self.write(writer, split, k)
        writer.finish(self.manifest)
        return kept

    def to(self, path: Path) -> FeatureStore:
        self.finish(self.writer(path))
        return FeatureStore(path)


def usual() -> Written:
    """Six blocks in two splits."""
    return Written({"train": [3, 1, 7, 2, 9], "dev": [4]}, block=5)


def flip(path: Path, dataset: str, word: int = 0) -> None:
    """Flips a bit of the first value of a word."""
    with h5py.File(path, "r") as file:
        found = file[dataset]
        at = found.id.get_offset() + word * found.shape[1] * found.dtype.itemsize
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(bytes(data))


def datasets(path: Path) -> dict[str, bytes]:
    """Every dataset's bytes."""
    found = {}

    def visit(name, item):
        if isinstance(item, h5py.Dataset):
            found[name] = item[()].tobytes()

    with h5py.File(path, "r") as file:
        file.visititems(visit)
    return found
