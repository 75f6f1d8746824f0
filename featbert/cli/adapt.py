"""featbert adapt"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from featbert.cli import options as o
from featbert.cli.app import Watched, app
from featbert.cli.meter import Meter
from featbert.cli.text import printable
from featbert.text import unusual

if TYPE_CHECKING:
    from featbert.training.adapt import AdaptEpoch


def _setting(flag: str, unit: str, text: str, default: object, least: int | None = None) -> Any:
    """The option for a setting of `Adapt`."""
    return typer.Option(flag, metavar=unit, help=f"{text}  [default: {default}]", min=least)


@app.command(
    cls=Watched,
    epilog="Example: featbert adapt --data corpora/wikigold --epochs 10",
)
def adapt(
    model: o.Model = "all-MiniLM-L6-v2",
    data: o.Data = "sample",
    epochs: Annotated[
        int | None, _setting("--epochs", "EPOCHS", "Passes over the training split.", 10, 1)
    ] = None,
    batch_size: Annotated[
        int | None, _setting("--batch-size", "SEQUENCES", "Sequences of a training step.", 16, 1)
    ] = None,
    learning_rate: Annotated[
        float | None,
        _setting("--learning-rate", "RATE", "Highest learning rate of AdamW.", "5e-05"),
    ] = None,
    max_length: Annotated[
        int | None,
        _setting(
            *("--max-length", "PIECES", "Wordpieces of a sequence."),
            "128, or what the encoder reads",
            8,
        ),
    ] = None,
    share: Annotated[
        float | None, _setting("--share", "SHARE", "Share of the wordpieces to predict.", 0.15)
    ] = None,
    mask_share: Annotated[
        float | None,
        _setting("--mask-share", "SHARE", "Share of these that is replaced by [MASK].", 0.8),
    ] = None,
    random_share: Annotated[
        float | None,
        _setting(
            *("--random-share", "SHARE"),
            "Share of these that is replaced by a random wordpiece; the rest stay.",
            0.1,
        ),
    ] = None,
    whole_word: Annotated[
        bool, typer.Option("--whole-word", help="Mask all wordpieces of a word together.")
    ] = False,
    nsp: Annotated[
        Literal["auto", "on", "off"],
        typer.Option(
            "--nsp",
            help="Predict the next sentence too; auto: if the corpus has documents and the "
            "model is a BERT.",
        ),
    ] = "auto",
    token_budget: Annotated[
        int | None,
        _setting(
            *("--token-budget", "TOKENS"),
            "Padded wordpieces computed at once: changes memory and time, not the batch.",
            4096,
            1,
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option("--seed", metavar="SEED", help="Random seed.", min=0, max=o.LARGEST_SEED),
    ] = 1,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Folder to write.  [default: one of its own in --models-dir]",
        ),
    ] = None,
    models_dir: Annotated[
        Path, typer.Option("--models-dir", metavar="DIR", help="Folder of adapted encoders.")
    ] = Path("cache/models"),
    device: o.Device = "auto",
    precision: o.Precision = "auto",
    overwrite: o.Overwrite = False,
    language: o.Language = None,
    encoding: o.Encoding = "utf-8",
    token_column: o.TokenColumn = None,
    quiet: o.Quiet = False,
) -> None:
    """Train the encoder as a language model on the corpus first.

    It learns masked wordpieces and, where the corpus has documents, the next sentence from the
    words of the train split. The folder that is written is an encoder: give it to --model.
    """
    o.check_folder(models_dir if out is None else out, "--models-dir" if out is None else "--out")
    from featbert.config import Adapt, validated
    from featbert.data.load import load_corpus
    from featbert.encoders.source import find_encoder
    from featbert.training.adapt import adapt as adapt_encoder
    from featbert.training.adapt import decide_nsp

    named: dict[str, object] = {
        "epochs": epochs,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "max_length": max_length,
        "share": share,
        "mask_share": mask_share,
        "random_share": random_share,
        "whole_word": whole_word,
        "nsp": nsp,
        "token_budget": token_budget,
    }
    settings = validated(Adapt, {k: v for k, v in named.items() if v is not None})
    source = find_encoder(model)
    reading = o.reading_options(language, encoding, "auto", token_column, None)
    corpus = load_corpus(data, targets=None, **reading)
    with_nsp = decide_nsp(corpus, source, nsp)
    meter = Meter(quiet=quiet)
    meter.load_torch()

    from featbert.encoders.wordpieces import load_wordpieces

    if load_wordpieces(source).lowercases:
        meter.say(f"{source.name} is uncased: words are lowercased before they are read")
    objectives = "masked wordpieces" + (" and the next sentence" if with_nsp else "")
    meter.say(f"{source.name} as a language model of {corpus.name}: {objectives}")
    with ExitStack() as bars:  # a bar an epoch, none while a result is printed
        update: Callable[[int, int], None] | None = None

        def on_step(done: int, total: int) -> None:
            nonlocal update
            update = update or bars.enter_context(meter.measure("adapting", "steps")).update
            update(done, total)

        def on_epoch(row: AdaptEpoch) -> None:
            nonlocal update
            update = None
            bars.close()
            typer.echo(_line(row))

        adapted = adapt_encoder(
            corpus,
            source,
            settings=settings,
            out=out,
            models_dir=models_dir,
            seed=seed,
            device=device,
            precision=precision,
            overwrite=overwrite,
            on_step=on_step,
            on_epoch=on_epoch,
        )
    if adapted.hit:
        typer.echo("\n".join(_line(row) for row in adapted.history))
    if adapted.fresh:
        typer.echo(
            printable(f"not in the checkpoint, random at the start: {', '.join(adapted.fresh)}")
        )
    else:
        typer.echo("all parts of the model are from the checkpoint")
    if found := unusual(adapted.counts):
        typer.echo(f"unusual: {found}")
    state = "exists already, nothing to do" if adapted.hit else "written"
    typer.echo(printable(f"{adapted.folder}: {state}"))
    given = f"--model {shlex.quote(str(adapted.folder))}"
    given += "" if data == "sample" else f" --data {shlex.quote(data)}"
    meter.say(f"featbert extract {given} and featbert finetune {given} read it")


def _line(row: AdaptEpoch) -> str:
    """The losses of one epoch; epoch 0 is before training."""
    cells = [f"epoch {row.epoch}"]
    if row.train_mlm is not None:
        cells.append("train " + _losses(row.train_mlm, row.train_nsp))
    cells.append("dev " + _losses(row.dev_mlm, row.dev_nsp))
    cells.append(f"perplexity {row.dev_perplexity:.2f}")
    return "  ".join(cells)


def _losses(mlm: float, nsp: float | None) -> str:
    return f"MLM {mlm:.4f}" + ("" if nsp is None else f" NSP {nsp:.4f}")
