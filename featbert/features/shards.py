"""Sets of shards: a text that is extracted in parts, and read as one store.

A part is a run of whole blocks, also across the ends of splits. Its batches and vectors
are the same as of an extraction in one piece, to the bit. Its store is like any other, with
journal and checksums. The set is a file with index, checksums and virtual datasets. It has the name
of the store in one piece.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from operator import itemgetter

import h5py
import numpy as np

from featbert.data.corpus import Sentence, Split
from featbert.encoders.encoder import Encoder
from featbert.encoders.encoding import texts_of
from featbert.engine import Each, in_turn
from featbert.errors import FeatbertError, reason
from featbert.features.extraction import run_extraction
from featbert.features.index import (
    SHARD_FILES,
    dataset_name,
    index_of,
    shards_folder,
    write_attributes,
    write_index,
)
from featbert.features.plan import ExtractionPlan, check_disk, stored_split, with_store
from featbert.features.store import FeatureStore
from featbert.io import check_ours, explaining, owning, replacing
from featbert.progress import notice, report, stage
from featbert.text import counted


def extract_shards(plan: ExtractionPlan, shards: int, each: Each = in_turn) -> FeatureStore:
    """Extracts the store of an unfinished plan in at most `shards` parts, each by `each`.

    Existing shards are used as they are. FeatbertError if some could not be made, after the others
    are finished. BusyError if another process makes the set.
    """
    parts = [*_parts(plan, shards)]
    if len(parts) < shards:
        notice(f"the text has {counted(len(parts), 'block')}, so it is extracted in as many shards")
    if len(parts) < 2:
        ((_, store),) = each(run_extraction, {plan.path.name: (plan,)})
        if isinstance(store, Exception):
            raise store
        assert isinstance(store, FeatureStore)
        return store
    folder = shards_folder(plan.path)
    plans = _shard_plans(plan, parts, plan.manifest.layers)
    stored = {*plan.manifest.layers}.union(
        *(p.finished.layers for p in plans if p.finished is not None)
    )
    if len(stored) > len(plan.manifest.layers):  # a lost shard gets the layers of the others
        plans = _shard_plans(plan, parts, tuple(sorted(stored)))
    missing_shards = {part.path.name: part for part in plans if part.finished is None}
    failures: list[str] = []
    # In this process all shards use one encoder.
    extract = partial(run_extraction, encoders=dict[str, Encoder]())
    with owning(plan.path), stage("extracting", "shards", len(missing_shards)) as advance:
        check_ours(folder, SHARD_FILES)
        check_disk(plan.path.parent, *missing_shards.values())
        for name, result in each(extract, {name: (part,) for name, part in missing_shards.items()}):
            advance(1)
            if isinstance(result, Exception):
                failures.append(f"{name}: {reason(result)}")
                report(f"failed: {failures[-1]}")
        if failures:
            raise FeatbertError(
                f"{len(failures)} of {counted(len(parts), 'shard')} failed, the others are kept; "
                f"run the same command to try again; {failures[0]}"
            )
        return _write_set(plan, [FeatureStore(part.path) for part in plans])


Texts = Mapping[str, Sequence[Sentence]]


def _parts(plan: ExtractionPlan, shards: int) -> Iterator[Texts]:
    """Parts of about as many whole blocks. Pairs that are encoded apart become single texts."""
    m = plan.manifest
    texts = {n: texts_of(text, m.context, m.packing)[0] for n, text in plan.texts.items()}
    begins = {name: np.cumsum([0, *map(len, text)]) for name, text in texts.items()}
    blocks = [(name, k) for name, index in plan.indexes.items() for k in range(index.n_blocks)]
    for numbers in np.array_split(np.arange(len(blocks)), max(1, min(shards, len(blocks)))):
        part = {}
        for name, group in groupby((blocks[i] for i in numbers), key=itemgetter(0)):
            block_numbers = [k for _, k in group]
            ends = plan.indexes[name].edges("words")[[block_numbers[0], block_numbers[-1] + 1]]
            chosen = texts[name][slice(*np.searchsorted(begins[name], ends))]
            part[name] = [replace(text, tags=None) for text in chosen]
        yield part


def _shard_plans(
    plan: ExtractionPlan, parts: Sequence[Texts], layers: tuple[int, ...]
) -> list[ExtractionPlan]:
    """The plan of a store for each part. Its words are cased already."""
    m = plan.manifest
    packing = None if m.packing == "apart" else m.packing
    plans = []
    for texts in parts:
        indexes = {
            n: index_of(text, m.context, packing, m.block_words) for n, text in texts.items()
        }
        splits = {
            name: stored_split(Split(name, tuple(text)).text_fingerprint, indexes[name])
            for name, text in texts.items()
        }
        of_texts = any(s.touches for text in texts.values() for s in text)
        manifest = replace(
            m, splits=splits, layers=layers, casing="original", packing=packing, of_texts=of_texts
        )
        part = replace(plan, manifest=manifest, texts=texts, indexes=indexes)
        plans.append(with_store(part, shards_folder(plan.path)))
    return plans


def _write_set(plan: ExtractionPlan, shards: Sequence[FeatureStore]) -> FeatureStore:
    """Writes the set of these shards, whole or not at all."""
    manifests = [shard.manifest for shard in shards]
    once = {shard.path: shard.manifest for shard in shards}.values()  # equal parts are one shard
    first, names = manifests[0], next(iter(manifests[0].splits.values())).counts
    splits = {}
    for name, stored in plan.manifest.splits.items():
        counts = [m.splits[name].counts for m in manifests if name in m.splits]
        splits[name] = replace(stored, counts={c: sum(n[c] for n in counts) for c in names})
    manifest = replace(
        plan.manifest,
        layers=tuple(k for k in first.layers if all(k in m.layers for m in manifests)),
        uncased=first.uncased,
        encoder_parameters=first.encoder_parameters,
        device_name=", ".join(sorted({m.device_name for m in manifests})),
        threads=first.threads,
        flops=sum(m.flops for m in manifests),
        seconds=sum(m.seconds for m in once),
        peak_memory_bytes=max(m.peak_memory_bytes for m in manifests),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        splits=splits,
        shards=tuple(shard.path.name for shard in shards),
    )
    folder = shards_folder(plan.path)
    with (
        explaining(plan.path, RuntimeError),
        replacing(plan.path) as temporary,
        h5py.File(temporary, "w", libver="v110") as file,  # names of shards may take over 64 kB
    ):
        for name, index in plan.indexes.items():
            parts = [shard for shard in shards if name in shard.splits]
            write_index(file, name, index)
            for kind, layer in manifest.datasets:
                dataset = dataset_name(name, layer, kind)
                shape = (manifest.rows(name, kind), manifest.hidden_size)
                virtual, row = h5py.VirtualLayout(shape, manifest.dtype), 0
                for part in parts:
                    n = part.manifest.rows(name, kind)
                    virtual[row : row + n] = h5py.VirtualSource(
                        f"{folder.name}/{part.path.name}", dataset, (n, shape[1]), manifest.dtype
                    )
                    row += n
                file.create_virtual_dataset(dataset, virtual)
            sums = [
                part.checksums(name)[[part.manifest.datasets.index(d) for d in manifest.datasets]]
                for part in parts
            ]
            empty = np.zeros((len(manifest.datasets), 0), dtype=np.uint32)
            file[f"{name}/checksums"] = np.concatenate([empty, *sums], axis=1)
        write_attributes(file, manifest, plan.indexes)
    for path in folder.glob("*.h5*"):  # shards of a set with another number of them
        if path.name not in manifest.shards:
            path.unlink()
    return FeatureStore(plan.path)
