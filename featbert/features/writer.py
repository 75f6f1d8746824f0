"""Writes a feature store so that a kill at any moment loses at most the block in hand.

A journal next to it has a line with the hash of the plan, then a line [split, block, CRC-32 by
layer, seconds so far] for each finished block.
"""

import errno
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from featbert.errors import BusyError, FeatbertError
from featbert.features.store import (
    DAMAGE,
    FORMAT_VERSION,
    SHARD_FILES,
    FeatureStore,
    Layout,
    Manifest,
    checksum,
    frame_checksum,
    is_damage,
    layer_path,
    shards_folder,
)
from featbert.io import (
    cannot_write,
    flush,
    json_hash,
    owning,
    regular_file,
    remove_folder,
    system_error,
    write_text,
)
from featbert.progress import track
from featbert.text import counted


class StoreWriter:
    """One store being written, locked for this process; `finish` gives it its name.

    `finished` has the CRC-32 by layer of each block that is on disk, by (split, block).
    """

    def __init__(self, path: Path, manifest: Manifest, layouts: dict[str, Layout]) -> None:
        """Opens a new or interrupted store; BusyError where another process writes it."""
        self.path = path
        self.partial, self.journal = partial_path(path), path.with_name(f"{path.name}.journal")
        self.manifest = manifest
        self.layouts = layouts
        self.finished: dict[tuple[str, int], list[int]] = {}
        self._opened = time.perf_counter()
        self._seconds_before = 0.0
        plan = json.dumps({"plan": json_hash(manifest.plan)})
        with ExitStack() as locked:
            locked.enter_context(owning(path))
            if path.is_file() and not {*FeatureStore(path).layers} < {*manifest.layers}:
                raise BusyError(
                    f"another process has finished {path} meanwhile; run the command again to use "
                    "it"
                )
            with self._explaining():
                self._file = self._resumed(plan) or self._created(plan)
            self._lock = locked.pop_all()

    @property
    def seconds(self) -> float:
        """Of writing, those before an interruption included."""
        return self._seconds_before + time.perf_counter() - self._opened

    def write(self, split: str, block: int, states: Mapping[str, NDArray[Any]]) -> None:
        """Writes the hidden states of one block, waits for the disk, and notes it in the journal.

        `states` are (layers, vectors of the block, H) by kind, in the store's dtype.
        """
        sums = []
        with self._explaining():
            for kind in self.manifest.kinds:
                start, stop = self.layouts[split].edges(kind)[block : block + 2]
                for rows, layer in zip(states[kind], self.manifest.layers, strict=True):
                    dataset = self._file[layer_path(split, layer, kind)]
                    dataset.write_direct(rows, dest_sel=np.s_[start:stop])
                    sums.append(checksum(rows))
            self._file.flush()
            flush(self.partial)
            with self.journal.open("a", encoding="utf-8") as file:
                file.write(_line(split, block, sums, self.seconds))
        self.finished[split, block] = sums

    def finish(self, manifest: Manifest) -> FeatureStore:
        """Completes the store under its final name, with a manifest that has seconds and counts."""
        with self._explaining():
            for split, layout in self.layouts.items():
                sums = [self.finished[split, k] for k in range(len(layout.blocks) - 1)]
                table = np.array(sums, dtype=np.uint32).reshape(-1, len(manifest.datasets))
                self._file[f"{split}/checksums"][:] = table.T
            write_attributes(self._file, manifest, self.layouts)
            self._file.close()
            flush(self.partial)
            os.replace(self.partial, self.path)
        with suppress(OSError, FeatbertError):  # the store is complete
            flush(self.path.parent)
            self.journal.unlink()
            remove_folder(shards_folder(self.path), SHARD_FILES)  # of a set that it replaces
        self._lock.close()
        return FeatureStore(self.path)

    def close(self) -> None:
        """Leaves the unfinished store and its journal, to be resumed."""
        # On a full disk HDF5 cannot write its last bytes either; blocks are compared with the
        # journal before they are used again.
        with suppress(OSError, RuntimeError):
            self._file.close()
        self._lock.close()

    def _created(self, plan: str) -> h5py.File:
        self.finished, self._seconds_before = {}, 0.0
        early = h5py.h5p.create(h5py.h5p.DATASET_CREATE)  # places now, vectors later
        early.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        early.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        try:
            for path in (self.journal, self.partial):  # a link, not its target
                path.unlink(missing_ok=True)
            # The manifest may be longer than an attribute of the oldest format
            with h5py.File(self.partial, "w", libver=("v108", "v108")) as file:
                for split, layout in self.layouts.items():
                    for kind, layer in self.manifest.datasets:
                        name = layer_path(split, layer, kind)
                        shape = (self.manifest.rows(split, kind), self.manifest.hidden_size)
                        file.create_dataset(name, shape, self.manifest.dtype, dcpl=early)
                    write_layout(file, split, layout)
                    sums = (len(self.manifest.datasets), len(layout.blocks) - 1)
                    file[f"{split}/checksums"] = np.zeros(sums, dtype=np.uint32)
            _reserve(self.partial)
            # From here on the file opens, and what the journal says about it is true.
            write_text(self.journal, plan + "\n")
            return h5py.File(self.partial, "r+")
        except (OSError, RuntimeError, FeatbertError):
            with suppress(OSError):
                self.partial.unlink(missing_ok=True)
                self.journal.unlink(missing_ok=True)
            raise

    def _resumed(self, plan: str) -> h5py.File | None:
        """The interrupted file where its plan is the same; every finished block is compared."""
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
        numbers = {(n, k) for n, lay in self.layouts.items() for k in range(len(lay.blocks) - 1)}
        try:
            for split, block, sums, seconds in track(entries, "comparing blocks", "blocks"):
                if (split, block) not in numbers:
                    continue
                found = []
                for kind, layer in self.manifest.datasets:
                    start, stop = self.layouts[split].edges(kind)[block : block + 2]
                    found.append(checksum(file[layer_path(split, layer, kind)][start:stop]))
                if found == sums:
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
        """Raises FeatbertError in place of what the system or HDF5 refuses."""
        try:
            yield
        except (OSError, RuntimeError) as error:
            n = len(self.finished)
            kept = f"; {counted(n, 'finished block')} {'is' if n == 1 else 'are'} kept" if n else ""
            plain = system_error(error) or OSError(str(error).split("\n")[0])
            message = cannot_write(self.path, plain)
            raise FeatbertError(f"{message}{kept}") from error


def write_layout(file: h5py.File, split: str, layout: Layout) -> None:
    """Where the parts of a split begin."""
    for name, numbers in vars(layout).items():
        if numbers is not None:
            file[f"{split}/{name}"] = numbers


def write_attributes(file: h5py.File, manifest: Manifest, layouts: dict[str, Layout]) -> None:
    """What makes a file with all its datasets a finished store."""
    text = manifest.to_json()
    file.attrs["format_version"] = FORMAT_VERSION
    # As bytes of fixed length: text of variable length is in a separate heap, which HDF5 walks
    # without end where it is damaged.
    file.attrs["manifest"] = np.bytes_(text.encode())
    file.attrs["checksum"] = frame_checksum(text, layouts)
    file.attrs["complete"] = True


def partial_path(store: Path) -> Path:
    """The file that a store is written to until it is complete."""
    return store.with_name(store.name + ".partial")


def _line(split: str, block: int, sums: list[int], seconds: float) -> str:
    return json.dumps([split, block, sums, round(seconds, 3)]) + "\n"


def _read_journal(path: Path, plan: str) -> list[tuple[str, int, list[int], float]] | None:
    """Finished blocks up to a line that a kill cut off; None without a journal of this plan."""
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
    """Takes the room of a file now: HDF5 may crash where a disk fills up later."""
    if not hasattr(os, "posix_fallocate"):  # macOS
        return
    with path.open("r+b") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
        except OSError as error:  # not every file system can
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
                raise
