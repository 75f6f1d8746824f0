"""featbert adapt"""

import shlex

import typer

from featbert import api
from featbert.cli import options as o
from featbert.progress import report
from featbert.text import printable, unusual


@o.command(
    "adapt --data corpora/wikigold --epochs 10",
    defaults={"max_length": "128 or less"},
)
def adapt(request: api.AdaptRequest) -> None:
    """Train the encoder as a language model on the corpus first.

    The encoder learns to predict masked subwords of the train split and, if the corpus has
    documents, the next sentence. The new folder is an encoder: give it to --model.
    """
    adapted = api.adapt(request)
    lines = [*map(str, adapted.history)]
    if adapted.fresh:
        lines.append(f"not in the checkpoint, random at the start: {', '.join(adapted.fresh)}")
    if counts := unusual(adapted.counts):
        lines.append(f"unusual: {counts}")
    state = "exists already, nothing to do" if adapted.hit else "written"
    for line in [*lines, f"{adapted.folder}: {state}"]:
        typer.echo(printable(line))
    words = f"--model {shlex.quote(str(adapted.folder))}"
    words += "" if request.data == "sample" else f" --data {shlex.quote(str(request.data))}"
    report(f"featbert train {words} and featbert finetune {words} read it")
