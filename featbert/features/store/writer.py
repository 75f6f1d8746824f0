"""Writing a feature store so that a kill at any moment loses at most the block in hand.

All datasets are allocated, contiguous, before the first vector is written; from then on only
bytes inside them change, so the file opens after a kill. A journal beside it names the blocks
that are finished, with their checksums. The store gets its final name when it is complete.
"""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from featbert.errors import InputError
from featbert.features.store.journal import (
    Entry,
    Journal,
    StoreBusyError,
    forget_finished,
    partial_path,
)
from featbert.features.store.layout import checksum, frame_checksum, layer_path
from featbert.features.store.manifest import (
    FORMAT_VERSION,
    Manifest,
    hash_of,
    manifest_to_json,
)
from featbert.features.store.reader import DAMAGE, FeatureStore
from featbert.io import cannot_write, flush, flush_folder
from featbert.progress import track
from featbert.text import counted


class StoreWriteError(InputError):
    """A store that cannot be written: a full disk, a folder that is closed to writing."""


class StoreWriter:
    """One store being written; `finish` gives it its name.

    Attributes:
        finished: CRC-32 by layer of each block that is on disk, by (split, block); not empty
            where an interrupted extraction is continued.
        halved_to: padded tokens that batches were halved to before it was interrupted; 0 where
            they were not, or nothing is continued.
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
            StoreBusyError: another process is writing it, or has just finished it.
            StoreWriteError: the disk is full, or the folder is closed to writing.
        """
        self.path = path
        self.partial = partial_path(path)
        self.manifest = manifest
        self.offsets = offsets
        self.blocks = blocks
        self.finished: dict[tuple[str, int], list[int]] = {}
        self.halved_to = 0
        self._opened = time.perf_counter()
        self._seconds_before = 0.0
        plan = hash_of(manifest.plan)
        with self._told("what was finished before is kept"):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._journal = Journal(path)
        try:
            self._check_still_wanted()
            with self._told("what was finished before is kept"):
                resumed = self._resume(plan)
            with self._told("nothing is kept"):
                self._file = resumed or self._create(plan)
        except BaseException:
            self._journal.close()
            forget_finished(path)
            raise

    @property
    def journal_path(self) -> Path:
        """The journal beside the unfinished file."""
        return self._journal.path

    @property
    def seconds(self) -> float:
        """Seconds of writing: since it was opened, and before an interruption."""
        return self._seconds_before + time.perf_counter() - self._opened

    def write(self, split: str, block: int, states: NDArray[Any], halved_to: int = 0) -> None:
        """Writes the hidden states of one block, waits for the disk, and notes it in the journal.

        Args:
            states: (layers, words of the block, H) in the store's dtype.
            halved_to: padded tokens that batches had been halved to when it was computed.

        Raises:
            StoreWriteError: the disk is full or fails; what was finished is kept.
        """
        start, stop = self.blocks[split][block], self.blocks[split][block + 1]
        sums = []
        with self._told(self._kept()):
            for rows, layer in zip(states, self.manifest.layers, strict=True):
                self._file[layer_path(split, layer)].write_direct(
                    np.ascontiguousarray(rows), dest_sel=np.s_[start:stop]
                )
                sums.append(checksum(rows))
            self._file.flush()
            flush(self.partial)
            self._journal.add(Entry(split, block, sums, self.seconds, halved_to))
        self.finished[split, block] = sums

    def finish(self, manifest: Manifest) -> FeatureStore:
        """Completes the store under its final name.

        Args:
            manifest: the plan's manifest with what is known at the end (seconds, counts).

        Raises:
            StoreWriteError: the disk is full or fails; what was finished is kept.
        """
        with self._told(self._kept()):
            for split, edges in self.blocks.items():
                sums = [self.finished[split, k] for k in range(len(edges) - 1)]
                table = np.array(sums, dtype=np.uint32).reshape(-1, len(manifest.layers))
                self._file[f"{split}/checksums"][:] = table.T
            text = manifest_to_json(manifest)
            self._file.attrs["format_version"] = FORMAT_VERSION
            # As bytes of fixed length: text of any length lies in a heap of its own, which HDF5
            # walks without end where it is damaged.
            self._file.attrs["manifest"] = np.bytes_(text.encode())
            self._file.attrs["checksum"] = frame_checksum(text, self.offsets)
            self._file.attrs["complete"] = True
            self._file.close()
            flush(self.partial)
            os.replace(self.partial, self.path)
        with suppress(OSError):  # not every file system can; the store is there
            flush_folder(self.path.parent)
            self._journal.remove()
        return FeatureStore(self.path)

    def close(self) -> None:
        """Leaves the unfinished store and its journal as they are, to be continued."""
        # Where the disk is full HDF5 cannot write its last bytes either; blocks are compared
        # with the journal before anything goes on from them.
        with suppress(OSError, RuntimeError):
            self._file.close()
        self._journal.close()

    def _check_still_wanted(self) -> None:
        """Raises StoreBusyError where another process has finished this store since the plan."""
        if not self.path.is_file():
            return
        held = FeatureStore(self.path).layers
        if not set(held) < set(self.manifest.layers):
            raise StoreBusyError(
                f"{self.path} to be unfinished expected, another process has finished it "
                "meanwhile; the same command reads it"
            )

    def _create(self, plan: str) -> h5py.File:
        self.finished, self._seconds_before = {}, 0.0
        try:
            self._journal.clear()
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
            _reserve(self.partial)
            # From here on the file opens, and what the journal says of it is true.
            self._journal.begin(plan)
            return h5py.File(self.partial, "r+")
        except (OSError, RuntimeError):
            with suppress(OSError):
                self.partial.unlink(missing_ok=True)
                self._journal.remove()
            raise

    def _resume(self, plan: str) -> h5py.File | None:
        """The interrupted file where journal and plan agree; every kept block is compared."""
        if self._journal.plan != plan:
            return None
        try:
            file = h5py.File(self.partial, "r+")
        except OSError as error:
            # A file that is missing or damaged is made anew; one that cannot be reached is kept.
            if _out_of_reach(error):
                raise
            return None
        try:
            entries = self._journal.entries
            for entry in track(entries, "comparing what was extracted before", "blocks"):
                edges = self.blocks.get(entry.split, ())
                if entry.block >= len(edges) - 1:
                    continue
                start, stop = edges[entry.block], edges[entry.block + 1]
                found = [
                    checksum(file[layer_path(entry.split, layer)][start:stop])
                    for layer in self.manifest.layers
                ]
                if found == entry.sums:
                    self.finished[entry.split, entry.block] = entry.sums
                self._seconds_before = max(self._seconds_before, entry.seconds)
        except DAMAGE as error:
            file.close()
            if _out_of_reach(error):
                raise
            return None
        self.halved_to = self._journal.halved_to
        return file

    def _kept(self) -> str:
        """What is left of an extraction that stops now."""
        n = len(self.finished)
        return f"{counted(n, 'finished block')} {'is' if n == 1 else 'are'} kept"

    @contextmanager
    def _told(self, then: str) -> Iterator[None]:
        """Turns what the system refuses into one line.

        Args:
            then: what becomes of the work that was done.
        """
        try:
            yield
        except (OSError, RuntimeError) as error:
            raise StoreWriteError(f"{cannot_write(self.path, _plain(error))}; {then}") from error


def _reserve(path: Path) -> None:
    """Takes the room of a file now: a disk that is too full refuses here, not after hours."""
    with path.open("r+b") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
        except OSError as error:  # not every file system can
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
                raise


def _out_of_reach(error: BaseException) -> bool:
    """Whether the system refused, which says nothing of what the file holds."""
    return isinstance(error, OSError) and _plain(error).errno not in (None, errno.ENOENT)


def _plain(error: OSError | RuntimeError) -> OSError:
    """The system's number and words for an error; HDF5 puts both into a text of its own."""
    found = re.search(r"errno = (\d+)", str(error))
    code = int(found[1]) if found else getattr(error, "errno", None)
    return OSError(str(error).split("\n")[0]) if code is None else OSError(code, os.strerror(code))


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
