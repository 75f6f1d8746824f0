"""Sets of shards: a text extracted in parts, which read as one store.

A part is a run of whole blocks, over the ends of splits too, so its batches, and with them its
vectors, are those of an extraction in one piece, to the bit. Its store is like any other, with
journal and checksums. The set, a file with offsets, checksums and virtual datasets, has the name of
the store in one piece.
"""

import dataclasses
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import h5py
import numpy as np

from featbert.data.corpus import Corpus, Sentence, Split
from featbert.encoders.encoder import Encoder
from featbert.encoders.encoding import Encoding, Reading, texts_of
from featbert.encoders.source import EncoderSource
from featbert.engine import Each, here
from featbert.errors import FeatbertError, reason
from featbert.features.extraction import layout_of, run_extraction
from featbert.features.plan import ExtractionPlan, check_disk, plan_extraction
from featbert.features.store import SHARD_FILES, FeatureStore, Manifest, layer_path, shards_folder
from featbert.features.writer import write_attributes, write_layout
from featbert.io import check_ours, explaining, owning, replacing
from featbert.progress import notice, report, stage
from featbert.text import counted

# The encoder of the shards that this process extracts.
_LOADED: dict[Any, Encoder] = {}


def extract_shards(
    plan: ExtractionPlan,
    corpus: Corpus,
    source: EncoderSource,
    encoding: Encoding,
    shards: int,
    each: Each = here,
) -> FeatureStore:
    """Carries out a plan that is no hit, in at most `shards` parts; `each` extracts one.

    Shards that are there are used as they are. FeatbertError where some could not be made, once the
    others are finished; BusyError where another process makes the set.
    """
    parts = cut(corpus, plan.manifest, shards)
    if len(parts) < shards:
        notice(f"the text has {counted(len(parts), 'block')}, so it is extracted in as many shards")
    if len(parts) < 2:
        ((_, whole),) = each(run_extraction, {plan.path.name: (plan, corpus, source)})
        if isinstance(whole, Exception):
            raise whole
        found: FeatureStore = whole
        return found
    asked, folder = plan.manifest, shards_folder(plan.path)
    # Parts have the words as the encoder reads them.
    same = {k: getattr(asked, k) for k in ("layers", "token_budget", "precision", "device")}
    how = dataclasses.replace(encoding, casing="original", **same)
    plans = [plan_extraction(part, source, how, cache_dir=folder) for part in parts]
    held = {*asked.layers}.union(*(p.hit.layers for p in plans if p.hit is not None))
    if len(held) > len(asked.layers):  # a lost shard gets all layers that the others have
        how = dataclasses.replace(how, layers=tuple(sorted(held)))
        plans = [plan_extraction(part, source, how, cache_dir=folder) for part in parts]
    missing = {p.path.name: (p, c, source) for p, c in zip(plans, parts, strict=True) if not p.hit}
    failed: list[str] = []
    with owning(plan.path), stage("extracting", "shards", len(missing)) as advance:
        check_ours(folder, SHARD_FILES)
        check_disk(plan.path.parent, *(part for part, *_ in missing.values()))
        try:
            for name, made in each(_extract, missing):
                advance(1)
                if isinstance(made, Exception):
                    failed.append(f"{name}: {reason(made, 'give a smaller --token-budget')}")
                    report(f"failed: {failed[-1]}")
        finally:
            _LOADED.clear()
        if failed:
            raise FeatbertError(
                f"{len(failed)} of {counted(len(parts), 'shard')} failed, the others are kept; run "
                f"the same command to try again; {failed[0]}"
            )
        return _joined(plan, corpus, [FeatureStore(part.path) for part in plans])


def cut(corpus: Corpus, manifest: Manifest, shards: int) -> list[Corpus]:
    """Parts of a text, each of about as many whole blocks; at most one for each block.

    Words are cased as they are read. Texts of pairs that are apart are texts of their own here.
    """
    read = Reading(corpus, manifest.casing)
    texts = {name: read(split.sentences) for name, split in corpus.splits.items()}
    layouts = {name: layout_of(sentences, manifest) for name, sentences in texts.items()}
    blocks = [(name, k) for name, lay in layouts.items() for k in range(len(lay.blocks) - 1)]
    of_units: dict[str, Sequence[Sentence]] = texts
    if manifest.packing == "apart":
        of_units = {n: texts_of(rows, manifest.context, "apart")[0] for n, rows in texts.items()}

    def sentences(name: str, first: int, last: int) -> tuple[Sentence, ...]:
        layout = layouts[name]
        begins = layout.units if manifest.packing == "apart" else layout.offsets
        edges = np.searchsorted(begins, layout.edges("words")[[first, last + 1]])
        rows = of_units[name][slice(*edges)]
        return tuple(
            Sentence(s.words, document=s.document, pair=s.pair, touches=s.touches) for s in rows
        )

    found = []
    for group in np.array_split(np.arange(len(blocks)), max(1, min(shards, len(blocks)))):
        first, last = dict(blocks[i] for i in group[::-1]), dict(blocks[i] for i in group)
        splits = {n: Split(n, sentences(n, first[n], k)) for n, k in last.items()}
        found.append(dataclasses.replace(corpus, splits=splits, targets=None))
    return found


def _extract(plan: ExtractionPlan, part: Corpus, source: EncoderSource) -> FeatureStore:
    return run_extraction(plan, part, source, _LOADED)


def _joined(plan: ExtractionPlan, corpus: Corpus, shards: Sequence[FeatureStore]) -> FeatureStore:
    """Writes the set of these shards, whole or not at all."""
    each = [shard.manifest for shard in shards]
    once = {shard.path: shard.manifest for shard in shards}.values()  # equal parts are one shard
    first, names = each[0], next(iter(each[0].splits.values())).counts
    manifest = dataclasses.replace(
        plan.manifest,
        layers=tuple(k for k in first.layers if all(k in m.layers for m in each)),
        uncased=first.uncased,
        encoder_parameters=first.encoder_parameters,
        device_name=", ".join(sorted({m.device_name for m in each})),
        threads=first.threads,
        flops=sum(m.flops for m in each),
        seconds=sum(m.seconds for m in once),
        peak_memory_bytes=max(m.peak_memory_bytes for m in each),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        splits={
            name: dataclasses.replace(
                stored,
                counts={
                    c: sum(m.splits[name].counts[c] for m in each if name in m.splits)
                    for c in names
                },
            )
            for name, stored in plan.manifest.splits.items()
        },
        shards=tuple(shard.path.name for shard in shards),
    )
    read, folder = Reading(corpus, manifest.casing), shards_folder(plan.path).name
    layouts = {name: layout_of(read(s.sentences), manifest) for name, s in corpus.splits.items()}
    with (
        explaining(plan.path, RuntimeError),
        replacing(plan.path) as temporary,
        h5py.File(temporary, "w", libver="v110") as file,  # names of shards may take over 64 kB
    ):
        for name, layout in layouts.items():
            parts = [shard for shard in shards if name in shard.splits]
            write_layout(file, name, layout)
            for kind, layer in manifest.datasets:
                dataset = layer_path(name, layer, kind)
                shape = (manifest.rows(name, kind), manifest.hidden_size)
                virtual, row = h5py.VirtualLayout(shape, manifest.dtype), 0
                for part in parts:
                    n = part.manifest.rows(name, kind)
                    source = h5py.VirtualSource(
                        f"{folder}/{part.path.name}", dataset, (n, shape[1]), manifest.dtype
                    )
                    virtual[row : row + n] = source
                    row += n
                file.create_virtual_dataset(dataset, virtual)
            rows = [
                part.checksums(name)[[part.manifest.datasets.index(d) for d in manifest.datasets]]
                for part in parts
            ]
            empty = np.zeros((len(manifest.datasets), 0), dtype=np.uint32)
            file[f"{name}/checksums"] = np.concatenate([empty, *rows], axis=1)
        write_attributes(file, manifest, layouts)
    for path in shards_folder(plan.path).glob("*.h5*"):  # those of a cut into another number go
        if path.name not in manifest.shards:
            path.unlink()
    return FeatureStore(plan.path)
