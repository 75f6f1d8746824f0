"""Writes a feature store. A kill at any moment loses at most two blocks.

While one block is written, the disk takes the one before it. Checksums are computed meanwhile.

The first line of the journal next to the store has the hash of the plan. Each further line is a
finished block: [split, block, CRC-32 by layer, seconds so far].
"""

import errno
import json
import os
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from featbert.errors import FeatbertError
from featbert.features.index import (
    SHARD_FILES,
    SplitIndex,
    checksum,
    dataset_name,
    shards_folder,
    write_attributes,
    write_index,
)
from featbert.features.manifest import Manifest
from featbert.features.store import DAMAGE, is_damage
from featbert.io import (
    cannot_write,
    flush,
    json_hash,
    regular_file,
    remove_folder,
    system_error,
    write_text,
)
from featbert.progress import track
from featbert.text import counted


class StoreWriter:
    """A store that is being written. `finish` gives it its name. The caller is `owning` its path.

    `finished` has the CRC-32 by layer of each block that is on disk, by (split, block).
    """

    def __init__(self, path: Path, manifest: Manifest, indexes: Mapping[str, SplitIndex]) -> None:
        """Opens a new or interrupted store."""
        self.path = path
        self.partial, self.journal = partial_path(path), path.with_name(f"{path.name}.journal")
        self.manifest = manifest
        self.indexes = indexes
        self.finished: dict[tuple[str, int], list[int]] = {}
        self._opened = time.perf_counter()
        self._seconds_before = 0.0
        self._threads = ThreadPoolExecutor(max_workers=2)
        self._noted: Future[None] | None = None  # whether the last block is in the journal
        plan = json.dumps({"plan": json_hash(manifest.plan)})
        with self._explaining():
            self._file = self._resumed(plan) or self._created(plan)

    @property
    def seconds(self) -> float:
        """Seconds of writing, including those before an interruption."""
        return self._seconds_before + time.perf_counter() - self._opened

    def write(self, split: str, block: int, states: Mapping[str, NDArray[Any]]) -> None:
        """Writes the hidden states of one block. The journal has it once the disk has.

        `states` are (layers, vectors of the block, H) by kind, in the store's dtype.
        """
        rows = [layer for kind in self.manifest.kinds for layer in states[kind]]
        with self._explaining():
            summed = self._threads.submit(lambda: [*map(checksum, rows)])
            for (kind, layer), vectors in zip(self.manifest.datasets, rows, strict=True):
                start, stop = self.indexes[split].edges(kind)[block : block + 2]
                dataset = self._file[dataset_name(split, layer, kind)]
                dataset.write_direct(vectors, dest_sel=np.s_[start:stop])
            self._file.flush()
            self._wait()
            self._noted = self._threads.submit(self._note, split, block, summed.result())

    def _note(self, split: str, block: int, sums: list[int]) -> None:
        """Waits until the disk has a written block, and notes it in the journal."""
        flush(self.partial)
        with self.journal.open("a", encoding="utf-8") as file:
            file.write(_line(split, block, sums, self.seconds))
        self.finished[split, block] = sums

    def _wait(self) -> None:
        """Until the last written block is in the journal."""
        if self._noted is not None:
            self._noted.result()

    def finish(self, manifest: Manifest) -> None:
        """Completes the store under its final name, with a manifest that has seconds and counts."""
        with self._explaining():
            self._wait()
            for split, index in self.indexes.items():
                sums = [self.finished[split, k] for k in range(index.n_blocks)]
                table = np.array(sums, dtype=np.uint32).reshape(-1, len(manifest.datasets))
                self._file[f"{split}/checksums"][:] = table.T
            write_attributes(self._file, manifest, self.indexes)
            self._file.close()
            flush(self.partial)
            os.replace(self.partial, self.path)
        with suppress(OSError, FeatbertError):  # the store is complete
            flush(self.path.parent)
            self.journal.unlink()
            remove_folder(shards_folder(self.path), SHARD_FILES)  # of a set that it replaces

    def close(self) -> None:
        """Leaves the unfinished store and its journal, to be resumed."""
        self._threads.shutdown()
        # On a full disk HDF5 cannot write its last bytes either. Blocks are compared with the
        # journal before they are used again.
        with suppress(OSError, RuntimeError):
            self._file.close()

    def _created(self, plan: str) -> h5py.File:
        self.finished, self._seconds_before = {}, 0.0
        early = h5py.h5p.create(h5py.h5p.DATASET_CREATE)  # allocates space before vectors
        early.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        early.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        try:
            for path in (self.journal, self.partial):  # a link, not its target
                path.unlink(missing_ok=True)
            # The manifest may be longer than an attribute of the oldest format
            with h5py.File(self.partial, "w", libver=("v108", "v108")) as file:
                for split, index in self.indexes.items():
                    for kind, layer in self.manifest.datasets:
                        name = dataset_name(split, layer, kind)
                        shape = (self.manifest.rows(split, kind), self.manifest.hidden_size)
                        file.create_dataset(name, shape, self.manifest.dtype, dcpl=early)
                    write_index(file, split, index)
                    sums = (len(self.manifest.datasets), index.n_blocks)
                    file[f"{split}/checksums"] = np.zeros(sums, dtype=np.uint32)
            _reserve(self.partial)
            # From here on the file can be opened, and the journal is true.
            write_text(self.journal, plan + "\n")
            return h5py.File(self.partial, "r+")
        except (OSError, RuntimeError, FeatbertError):
            with suppress(OSError):
                self.partial.unlink(missing_ok=True)
                self.journal.unlink(missing_ok=True)
            raise

    def _resumed(self, plan: str) -> h5py.File | None:
        """The interrupted file if its plan is the same. Every finished block is compared."""
        entries = _read_journal(self.journal, plan)
        if entries is None:
            return None
        try:
            file = h5py.File(regular_file(self.partial), "r+")
        except OSError as error:
            if isinstance(error, FileNotFoundError) or is_damage(error):
                return None
            raise
        lines = [plan + "\n"]
        numbers = {(n, k) for n, index in self.indexes.items() for k in range(index.n_blocks)}
        try:
            for split, block, sums, seconds in track(entries, "comparing blocks", "blocks"):
                if (split, block) not in numbers:
                    continue
                sums_on_disk = []
                for kind, layer in self.manifest.datasets:
                    start, stop = self.indexes[split].edges(kind)[block : block + 2]
                    rows = file[dataset_name(split, layer, kind)][start:stop]
                    sums_on_disk.append(checksum(rows))
                if sums_on_disk == sums:
                    self.finished[split, block] = sums
                    lines.append(_line(split, block, sums, seconds))
                self._seconds_before = max(self._seconds_before, seconds)
            write_text(self.journal, "".join(lines))  # without a line that a kill cut off
        except DAMAGE as error:
            file.close()
            if is_damage(error):
                return None
            raise
        return file

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        """Raises FeatbertError in place of errors of the system or HDF5."""
        try:
            yield
        except (OSError, RuntimeError) as error:
            with suppress(OSError, RuntimeError):  # the block before may still be on its way
                self._wait()
            n = len(self.finished)
            blocks = (
                f"; {counted(n, 'finished block')} {'is' if n == 1 else 'are'} kept" if n else ""
            )
            plain = system_error(error) or OSError(str(error).split("\n")[0])
            message = cannot_write(self.path, plain)
            raise FeatbertError(f"{message}{blocks}") from error


def partial_path(store: Path) -> Path:
    """The file that a store is written to until it is complete."""
    return store.with_name(store.name + ".partial")


def _line(split: str, block: int, sums: list[int], seconds: float) -> str:
    return json.dumps([split, block, sums, round(seconds, 3)]) + "\n"


def _read_journal(path: Path, plan: str) -> list[tuple[str, int, list[int], float]] | None:
    """Finished blocks up to a line that a kill cut off. None without a journal of this plan."""
    try:
        first, *lines = regular_file(path).read_text("utf-8", errors="replace").split("\n")
    except FileNotFoundError:
        return None
    if first != plan:
        return None
    entries = []
    with suppress(ValueError, TypeError):
        for line in lines[:-1]:
            split, block, sums, seconds = json.loads(line)
            entries.append((str(split), int(block), list(sums), float(seconds)))
    return entries


def _reserve(path: Path) -> None:
    """Allocates the space of a file now: HDF5 may crash if a disk fills up later."""
    if not hasattr(os, "posix_fallocate"):  # macOS
        return
    with path.open("r+b") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
        except OSError as error:  # not every file system can
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
                raise
