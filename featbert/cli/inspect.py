"""featbert inspect, verify and probe: what a feature store holds and whether it is good"""

import dataclasses
from itertools import pairwise
from pathlib import Path

import typer

from featbert.cli import completion
from featbert.cli import options as o
from featbert.cli.showing import grid
from featbert.errors import FeatbertError, InputError
from featbert.progress import stage
from featbert.report.units import size
from featbert.text import counted, json_text, printable

EXAMPLE = "cache/sample--all-MiniLM-L6-v2--1a2b3c4d.h5"


@o.command(f"inspect {EXAMPLE}")
def inspect(
    store: Path = o.argument("STORE", "Feature store (.h5).", completion.stores),
    format: o.TableFormat = o.TABLE_FORMAT,
) -> None:
    """Show what a feature store holds: text, encoder, layers, sizes."""
    from featbert.features.store import FeatureStore
    from featbert.report.tables import store_facts

    opened = FeatureStore(store)
    m = opened.manifest
    if format == "json":
        manifest = dataclasses.asdict(m) | {"path": str(store), "file_bytes": opened.file_bytes}
        typer.echo(json_text(manifest))
        return
    typer.echo(printable(str(store)))
    typer.echo(
        grid(["", ""], [(name, [text]) for name, text in store_facts(opened)], justify="left")
    )


@o.command(f"verify {EXAMPLE}")
def verify(
    stores: list[Path] = o.argument("STORE...", "Feature stores (.h5).", completion.stores),
    data: str | None = o.option(
        "CORPUS", "Also check that they belong to this corpus.", completion.corpora
    ),
    model: str | None = o.option(
        "ENCODER", "Also check that they belong to this encoder.", completion.models
    ),
) -> None:
    """Compare every block of feature stores with its checksum.

    Reads each store once and names what is damaged; the exit code is 1 if anything is.
    """
    from featbert.data.load import load_corpus
    from featbert.encoders.source import find_encoder
    from featbert.features.store import FeatureStore, encoder_differences, text_differences

    source = None if model is None else find_encoder(model)
    wrong = 0
    for path in stores:
        try:
            store = FeatureStore(path)
            found = [f"damaged: {line}" for line in store.verify()]
        except FeatbertError as error:
            if len(stores) == 1:
                raise
            found = [str(error)]
        else:
            m, foreign = store.manifest, []
            if data is not None:
                foreign += text_differences(m, load_corpus(data, targets=None, **m.reading))
            if source is not None:
                foreign += encoder_differences(m.model, m.encoder_weights, m.encoder_files, source)
            found += [f"foreign: {line}" for line in foreign]
        wrong += bool(found)
        if not found:
            sizes = counted(len(m.layers), "layer"), counted(m.words, "word"), size(m.data_bytes)
            found = [f"intact: {', '.join(sizes)}"]
        for line in found:
            typer.echo(printable(f"{path}: {line}"))
    if wrong:
        which = f"{wrong} of {len(stores)} stores"
        raise InputError(f"{which} cannot be used; delete what is damaged and extract again")


@o.command("probe --layers last --layers layer:3")
def probe(
    features: Path | None = o.FEATURES,
    layers: list[str] | None = o.option(
        "LAYER",
        "Single layer: last, layer:3, ...; may be given several times.  [default: all]",
        completion.layers,
    ),
    cache_dir: Path = o.CACHE_DIR,
) -> None:
    """Check features quickly: logistic regression on single layers.

    A linear model on each word's vector, in seconds, scored on dev. It shows what one layer
    holds; it is not a tagger to compare with.
    """
    from featbert.config import defaults
    from featbert.data.load import load_corpus
    from featbert.encoders.layers import parse_layers
    from featbert.runs.planned import check_same_text, check_trainable
    from featbert.tasks.entities import TASK
    from featbert.training.probe import fit_probe

    store = o.choose_store(features, cache_dir)
    m = store.manifest
    specs = layers or [f"layer:{layer}" for layer in m.layers]
    wanted = [parse_layers(spec, m.num_layers) for spec in specs]
    for combination in wanted:
        if combination.mode != "single":
            raise InputError(
                f"{combination.name!r} is not a single layer; featbert train reads combinations"
            )
        store.require(combination.indices)
    corpus = load_corpus(m.source, **m.reading)
    check_trainable(corpus, defaults("none"))
    check_same_text(m, store.path, corpus)
    gold = corpus["dev"].tags
    train_tags = [tag for row in corpus["train"].tags for tag in row]
    offsets = store.offsets("dev")
    with stage("probing", "layers", len(wanted)) as advance:
        for combination in wanted:
            train, dev = (store.read(name, combination.indices)[0] for name in ("train", "dev"))
            found = fit_probe(train, train_tags, dev)
            predicted = [found[a:b] for a, b in pairwise(offsets)]
            scores = TASK.score(gold, predicted).values
            typer.echo(
                f"{combination.name}  dev F1 {100 * scores['f1']:.2f}  "
                f"word accuracy {100 * scores['word_accuracy']:.2f}"
            )
            advance(1)
