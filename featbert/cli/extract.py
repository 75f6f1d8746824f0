"""featbert extract, and the store that featbert train makes"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from featbert.cli import completion
from featbert.cli import options as o
from featbert.cli.progress import load_torch
from featbert.config import Compute, Data, Encoding
from featbert.io import slug
from featbert.progress import report
from featbert.report.units import size
from featbert.text import counted, printable, unusual

if TYPE_CHECKING:
    from featbert.data.corpus import Corpus
    from featbert.features.plan import ExtractionPlan
    from featbert.features.store import FeatureStore


@o.command(
    "extract --model all-MiniLM-L6-v2 --data corpora/wikigold",
    (Encoding, Data, Compute),
    without=("task", "tag_scheme"),
)
def extract(
    *,
    layers: str = o.option(
        "LAYERS",
        "Hidden states to store: all, numbers such as 0,9-12 (0: embeddings), or those of a "
        "combination such as concat_last4.",
        completion.stored_layers,
        default="all",
    ),
    given: dict[str, Any],
    token_budget: int | None = o.option(
        "INT", "Padded subwords computed at once.  [default: 512, on a GPU 32768]", min=1
    ),
    shards: int | None = o.option(
        "N",
        "Parts of the text, a file each, that read as one store.  [default: 1, on Ray as many as "
        "there is room for]",
        min=1,
    ),
    on: o.Engine = o.ON,
    address: str | None = o.ADDRESS,
    cpus_per_run: int | None = o.CPUS,
    gpus_per_run: float | None = o.GPUS,
    cache_dir: Path = o.CACHE_DIR,
    dry_run: bool = o.flag("--dry-run", "Say what would be stored; do nothing."),
) -> None:
    """Store the hidden states of every word, once.

    A store has (words + texts) x (layers + 1) x hidden size x 2 bytes: of each text its first
    special piece (cls), too. An existing store is not computed again; an interrupted extraction
    resumes. With --shards a lost shard alone is made again.
    """
    o.check_folder(cache_dir, "--cache-dir")
    engine = o.joined(on, address, cpus_per_run, gpus_per_run, (cache_dir,))
    from featbert.data.check import notice_doubts
    from featbert.data.load import load_corpus
    from featbert.encoders.layers import layer_numbers, parse_layers
    from featbert.encoders.source import find_encoder
    from featbert.encoders.tokenizer import is_uncased

    encoding, text = o.chosen(Encoding, given), o.chosen(Data, given)
    source = find_encoder(encoding.model)
    held = None
    if layers[:1].isdigit():
        held = layer_numbers(layers, source.num_layers, layers)
    elif layers != "all":
        held = parse_layers(layers, source.num_layers).indices
    corpus = load_corpus(text.data, targets=None, **text.reading)
    notice_doubts(corpus)
    compute = o.chosen(Compute, given)
    asked = encoding.for_encoder(layers=held, token_budget=token_budget, **compute.where)
    asked.check(source, corpus)
    is_uncased(source)  # a damaged tokenizer is refused before torch is loaded
    load_torch(compute.threads)

    from featbert.engine import here
    from featbert.features.plan import plan_extraction
    from featbert.features.shards import extract_shards

    plan = plan_extraction(corpus, source, asked, cache_dir=cache_dir, shards=shards or 1)
    m, shape, lines = plan.manifest, _shape(plan), []
    if plan.hit is not None:
        m = plan.hit.manifest
        lines.append(f"{plan.path}: exists with all that was asked, nothing to do")
    elif dry_run:
        lines.append(f"{plan.path}: would hold {shape}")
    else:
        report(_under_way(plan))
        with engine as (each, room):
            store = extract_shards(plan, corpus, source, asked, shards or room, each or here)
        m = store.manifest
        lines.append(f"{store.path}: {shape}, {round(m.words / max(m.seconds, 1e-9)):,} words/s")
        names = next(iter(m.splits.values())).counts
        if found := unusual({n: sum(s.counts[n] for s in m.splits.values()) for n in names}):
            lines.append(f"unusual: {found}")
    if note := asked.note(source):
        lines.append(note)
    if m.uncased:
        lines.append(f"{m.model} is uncased: words are lowercased before they are read")
    for line in lines:
        typer.echo(printable(line))


def find_store(
    corpus: Corpus, given: Mapping[str, Any], specs: Sequence[str], cache_dir: Path
) -> FeatureStore | ExtractionPlan:
    """The store of a text, encoded as `given` says, or its plan; the only one if that says nothing.

    `specs` are the layer combinations that it is to have.
    """
    from featbert.encoders.layers import parse_layers
    from featbert.encoders.source import find_encoder
    from featbert.encoders.tokenizer import is_uncased
    from featbert.features.store import FeatureStore

    encoding = o.chosen(Encoding, given)
    source = find_encoder(encoding.model)
    needed = [i for spec in specs for i in parse_layers(spec, source.num_layers).indices]
    asked = partial(encoding.for_encoder, **o.chosen(Compute, given).where)
    asked().check(source, corpus)
    is_uncased(source)
    load_torch(o.chosen(Compute, given).threads)

    from featbert.features.plan import plan_extraction

    plan_of = partial(plan_extraction, corpus, source, cache_dir=cache_dir)
    if (plan := plan_of(asked(layers=needed or None))).hit is not None:
        return plan.hit
    if not given.keys() & Encoding.model_fields.keys():
        texts = {name: split.text_fingerprint for name, split in corpus.splits.items()}
        stores = map(FeatureStore, cache_dir.glob(f"{slug(corpus.name)}--*.h5"))
        same = [s for s in stores if {n: own.text for n, own in s.manifest.splits.items()} == texts]
        if len(same) == 1:
            return same[0]
    return plan_of(asked())


def extract_planned(plan: ExtractionPlan, corpus: Corpus, given: Mapping[str, Any]) -> FeatureStore:
    """Carries out a plan of `find_store`."""
    from featbert.encoders.source import find_encoder
    from featbert.features.shards import extract_shards

    encoding, where = o.chosen(Encoding, given), o.chosen(Compute, given).where
    report(_under_way(plan))
    source = find_encoder(encoding.model)
    return extract_shards(plan, corpus, source, encoding.for_encoder(**where), 1)


def _shape(plan: ExtractionPlan) -> str:
    m = plan.manifest
    rows = (f"{sum(m.rows(split, kind) for split in m.splits):,} {kind}" for kind in m.kinds)
    sizes = f"({' + '.join(rows)}) x {counted(len(m.layers), 'layer')} x {m.hidden_size}"
    return f"{sizes}, {m.dtype}: {size(m.data_bytes)}"


def _under_way(plan: ExtractionPlan) -> str:
    m = plan.manifest
    where = f"{m.precision}, {m.device_name}"
    return f"extracting {m.corpus} with {m.model} ({where}): {_shape(plan)}"
