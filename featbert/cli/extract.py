"""featbert extract, and the store that featbert train makes"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from featbert.cli import completion
from featbert.cli import options as o
from featbert.cli.progress import load_torch
from featbert.config import Compute, Data, Encoding
from featbert.errors import InputError
from featbert.progress import report
from featbert.text import listed, printable, unusual

if TYPE_CHECKING:
    from featbert.data.corpus import Corpus
    from featbert.features.plan import ExtractionPlan
    from featbert.features.store import FeatureStore


@o.command(
    "extract --model all-MiniLM-L6-v2 --data corpora/wikigold",
    (Encoding, Data, Compute),
    defaults={"task": "none, which reads the text without answers", "keep": "words"},
    without=("tag_scheme",),
)
def extract(
    *,
    layers: str = o.option(
        "LAYERS",
        "Hidden states to store: all, numbers such as 0,9-12 (0: embeddings), or those of "
        "combinations such as concat_last4.",
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
    from featbert.encoders.source import find_encoder
    from featbert.encoders.tokenizer import is_uncased
    from featbert.tasks.base import get_task

    encoding, text = o.chosen(Encoding, given), o.chosen(Data, given)
    source = find_encoder(encoding.model)
    targets = get_task(text.task).targets if "task" in given else None
    corpus = load_corpus(text.data, text.reading, targets=targets)
    notice_doubts(corpus)
    compute = o.chosen(Compute, given)
    asked = encoding.for_encoder(layers=layers, token_budget=token_budget, **compute.where)
    asked.check(source, corpus)
    is_uncased(source)  # a damaged tokenizer is refused before torch is loaded
    load_torch(compute.threads)

    from featbert.engine import here
    from featbert.features.plan import plan_extraction, stored_size, under_way
    from featbert.features.shards import extract_shards

    plan = plan_extraction(corpus, source, asked, cache_dir=cache_dir, shards=shards or 1)
    m, shape, lines = plan.manifest, stored_size(plan), []
    if plan.hit is not None:
        m = plan.hit.manifest
        lines.append(f"{plan.path}: exists with all that was asked, nothing to do")
    elif dry_run:
        lines.append(f"{plan.path}: would hold {shape}")
    else:
        report(under_way(plan))
        with engine as (each, room):
            store = extract_shards(plan, shards or room, each or here)
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


def opened_store(
    features: Path | None, given: dict[str, Any]
) -> tuple[FeatureStore | None, dict[str, Any]]:
    """The store of --features, if it is given, and `given` with the text of that store."""
    if features is None:
        return None, given
    if encoded := [f"--{n.replace('_', '-')}" for n in Encoding.model_fields if n in given]:
        raise InputError(f"{listed(encoded)} with --features, which is encoded already; omit one")
    from featbert.features.store import FeatureStore

    store = FeatureStore(features)
    return store, {"data": store.manifest.source, **store.manifest.reading, **given}


def find_store(
    corpus: Corpus,
    given: Mapping[str, Any],
    specs: Sequence[str],
    cache_dir: Path,
    reads: Collection[str] = ("words",),
) -> FeatureStore | ExtractionPlan:
    """The store of a text, encoded as `given` says, or else the plan to extract all layers.

    It has the layers of the combinations `specs`, of which heads read `reads` (`Settings.reads`).
    """
    from featbert.encoders.source import find_encoder
    from featbert.encoders.tokenizer import is_uncased

    encoding, compute = o.chosen(Encoding, given), o.chosen(Compute, given)
    source = find_encoder(encoding.model)
    asked = encoding.for_encoder(reads, layers=specs, **compute.where)
    asked.check(source, corpus)
    is_uncased(source)
    load_torch(compute.threads)

    from featbert.features.plan import plan_extraction

    plan = plan_extraction(corpus, source, asked, cache_dir=cache_dir)
    if plan.hit is not None:
        return plan.hit
    return plan_extraction(corpus, source, replace(asked, layers=None), cache_dir=cache_dir)


def made_store(
    plan: FeatureStore | ExtractionPlan, corpus: Corpus, given: Mapping[str, Any]
) -> FeatureStore:
    """The store that `find_store` found, or that its plan makes, which is announced."""
    from featbert.features.extraction import run_extraction
    from featbert.features.plan import ExtractionPlan, under_way

    if not isinstance(plan, ExtractionPlan):
        return plan
    report(under_way(plan))
    return run_extraction(plan)
