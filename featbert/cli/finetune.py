"""featbert finetune"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

import typer

from featbert.cli import options as o
from featbert.cli.app import Watched, app
from featbert.cli.meter import Meter
from featbert.cli.settings_options import setting
from featbert.cli.text import run_line
from featbert.errors import InputError
from featbert.text import unusual


@app.command(
    cls=Watched,
    epilog="Example: featbert finetune --model bert-base-cased --seeds 1-5",
)
def finetune(
    model: o.Model = "all-MiniLM-L6-v2",
    data: o.Data = "sample",
    seeds: o.Seeds = "1",
    epochs: Annotated[int | None, setting("epochs", "finetune")] = None,
    batch_size: Annotated[int | None, setting("batch_size", "finetune")] = None,
    learning_rate: Annotated[float | None, setting("learning_rate", "finetune")] = None,
    dropout: Annotated[float | None, setting("dropout", "finetune")] = None,
    warmup: Annotated[float | None, setting("warmup", "finetune")] = None,
    schedule: Annotated[
        Literal["linear", "constant"] | None, setting("schedule", "finetune")
    ] = None,
    bias_correction: o.BiasCorrection = None,
    patience: Annotated[int | None, setting("patience", "finetune")] = None,
    discriminative: Annotated[float | None, setting("discriminative", "finetune")] = None,
    unfreeze: Annotated[int | None, setting("unfreeze", "finetune")] = None,
    freeze_to: Annotated[str | None, setting("freeze_to", "finetune")] = None,
    tag_scheme: o.TagScheme = "bio",
    train_on: o.TrainOn = "train",
    train_share: o.TrainShare = None,
    context: o.Context = "sentence",
    truecase: o.Truecase = False,
    pooling: o.Pooling = "first",
    runs_dir: o.RunsDir = Path("experiments/runs"),
    token_budget: Annotated[int | None, setting("token_budget", "finetune")] = None,
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
    """Fine-tune the whole encoder with a linear classifier on top.

    The same loop, batches, loss, selection on dev and scorer as `featbert train`.
    """
    o.check_folder(runs_dir, "--runs-dir")
    log_dir = o.check_log(log_with, runs_dir)
    from featbert.config import defaults
    from featbert.data.load import load_corpus
    from featbert.encoders.encoding import check_casing_of, check_context
    from featbert.encoders.source import find_encoder
    from featbert.encoders.tokenizer import is_uncased
    from featbert.runs.identity import check_trainable
    from featbert.runs.planned import check_layers

    numbers = o.parse_seeds(seeds)
    source = find_encoder(model)
    settings = defaults("full").but(
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
        discriminative=discriminative,
        unfreeze=unfreeze,
        freeze_to=_layer(freeze_to, source.num_layers or 0),
    )
    check_layers(settings, source.num_layers or 0)
    reading = o.reading_options(language, encoding, scheme, token_column, tag_column)
    corpus = load_corpus(data, **reading)
    check_trainable(corpus, settings)
    for split in corpus.splits.values():
        check_context(context, has_documents=split.has_documents)
    casing: Literal["original", "truecased"] = "truecased" if truecase else "original"
    check_casing_of(source, casing, corpus)
    uncased = is_uncased(source)
    meter = Meter(quiet=quiet)
    meter.says_log(log_dir)
    meter.load_torch()

    from featbert.runs.api import finetune as finetune_run

    if uncased:
        meter.say(f"{source.name} is uncased: words are lowercased before they are read")

    for seed in numbers:
        began = datetime.now(UTC).isoformat(timespec="seconds")
        run = finetune_run(
            corpus,
            source,
            reading=reading,
            seed=seed,
            settings=settings,
            context=context,
            casing=casing,
            tag_scheme=tag_scheme,
            pooling=pooling,
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


def _layer(text: str | None, num_layers: int) -> int | None:
    """The layer that --freeze-to names; `all` is the last one."""
    if text is None or text == "none":
        return None
    if text == "all":
        return num_layers
    if not text.isascii() or not text.isdigit():
        raise InputError(
            f"a layer from 0 to {num_layers}, none or all expected for --freeze-to, found {text!r}"
        )
    return int(text)
