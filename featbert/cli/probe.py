"""featbert probe"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Annotated

import typer

from featbert.cli import completion
from featbert.cli import options as o
from featbert.cli.app import Watched, app
from featbert.cli.progress import Meter
from featbert.cli.text import printable_lines


@app.command(
    cls=Watched,
    epilog="Example: featbert probe --layers last --layers layer:3",
)
def probe(
    features: Annotated[
        Path | None,
        typer.Option(
            "--features",
            metavar="STORE",
            help="Feature store.  [default: the only one in --cache-dir]",
            autocompletion=completion.stores,
        ),
    ] = None,
    layers: Annotated[
        list[str] | None,
        typer.Option(
            "--layers",
            metavar="SPEC",
            help="Single layer: last, layer:3, ...; may be given several times.  [default: all]",
            autocompletion=completion.layers,
        ),
    ] = None,
    report: Annotated[
        bool, typer.Option("--report", help="Print the word-level classification report, too.")
    ] = False,
    cache_dir: o.CacheDir = Path("cache"),
    quiet: o.Quiet = False,
) -> None:
    """Check features quickly: logistic regression on single layers.

    A linear model on each word's vector alone, in seconds, scored on dev: what one layer holds,
    not a tagger to compare with.
    """
    from featbert.cli.train import choose_store
    from featbert.data.load import load_corpus
    from featbert.encoders.layers import parse_layers
    from featbert.errors import InputError
    from featbert.progress import track
    from featbert.runs.identity import check_same_text, check_trainable
    from featbert.tasks.entities import TASK, word_report
    from featbert.training.probe import fit_probe

    store = choose_store(features, cache_dir)
    m = store.manifest
    specs = layers or [f"layer:{layer}" for layer in m.layers]
    wanted = [parse_layers(spec, m.num_layers) for spec in specs]
    for combination in wanted:
        if combination.mode != "single":
            raise InputError(
                f"a single layer expected for the probe, found {combination.name!r}; "
                "featbert train serves combinations"
            )
        store.require(combination.indices)
    corpus = load_corpus(m.source, **m.reading)
    check_trainable(corpus)
    check_same_text(m, store.path, corpus)
    meter = Meter(quiet=quiet)
    gold = corpus["dev"].tags
    train_tags = [tag for row in corpus["train"].tags for tag in row]
    offsets = store.offsets("dev")
    for combination in track(wanted, "probing", "layers"):
        meter.say(f"probing {combination.name}")
        found = fit_probe(
            store.read("train", combination.indices)[0],
            train_tags,
            store.read("dev", combination.indices)[0],
        )
        predicted = [found[a:b] for a, b in pairwise(offsets)]
        scores = TASK.score(gold, predicted).values
        typer.echo(
            f"{combination.name}  dev F1 {100 * scores['f1']:.2f}  "
            f"word accuracy {100 * scores['word_accuracy']:.2f}"
        )
        if report:
            typer.echo(printable_lines(word_report(gold, predicted)))
