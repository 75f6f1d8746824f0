"""featbert train"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

import typer

from featbert.cli import completion
from featbert.cli import options as o
from featbert.cli.app import Watched, app
from featbert.cli.meter import Meter
from featbert.cli.settings_options import setting
from featbert.cli.text import run_line
from featbert.text import unusual


@app.command(
    cls=Watched,
    epilog="Example: featbert train --layers concat_last4 --layers last --seeds 1,2,3",
)
def train(
    features: o.Features = None,
    layers: Annotated[
        list[str] | None,
        typer.Option(
            "--layers",
            metavar="SPEC",
            help="Layer combination, such as embeddings, last, concat_last4, weighted_all, "
            "layer:7 or concat:9-12; may be given several times.  [default: concat_last4]",
            autocompletion=completion.layers,
        ),
    ] = None,
    seeds: o.Seeds = "1",
    epochs: Annotated[int | None, setting("epochs", "features")] = None,
    batch_size: Annotated[int | None, setting("batch_size", "features")] = None,
    learning_rate: Annotated[float | None, setting("learning_rate", "features")] = None,
    dropout: Annotated[float | None, setting("dropout", "features")] = None,
    warmup: Annotated[float | None, setting("warmup", "features")] = None,
    schedule: Annotated[
        Literal["linear", "constant"] | None, setting("schedule", "features")
    ] = None,
    bias_correction: o.BiasCorrection = None,
    patience: Annotated[int | None, setting("patience", "features")] = None,
    tag_scheme: o.TagScheme = "bio",
    train_on: o.TrainOn = "train",
    train_share: o.TrainShare = None,
    hidden_size: Annotated[int | None, setting("lstm_size", "features")] = None,
    layers_lstm: Annotated[int | None, setting("lstm_layers", "features")] = None,
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="CORPUS",
            help="Corpus, where it lies elsewhere now.  [default: the one that the store names]",
            autocompletion=completion.corpora,
        ),
    ] = None,
    cache_dir: o.CacheDir = Path("cache"),
    runs_dir: o.RunsDir = Path("experiments/runs"),
    token_budget: Annotated[int | None, setting("token_budget", "features")] = None,
    device: o.Device = "auto",
    precision: o.Precision = "auto",
    overwrite: o.Overwrite = False,
    language: o.Language = None,
    encoding: o.Encoding = "utf-8",
    scheme: o.Scheme = "auto",
    token_column: o.TokenColumn = None,
    tag_column: o.TagColumn = None,
    log_with: o.LogWith = None,
    quiet: o.Quiet = False,
) -> None:
    """Train a two-layer BiLSTM tagger on frozen features.

    The corpus is read from where the store's manifest says, with the options that `extract` had;
    --data, --tag-column and so on read the tags of the same text from elsewhere. A run with the
    same settings that is finished already is shown, not trained again.
    """
    o.check_folder(runs_dir, "--runs-dir")
    log_dir = o.check_log(log_with, runs_dir)
    from featbert.config import defaults
    from featbert.data.load import load_corpus
    from featbert.encoders.layers import parse_layers
    from featbert.runs.identity import check_same_text, check_trainable

    wanted = [parse_layers(spec).name for spec in layers or ["concat_last4"]]
    numbers = o.parse_seeds(seeds)
    settings = defaults("none").but(
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        dropout=dropout,
        warmup=warmup,
        schedule=schedule,
        bias_correction=bias_correction,
        patience=patience,
        token_budget=token_budget,
        train_on=train_on,
        train_share=train_share,
        lstm_size=hidden_size,
        lstm_layers=layers_lstm or None,
        body="linear" if layers_lstm == 0 else None,
    )
    store = o.choose_store(features, cache_dir)
    for name in wanted:
        store.require(parse_layers(name, store.manifest.num_layers).indices)
    given = o.reading_options(language, encoding, scheme, token_column, tag_column)
    reading = store.manifest.reading | given
    corpus = load_corpus(data or store.manifest.source, **reading)
    check_trainable(corpus, settings)
    check_same_text(store.manifest, store.path, corpus)
    meter = Meter(quiet=quiet)
    meter.says_log(log_dir)
    meter.say(f"{corpus.name}: {corpus.source}, entities {', '.join(corpus.entity_types)}")
    if store.manifest.uncased:
        meter.say(f"{store.manifest.model} is uncased: words were lowercased before they were read")
    meter.load_torch()

    from featbert.runs.api import train as train_run

    for name in wanted:
        for seed in numbers:
            began = datetime.now(UTC).isoformat(timespec="seconds")
            run = train_run(
                store,
                name,
                corpus=corpus,
                reading=reading,
                seed=seed,
                settings=settings,
                tag_scheme=tag_scheme,
                runs_dir=runs_dir,
                device=device,
                precision=precision,
                overwrite=overwrite,
                log_dir=log_dir,
            )
            typer.echo(run_line(run, was_there=run.record.started < began))
    if found := unusual(run.record.counts):
        meter.say(f"unusual in the corpus: {found}")
    meter.say("featbert compare sets all finished runs side by side")
