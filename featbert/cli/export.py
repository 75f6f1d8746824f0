"""featbert export"""

from pathlib import Path
from typing import Literal

import typer

from featbert.cli import options as o
from featbert.cli.progress import load_torch
from featbert.cli.showing import disk
from featbert.text import printable
from featbert.units import size


@o.command("export RUN my-tagger")
def export(
    *,
    run: str = o.RUN,
    folder: Path = o.argument("FOLDER", "Folder to write, whole or not at all."),
    format: Literal["transformers", "peft", "featbert"] | None = o.option(
        None,
        "Who is to load it: transformers has no model for some heads, and gets adapters merged; "
        "peft gets them as they are; featbert loads every run.  [default: featbert for a run on "
        "features, else transformers]",
    ),
    with_encoder: bool = o.flag(
        "--with-encoder", "Copy the encoder's files into a folder for featbert."
    ),
    overwrite: bool = o.flag("--overwrite", "Replace an exported run."),
    best: bool = o.BEST,
    data: str | None = o.RUN_DATA,
    model: str | None = o.RUN_MODEL,
    runs_dir: Path = o.RUNS_DIR,
) -> None:
    """Write a finished run as a folder to use or share.

    A tuned encoder becomes a folder for transformers, with the same logits; a run on features
    keeps its head and the name and hash of its encoder. Both have a model card, and featbert.load
    answers with both.
    """
    from featbert.encoders.tunings import get_tuning
    from featbert.runs.folder import check_free
    from featbert.runs.run import check_usable

    check_free(folder, overwrite)
    usable = check_usable(o.find_run_called(run, runs_dir, best, data), model=model)
    frozen = get_tuning(usable.record.tuning).frozen
    form = format or ("featbert" if frozen else "transformers")
    load_torch()
    from featbert.inference.export import export
    from featbert.report.card import model_card

    card = model_card(usable, folder, form)
    export(usable, folder, form, card=card, with_encoder=with_encoder, overwrite=overwrite)
    done = f"{folder}: {size(disk(folder))}; use it with featbert predict {folder} FILE, or as in "
    typer.echo(printable(f"{done}{folder / 'README.md'}"))
