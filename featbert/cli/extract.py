"""featbert extract"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from featbert.cli import completion
from featbert.cli import options as o
from featbert.cli.app import Watched, app
from featbert.cli.meter import Meter
from featbert.cli.text import count, printable
from featbert.errors import nearest
from featbert.report.units import size
from featbert.text import unusual


@app.command(
    cls=Watched,
    epilog="Example: featbert extract --model all-MiniLM-L6-v2 --data corpora/wikigold",
)
def extract(
    model: o.Model = "all-MiniLM-L6-v2",
    data: o.Data = "sample",
    layers: Annotated[
        str,
        typer.Option(
            "--layers",
            metavar="LAYERS",
            help="Hidden states to store: all, 0,9-12 (0: embeddings), or a combination's name.",
            autocompletion=completion.stored_layers,
        ),
    ] = "all",
    context: o.Context = "sentence",
    truecase: o.Truecase = False,
    pooling: o.Pooling = "first",
    precision: o.Precision = "auto",
    store_dtype: Annotated[
        Literal["float16", "float32"],
        typer.Option("--store-dtype", help="How vectors are kept: 2 or 4 bytes a number."),
    ] = "float16",
    cache_dir: o.CacheDir = Path("cache"),
    device: o.Device = "auto",
    token_budget: Annotated[
        int | None,
        typer.Option(
            "--token-budget",
            metavar="TOKENS",
            help="Padded wordpieces computed at once.  [default: 512, on a GPU 32768]",
            min=1,
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be stored; do nothing.")
    ] = False,
    language: o.Language = None,
    encoding: o.Encoding = "utf-8",
    scheme: o.Scheme = "auto",
    token_column: o.TokenColumn = None,
    tag_column: o.TagColumn = None,
    quiet: o.Quiet = False,
) -> None:
    """Store the hidden states of all layers, a vector per word, once.

    A store costs words x (layers + 1) x hidden size x 2 bytes. One that exists is not computed
    again; an interrupted extraction goes on where it stopped.
    """
    o.check_folder(cache_dir, "--cache-dir")
    from featbert.data.load import load_corpus
    from featbert.encoders.encoding import check_casing_of, check_context
    from featbert.encoders.layers import parse_layers
    from featbert.encoders.source import find_encoder
    from featbert.encoders.tokenizer import is_uncased

    _check_layers(layers)
    source = find_encoder(model)
    held = None
    if layers != "all":
        held = parse_layers(_combination(layers), source.num_layers).indices
    reading = o.reading_options(language, encoding, scheme, token_column, tag_column)
    corpus = load_corpus(data, **reading)
    for split in corpus.splits.values():
        check_context(context, has_documents=split.has_documents)
    casing: Literal["original", "truecased"] = "truecased" if truecase else "original"
    check_casing_of(source, casing, corpus)
    is_uncased(source)  # a damaged tokenizer is told now
    meter = Meter(quiet=quiet)
    meter.load_torch()

    from featbert.encoders.encoding import Encoding
    from featbert.features.extraction import run_extraction
    from featbert.features.plan import plan_extraction

    plan = plan_extraction(
        corpus,
        source,
        Encoding(
            layers=held,
            context=context,
            casing=casing,
            pooling=pooling,
            precision=precision,
            dtype=store_dtype,
            device=device,
            token_budget=token_budget,
        ),
        cache_dir=cache_dir,
        reading=reading,
    )
    m = plan.manifest
    shape = (
        f"{count(m.words)} words x {len(m.layers)} layers x {m.hidden_size}, {m.dtype}: "
        f"{size(plan.data_bytes)}"
    )
    if plan.hit is not None:
        stored = plan.hit.manifest
        typer.echo(printable(f"{plan.path}: exists with all that was asked, nothing to do"))
        if (stored.source, stored.reading) != (corpus.source, reading):
            told = (
                f"it was extracted from {stored.source}; for the tags of {corpus.source} "
                "give featbert train the same --data and column options"
            )
            typer.echo(printable(told))
        if stored.uncased:
            told = f"{stored.model} is uncased: words were lowercased before they were read"
            typer.echo(printable(told))
        return
    if dry_run:
        typer.echo(printable(f"{plan.path}: would hold {shape}"))
        return
    meter.say(f"extracting {m.corpus} with {m.model} ({m.precision}, {plan.device.name})")
    store = run_extraction(plan, corpus, source)
    m = store.manifest
    rate = count(round(m.words / max(m.seconds, 1e-9)))
    typer.echo(printable(f"{store.path}: {shape}, {rate} words/s"))
    names = next(iter(m.splits.values())).counts
    found = unusual({n: sum(split.counts[n] for split in m.splits.values()) for n in names})
    if found:
        typer.echo(f"unusual: {found}")
    if m.uncased:
        typer.echo(printable(f"{m.model} is uncased: words are lowercased before they are read"))


def _combination(layers: str) -> str:
    """The layer combination that --layers means; bare numbers are layers side by side."""
    return f"concat:{layers}" if layers[:1].isdigit() else layers


def _check_layers(layers: str) -> None:
    """Raises InputError for what names no hidden states, before an encoder is at hand."""
    from featbert.encoders.layers import ALIASES, NAMES, parse_layers
    from featbert.errors import InputError

    if layers == "all":
        return
    try:
        parse_layers(_combination(layers))
    except InputError:
        names = ("all", *NAMES, *ALIASES)
        raise InputError(
            f"hidden states to store expected for --layers, found {layers!r}"
            f"{nearest(layers, names)}; give all, numbers such as 0,9-12, or the name of one "
            f"combination: {', '.join(NAMES)}"
        ) from None
