"""Writing a feature store so that a kill at any moment loses at most the block in hand.

All datasets are allocated, contiguous, before the first vector is written; from then on only
bytes inside them change, so the file opens after a kill. A journal beside it names the blocks
that are finished, with their checksums. The store gets its final name when it is complete.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from pathlib import Path
from typing import Any, TextIO

import h5py
import numpy as np
from numpy.typing import NDArray

from featbert.errors import InputError
from featbert.features.store.manifest import (
    FORMAT_VERSION,
    Manifest,
    hash_of,
    manifest_to_json,
)
from featbert.features.store.reader import (
    FeatureStore,
    checksum,
    frame_checksum,
    layer_path,
)
from featbert.stages import staged


class StoreBusyError(InputError):
    """Another process is writing this store."""


class StoreWriter:
    """One store being written; `finish` gives it its name.

    Attributes:
        finished: CRC-32 by layer of each block that is on disk, by (split, block); not empty
            where an interrupted extraction is continued.
    """

    def __init__(
        self,
        path: Path,
        manifest: Manifest,
        offsets: dict[str, NDArray[np.int64]],
        blocks: dict[str, NDArray[np.int64]],
    ) -> None:
        """Opens a new store, or an interrupted one of the same plan, for writing.

        Raises:
            StoreBusyError: another process is writing it.
        """
        self.path = path
        self.partial = path.with_name(path.name + ".partial")
        self.journal_path = path.with_name(path.name + ".journal")
        self.manifest = manifest
        self.offsets = offsets
        self.blocks = blocks
        self.finished: dict[tuple[str, int], list[int]] = {}
        self._opened = time.perf_counter()
        self._seconds_before = 0.0
        path.parent.mkdir(parents=True, exist_ok=True)
        self._journal: TextIO = self.journal_path.open("a+", encoding="utf-8")
        try:
            fcntl.flock(self._journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._journal.close()
            raise StoreBusyError(
                f"another process is extracting into {path}; wait, or use another --cache-dir"
            ) from None
        plan = hash_of(manifest.plan)
        self._file = self._resume(plan) or self._create(plan)

    @property
    def seconds(self) -> float:
        """Seconds of writing: since it was opened, and before an interruption."""
        return self._seconds_before + time.perf_counter() - self._opened

    def write(self, split: str, block: int, states: NDArray[Any]) -> None:
        """Writes the hidden states of one block, flushes, and notes it in the journal.

        Args:
            states: (layers, words of the block, H) in the store's dtype.
        """
        start, stop = self.blocks[split][block], self.blocks[split][block + 1]
        sums = []
        for rows, layer in zip(states, self.manifest.layers, strict=True):
            self._file[layer_path(split, layer)].write_direct(
                np.ascontiguousarray(rows), dest_sel=np.s_[start:stop]
            )
            sums.append(checksum(rows))
        self._file.flush()
        self._journal.write(json.dumps([split, block, sums, round(self.seconds, 3)]) + "\n")
        self._journal.flush()
        self.finished[split, block] = sums

    def finish(self, manifest: Manifest) -> FeatureStore:
        """Completes the store under its final name.

        Args:
            manifest: the plan's manifest with what is known at the end (seconds, counts).
        """
        for split, edges in self.blocks.items():
            sums = [self.finished[split, k] for k in range(len(edges) - 1)]
            table = np.array(sums, dtype=np.uint32).reshape(-1, len(manifest.layers))
            self._file[f"{split}/checksums"][:] = table.T
        text = manifest_to_json(manifest)
        self._file.attrs["format_version"] = FORMAT_VERSION
        self._file.attrs["manifest"] = text
        self._file.attrs["checksum"] = frame_checksum(text, self.offsets)
        self._file.attrs["complete"] = True
        self._file.close()
        with self.partial.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(self.partial, self.path)
        self.journal_path.unlink()
        self._journal.close()
        return FeatureStore(self.path)

    def close(self) -> None:
        """Leaves the unfinished store and its journal as they are, to be continued."""
        self._file.close()
        self._journal.close()

    def _create(self, plan: str) -> h5py.File:
        self.finished, self._seconds_before = {}, 0.0
        self._journal.truncate(0)
        with h5py.File(self.partial, "w") as file:
            for split, stored in self.manifest.splits.items():
                shape = (stored.words, self.manifest.hidden_size)
                for layer in self.manifest.layers:
                    _allocate(file, layer_path(split, layer), shape, self.manifest.dtype)
                file[f"{split}/offsets"] = self.offsets[split]
                file[f"{split}/blocks"] = self.blocks[split]
                n_blocks = len(self.blocks[split]) - 1
                sums = (len(self.manifest.layers), n_blocks)
                file[f"{split}/checksums"] = np.zeros(sums, dtype=np.uint32)
        self._journal.write(json.dumps({"plan": plan}) + "\n")
        self._journal.flush()
        return h5py.File(self.partial, "r+")

    def _resume(self, plan: str) -> h5py.File | None:
        """The interrupted file where journal and plan agree; every kept block is compared."""
        self._journal.seek(0)
        lines = self._journal.read().split("\n")
        try:
            if json.loads(lines[0]) != {"plan": plan}:
                return None
            file = h5py.File(self.partial, "r+")
        except (ValueError, OSError):
            return None
        kept = [lines[0]]
        try:
            # A line without its newline was cut off.
            for line in staged(lines[1:-1], "comparing what was extracted before", "blocks"):
                split, block, sums, seconds = json.loads(line)
                start, stop = self.blocks[split][block], self.blocks[split][block + 1]
                found = [
                    checksum(file[layer_path(split, layer)][start:stop])
                    for layer in self.manifest.layers
                ]
                if found == sums:
                    self.finished[split, block] = sums
                    kept.append(line)
                self._seconds_before = float(seconds)
        except (ValueError, KeyError, IndexError, TypeError, OSError, RuntimeError):
            file.close()
            return None
        self._journal.truncate(0)
        self._journal.write("\n".join(kept) + "\n")
        self._journal.flush()
        return file


def _allocate(file: h5py.File, name: str, shape: tuple[int, int], dtype: str) -> None:
    """A contiguous dataset whose place in the file is taken now and filled later."""
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_layout(h5py.h5d.CONTIGUOUS)
    properties.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    properties.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    links = h5py.h5p.create(h5py.h5p.LINK_CREATE)
    links.set_create_intermediate_group(True)
    h5py.h5d.create(
        file.id,
        name.encode(),
        h5py.h5t.py_create(np.dtype(dtype)),
        h5py.h5s.create_simple(shape),
        dcpl=properties,
        lcpl=links,
    )
