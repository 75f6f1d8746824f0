"""featbert export"""

import shlex

import typer

from featbert import api
from featbert.cli import options as o
from featbert.io import disk
from featbert.text import printable
from featbert.units import size


@o.command("export RUN my-tagger", arguments=("run", "folder"))
def export(request: api.ExportRequest) -> None:
    """Write a finished run as a folder to use or share.

    A tuned encoder becomes a folder for transformers, with the same logits. A run on features, or
    with a CRF or a BiLSTM on a tuned encoder, becomes a folder for featbert. Both have a model
    card, and featbert.load loads both.
    """
    folder = api.export(request)
    use = f"featbert predict {shlex.quote(str(folder))} FILE"
    done = f"{folder}: {size(disk(folder))}; use it with {use}, or as in "
    typer.echo(printable(f"{done}{folder / 'README.md'}"))
